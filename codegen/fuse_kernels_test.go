package codegen_test

import (
	"math"

	"github.com/gompss/gompss/codegen/kernel"
)

// The kernels in this file say contract. What they compute on every target is not what their Go functions compute, but what the
// functions of fuse_oracle_test.go do, in which every fused operation is written out.

//omp:target device(acc, smp) contract
//omp:task in(px, py, pz) inout(vx[lo:hi], vy[lo:hi], vz[lo:hi])
func FuseNBody(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		var fx, fy, fz float32
		for j := range px {
			dx, dy, dz := px[j]-px[i], py[j]-py[i], pz[j]-pz[i]
			inv := 1 / kernel.Sqrt(dx*dx+dy*dy+dz*dz+1e-9)
			inv3 := inv * inv * inv
			fx += dx * inv3
			fy += dy * inv3
			fz += dz * inv3
		}
		vx[i] += dt * fx
		vy[i] += dt * fy
		vz[i] += dt * fz
	}
}

//omp:target device(acc, smp) contract
//omp:task in(px, py, pz) inout(vx, vy, vz)
func FuseNBodySum(dt float64, px, py, pz, vx, vy, vz []float64) {
	//omp:teams distribute parallel for
	for i := range px {
		var fx, fy, fz float64
		//omp:simd reduction(+: fx, fy, fz)
		for j := range px {
			dx, dy, dz := px[j]-px[i], py[j]-py[i], pz[j]-pz[i]
			inv := kernel.Rsqrt(dx*dx + dy*dy + dz*dz + 1e-9)
			inv3 := inv * inv * inv
			fx += dx * inv3
			fy += dy * inv3
			fz += dz * inv3
		}
		vx[i] += dt * fx
		vy[i] += dt * fy
		vz[i] += dt * fz
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a, b) inout(c)
func FuseMatMul(n int, c, a, b []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			s := c[i*n+j]
			for k := 0; k < n; k++ {
				s += a[i*n+k] * b[k*n+j]
			}
			c[i*n+j] = s
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a, b) inout(c)
func FuseMatMulInPlace(n int, alpha float64, c, a, b []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for k := 0; k < n; k++ {
			x := alpha * a[i*n+k]
			for j := 0; j < n; j++ {
				c[i*n+j] -= x * b[k*n+j]
			}
		}
	}
}

func horner[T kernel.Float](x T, c [5]T) T {
	s := c[4]
	for k := 3; k >= 0; k-- {
		s = s*x + c[k]
	}
	return s
}

//omp:target device(acc, smp) contract
//omp:task inout(x, y)
func FusePolynomial(x []float64, y []float32) {
	//omp:teams distribute parallel for
	for i := range x {
		v := horner(x[i], [5]float64{0.1, -0.7, 1.3, -2.1, 1})
		w := horner(y[i], [5]float32{0.1, -0.7, 1.3, -2.1, 1})
		x[i] = 1 + v*(0.5+v*(-0.25+v*0.125))
		y[i] = ((0.3*w+0.7)*w-0.1)*w - 2
	}
}

type fuseComplex struct{ re, im float32 }

func (a fuseComplex) times(b fuseComplex) fuseComplex {
	return fuseComplex{a.re*b.re - a.im*b.im, a.re*b.im + a.im*b.re}
}

func (a fuseComplex) plus(b fuseComplex) fuseComplex { return fuseComplex{a.re + b.re, a.im + b.im} }

func (a fuseComplex) norm() float32 { return a.re*a.re + a.im*a.im }

//omp:target device(acc, smp) contract
//omp:task in(a, b) inout(c) out(n)
func FuseComplex(a, b, c []fuseComplex, n []float32) {
	//omp:teams distribute parallel for
	for i := range c {
		p := a[i].times(b[i])
		c[i] = p.plus(c[i])
		c[i].re += p.im * b[i].re
		n[i] = c[i].norm() - b[i].norm()
	}
}

func fuseTimes(x, y float32) float32 { return x * y }

func fusePlus(x, y float32) float32 { return x + y }

func fuseBoth(x, y float32) (product, sum float32) { return x * y, x + y }

func fuseEarly(x, y float32) float32 {
	if x < 0 {
		return x * y
	}
	return x*y + 1
}

func fuseStore(p *float32, x float32) { *p += x }

