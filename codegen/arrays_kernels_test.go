package codegen_test

// Kernels with arrays, and structs of them, by value and by pointer: each is vector code.

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayRangeVal(c [16]float64, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		s := 0.0
		for _, k := range c {
			s = s*x[i] + k
		}
		y[i] = s
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayCopyVal(c [16]float64, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		d := c
		d[i&15] += x[i]
		y[i] = d[3] + d[(i+1)&15]
	}
}

//omp:target device(smp)
//omp:task in(x, *c) inout(y)
func ArrayCopyPtr(c *[16]float64, x, y []float64) {
	d := *c
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = d[i&15] * x[i]
	}
}

func arrayHorner(c [16]float64, x float64) float64 {
	s := 0.0
	for k := range c {
		s = s*x + c[k]
	}
	return s
}
func arrayHornerP(c *[16]float64, x float64) float64 {
	s := 0.0
	for k := range c {
		s = s*x + c[k]
	}
	return s
}
func arrayHornerS(c []float64, x float64) float64 {
	s := 0.0
	for k := range c {
		s = s*x + c[k]
	}
	return s
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayHelpVal(c [16]float64, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = arrayHorner(c, x[i])
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayHelpPtr(c [16]float64, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = arrayHornerP(&c, x[i])
	}
}

//omp:target device(smp)
//omp:task in(x, *c) inout(y)
func ArrayHelpPtr2(c *[16]float64, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = arrayHornerP(c, x[i]) + arrayHorner(*c, x[i])
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayHelpSlice(c [16]float64, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = arrayHornerS(c[:], x[i]) + arrayHornerS(c[2:5], x[i])
	}
}

//omp:target device(smp)
//omp:task in(x, *c) inout(y)
func ArrayHelpSlicePtr(c *[16]float64, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = arrayHornerS(c[:], x[i]) + arrayHornerS(c[2:5], x[i])
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayFirst(c [16]float64, x, y []float64) {
	//omp:teams distribute parallel for firstprivate(c)
	for i := range x {
		c[3] = x[i]
		y[i] = c[3] + c[8+i&7]
	}
}

type arrayVector struct{ x, y, z float32 }

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayArrStruct(c [8]arrayVector, x, y []float32) {
	//omp:teams distribute parallel for
	for i := range x {
		v := c[i&7]
		y[i] = x[i]*v.x + v.y*c[2].z
	}
}

type arrayMesh struct {
	n    int
	dims [3]int32
	w    [2][2]float64
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayStructArr(m arrayMesh, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		s := 0.0
		for a := range m.w {
			for _, b := range m.w[a] {
				s += b * x[i]
			}
		}
		y[i] = s + float64(m.dims[i%3])*float64(m.n)
	}
}

//omp:target device(smp)
//omp:task in(x) inout(*h)
func ArrayRed(h *[64]int64, x []int32) {
	//omp:teams distribute parallel for reduction(+: *h)
	for i := range x {
		h[x[i]&63]++
	}
}

//omp:target device(smp)
//omp:task in(x) inout(*h)
func ArrayRed2(h *[8]float64, x []float64) {
	var t [8]float64
	//omp:teams distribute parallel for reduction(+: t)
	for i := range x {
		for k := range t {
			t[k] += x[i] * float64(k)
		}
	}
	*h = t
}

//omp:target device(smp)
//omp:task in(x) inout(*h)
func ArrayWritePtr(h *[8]float64, x []float64) {
	//omp:teams distribute parallel for
	for i := range h {
		s := 0.0
		for k := i; k < len(x); k += 8 {
			s += x[k]
		}
		h[i] = s
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayAssign(c [4]float64, s arrayVector, n int, x, y []float64) {
	c[1] = 2
	s.x *= 2
	n--
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[i] = c[1]*x[i] + float64(s.x)
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayBools(c [4]bool, d [8]int8, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		if c[i&3] {
			y[i] = x[i] * float64(d[i&7])
		}
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArraySum4(a, b, c, d [4]float64, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = x[i]*a[0] + b[i&3] + c[1] + d[2]
	}
}

//omp:target device(smp)
//omp:task in(ms, x) inout(y)
func ArraySliceOfArr(ms [][4]float64, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		m := &ms[i]
		t := ms[i]
		for k := range m {
			y[i] += m[k]*x[i] + t[3-k]
		}
	}
}

//omp:target device(smp)
//omp:task in(x, *c) inout(y)
func ArrayTwo(c *[4]float64, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		if c != nil {
			y[i] = x[i] * c[i&3]
		}
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayCmp(c, d [4]float64, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		if c == d {
			y[i] = x[i] * c[i&3]
		}
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayFilter(w [3][3]float32, n int, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 1; i < n-1; i++ {
		for j := 1; j < n-1; j++ {
			s := float32(0)
			for a := 0; a < 3; a++ {
				for b := 0; b < 3; b++ {
					s += w[a][b] * x[(i+a-1)*n+j+b-1]
				}
			}
			y[i*n+j] = s
		}
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ArrayLocal(c [16]float64, x, y []float64) {
	c[3] = 5
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = x[i] * c[i%16]
	}
}
