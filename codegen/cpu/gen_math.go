package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Functions by polynomial. The bound is in units in the last place of the exact result, over the whole range; math_test.go holds them to it.
// NaN, infinities, zeros of both signs and subnormal numbers give what Go's functions give. Under fastmath the bound of DIALECT.md holds with
// room to spare, so the same code serves both.
//
// Source: the ranges and rationals of log, tanh and erf are those of fdlibm and Cephes as in Go's package math; exp, sin and cos interpolate
// at Chebyshev nodes.
var mathBounds = map[ir.MathFn]struct{ single, double float64 }{
	ir.Exp: {1.5, 1.5}, ir.Exp2: {1.5, 1.5}, ir.Log: {1.5, 1.5}, ir.Log2: {2.5, 2.5}, ir.Log10: {2.5, 2.5}, ir.Sin: {2, 2}, ir.Cos: {2, 2},
	ir.Tan: {4, 4}, ir.Tanh: {3, 3}, ir.Erf: {3.5, 3.5}, ir.Rsqrt: {2, 2}, ir.Pow: {1.5, 1.5}, ir.Hypot: {2, 2},
}

// MathBound is the largest error of the vector code of fn in units in the last place, and whether it has any: other functions are
// computed by Go, lane by lane.
func MathBound(fn ir.MathFn, t *ir.Type) (ulp float64, ok bool) {
	b, ok := mathBounds[fn]
	if t.Size == 4 {
		return b.single, ok
	}
	return b.double, ok
}

// A series is selection of float arithmetic on one vector. Results are fresh registers unless a method says that it overwrites.
type series struct {
	*gen
	t *ir.Type
	w x86.Width
}

func (g *gen) series(t *ir.Type) series { return series{g, t, g.width(t)} }

func (s series) bits(v float64) uint64 {
	if s.t.Size == 4 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

// at is a constant as a memory operand.
func (s series) at(v float64) x86.Arg { return s.atBits(s.bits(v)) }

func (s series) atBits(bits uint64) x86.Arg {
	size := int(s.t.Size)
	if s.avx512 {
		return x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(s.poolOnce(bits, size, 1)), Broadcast: true})
	}
	return x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(s.poolOnce(bits, size, s.w.Bytes()/size))})
}

// poolOnce puts n copies of a constant into the pool, and does so once.
func (g *gen) poolOnce(bits uint64, size, n int) int {
	key := constKey{bits: bits, size: size, iota: -int64(n)}
	if at, ok := g.pooled[key]; ok {
		return at
	}
	at := g.PoolWord(bits, size)
	for range n - 1 {
		g.PoolWord(bits, size)
	}
	g.pooled[key] = at
	return at
}

// c is a constant in a fresh register.
func (s series) c(v float64) x86.Reg { return s.cBits(s.bits(v)) }

func (s series) cBits(bits uint64) x86.Reg {
	r := s.NewVector()
	op := x86.VBROADCASTSS
	if s.t.Size == 8 {
		op = x86.VBROADCASTSD
	}
	s.Op(op, max(s.w, map[bool]x86.Width{true: x86.W256, false: x86.W128}[s.t.Size == 8]), x86.RegArg(r), x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(s.poolOnce(bits, int(s.t.Size), 1))}))
	return r
}

func (s series) two(single, double x86.Op, x x86.Reg, y x86.Arg) x86.Reg {
	r := s.NewVector()
	s.Op(pick(s.t, single, double), s.w, x86.RegArg(r), x86.RegArg(x), y)
	return r
}

func (s series) add(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VADDPS, x86.VADDPD, x, y) }
func (s series) sub(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VSUBPS, x86.VSUBPD, x, y) }
func (s series) mul(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VMULPS, x86.VMULPD, x, y) }
func (s series) div(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VDIVPS, x86.VDIVPD, x, y) }
func (s series) and(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VANDPS, x86.VANDPD, x, y) }
func (s series) or(x x86.Reg, y x86.Arg) x86.Reg  { return s.two(x86.VORPS, x86.VORPD, x, y) }
func (s series) xor(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VXORPS, x86.VXORPD, x, y) }

// clamp brings x into [lo, hi]; a NaN stays: the instructions return their second source then.
func (s series) clamp(x x86.Reg, lo, hi float64) x86.Reg {
	a := s.two(x86.VMINPS, x86.VMINPD, s.c(hi), x86.RegArg(x))
	return s.two(x86.VMAXPS, x86.VMAXPD, s.c(lo), x86.RegArg(a))
}

