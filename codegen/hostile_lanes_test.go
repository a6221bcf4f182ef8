package codegen_test

import "math"

// Kernels whose lanes are off where an operation would fail, or whose numbers are at the edge of their types.

//omp:target device(smp)
//omp:task inout(x) in(y, ix)
func HostileGuards(n int, x, y []int64, ix []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		if y[i]&7 == 0 {
			continue
		}
		s := int64(0)
		for j := 0; j < 6; j++ {
			if ix[i]+j >= len(y) || ix[i]+j < 0 {
				break
			}
			v := y[ix[i]+j]
			if v == 0 {
				continue
			}
			s += 1000003/v - 77%v
		}
		x[i] = s
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileZero(n int, x, y []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		if y[i] < 0 {
			x[i] = 7 / y[i]
		}
		if y[i] > 0 || y[i] == 0 && x[i]&1 == 3 {
			x[i] = -9 % y[i]
		}
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileDivide(n int, x, y []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		x[i] = (x[i] / y[i]) ^ (x[i] % y[i])
	}
}

//omp:target device(smp)
//omp:task inout(a, b, c, d) in(p, q, r, s)
func HostileLeast(n int, a, p []int8, b, q []int16, c, r []int32, d, s []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		a[i] = math.MinInt8/p[i] + math.MinInt8%p[i]
		b[i] = math.MinInt16/q[i] ^ math.MinInt16%q[i]
		c[i] = math.MinInt32/r[i] - math.MinInt32%r[i]
		d[i] = math.MinInt64/s[i] - math.MinInt64%s[i]
	}
}

//omp:target device(smp)
//omp:task inout(a, b, c, d) in(s)
func HostileShifts(n int, a []int8, b []uint16, c []int32, d []uint64, s []uint8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		a[i] = a[i]>>s[i] ^ a[i]<<(s[i]&15)
		b[i] = b[i]>>s[i] ^ b[i]<<(s[i]/4)
		c[i] = c[i]>>s[i] + c[i]<<s[i]
		d[i] = d[i]>>s[i] + d[i]<<s[i]
	}
}

//omp:target device(smp)
//omp:task inout(a, b, c, d, e) in(x, y)
func HostileConvert(n int, a []int64, b []int32, c []uint16, d []float32, e []int8, x []float64, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		a[i] = int64(x[i]) ^ int64(y[i])
		b[i] = int32(int64(x[i]))
		c[i] = uint16(int32(int64(y[i])))
		d[i] = float32(x[i]) + float32(uint32(a[i])) - float32(a[i]) + float32(uint64(a[i]))
		e[i] = int8(int64(x[i])) + int8(b[i])
	}
}

//omp:target device(smp)
//omp:task inout(a, b) in(x, y)
func HostileMinMax(n int, a, b, x, y []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		a[i] = min(x[i], y[i]) - max(y[i], x[i], 1)
		b[i] = math.FMA(x[i], y[i], a[i])
		if !(x[i] < y[i]) && x[i] != y[i] || -x[i] >= 0 {
			a[i] = math.Copysign(x[i], -y[i])
		}
	}
}

//omp:target device(smp)
//omp:task inout(x)
func HostileCount8(n int, x []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := 0
		for j := uint8(250); j >= 4; j -= 7 {
			s += int(j)
			if s > 2000+i*37 {
				break
			}
		}
		for k := int8(-128); k < 100; k += 16 {
			s ^= int(k) * i
		}
		x[i] = s
	}
}

//omp:target device(smp)
//omp:task inout(x)
func HostileToMax(n int, x []int) {
	//omp:teams distribute parallel for
	for i := math.MaxInt - n; i < math.MaxInt; i++ {
		x[math.MaxInt-1-i] = i & 0xff
	}
}

//omp:target device(smp)
//omp:task inout(x)
func HostileEdge(n int, x []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := i
		for j := math.MaxInt - 5; j < math.MaxInt-2; j += 2 {
			s += j & 7
		}
		for j := int32(math.MinInt32 + 9); j > math.MinInt32+3; j -= 3 {
			s += int(j)
		}
		x[i] = s
	}
}

//omp:target device(smp)
//omp:task inout(x, out) in(y)
func HostileLastPrivate(n int, x, y, out []int) {
	last, v := -5, -7
	//omp:teams distribute parallel for lastprivate(last, v)
	for i := 1; i < n; i += 3 {
		last = y[i] * 3
		if y[i]&1 == 0 {
			x[i] = last
		}
		v = i
	}
	out[0], out[1] = last, v
}

