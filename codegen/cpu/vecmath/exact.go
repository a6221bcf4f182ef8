package vecmath

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/x86"
)

func (s Series) sign(x x86.Reg) x86.Reg { return s.And(x, s.At(math.Copysign(0, -1))) }

func (s Series) magnitude(x x86.Reg) x86.Reg { return s.And(x, s.AtBits(1<<(8*uint(s.Type.Size)-1)-1)) }

// CopySign is x with the sign of y.
func (s Series) CopySign(x, y x86.Reg) x86.Reg { return s.Or(s.magnitude(x), x86.RegArg(s.sign(y))) }

// truncated cuts a float to an integer.
func (s Series) truncated(x x86.Reg) x86.Reg {
	r, op := s.NewVector(), s.pick(x86.VROUNDPS, x86.VROUNDPD)
	if s.AVX512 {
		op = s.pick(x86.VRNDSCALEPS, x86.VRNDSCALEPD)
	}
	s.Op(op, s.Width, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(11))
	return r
}

// RoundAway is the nearest integer, ties away from 0: what cutting takes off is exact.
func (s Series) RoundAway(x x86.Reg) x86.Reg {
	r := s.truncated(x)
	half := s.CompareTo(s.magnitude(s.Sub(x, x86.RegArg(r))), s.At(0.5), CmpGE)
	away := s.Add(r, x86.RegArg(s.Or(s.sign(x), s.At(1))))
	s.Choose(r, away, half)
	return r
}

// Excess is x-y, or 0 where that is less.
func (s Series) Excess(x, y x86.Reg) x86.Reg {
	const cmpLE = 0x12
	r := s.Sub(x, x86.RegArg(y))
	s.Choose(r, s.Const(0), s.CompareTo(r, s.At(0), cmpLE))
	return r
}

// Hypot is the larger one times the root of 1 and the square of the quotient, as Go has it. The
// instructions return their second operand where one is a NaN: called in both orders, one of them
// keeps it.
func (s Series) Hypot(x, y x86.Reg) x86.Reg {
	x, y = s.magnitude(x), s.magnitude(y)
	most, least := s.Two(x86.VMAXPS, x86.VMAXPD, x, x86.RegArg(y)), s.Two(x86.VMINPS, x86.VMINPD, y, x86.RegArg(x))
	q := s.Div(least, x86.RegArg(most))
	square := s.Add(s.Mul(q, x86.RegArg(q)), s.At(1))
	root := s.NewVector()
	s.Op(s.pick(x86.VSQRTPS, x86.VSQRTPD), s.Width, x86.RegArg(root), x86.RegArg(square))
	r := s.Mul(most, x86.RegArg(root))
	s.Choose(r, s.Add(most, x86.RegArg(least)), s.CompareTo(most, s.At(0), CmpEQ))
	s.Choose(r, x, s.CompareTo(x, s.At(math.Inf(1)), CmpEQ))
	s.Choose(r, y, s.CompareTo(y, s.At(math.Inf(1)), CmpEQ))
	return r
}

// Modulo is the rest of x / y with the sign of x. The rounded quotient, cut, is right or one too
// large, and x less its product is exact in both cases.
func (s Series) Modulo(x, y x86.Reg) (r, quotient x86.Reg) {
	r, quotient = s.rest(s.magnitude(x), s.magnitude(y))
	return s.Or(r, x86.RegArg(s.sign(x))), quotient
}

// rest is x % y of numbers without a sign.
func (s Series) rest(x, y x86.Reg) (r, quotient x86.Reg) {
	quotient = s.truncated(s.Div(x, x86.RegArg(y)))
	r = s.Copy(x)
	s.subProduct(r, quotient, x86.RegArg(y))
	s.Choose(r, s.Add(r, x86.RegArg(y)), s.CompareTo(r, s.At(0), CmpLT))
	s.Choose(r, x, s.CompareTo(quotient, s.At(0), CmpEQ)) // y may be infinite
	return r, quotient
}

// Remainder is x less the multiple of y that is nearest, the even one of two: y is taken away from
// the rest by 2y up to twice.
func (s Series) Remainder(x, y x86.Reg) (r, quotient x86.Reg) {
	y = s.magnitude(y)
	r, quotient = s.rest(s.magnitude(x), s.Add(y, x86.RegArg(y)))
	far := s.CompareTo(r, x86.RegArg(s.Sub(y, x86.RegArg(r))), CmpGT)
	s.Choose(r, s.Sub(r, x86.RegArg(y)), far)
	again := s.Both(far, s.CompareTo(r, x86.RegArg(s.Sub(y, x86.RegArg(r))), CmpGE))
	s.Choose(r, s.Sub(r, x86.RegArg(y)), again)
	return s.Xor(r, x86.RegArg(s.sign(x))), quotient
}
