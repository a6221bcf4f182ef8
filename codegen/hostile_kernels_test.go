package codegen_test

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileZeroStride(n, m int, x, y []float64) {
	for i := 0; i < n; i++ {
		x[i*m] = x[i*m]*0.5 + y[i]
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileShifted(n int, x, y []int) {
	for i := 0; i < n; i++ {
		j := y[i]
		x[i+j] = x[i+j]*3 + i
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileStepped(n int, x []int, y []int) {
	for i := 0; i < n; i++ {
		j := 0
		for k := 0; k < 3; k++ {
			x[i+j] = x[i+j]*3 + y[i]
			j++
		}
	}
}

//omp:target device(smp)
//omp:task inout(x)
func HostileByte(n int, x []int) {
	for i := uint8(0); i < 200; i++ {
		x[i*2] = x[i*2]*3 + int(i)
	}
}

//omp:target device(smp)
//omp:task inout(x)
func HostileWide(n int, x []int) {
	for i := 0; i < n; i++ {
		if i&3 == 0 {
			x[i*(1<<62)] = x[i*(1<<62)]*3 + i
		}
	}
}

//omp:target device(smp)
//omp:task inout(x)
func HostileNarrow(n int, x []int) {
	for i := int32(0); i < int32(n); i++ {
		if i&3 == 0 {
			x[i*(1<<30)] = x[i*(1<<30)]*3 + int(i)
		}
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileLocal(n int, x, y []int) {
	var a [8]int
	for i := 1; i < n; i++ {
		a[i&7] = a[(i-1)&7]*3 + y[i]
		x[i] = a[i&7]
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileLast(n int, x, y []int) {
	s := 0
	for i := 0; i < n; i++ {
		x[i] = s
		if y[i]&1 == 0 {
			s = y[i]
		}
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileInner(n int, x, y []int) {
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			x[j] = x[j]*3 + y[i]
		}
	}
}

//omp:target device(smp)
//omp:task inout(x)
func HostileRows(n, m, ld int, x []int) {
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			x[i*ld+j] = x[i*ld+j]*3 + i
		}
	}
}

//omp:target device(smp)
//omp:task inout(x)
func HostileRowBack(n, m int, x []int) {
	for i := 1; i < n; i++ {
		for j := 0; j < m; j++ {
			x[i*m+j] = x[i*m+j-1]*3 + i
		}
	}
}

//omp:target device(smp)
//omp:task inout(x)
func HostileDown(n int, x []int) {
	for i := n - 2; i >= 0; i-- {
		x[i] = x[i+1]*3 + 1
	}
}

//omp:target device(smp)
//omp:task inout(x)
func HostileTri(n int, x []int) {
	for i := 0; i < n; i++ {
		for j := 0; j <= i; j++ {
			x[i*(i+1)/2+j] = x[i+j]*3 + 1
		}
	}
}

//omp:target device(smp)
//omp:task inout(x, y, z)
func HostileAlias(n int, x, y, z []int32) {
	for i := 1; i < n-1; i++ {
		x[i] = y[i-1] + 3*z[i+1]
		z[i] = x[i] ^ y[i]
	}
}

//omp:target device(smp)
//omp:task inout(x, y, z)
func HostileAlias2(n, m int, x, y, z []float32) {
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			s := z[i*m+j]
			for k := 0; k < 4; k++ {
				s += x[i*4+k] * y[k*m+j]
			}
			z[i*m+j] = s * 0.25
		}
	}
}

//omp:target device(smp)
//omp:task inout(x, y)
func HostileReslice(n int, x, y []int) {
	u := x[:n]
	v := u[1:cap(u)]
	for i := 0; i < n-1; i++ {
		v[i] = u[i]*3 + y[i]
	}
}

//omp:target device(smp)
//omp:task inout(x, y)
func HostileResliceIn(n int, x, y []int) {
	for i := 0; i < n-1; i++ {
		u := x[i : i+2]
		u[1] = u[0]*3 + y[i]
	}
}

//omp:target device(smp)
//omp:task inout(x, y)
func HostileSwapped(n int, x, y []int) {
	a, b := x, y
	for k := 0; k < 3; k++ {
		for i := 1; i < n; i++ {
			a[i] = b[i-1]*3 + 1
		}
		a, b = b, a
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileOffset(n, d int, x, y []int) {
	for i := 0; i < n; i++ {
		x[i+d] = x[i]*3 + y[i]
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileScratch(n, at int, x, y []int) {
	for i := 0; i < n; i++ {
		x[at] = y[i] * 3
		x[i+1] = x[at] + 1
	}
}

//omp:target device(smp)
//omp:task inout(p)
func HostilePoints(n int, p []hostilePoint) {
	for i := 1; i < n; i++ {
		p[i].a = p[i-1].b*3 + 1
		p[i].b = p[i].a + p[i-1].c[i&1]
		p[i].c[1] = p[i].b
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileStepVar(n, step int, x, y []int) {
	for i := 0; i < n; i += step {
		for j := 0; j < 4; j++ {
			x[i+j] = x[i+j]*3 + y[i]
		}
	}
}

//omp:target device(smp)
//omp:task inout(x, *sum) in(y)
func HostilePointer(n int, sum *int, x, y []int) {
	for i := 0; i < n; i++ {
		x[i] = *sum + y[i]
		*sum = x[i] * 3
	}
}

//omp:target device(smp)
//omp:task inout(x, *sum)
func HostilePointIn(n int, sum *int, x []int) {
	for i := 0; i < n; i++ {
		x[i] = *sum + i
	}
}

type hostilePoint struct {
	a, b int
	c    [2]int
}

// HostileCap asks what a part may grow to: its end counts, too.
//
//omp:target device(smp)
//omp:task in(x, d) inout(y)
func HostileCap(n int, x, d, y []int) {
	//omp:parallel for
	for i := 0; i < n; i++ {
		y[i] = cap(x[:d[i]]) + cap(x[i:d[i]+n]) - cap(x[:d[i]+1:d[i]+2])
	}
}

// HostileEnds has small elements, and parts of another length in every iteration: more lanes than lengths fit into a vector.
//
//omp:target device(smp)
//omp:task in(x) inout(y)
func HostileEnds(n, at, shift int, x, y []float32) {
	//omp:parallel for
	for i := 0; i < n; i++ {
		part := x[:i+shift+3]
		y[i] = part[i] + part[at] + x[i : 2*i+shift][0]
	}
}

// HostileEnd is HostileEnds with one access.
//
//omp:target device(smp)
//omp:task in(x) inout(y)
func HostileEnd(n, at int, x, y []float32) {
	//omp:parallel for
	for i := 0; i < n; i++ {
		y[i] = x[:n-i][at]
	}
}

// HostileCaps is HostileCap with elements and counts of 4 bytes.
//
//omp:target device(smp)
//omp:task in(x) inout(y)
func HostileCaps(n, shift int, x, y []int32) {
	//omp:parallel for
	for i := 0; i < n; i++ {
		if cap(x[:i+shift]) > 3 {
			y[i] = x[i] + int32(cap(x[:i+shift]))
		}
	}
}