//omp:target device(acc, smp) contract
//omp:task in(x, y, u, v) inout(out)
func FuseForms(out [][24]float32, x, y, u, v []float32) {
	//omp:teams distribute parallel for
	for i := range out {
		a, b, c, d := x[i], y[i], u[i], v[i]
		o := out[i]
		o[0] = a*b + c*d // the left one
		o[1] = a*b - c*d
		o[2] = c - a*b
		o[3] = -(a * b) + c
		o[4] = c - -(a * b)
		o[5] = -(a * b) - c*d
		o[6] = float32(a*b) + c // rounded
		o[7] = float32(a*b) + c*d
		o[8] += a * b
		o[9] -= a * b
		o[10] += a*b + c // two sums
		t := a * b       // read once
		o[11] = c + t
		w := a * b // read twice
		o[12] = c + w
		o[13] = d - w
		s := a * b
		a = 7
		neg := -s
		o[14] = d - neg // the product of before a changed
		a = x[i]
		o[15] = fusePlus(fuseTimes(a, b), c*d)
		o[16] = fuseEarly(a, b) + c*d
		p, q := fuseBoth(a, d)
		o[17] = p + q
		o[18] = a*1 + b*c*d + c*2
		f := func(r float32) float32 { return a * r }
		o[19] = c + f(d)
		var z float32
		o[20] = max(a*b, c) + d
		z = c * d
		o[21] = z - b
		var e float32
		if a > 0 {
			e = a * b
		}
		o[22] = e + c // assigned twice: 0 and the product
		fuseStore(&o[23], a*d)
		out[i] = o
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, y) inout(out)
func FuseFlow(out, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range out {
		s, t := out[i], x[i]*y[i]
		square := func(v float64) float64 { return v * v }
		for n := 0; square(s)+float64(n) < 9 && n < 20; n++ {
			s += t // each time
			if s < 0 {
				s = 0.25 - s*y[i]
				continue
			}
			if n > 15 {
				break
			}
			g := s * 0.5
			switch {
			case n%3 == 0:
				s = g + y[i]
			case n%3 == 1:
				s -= x[i] * 0.1
			default:
				s += float64(float32(s*x[i])) * y[i]
			}
		}
		out[i] = s
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, y) inout(out)
func FuseTeam(n int, out, x, y []float32) {
	//omp:teams distribute
	for r := 0; r < n; r++ {
		scale := x[r] * y[0] // of the team, read once by each thread
		x0 := x[r]
		//omp:parallel for
		for j := 0; j < n; j++ {
			out[r*n+j] += scale
		}
		//omp:parallel for
		for j := 0; j < n; j++ {
			out[r*n+j] = y[j]*out[r*n+j] - x0*y[j]
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, y) inout(out)
func FuseAtomic(out, x, y []float32) {
	//omp:teams distribute parallel for
	for i := range out {
		//omp:atomic
		out[i] += x[i] * y[i] // rounded: the sum is the memory's
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, y) inout(out)
func FuseDot(x, y, out []float64) {
	s := out[0]
	//omp:teams distribute parallel for reduction(+: s)
	for i := range x {
		s += x[i] * y[i]
	}
	out[0] = s
}

//omp:target device(acc, smp) contract
//omp:task in(x, y) inout(out)
func FuseNothing(out, x, y []float32) {
	//omp:teams distribute parallel for
	for i := range out {
		out[i] = float32(x[i]*y[i]) - (x[i]+y[i])*out[i]/3
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a) out(b)
func FuseStencil(n, m int, b, a []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 1; i < n-1; i++ {
		for j := 1; j < m-1; j++ {
			b[i*m+j] = 0.5*a[i*m+j] + 0.125*(a[(i-1)*m+j]+a[(i+1)*m+j]) + 0.1*a[i*m+j-1] - a[i*m+j+1]*0.15
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(w) inout(x)
func FuseBits(x []float32, w []uint32) {
	//omp:teams distribute parallel for
	for i := range x {
		bits := w[i]&0x807fffff | 0x3f000000
		s := math.Float32frombits(bits) + x[i]*3
		t := math.Float32frombits(bits) - x[i]*x[i]
		x[i] = s - t*math.Float32frombits(bits)
		x[i] = (math.Float32frombits(bits) + x[i]*3) * 2 / math.Float32frombits(bits) // bits stay what they are
	}
}
