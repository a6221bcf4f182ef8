package vecmath

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Three words of pi/2; a product of the first with an integer below 2^17 or 2^20 differs from an
// argument near it by an exact number.
var (
	halfPiSingle = [3]float64{1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15}
	halfPiDouble = [3]float64{1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33}
)

// Circular is sin, cos or tan of x, up to [CircularLimit].
func (s Series) Circular(x vcode.Reg, fn ir.MathFn) vcode.Reg {
	n := s.round(s.Mul(x, s.At(2/math.Pi)))
	words := halfPiDouble
	if s.Type.Size == 4 {
		words = halfPiSingle
	}
	r := s.Copy(x)
	for _, w := range words {
		s.subProduct(r, n, s.At(w))
	}
	z := s.Mul(r, vcode.RegArg(r))
	sin, cos := s.sinPoly(r, z), s.cosPoly(z)
	quadrant := s.Add(n, s.At(s.magic())) // its low bits are those of n
	if fn == ir.Cos {
		quadrant = s.AddInts(quadrant, s.ConstBits(1))
	}
	odd := s.isOdd(quadrant)
	if fn == ir.Tan {
		top, bottom := s.Copy(sin), s.Copy(cos)
		s.Choose(top, cos, odd)
		s.Choose(bottom, s.Xor(sin, s.At(math.Copysign(0, -1))), odd)
		return s.zeroSign(s.Div(top, vcode.RegArg(bottom)), x)
	}
	out := s.Copy(sin)
	s.Choose(out, cos, odd)
	second := s.And(quadrant, s.AtBits(2))
	sign := s.ShiftLeft(second, 8*int64(s.Type.Size)-2)
	out = s.Xor(out, vcode.RegArg(sign))
	if fn == ir.Cos {
		return out
	}
	return s.zeroSign(out, x)
}

// zeroSign gives back a zero of x: the reduction loses the sign of -0.
func (s Series) zeroSign(out, x vcode.Reg) vcode.Reg {
	s.Choose(out, x, s.CompareTo(x, s.At(0), CmpEQ))
	return out
}

func (s Series) isOdd(quadrant vcode.Reg) vcode.Reg {
	low := s.ShiftLeft(quadrant, 8*int64(s.Type.Size)-1)
	if s.AVX512 {
		m := s.NewMask()
		s.Op(s.pick(vcode.VTestMaskI32, vcode.VTestMaskI64), s.Width, vcode.RegArg(m), vcode.RegArg(low), vcode.RegArg(low))
		return m
	}
	// The blend looks at the top bit of every byte: spread it.
	r := s.NewVector()
	if s.Type.Size == 4 {
		s.Op(vcode.VShiftRightI32, s.Width, vcode.RegArg(r), vcode.RegArg(low), vcode.ImmArg(31))
		return r
	}
	zero := s.Xor(low, vcode.RegArg(low))
	s.Op(vcode.VGreaterI64, s.Width, vcode.RegArg(r), vcode.RegArg(zero), vcode.RegArg(low))
	return r
}

func (s Series) sinPoly(r, z vcode.Reg) vcode.Reg {
	c := []float64{-0.16666666666666666, 0.008333333333333331, -0.0001984126984126506, 2.7557319219335453e-06, -2.5052106231157904e-08, 1.605853141458901e-10, -7.586685070091267e-13}
	if s.Type.Size == 4 {
		c = []float64{-0.16666666663853044, 0.008333331873837089, -0.00019840086263755443, 2.7249864655139585e-06}
	}
	p := s.Polynomial(z, c...)
	p = s.Mul(p, vcode.RegArg(z))
	s.FMA(p, r, vcode.RegArg(r))
	return p
}

func (s Series) cosPoly(z vcode.Reg) vcode.Reg {
	c := []float64{0.041666666666666664, -0.0013888888888888887, 2.4801587301584645e-05, -2.755731922140076e-07, 2.0876755790363397e-09, -1.1470460773969325e-11, 4.7458652037874553e-14}
	if s.Type.Size == 4 {
		c = []float64{0.04166666666431933, -0.0013888887671288108, 2.480059998353171e-05, -2.7300908167996537e-07}
	}
	p := s.Polynomial(z, c...)
	p = s.Mul(p, vcode.RegArg(z))
	// below 1, where the last place is half of that above: the other way round, 1 + p would lose a
	// whole one of the result
	half := s.Const(1)
	s.subProduct(half, z, s.At(0.5))
	s.FMA(p, z, vcode.RegArg(half))
	return p
}

// CircularLimit is the largest argument that is reduced here.
func CircularLimit(t *ir.Type) float64 {
	if t.Size == 8 {
		return 1e6
	}
	return 1e5
}