//omp:target device(smp)
//omp:task inout(out) in(x)
func HostileMinLoc(n int, out []int, x []float64) {
	v, at := 2.5, -1
	//omp:teams distribute parallel for reduction(minloc: (v, at))
	for i := 0; i < n; i++ {
		if x[i] < v {
			v, at = x[i], i
		}
	}
	out[0] = at
	out[1] = int(v * 1000)
}

//omp:target device(smp)
//omp:task inout(out) in(x, y)
func HostileNested(n int, out, x, y []int) {
	s, t := 3, 1<<40
	if n > 3 {
		//omp:teams distribute parallel for reduction(+: s) reduction(min: t)
		for i := 0; i < n; i++ {
			if y[i]&3 == 0 {
				s += x[i]
				if x[i] < t {
					t = x[i]
				}
			}
		}
	} else {
		//omp:teams distribute parallel for reduction(^: s)
		for i := 0; i < n; i++ {
			s ^= x[i]
		}
	}
	out[0], out[1] = s, t
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileBigLocal(n int, x, y []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var a [700]int
		for j := 0; j < 5; j++ {
			a[(y[i]+j*131)&511] += j + i
		}
		if y[i]&1 == 0 {
			b := a
			b[3] = 9
			a[4] = b[3] + b[0]
		}
		x[i] = a[y[i]&511] + a[4] + a[3]
	}
}

type hostileBox struct {
	lo, hi [3]float32
	n      uint16
	k      [2][2]int8
}

//omp:target device(smp)
//omp:task inout(p) in(y)
func HostileBoxes(n int, p []hostileBox, y []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		b := p[i]
		j := y[i] % 3
		if j < 0 {
			continue
		}
		b.lo[j], b.hi[(j+1)%3] = b.hi[j], b.lo[j]
		b.k[y[i]&1][y[i]>>1&1]++
		b.n -= uint16(j)
		if b.n&1 == 0 {
			p[i] = b
		} else {
			p[i].k = b.k
		}
	}
}

//omp:target device(smp)
//omp:task inout(c) in(a, b)
func HostileTwoTiles(n, m, l int, c, a, b []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			s := 0.0
			for k := 0; k < l; k++ {
				s += a[i*l+k] * b[k*m+j]
			}
			c[i*m+j] = s
		}
	}
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			s := c[i*m+j]
			for k := 0; k < l; k++ {
				if k > j {
					continue
				}
				s -= a[i*l+k] / b[k*m+j]
			}
			c[i*m+j] = s
		}
	}
}

//omp:target device(smp)
//omp:task inout(c) in(a)
func HostileTriangle(n int, c, a []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		//omp:simd
		for j := i; j < n; j++ {
			s := float32(0)
			for k := 0; k < i; k++ {
				s += a[i*n+k] * a[k*n+j]
			}
			c[i*n+j] = s
		}
	}
}

//omp:target device(smp)
//omp:task inout(count, x) in(y)
func HostileCapture(n int, count []int32, x, y []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		if y[i]&3 != 1 {
			var old int32
			//omp:atomic capture
			{
				old = count[y[i]&7]
				count[y[i]&7] += 3
			}
			if old < 0 {
				x[i] = 1
			}
		}
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileBounds(n int, x, y []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		if y[i]%5 == 0 {
			x[i] = y[i+y[i]]
		}
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileParts(n int, x, y []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		lo, hi := y[i]&7, y[i]>>3&7
		if lo > hi {
			continue
		}
		z := y[lo:hi]
		s := len(z)*100 + cap(z[:0])
		for _, v := range z {
			s = s*3 + v
		}
		if len(z) > 2 {
			w := z[1:2]
			s += w[:cap(w)][1]
		}
		x[i] = s
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func HostileUnsigned(n int, x []uint32, y []uint8) {
	//omp:teams distribute parallel for
	for i := uint32(0); i < uint32(n); i++ {
		j := i - 3
		if j < uint32(n) {
			x[i] = x[i]*7 + uint32(y[j]) - uint32(y[uint8(j)%uint8(1+len(y)&15)])
		} else {
			x[i] = j / (i + 1) % (j | 1)
		}
	}
}