// fma overwrites p with p*x + c.
func (s series) fma(p, x x86.Reg, c x86.Arg) {
	s.Op(pick(s.t, x86.VFMADD213PS, x86.VFMADD213PD), s.w, x86.RegArg(p), x86.RegArg(x), c)
}

// addProduct overwrites p with p + x*y.
func (s series) addProduct(p, x x86.Reg, y x86.Arg) {
	s.Op(pick(s.t, x86.VFMADD231PS, x86.VFMADD231PD), s.w, x86.RegArg(p), x86.RegArg(x), y)
}

// subProduct overwrites p with p - x*y.
func (s series) subProduct(p, x x86.Reg, y x86.Arg) {
	s.Op(pick(s.t, x86.VFNMADD231PS, x86.VFNMADD231PD), s.w, x86.RegArg(p), x86.RegArg(x), y)
}

func (s series) copy(x x86.Reg) x86.Reg {
	r := s.NewVector()
	s.Op(x86.VMOVUPSStore, s.w, x86.RegArg(r), x86.RegArg(x))
	return r
}

// poly is c[0] + c[1]*x + ...
func (s series) poly(x x86.Reg, c ...float64) x86.Reg {
	p := s.c(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		s.fma(p, x, s.at(c[i]))
	}
	return p
}

// round is the nearest integer, ties to even.
func (s series) round(x x86.Reg) x86.Reg {
	r := s.NewVector()
	if s.avx512 {
		s.Op(pick(s.t, x86.VRNDSCALEPS, x86.VRNDSCALEPD), s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(8))
	} else {
		s.Op(pick(s.t, x86.VROUNDPS, x86.VROUNDPD), s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(8))
	}
	return r
}

// Predicates of VCMPPS.
const (
	cmpEQ    = 0x00
	cmpLT    = 0x11
	cmpUNORD = 0x03
	cmpGT    = 0x1E
	cmpGE    = 0x1D
	cmpNLT   = 0x15 // not less: true for NaN too, as the next one
	cmpNGE   = 0x19
)

// compareTo is the lanes where x and y stand as the predicate says; in the lane size of the type.
func (s series) compareTo(x x86.Reg, y x86.Arg, predicate int64) x86.Reg {
	m := s.newMask()
	s.Op(pick(s.t, x86.VCMPPS, x86.VCMPPD), s.w, x86.RegArg(m), x86.RegArg(x), y, x86.ImmArg(predicate))
	return m
}

// choose overwrites d with x in the lanes of m, which has the lane size of the type.
func (s series) choose(d, x, m x86.Reg) {
	if s.avx512 {
		s.Emit(x86.I(pick(s.t, x86.VMOVUPSStore, x86.VMOVUPDStore), s.w, x86.RegArg(d), x86.RegArg(x)).Masked(m, false))
		return
	}
	s.Op(x86.VPBLENDVB, s.w, x86.RegArg(d), x86.RegArg(d), x86.RegArg(x), x86.RegArg(m))
}

// integers of the lane's size
func (s series) shiftLeft(x x86.Reg, n int64) x86.Reg {
	r := s.NewVector()
	s.Op(pick(s.t, x86.VPSLLD, x86.VPSLLQ), s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(n))
	return r
}

func (s series) shiftRight(x x86.Reg, n int64) x86.Reg {
	r := s.NewVector()
	s.Op(pick(s.t, x86.VPSRLD, x86.VPSRLQ), s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(n))
	return r
}

func (s series) addInts(x, y x86.Reg) x86.Reg { return s.two(x86.VPADDD, x86.VPADDQ, x, x86.RegArg(y)) }

// magic is what brings a small integer, as a float, into the low bits of the sum.
func (s series) magic() float64 {
	if s.t.Size == 4 {
		return 1.5 * (1 << 23)
	}
	return 1.5 * (1 << 52)
}

func (s series) mantissa() int64 {
	if s.t.Size == 4 {
		return 23
	}
	return 52
}

