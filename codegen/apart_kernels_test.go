package codegen_test

type apartPair struct{ a, b float32 }

//omp:target device(smp)
//omp:task inout(p)
func ApartPair(p []apartPair, s float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(p); i++ {
		a := p[i].a
		p[i].a = p[i].b * s
		p[i].b = a + s
	}
}

type apartPoint struct{ x, y, z float64 }

//omp:target device(smp)
//omp:task inout(p) in(q)
func ApartPoint(p, q []apartPoint, s float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(p); i++ {
		p[i].x += q[i].z * s
		if p[i].x > q[i].y {
			p[i].z = q[i].x - p[i].y
		}
	}
}

type apartPixel struct{ r, g, b, a int32 }

//omp:target device(smp)
//omp:task in(p) inout(q)
func ApartPixel(p, q []apartPixel) {
	//omp:teams distribute parallel for
	for i := 0; i < len(q); i++ {
		m := p[i].r + p[i].g + p[i].b
		q[i].r = m - p[i].r
		q[i].g = m ^ p[i].g
		q[i].b = m & p[i].b
		q[i].a = p[i].a
	}
}

type apartMixed struct {
	w    float64
	n, m int32
	f    float32
	c    uint8
}

//omp:target device(smp)
//omp:task inout(p) in(k)
func ApartMixed(p []apartMixed, k []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(p); i++ {
		p[i].w += float64(p[i].f)
		if k[i] > 0 {
			p[i].n, p[i].m = p[i].m, p[i].n+k[i]
			p[i].f -= float32(k[i])
			p[i].c++
		} else if i+1 < len(p) {
			p[i].f = float32(p[i].n) / 2
		}
	}
}

type apartWide struct {
	v [7]float32
	n int32
}

//omp:target device(smp)
//omp:task inout(p)
func ApartWide(p []apartWide, s float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(p); i++ {
		for d := range 3 {
			p[i].v[d] += s * p[i].v[d+3]
			if p[i].v[d] < 0 {
				p[i].v[d], p[i].v[d+3] = -p[i].v[d], -p[i].v[d+3]
			} else if p[i].v[d] > 2 {
				p[i].v[d], p[i].n = 2-p[i].v[d], int32(d)
			}
		}
		p[i].n += int32(p[i].v[0]) * 3
	}
}

type apartLong struct{ v [19]int64 }

//omp:target device(smp)
//omp:task inout(p)
func ApartLong(p []apartLong) {
	//omp:teams distribute parallel for
	for i := 0; i < len(p); i++ {
		p[i].v[18] = p[i].v[1] - p[i].v[7]
		if p[i].v[3] > p[i].v[18] {
			p[i].v[0] = p[i].v[18] * 3
		}
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ApartSteps(n int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[3*i] = x[2*i] + x[4*n-1-2*i]
		y[3*i+2] = x[2*i+1] - x[n-1-i]
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ApartBack(n int, x, y []float64) {
	//omp:teams distribute parallel for
	for i := n - 1; i >= 0; i-- {
		y[2*i] = x[3*i+1]
		y[2*i+1] = x[3*n-1-3*i] * 0.5
	}
}

//omp:target device(smp)
//omp:task in(x, k) inout(y)
func ApartTurned(n int, x, y []float64, k []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		if k[i] > 0 {
			y[3*n-1-3*i] = x[n-1-i]
		}
		if i+2 < n && k[i+2] < 5 {
			y[3*n-2-3*i] = x[2*i+4]
		}
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func ApartInner(n int, x, y []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 0; j < 5; j++ {
			y[5*i+j] = x[5*i+4-j]*3 + y[5*i+(j+1)%5]
		}
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y, z)
func ApartFew(n int, x, y []int32, z []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		z[2*i] = float64(x[7*i])
		y[4*i], y[4*i+3] = x[7*i+6], int32(z[2*i+1])
	}
}

// ApartSame writes and reads one place by two names.
//
//omp:target device(smp)
//omp:task inout(p, q)
func ApartSame(p, q []apartPair) {
	//omp:teams distribute parallel for
	for i := 0; i < len(p); i++ {
		p[i].a = q[i].b + 1
		q[i].b = p[i].a * 2
		p[i].b = q[i].a + q[i].b
		q[i].a = p[i].b - p[i].a
	}
}

//omp:target device(smp)
//omp:task in(x, s) inout(y, t)
func ApartBytes(n int, x, y []uint8, s, t []int8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[i] = uint8((77*uint32(x[3*i]) + 150*uint32(x[3*i+1]) + 29*uint32(x[3*i+2])) >> 8)
		t[i] = s[2*i]*s[2*i+1] - s[4*n-1-4*i]<<3
		y[n+i] = x[5*i+4] ^ (x[5*n-1-5*i] + x[4*i]*x[n-1-i]) - x[2*n-1-2*i]
		t[n+i] = s[4*i+2] / 3
	}
}

//omp:target device(smp)
//omp:task in(x, s) inout(y, t)
func ApartShorts(n int, x, y []uint16, s, t []int16) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[i] = x[2*i]*3 + x[3*i+1] - x[4*i+3] ^ x[n-1-i]
		t[i] = s[4*n-1-4*i] + s[2*i]<<2 - s[n+i]*s[3*n-1-3*i]
		if s[2*i+1] > 0 && x[2*i] > 3 {
			t[n+i] = -s[3*i] >> 1
			y[n+i] = uint16(s[i]) + uint16(x[3*i+2])
		}
	}
}

