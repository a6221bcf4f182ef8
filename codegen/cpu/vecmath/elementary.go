package vecmath

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// Coefficients of (exp(r) - 1 - r) / r^2 for |r| <= ln2/2.
var (
	expSingle = []float64{0.500000001346581, 0.16666666681623232, 0.041666464925285904, 0.0083333109254809, 0.0013933649996309251, 0.00019890990824673654}
	expDouble = []float64{0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136, 0.0013888888888883748, 0.00019841269874820627,
		2.4801587325547743e-05, 2.7557255400206422e-06, 2.75572736431103e-07, 2.5105217004720745e-08, 2.0914686968086876e-09}
	expDoubleFast = []float64{0.4999999999995507, 0.16666666666662583, 0.041666666786337556, 0.008333333344209506, 0.001388883909064138,
		0.00019841224581544105, 2.4867883453521802e-05, 2.761757684835413e-06}
)

func (s Series) expPoly(r vcode.Reg) vcode.Reg {
	c := expDouble
	switch {
	case s.Type.Size == 4:
		c = expSingle
	case s.FastMath:
		c = expDoubleFast
	}
	q := s.Polynomial(r, c...)
	s.FMA(q, r, s.At(1))
	s.FMA(q, r, s.At(1))
	return q
}

// Ln2 returns the two words of ln 2; the first is short, so that its product with an exponent is
// exact.
func (s Series) Ln2() (high, low float64) {
	if s.Type.Size == 4 {
		return 0.693359375, -2.12194440e-4
	}
	return 6.93147180369123816490e-01, 1.90821492927058770002e-10
}

// Exp is 2^n * e^r.
func (s Series) Exp(x vcode.Reg) vcode.Reg {
	lo, hi := -746.0, 711.0
	if s.Type.Size == 4 {
		lo, hi = -105, 90
	}
	x = s.clamp(x, lo, hi)
	n := s.round(s.Mul(x, s.At(math.Log2E)))
	high, low := s.Ln2()
	r := s.Copy(x)
	s.subProduct(r, n, s.At(high))
	s.subProduct(r, n, s.At(low))
	return s.scale(s.expPoly(r), n)
}

// Exp2 is 2^x.
func (s Series) Exp2(x vcode.Reg) vcode.Reg {
	lo, hi := -1080.0, 1025.0
	if s.Type.Size == 4 {
		lo, hi = -151, 129
	}
	x = s.clamp(x, lo, hi)
	n := s.round(x)
	return s.scale(s.expPoly(s.Mul(s.Sub(x, vcode.RegArg(n)), s.At(math.Ln2))), n)
}

// Log takes exponent and mantissa apart, the mantissa m in [sqrt(1/2), sqrt(2)), and with f = m-1,
// s = f/(2+f): log m = f - (f*f/2 - s*(f*f/2 + R(s*s))). The result is e*unit + log(m)*factor.
func (s Series) Log(x vcode.Reg, unit, factor float64) vcode.Reg {
	m, e := s.split(x)
	f := s.Sub(m, s.At(1))
	half := s.Mul(s.Mul(f, vcode.RegArg(f)), s.At(0.5))
	q := s.Div(f, vcode.RegArg(s.Add(f, s.At(2))))
	z := s.Mul(q, vcode.RegArg(q))
	var p vcode.Reg
	if s.Type.Size == 4 {
		p = s.Polynomial(z, 0.66666662693, 0.40000972152, 0.28498786688, 0.24279078841)
	} else {
		p = s.Polynomial(z, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
			1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01)
	}
	s.FMA(p, z, vcode.RegArg(half)) // half + R
	var out vcode.Reg
	if factor == 1 {
		high, low := s.Ln2()
		out = s.Mul(e, s.At(low))
		s.AddProduct(out, q, vcode.RegArg(p))
		out = s.Sub(half, vcode.RegArg(out))
		out = s.Sub(f, vcode.RegArg(out))
		s.AddProduct(out, e, s.At(high))
	} else {
		t := s.Mul(q, vcode.RegArg(p))
		t = s.Sub(half, vcode.RegArg(t))
		t = s.Sub(f, vcode.RegArg(t))
		out = s.Mul(t, s.At(factor))
		s.AddProduct(out, e, s.At(unit))
	}
	return s.logSpecials(out, x)
}

// split is x = m * 2^e, m in [sqrt(1/2), sqrt(2)), for positive finite x.
func (s Series) split(x vcode.Reg) (m, e vcode.Reg) {
	var big vcode.Reg
	if s.AVX512 {
		m, e = s.NewVector(), s.NewVector()
		s.Op(s.pick(vcode.VMantissaF32, vcode.VMantissaF64), s.Width, vcode.RegArg(m), vcode.RegArg(x), vcode.ImmArg(0)) // [1, 2)
		s.Op(s.pick(vcode.VExponentF32, vcode.VExponentF64), s.Width, vcode.RegArg(e), vcode.RegArg(x))
	} else {
		m, e = s.splitByBits(x)
	}
	big = s.CompareTo(m, s.At(math.Sqrt2), CmpGE)
	half, up := s.Mul(m, s.At(0.5)), s.Add(e, s.At(1))
	s.Choose(m, half, big)
	s.Choose(e, up, big)
	return m, e
}

func (s Series) splitByBits(x vcode.Reg) (m, e vcode.Reg) {
	tiny, up, bias := math.Ldexp(1, -126), 25.0, 127.0
	if s.Type.Size == 8 {
		tiny, up, bias = math.Ldexp(1, -1022), 54, 1023
	}
	small := s.CompareTo(x, s.At(tiny), CmpLT)
	y := s.Copy(x)
	s.Choose(y, s.Mul(x, s.At(math.Ldexp(1, int(up)))), small)
	exponent := s.ShiftRight(y, s.Mantissa())
	e = s.Sub(s.Or(exponent, s.At(s.magic()/1.5)), s.At(s.magic()/1.5+bias))
	s.Choose(e, s.Sub(e, s.At(up)), small)
	one := s.bits(1)
	m = s.And(y, s.AtBits(1<<s.Mantissa()-1))
	return s.Or(m, s.AtBits(one)), e
}

