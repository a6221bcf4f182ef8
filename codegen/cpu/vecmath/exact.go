package vecmath

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/vcode"
)

func (s Series) sign(x vcode.Reg) vcode.Reg { return s.And(x, s.At(math.Copysign(0, -1))) }

func (s Series) magnitude(x vcode.Reg) vcode.Reg {
	return s.And(x, s.AtBits(1<<(8*uint(s.Type.Size)-1)-1))
}

// CopySign is x with the sign of y.
func (s Series) CopySign(x, y vcode.Reg) vcode.Reg {
	return s.Or(s.magnitude(x), vcode.RegArg(s.sign(y)))
}

// truncated cuts a float to an integer.
func (s Series) truncated(x vcode.Reg) vcode.Reg {
	r, op := s.NewVector(), s.pick(vcode.VRoundF32, vcode.VRoundF64)
	if s.AVX512 {
		op = s.pick(vcode.VRoundScaleF32, vcode.VRoundScaleF64)
	}
	s.Op(op, s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.ImmArg(11))
	return r
}

// RoundAway is the nearest integer, ties away from 0: what cutting takes off is exact.
func (s Series) RoundAway(x vcode.Reg) vcode.Reg {
	r := s.truncated(x)
	half := s.CompareTo(s.magnitude(s.Sub(x, vcode.RegArg(r))), s.At(0.5), CmpGE)
	away := s.Add(r, vcode.RegArg(s.Or(s.sign(x), s.At(1))))
	s.Choose(r, away, half)
	return r
}

// Excess is x-y, or 0 where that is less.
func (s Series) Excess(x, y vcode.Reg) vcode.Reg {
	const cmpLE = 0x12
	r := s.Sub(x, vcode.RegArg(y))
	s.Choose(r, s.Const(0), s.CompareTo(r, s.At(0), cmpLE))
	return r
}

// Hypot is the larger one times the root of 1 and the square of the quotient, as Go has it. Where
// the instructions return their second operand if one is a NaN, one of them keeps it, as they are
// called in both orders.
func (s Series) Hypot(x, y vcode.Reg) vcode.Reg {
	x, y = s.magnitude(x), s.magnitude(y)
	most, least := s.greatest(x, y), s.least(y, x)
	q := s.Div(least, vcode.RegArg(most))
	square := s.Add(s.Mul(q, vcode.RegArg(q)), s.At(1))
	root := s.NewVector()
	s.Op(s.pick(vcode.VSqrtF32, vcode.VSqrtF64), s.Width, vcode.RegArg(root), vcode.RegArg(square))
	r := s.Mul(most, vcode.RegArg(root))
	s.Choose(r, s.Add(most, vcode.RegArg(least)), s.CompareTo(most, s.At(0), CmpEQ))
	s.Choose(r, x, s.CompareTo(x, s.At(math.Inf(1)), CmpEQ))
	s.Choose(r, y, s.CompareTo(y, s.At(math.Inf(1)), CmpEQ))
	return r
}

// Modulo is the rest of x / y with the sign of x. The rounded quotient, cut, is right or one too
// large, and x less its product is exact in both cases.
func (s Series) Modulo(x, y vcode.Reg) (r, quotient vcode.Reg) {
	r, quotient = s.rest(s.magnitude(x), s.magnitude(y))
	return s.Or(r, vcode.RegArg(s.sign(x))), quotient
}

// rest is x % y of numbers without a sign.
func (s Series) rest(x, y vcode.Reg) (r, quotient vcode.Reg) {
	quotient = s.truncated(s.Div(x, vcode.RegArg(y)))
	r = s.Copy(x)
	s.subProduct(r, quotient, vcode.RegArg(y))
	s.Choose(r, s.Add(r, vcode.RegArg(y)), s.CompareTo(r, s.At(0), CmpLT))
	s.Choose(r, x, s.CompareTo(quotient, s.At(0), CmpEQ)) // y may be infinite
	return r, quotient
}

// Remainder is x less the multiple of y that is nearest, the even one of two: y is taken away from
// the rest by 2y up to twice.
func (s Series) Remainder(x, y vcode.Reg) (r, quotient vcode.Reg) {
	y = s.magnitude(y)
	r, quotient = s.rest(s.magnitude(x), s.Add(y, vcode.RegArg(y)))
	far := s.CompareTo(r, vcode.RegArg(s.Sub(y, vcode.RegArg(r))), CmpGT)
	s.Choose(r, s.Sub(r, vcode.RegArg(y)), far)
	again := s.Both(far, s.CompareTo(r, vcode.RegArg(s.Sub(y, vcode.RegArg(r))), CmpGE))
	s.Choose(r, s.Sub(r, vcode.RegArg(y)), again)
	return s.Xor(r, vcode.RegArg(s.sign(x))), quotient
}