// scale is p * 2^n for an integer n as a float, with gradual underflow. Without AVX-512 it goes in two steps, each of which fits.
func (s series) scale(p, n x86.Reg) x86.Reg {
	if s.avx512 {
		return s.two(x86.VSCALEFPS, x86.VSCALEFPD, p, x86.RegArg(n))
	}
	half := s.NewVector()
	s.Op(pick(s.t, x86.VROUNDPS, x86.VROUNDPD), s.w, x86.RegArg(half), x86.RegArg(s.mul(n, s.at(0.5))), x86.ImmArg(9))
	rest := s.sub(n, x86.RegArg(half))
	return s.mul(s.mul(p, x86.RegArg(s.power(half))), x86.RegArg(s.power(rest)))
}

// power is 2^n for an integer n as a float, in the range of normal exponents.
func (s series) power(n x86.Reg) x86.Reg {
	bias := float64(127)
	if s.t.Size == 8 {
		bias = 1023
	}
	return s.shiftLeft(s.add(n, s.at(s.magic()+bias)), s.mantissa())
}

// vecPolynomial selects a function by polynomial; ok is false where it has none.
func (g *gen) vecPolynomial(dst []x86.Reg, e *ir.Math) (out []x86.Reg, ok bool) {
	s := g.series(e.T)
	f := map[ir.MathFn]func(x x86.Reg) x86.Reg{
		ir.Exp:   func(x x86.Reg) x86.Reg { return s.exp(x) },
		ir.Exp2:  func(x x86.Reg) x86.Reg { return s.exp2(x) },
		ir.Log:   func(x x86.Reg) x86.Reg { return s.log(x, math.Ln2, 1) },
		ir.Log2:  func(x x86.Reg) x86.Reg { return s.log(x, 1, math.Log2E) },
		ir.Log10: func(x x86.Reg) x86.Reg { return s.log(x, math.Log10E*math.Ln2, math.Log10E) },
		ir.Tanh:  s.tanh,
		ir.Erf:   s.erf,
	}[e.Fn]
	if f != nil || e.Fn == ir.Sin || e.Fn == ir.Cos || e.Fn == ir.Tan || e.Fn == ir.Pow {
		ulp, _ := MathBound(e.Fn, e.T)
		g.note("%s of %s by polynomial, at most %g ulp", e.Fn, e.T, ulp)
	}
	if e.Fn == ir.Sin || e.Fn == ir.Cos || e.Fn == ir.Tan {
		return g.vecCircular(e), true
	}
	if e.Fn == ir.Pow {
		return g.vecPower(e), true
	}
	if f == nil {
		return nil, false
	}
	x := g.vec(e.Args[0])
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) { g.move(d, f(x)) }), true
}

// Coefficients of (exp(r) - 1 - r) / r^2 for |r| <= ln2/2.
var (
	expSingle = []float64{0.500000001346581, 0.16666666681623232, 0.041666464925285904, 0.0083333109254809, 0.0013933649996309251, 0.00019890990824673654}
	expDouble = []float64{0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136, 0.0013888888888883748, 0.00019841269874820627,
		2.4801587325547743e-05, 2.7557255400206422e-06, 2.75572736431103e-07, 2.5105217004720745e-08, 2.0914686968086876e-09}
	expDoubleFast = []float64{0.4999999999995507, 0.16666666666662583, 0.041666666786337556, 0.008333333344209506, 0.001388883909064138,
		0.00019841224581544105, 2.4867883453521802e-05, 2.761757684835413e-06}
)

func (s series) expPoly(r x86.Reg) x86.Reg {
	c := expDouble
	switch {
	case s.t.Size == 4:
		c = expSingle
	case s.kernel.Target.FastMath:
		c = expDoubleFast
	}
	q := s.poly(r, c...)
	s.fma(q, r, s.at(1))
	s.fma(q, r, s.at(1))
	return q
}

// Two words of ln 2; the first is short, so that its product with an exponent is exact.
func (s series) ln2() (high, low float64) {
	if s.t.Size == 4 {
		return 0.693359375, -2.12194440e-4
	}
	return 6.93147180369123816490e-01, 1.90821492927058770002e-10
}

// exp is 2^n * e^r.
func (s series) exp(x x86.Reg) x86.Reg {
	lo, hi := -746.0, 711.0
	if s.t.Size == 4 {
		lo, hi = -105, 90
	}
	x = s.clamp(x, lo, hi)
	n := s.round(s.mul(x, s.at(math.Log2E)))
	high, low := s.ln2()
	r := s.copy(x)
	s.subProduct(r, n, s.at(high))
	s.subProduct(r, n, s.at(low))
	return s.scale(s.expPoly(r), n)
}

