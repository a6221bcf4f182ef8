package codegen_test

import (
	"math"
	"math/rand/v2"

	"github.com/gompss/gompss/codegen/kernel"
)

// The kernels of fuse_kernels_test.go with every fused operation written out, by the rules of DIALECT.md section 5. Products that are
// rounded before they meet a sum are converted, so that Go's compiler fuses none where it does.

func fma[T kernel.Float](x, y, z T) T { return kernel.FMA(x, y, z) }

func fusedNBody(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
	for i := lo; i < hi; i++ {
		var fx, fy, fz float32
		for j := range px {
			dx, dy, dz := px[j]-px[i], py[j]-py[i], pz[j]-pz[i]
			inv := 1 / kernel.Sqrt(fma(dz, dz, fma(dx, dx, float32(dy*dy)))+1e-9)
			inv3 := inv * inv * inv
			fx, fy, fz = fma(dx, inv3, fx), fma(dy, inv3, fy), fma(dz, inv3, fz)
		}
		vx[i], vy[i], vz[i] = fma(dt, fx, vx[i]), fma(dt, fy, vy[i]), fma(dt, fz, vz[i])
	}
}

func fusedNBodySum(dt float64, px, py, pz, vx, vy, vz []float64) {
	for i := range px {
		var fx, fy, fz float64
		for j := range px {
			dx, dy, dz := px[j]-px[i], py[j]-py[i], pz[j]-pz[i]
			inv := kernel.Rsqrt(fma(dz, dz, fma(dx, dx, float64(dy*dy))) + 1e-9)
			inv3 := inv * inv * inv
			fx, fy, fz = fma(dx, inv3, fx), fma(dy, inv3, fy), fma(dz, inv3, fz)
		}
		vx[i], vy[i], vz[i] = fma(dt, fx, vx[i]), fma(dt, fy, vy[i]), fma(dt, fz, vz[i])
	}
}

func fusedMatMul(n int, c, a, b []float32) {
	for i := range n {
		for j := range n {
			for k := range n {
				c[i*n+j] = fma(a[i*n+k], b[k*n+j], c[i*n+j])
			}
		}
	}
}

func fusedMatMulInPlace(n int, alpha float64, c, a, b []float64) {
	for i := range n {
		for j := range n {
			for k := range n {
				c[i*n+j] = fma(-float64(alpha*a[i*n+k]), b[k*n+j], c[i*n+j])
			}
		}
	}
}

func fusedHorner[T kernel.Float](x T, c [5]T) T {
	return fma(fma(fma(fma(c[4], x, c[3]), x, c[2]), x, c[1]), x, c[0])
}

func fusedPolynomial(x []float64, y []float32) {
	for i := range x {
		v := fusedHorner(x[i], [5]float64{0.1, -0.7, 1.3, -2.1, 1})
		w := fusedHorner(y[i], [5]float32{0.1, -0.7, 1.3, -2.1, 1})
		x[i] = fma(v, fma(v, fma(v, 0.125, -0.25), 0.5), 1)
		y[i] = fma(fma(fma(0.3, w, 0.7), w, -0.1), w, -2)
	}
}

func fusedComplex(a, b, c []fuseComplex, n []float32) {
	norm := func(z fuseComplex) float32 { return fma(z.re, z.re, float32(z.im*z.im)) }
	for i := range c {
		re := fma(a[i].re, b[i].re, -float32(a[i].im*b[i].im))
		im := fma(a[i].re, b[i].im, float32(a[i].im*b[i].re))
		c[i] = fuseComplex{fma(im, b[i].re, re+c[i].re), im + c[i].im}
		n[i] = norm(c[i]) - norm(b[i])
	}
}

func fusedForms(out [][24]float32, x, y, u, v []float32) {
	for i := range out {
		a, b, c, d := x[i], y[i], u[i], v[i]
		ab, cd := float32(a*b), float32(c*d)
		before := out[i]
		early := fma(a, b, 1)
		e := ab
		if a < 0 {
			early = ab
		}
		if a <= 0 {
			e = 0
		}
		out[i] = [24]float32{fma(a, b, cd), fma(a, b, -cd), fma(-a, b, c), fma(-a, b, c), fma(a, b, c), fma(-a, b, -cd), ab + c, fma(c, d, ab),
			fma(a, b, before[8]), fma(-a, b, before[9]), before[10] + fma(a, b, c), fma(a, b, c), c + ab, d - ab, fma(a, b, d), fma(a, b, cd),
			fma(c, d, early), fma(a, d, a+d), fma(c, 2, fma(a, 1, float32(float32(b*c)*d))), fma(a, d, c), max(ab, c) + d, fma(c, d, -b), e + c, fma(a, d, before[23])}
	}
}

