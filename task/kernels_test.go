package task_test

// The kernels of the tests. This file is what codegen loads, and the functions are the variants that the CPU runs: it
// stands alone.

// Fill sets d[lo:hi] from k.
//
//omp:target device(acc, smp)
//omp:task out(d[lo:hi])
func Fill(lo, hi int, k uint32, d []uint32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		d[i] = uint32(i)*2654435761 + k
	}
}

// Mix mixes s[a:b] into d[lo:hi].
//
//omp:target device(acc, smp) overlap(ok)
//omp:task inout(d[lo:hi]) in(s[a:b])
func Mix(lo, hi, a, b int, k uint32, d, s []uint32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		d[i] = d[i]*31 + s[a+(i-lo)%(b-a)] + k
	}
}

// FillBox sets the box [i0:i1][j0:j1] of the n by m matrix d.
//
//omp:target device(acc, smp)
//omp:task out(d[i0:i1][j0:j1])
//omp:shape d [n][m]
func FillBox(n, m, i0, i1, j0, j1 int, k uint32, d []uint32) {
	//omp:teams distribute parallel for collapse(2)
	for i := i0; i < i1; i++ {
		for j := j0; j < j1; j++ {
			d[i*m+j] = uint32(i*m+j)*2246822519 + k
		}
	}
}

// MixBox mixes the box of s that begins at a, b into the box [i0:i1][j0:j1] of d; both are n by m.
//
//omp:target device(acc, smp) overlap(ok)
//omp:task inout(d[i0:i1][j0:j1]) in(s[a:a+i1-i0][b:b+j1-j0])
//omp:shape d [n][m]
//omp:shape s [n][m]
func MixBox(n, m, i0, i1, j0, j1, a, b int, k uint32, d, s []uint32) {
	//omp:teams distribute parallel for collapse(2)
	for i := i0; i < i1; i++ {
		for j := j0; j < j1; j++ {
			d[i*m+j] = d[i*m+j]*31 + s[(i-i0+a)*m+j-j0+b] + k
		}
	}
}

// Count adds to c[0] under tokens; it takes long enough for others to be seen beside it.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task inout(c)
func Count(rounds int, c []uint32) {
	for i := 0; i < rounds; i++ {
		c[0] = c[0]*1664525 + 1013904223
	}
}

// Divide fails where an element of b is 0.
//
//omp:target device(acc, smp)
//omp:task in(a, b) out(c)
func Divide(a, b, c []int32) {
	//omp:teams distribute parallel for
	for i := range c {
		c[i] = a[i] / b[i]
	}
}

// Saxpy is y = y + a*x.
//
//omp:target device(acc)
//omp:task in(x) inout(y)
func Saxpy(a float32, x, y []float32) {
	//omp:teams distribute parallel for
	for i := range y {
		y[i] += a * x[i]
	}
}

// Sum adds all of x to *s.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(*s)
func Sum(x []float32, s *float32) {
	for i := range x {
		*s += x[i]
	}
}

// A Point is a struct argument.
type Point struct {
	X, Y float32
	N    int32
}

// Shift moves points by d.
//
//omp:target device(acc, smp)
//omp:task inout(p)
func Shift(p []Point, d Point) {
	//omp:teams distribute parallel for
	for i := range p {
		p[i].X += d.X
		p[i].Y += d.Y
		p[i].N += d.N
	}
}

// Copy, Scale, Add and Triad are STREAM's operations.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task in(a) out(c)
func Copy(c, a []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(c); i++ {
		c[i] = a[i]
	}
}

// Scale is b = s*c.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task in(c) out(b)
func Scale(b, c []float64, s float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(b); i++ {
		b[i] = s * c[i]
	}
}

// Add is c = a + b.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task in(a, b) out(c)
func Add(c, a, b []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(c); i++ {
		c[i] = a[i] + b[i]
	}
}

// Triad is a = b + s*c.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task in(b, c) out(a)
func Triad(a, b, c []float64, s float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = b[i] + s*c[i]
	}
}