func (s series) exp2(x x86.Reg) x86.Reg {
	lo, hi := -1080.0, 1025.0
	if s.t.Size == 4 {
		lo, hi = -151, 129
	}
	x = s.clamp(x, lo, hi)
	n := s.round(x)
	return s.scale(s.expPoly(s.mul(s.sub(x, x86.RegArg(n)), s.at(math.Ln2))), n)
}

// log takes exponent and mantissa apart, the mantissa m in [sqrt(1/2), sqrt(2)), and with f = m-1, s = f/(2+f):
// log m = f - (f*f/2 - s*(f*f/2 + R(s*s))). The result is e*unit + log(m)*factor.
func (s series) log(x x86.Reg, unit, factor float64) x86.Reg {
	m, e := s.split(x)
	f := s.sub(m, s.at(1))
	half := s.mul(s.mul(f, x86.RegArg(f)), s.at(0.5))
	q := s.div(f, x86.RegArg(s.add(f, s.at(2))))
	z := s.mul(q, x86.RegArg(q))
	var p x86.Reg
	if s.t.Size == 4 {
		p = s.poly(z, 0.66666662693, 0.40000972152, 0.28498786688, 0.24279078841)
	} else {
		p = s.poly(z, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
			1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01)
	}
	s.fma(p, z, x86.RegArg(half)) // half + R
	var out x86.Reg
	if factor == 1 {
		high, low := s.ln2()
		out = s.mul(e, s.at(low))
		s.addProduct(out, q, x86.RegArg(p))
		out = s.sub(half, x86.RegArg(out))
		out = s.sub(f, x86.RegArg(out))
		s.addProduct(out, e, s.at(high))
	} else {
		t := s.mul(q, x86.RegArg(p))
		t = s.sub(half, x86.RegArg(t))
		t = s.sub(f, x86.RegArg(t))
		out = s.mul(t, s.at(factor))
		s.addProduct(out, e, s.at(unit))
	}
	return s.logSpecials(out, x)
}

// split is x = m * 2^e, m in [sqrt(1/2), sqrt(2)), for positive finite x.
func (s series) split(x x86.Reg) (m, e x86.Reg) {
	var big x86.Reg
	if s.avx512 {
		m, e = s.NewVector(), s.NewVector()
		s.Op(pick(s.t, x86.VGETMANTPS, x86.VGETMANTPD), s.w, x86.RegArg(m), x86.RegArg(x), x86.ImmArg(0)) // [1, 2)
		s.Op(pick(s.t, x86.VGETEXPPS, x86.VGETEXPPD), s.w, x86.RegArg(e), x86.RegArg(x))
	} else {
		m, e = s.splitByBits(x)
	}
	big = s.compareTo(m, s.at(math.Sqrt2), cmpGE)
	half, up := s.mul(m, s.at(0.5)), s.add(e, s.at(1))
	s.choose(m, half, big)
	s.choose(e, up, big)
	return m, e
}

func (s series) splitByBits(x x86.Reg) (m, e x86.Reg) {
	tiny, up, bias := math.Ldexp(1, -126), 25.0, 127.0
	if s.t.Size == 8 {
		tiny, up, bias = math.Ldexp(1, -1022), 54, 1023
	}
	small := s.compareTo(x, s.at(tiny), cmpLT)
	y := s.copy(x)
	s.choose(y, s.mul(x, s.at(math.Ldexp(1, int(up)))), small)
	exponent := s.shiftRight(y, s.mantissa())
	e = s.sub(s.or(exponent, s.at(s.magic()/1.5)), s.at(s.magic()/1.5+bias))
	s.choose(e, s.sub(e, s.at(up)), small)
	one := s.bits(1)
	m = s.and(y, s.atBits(1<<s.mantissa()-1))
	return s.or(m, s.atBits(one)), e
}

// logSpecials: 0 gives -Inf, negative numbers NaN, +Inf and NaN themselves.
func (s series) logSpecials(out, x x86.Reg) x86.Reg {
	s.choose(out, s.c(math.Inf(-1)), s.compareTo(x, s.at(0), cmpEQ))
	s.choose(out, s.cBits(s.bits(math.NaN())), s.compareTo(x, s.at(0), cmpLT))
	s.choose(out, x, s.compareTo(x, s.at(math.Inf(1)), cmpEQ))
	s.choose(out, x, s.compareTo(x, x86.RegArg(x), cmpUNORD))
	return out
}