func fusedFlow(out, x, y []float64) {
	for i := range out {
		s := out[i]
		for n := 0; fma(s, s, float64(n)) < 9 && n < 20; n++ {
			s = fma(x[i], y[i], s)
			if s < 0 {
				s = fma(-s, y[i], 0.25)
				continue
			}
			if n > 15 {
				break
			}
			switch n % 3 {
			case 0:
				s = fma(s, 0.5, y[i])
			case 1:
				s = fma(-x[i], 0.1, s)
			default:
				s = fma(float64(float32(float64(s*x[i]))), y[i], s)
			}
		}
		out[i] = s
	}
}

func fusedTeam(n int, out, x, y []float32) {
	for r := range n {
		for j := range n {
			o := fma(x[r], y[0], out[r*n+j])
			out[r*n+j] = fma(y[j], o, -float32(x[r]*y[j]))
		}
	}
}

func fusedAtomic(out, x, y []float32) {
	for i := range out {
		out[i] += float32(x[i] * y[i])
	}
}

func fusedDot(x, y, out []float64) {
	for i := range x {
		out[0] = fma(x[i], y[i], out[0])
	}
}

func fusedNothing(out, x, y []float32) {
	for i := range out {
		out[i] = float32(x[i]*y[i]) - float32((x[i]+y[i])*out[i])/3
	}
}

func fusedStencil(n, m int, b, a []float32) {
	for i := 1; i < n-1; i++ {
		for j := 1; j < m-1; j++ {
			around := a[(i-1)*m+j] + a[(i+1)*m+j]
			b[i*m+j] = fma(-a[i*m+j+1], 0.15, fma(0.1, a[i*m+j-1], fma(0.5, a[i*m+j], float32(0.125*around))))
		}
	}
}

func fusedBits(x []float32, w []uint32) {
	for i := range x {
		bits := math.Float32frombits(w[i]&0x807fffff | 0x3f000000)
		s, t := fma(x[i], 3, bits), fma(-x[i], x[i], bits)
		x[i] = fma(fma(-t, bits, s), 3, bits) * 2 / bits
	}
}

// fuseCases are the kernels of fuse_kernels_test.go, with their oracles.
var fuseCases = []corpusCase{
	{kernel: FuseNBody, oracle: fusedNBody, args: func(n int, r *rand.Rand) []any {
		list := []any{n / 5, n, float32(0.01)}
		for range 6 {
			list = append(list, floats[float32](r, n))
		}
		return list
	}},
	{kernel: FuseNBodySum, oracle: fusedNBodySum, tolerance: 1e-9, args: func(n int, r *rand.Rand) []any {
		list := []any{0.01}
		for range 6 {
			list = append(list, floats[float64](r, n))
		}
		return list
	}},
	{kernel: FuseMatMul, oracle: fusedMatMul, args: func(n int, r *rand.Rand) []any { return matrices[float32](r, side(n), nil, 3) }},
	{kernel: FuseMatMulInPlace, oracle: fusedMatMulInPlace, args: func(n int, r *rand.Rand) []any { return matrices[float64](r, side(n), []any{1.5}, 3) }},
	{kernel: FusePolynomial, oracle: fusedPolynomial, args: func(n int, r *rand.Rand) []any { return []any{floats[float64](r, n), floats[float32](r, n)} }},
	{kernel: FuseComplex, oracle: fusedComplex, args: func(n int, r *rand.Rand) []any {
		numbers := func() []fuseComplex {
			out := make([]fuseComplex, n)
			for i := range out {
				out[i] = fuseComplex{r.Float32() - 0.5, r.Float32() - 0.5}
			}
			return out
		}
		return []any{numbers(), numbers(), numbers(), make([]float32, n)}
	}},
	{kernel: FuseForms, oracle: fusedForms, args: func(n int, r *rand.Rand) []any {
		out := make([][24]float32, n)
		for i := range out {
			copy(out[i][:], floats[float32](r, len(out[i])))
		}
		return []any{out, floats[float32](r, n), floats[float32](r, n), floats[float32](r, n), floats[float32](r, n)}
	}},
	{kernel: FuseFlow, oracle: fusedFlow, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float64](r, n), floats[float64](r, n), floats[float64](r, n)}
	}},
	{kernel: FuseTeam, oracle: fusedTeam, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, floats[float32](r, s*s), floats[float32](r, s), floats[float32](r, s)}
	}},
	{kernel: FuseAtomic, oracle: fusedAtomic, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float32](r, n), floats[float32](r, n), floats[float32](r, n)}
	}},
	{kernel: FuseDot, oracle: fusedDot, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float64](r, n), floats[float64](r, n), floats[float64](r, 1)}
	}},
	{kernel: FuseNothing, oracle: fusedNothing, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float32](r, n), floats[float32](r, n), floats[float32](r, n)}
	}},
	{kernel: FuseStencil, oracle: fusedStencil, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 1, make([]float32, s*(s+1)), floats[float32](r, s*(s+1))}
	}},
	{kernel: FuseBits, oracle: fusedBits, args: func(n int, r *rand.Rand) []any {
		words := make([]uint32, n)
		for i := range words {
			words[i] = r.Uint32()
		}
		return []any{floats[float32](r, n), words}
	}},
}

func init() { corpus = append(corpus, fuseCases...) }