// Forces adds to the velocities of bodies lo to hi what all bodies pull during dt.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task in(px, py, pz) inout(vx[lo:hi], vy[lo:hi], vz[lo:hi])
func Forces(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		var fx, fy, fz float32
		for j := range px {
			dx, dy, dz := px[j]-px[i], py[j]-py[i], pz[j]-pz[i]
			d := dx*dx + dy*dy + dz*dz + 1e-9
			inv := 1 / (d * d)
			fx += dx * inv
			fy += dy * inv
			fz += dz * inv
		}
		vx[i] += dt * fx
		vy[i] += dt * fy
		vz[i] += dt * fz
	}
}

// Move moves bodies lo to hi for dt.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task inout(px[lo:hi], py[lo:hi], pz[lo:hi]) in(vx[lo:hi], vy[lo:hi], vz[lo:hi])
func Move(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		px[i] += dt * vx[i]
		py[i] += dt * vy[i]
		pz[i] += dt * vz[i]
	}
}

// Big is deferred only when it is worth it.
//
//omp:target device(smp) resources(smp: n)
//omp:task inout(c) if(n > 40) priority(n)
func Big(n int, c []uint32) {
	c[0] += uint32(n)
}

// Dot adds the products of x and y to *sum.
//
//omp:target device(acc, smp)
//omp:task in(x[lo:hi], y[lo:hi]) reduction(+: sum[0])
func Dot(lo, hi int, x, y, sum []int32) {
	var s int32
	//omp:teams distribute parallel for reduction(+: s)
	for i := lo; i < hi; i++ {
		s += x[i] * y[i]
	}
	sum[0] += s
}

// Tally counts the remainders of x by 5 from bin at on.
//
//omp:target device(acc, smp)
//omp:task in(x[lo:hi]) reduction(+: bins[at:at+5])
func Tally(lo, hi, at int, x, bins []int32) {
	for i := lo; i < hi; i++ {
		bins[at+int(x[i])%5]++
	}
}

// Bump adds 1 to x[1].
//
//omp:target device(acc, smp)
//omp:task inout(x)
func Bump(x []int32) {
	x[1]++
}

// Histogram counts the last digits of x.
//
//omp:target device(acc, smp)
//omp:task in(x[lo:hi]) concurrent(bins)
func Histogram(lo, hi int, x, bins []int32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		//omp:atomic
		bins[x[i]%10]++
	}
}

// Shuffle adds k to x[lo:hi].
//
//omp:target device(acc, smp)
//omp:task commutative(x[lo:hi])
func Shuffle(lo, hi int, k uint32, x []uint32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		x[i] += k
	}
}

// Twice doubles x.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func Twice(x []int32) {
	for i := range x {
		x[i] *= 2
	}
}

// TwiceOnHost is the version of Twice for the CPU. It tells that it ran.
//
//omp:target device(smp) implements(Twice)
//omp:task inout(x)
func TwiceOnHost(x []int32) {
	for i := range x {
		x[i] = x[i]*2 + 1000
	}
}

// ModelInOut mixes the sum of s[a:b] into d[lo:hi].
//
//omp:target device(acc, smp)
//omp:task inout(d[lo:hi]) in(s[a:b])
func ModelInOut(lo, hi, a, b int, k uint32, d, s []uint32) {
	for j := a; j < b; j++ {
		k += s[j]
	}
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		d[i] = d[i]*31 + k
	}
}

// ModelAtomic adds k to d[lo:hi].
//
//omp:target device(acc, smp)
//omp:task concurrent(d[lo:hi])
func ModelAtomic(lo, hi int, k uint32, d []uint32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		//omp:atomic
		d[i] += k
	}
}

// ModelSum adds k to d[lo:hi].
//
//omp:target device(acc, smp)
//omp:task reduction(+: d[lo:hi])
func ModelSum(lo, hi int, k uint32, d []uint32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		d[i] += k
	}
}

//omp:target device(acc, smp)
//omp:task concurrent(x)
func EveryOther(first int, x []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		if i&1 == first {
			x[i] += int32(i) + 1
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x) if(later)
func SometimesNow(later bool, x []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i]++
	}
}