// tanh: a rational below 0.625, else 1 - 2/(e^2x + 1).
func (s series) tanh(x x86.Reg) x86.Reg {
	sign := s.and(x, s.at(math.Copysign(0, -1)))
	a := s.xor(x, x86.RegArg(sign))
	z := s.mul(a, x86.RegArg(a))
	var small x86.Reg
	if s.t.Size == 4 {
		small = s.poly(z, -3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2, 2.06390887954e-2, -5.70498872745e-3)
	} else {
		p := s.poly(z, -1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1)
		q := s.poly(z, 4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1)
		small = s.div(p, x86.RegArg(q))
	}
	zx := s.mul(z, x86.RegArg(a))
	s.fma(small, zx, x86.RegArg(a))
	e := s.exp(s.add(a, x86.RegArg(a)))
	out := s.sub(s.c(1), x86.RegArg(s.div(s.c(2), x86.RegArg(s.add(e, s.at(1))))))
	s.choose(out, small, s.compareTo(a, s.at(0.625), cmpLT))
	return s.or(out, x86.RegArg(sign))
}

// erf: a rational of x*x near 0, one of |x|-1 around 1, and 1 - exp(-x*x)*(a rational of 1/(x*x)) beyond.
func (s series) erf(x x86.Reg) x86.Reg {
	sign := s.and(x, s.at(math.Copysign(0, -1)))
	a := s.xor(x, x86.RegArg(sign))
	z := s.mul(a, x86.RegArg(a))
	low := s.div(s.poly(z, 1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02, -5.77027029648944159157e-03, -2.37630166566501626084e-05),
		x86.RegArg(s.poly(z, 1, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03, 1.32494738004321644526e-04, -3.96022827877536812320e-06)))
	s.fma(low, a, x86.RegArg(a))
	t := s.sub(a, s.at(1))
	mid := s.div(s.poly(t, -2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01, 3.18346619901161753674e-01,
		-1.10894694282396677476e-01, 3.54783043256182359371e-02, -2.16637559486879084300e-03),
		x86.RegArg(s.poly(t, 1, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02, 1.26171219808761642112e-01,
			1.36370839120290507362e-02, 1.19844998467991074170e-02)))
	mid = s.add(mid, s.at(8.45062911510467529297e-01))
	out := s.erfTail(a, z)
	s.choose(out, mid, s.compareTo(a, s.at(1.25), cmpLT))
	s.choose(out, low, s.compareTo(a, s.at(0.84375), cmpLT))
	return s.or(out, x86.RegArg(sign))
}

func (s series) erfTail(a, z x86.Reg) x86.Reg {
	far := s.clamp(a, 1.25, 6.5) // erf rounds to 1 from 6 on
	zz := s.mul(far, x86.RegArg(far))
	w := s.div(s.c(1), x86.RegArg(zz))
	near := s.div(s.poly(w, -9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01, -6.23753324503260060396e+01,
		-1.62396669462573470355e+02, -1.84605092906711035994e+02, -8.12874355063065934246e+01, -9.81432934416914548592e+00),
		x86.RegArg(s.poly(w, 1, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02, 6.45387271733267880336e+02,
			4.29008140027567833386e+02, 1.08635005541779435134e+02, 6.57024977031928170135e+00, -6.04244152148580987438e-02)))
	beyond := s.div(s.poly(w, -9.86494292470009928597e-03, -7.99283237680523006573e-01, -1.77579549177547519889e+01, -1.60636384855821916062e+02,
		-6.37566443368389627722e+02, -1.02509513161107724954e+03, -4.83519191608651397019e+02),
		x86.RegArg(s.poly(w, 1, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03, 3.19985821950859553908e+03,
			2.55305040643316442583e+03, 4.74528541206955367215e+02, -2.24409524465858183362e+01)))
	s.choose(near, beyond, s.compareTo(far, s.at(1/0.35), cmpGE))
	// -x*x - 0.5625 + R/S: the square loses nothing that matters, since the whole is a small part of 1.
	power := s.add(near, s.at(-0.5625))
	power = s.sub(power, x86.RegArg(zz))
	e := s.exp(power)
	out := s.sub(s.c(1), x86.RegArg(s.div(e, x86.RegArg(far))))
	s.choose(out, a, s.compareTo(a, x86.RegArg(a), cmpUNORD))
	return out
}