//omp:target device(smp)
//omp:task in(x, w) inout(y, k)
func ApartBytesOfLong(n int, x []uint8, w []int16, y []int64, k []uint8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[i] += int64(x[3*i])*int64(w[2*i+1]) - int64(x[5*n-1-5*i])<<33
		k[i] = uint8(y[i]) + x[4*i]*uint8(w[3*i])
		if w[i] > 0 {
			k[n+i] = x[i] - x[2*i]
			y[n+i] = y[i] * int64(uint32(y[i]>>7)) * 3 / 5
		}
	}
}

type rowsMixed struct {
	a, b, c float32
	k       int32
	w, x    float64
	f       bool
	s       uint8
	v       [2]int64
	last    int32
}

//omp:target device(smp)
//omp:task inout(p, n)
func RowsMixed(p []rowsMixed, n []int32, s float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(p); i++ {
		q := &p[i]
		if q.a > 0 && q.k > n[i] {
			q.a, q.b, q.c = q.b-q.a, q.c*2, q.a
			q.f = q.k&1 == 0
		} else if q.f {
			q.k += int32(q.s)
			q.s++
		}
		for j := range 2 {
			if q.v[j] > int64(q.k) {
				q.v[j] -= int64(q.k) * 3
				continue
			}
			q.w += q.x * s
			q.x -= q.w
		}
		n[i] = q.k + int32(q.a)
	}
}

//omp:target device(smp)
//omp:task inout(p)
func RowsBack(n int, p []rowsMixed) {
	//omp:teams distribute parallel for
	for i := n - 1; i >= 0; i -= 2 {
		if p[i].k < 0 {
			p[i].last = 7
			continue
		}
		p[i].x, p[i].w = p[i].w, p[i].x*2
		p[i].v[1] = p[i].v[0] ^ p[i].v[1]
		p[i].v[0]++
		k := p[i].k
		for k > 3 {
			k -= 3
			p[i].last += k
			p[i].b += float32(k)
		}
		p[i].b, p[i].k = -p[i].b, k
	}
}

type rowsFour struct{ x, y, z, w float32 }

//omp:target device(smp)
//omp:task in(v) out(p)
func RowsOnlySet(p []rowsFour, v []float32) {
	//omp:teams distribute parallel for
	for i := range p {
		p[i].y = v[i] * 2
		p[i].x = v[i] - 1
		p[i].w = 1
		p[i].z = v[i] * v[i]
	}
}

//omp:target device(smp)
//omp:task inout(p, v)
func RowsGuarded(p []rowsFour, v []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(v); i++ {
		if i >= len(p) {
			v[i]--
		} else {
			p[i].x += p[i].y
			p[i].y -= p[i].x * p[i].z
			p[i].x += p[i].w * p[i].y
		}
		if v[i] > 0 && i < len(p) {
			p[i].z = p[i].x
		}
	}
}

// Both slices may be one: nothing is kept of either.
//
//omp:target device(smp)
//omp:task inout(p, q)
func RowsSame(p, q []rowsFour) {
	//omp:teams distribute parallel for
	for i := 0; i < len(p); i++ {
		p[i].x += q[i].y
		q[i].x *= 2
		p[i].y = p[i].x - q[i].x
		q[i].y += p[i].y
	}
}

type rowsArray struct{ v [4]float32 }

//omp:target device(smp)
//omp:task inout(p, y)
func RowsInside(n int, p []rowsArray, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		p[i].v[0] += 1
		y[4*i] *= 3
		p[i].v[1] += p[i].v[0]
		y[4*i+1] -= p[i].v[0]
		p[i].v[2] = p[i].v[0] + p[i].v[1] + y[4*i+1]
	}
}

// Every lane has an array of its own, in which a number that the lanes have in a row is no row.
//
//omp:target device(smp)
//omp:task in(x) inout(y)
func RowsOwn(n int, x, y []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var t [16]float64
		k := i & 15
		t[k] += x[i]
		t[x5(i)] -= 2
		t[k] *= 3
		y[i] += t[k] + t[1]
		y[i>>1<<1|i&1] += x[i>>1<<1|i&1]
	}
}

func x5(i int) int { return i * 5 % 16 }

// What a condition says does not change with the variable that it was.
//
//omp:target device(smp)
//omp:task in(x) inout(y, z)
func RowsFlag(x, y, z []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		f := x[i] > 0
		if f {
			f = x[i] > 5
			y[i] += 3
		}
		if f {
			f = !f
			z[i] -= x[i]
		} else {
			f = true
			z[i]++
		}
		if f {
			y[i]--
		}
	}
}