// logSpecials: 0 gives -Inf, negative numbers NaN, +Inf and NaN themselves.
func (s Series) logSpecials(out, x vcode.Reg) vcode.Reg {
	s.Choose(out, s.Const(math.Inf(-1)), s.CompareTo(x, s.At(0), CmpEQ))
	s.Choose(out, s.ConstBits(s.bits(math.NaN())), s.CompareTo(x, s.At(0), CmpLT))
	s.Choose(out, x, s.CompareTo(x, s.At(math.Inf(1)), CmpEQ))
	s.Choose(out, x, s.CompareTo(x, vcode.RegArg(x), cmpUNORD))
	return out
}

// Tanh is a rational below 0.625, else 1 - 2/(e^2x + 1).
func (s Series) Tanh(x vcode.Reg) vcode.Reg {
	sign := s.And(x, s.At(math.Copysign(0, -1)))
	a := s.Xor(x, vcode.RegArg(sign))
	z := s.Mul(a, vcode.RegArg(a))
	var small vcode.Reg
	if s.Type.Size == 4 {
		small = s.Polynomial(z, -3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2, 2.06390887954e-2, -5.70498872745e-3)
	} else {
		p := s.Polynomial(z, -1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1)
		q := s.Polynomial(z, 4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1)
		small = s.Div(p, vcode.RegArg(q))
	}
	zx := s.Mul(z, vcode.RegArg(a))
	s.FMA(small, zx, vcode.RegArg(a))
	e := s.Exp(s.Add(a, vcode.RegArg(a)))
	out := s.Sub(s.Const(1), vcode.RegArg(s.Div(s.Const(2), vcode.RegArg(s.Add(e, s.At(1))))))
	s.Choose(out, small, s.CompareTo(a, s.At(0.625), CmpLT))
	return s.Or(out, vcode.RegArg(sign))
}

// Erf is a rational of x*x near 0, one of |x|-1 around 1, and 1 - exp(-x*x)*(a rational of 1/(x*x))
// beyond.
func (s Series) Erf(x vcode.Reg) vcode.Reg {
	sign := s.And(x, s.At(math.Copysign(0, -1)))
	a := s.Xor(x, vcode.RegArg(sign))
	z := s.Mul(a, vcode.RegArg(a))
	low := s.Div(s.Polynomial(z, 1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02, -5.77027029648944159157e-03, -2.37630166566501626084e-05),
		vcode.RegArg(s.Polynomial(z, 1, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03, 1.32494738004321644526e-04, -3.96022827877536812320e-06)))
	s.FMA(low, a, vcode.RegArg(a))
	t := s.Sub(a, s.At(1))
	mid := s.Div(s.Polynomial(t, -2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01, 3.18346619901161753674e-01,
		-1.10894694282396677476e-01, 3.54783043256182359371e-02, -2.16637559486879084300e-03),
		vcode.RegArg(s.Polynomial(t, 1, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02, 1.26171219808761642112e-01,
			1.36370839120290507362e-02, 1.19844998467991074170e-02)))
	mid = s.Add(mid, s.At(8.45062911510467529297e-01))
	out := s.erfTail(a, z)
	s.Choose(out, mid, s.CompareTo(a, s.At(1.25), CmpLT))
	s.Choose(out, low, s.CompareTo(a, s.At(0.84375), CmpLT))
	return s.Or(out, vcode.RegArg(sign))
}

func (s Series) erfTail(a, z vcode.Reg) vcode.Reg {
	far := s.clamp(a, 1.25, 6.5) // erf rounds to 1 from 6 on
	zz := s.Mul(far, vcode.RegArg(far))
	w := s.Div(s.Const(1), vcode.RegArg(zz))
	near := s.Div(s.Polynomial(w, -9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01, -6.23753324503260060396e+01,
		-1.62396669462573470355e+02, -1.84605092906711035994e+02, -8.12874355063065934246e+01, -9.81432934416914548592e+00),
		vcode.RegArg(s.Polynomial(w, 1, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02, 6.45387271733267880336e+02,
			4.29008140027567833386e+02, 1.08635005541779435134e+02, 6.57024977031928170135e+00, -6.04244152148580987438e-02)))
	beyond := s.Div(s.Polynomial(w, -9.86494292470009928597e-03, -7.99283237680523006573e-01, -1.77579549177547519889e+01, -1.60636384855821916062e+02,
		-6.37566443368389627722e+02, -1.02509513161107724954e+03, -4.83519191608651397019e+02),
		vcode.RegArg(s.Polynomial(w, 1, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03, 3.19985821950859553908e+03,
			2.55305040643316442583e+03, 4.74528541206955367215e+02, -2.24409524465858183362e+01)))
	s.Choose(near, beyond, s.CompareTo(far, s.At(1/0.35), CmpGE))
	// -x*x - 0.5625 + R/S: the square loses nothing that matters, since the whole is a small part
	// of 1.
	power := s.Add(near, s.At(-0.5625))
	power = s.Sub(power, vcode.RegArg(zz))
	e := s.Exp(power)
	out := s.Sub(s.Const(1), vcode.RegArg(s.Div(e, vcode.RegArg(far))))
	s.Choose(out, a, s.CompareTo(a, vcode.RegArg(a), cmpUNORD))
	return out
}
