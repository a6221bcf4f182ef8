package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/x86"
)

func (s series) sign(x x86.Reg) x86.Reg { return s.and(x, s.at(math.Copysign(0, -1))) }

func (s series) magnitude(x x86.Reg) x86.Reg { return s.and(x, s.atBits(1<<(8*uint(s.t.Size)-1)-1)) }

func (s series) copySign(x, y x86.Reg) x86.Reg { return s.or(s.magnitude(x), x86.RegArg(s.sign(y))) }

// truncated cuts a float to an integer.
func (s series) truncated(x x86.Reg) x86.Reg {
	r, op := s.NewVector(), s.pick(x86.VROUNDPS, x86.VROUNDPD)
	if s.avx512 {
		op = s.pick(x86.VRNDSCALEPS, x86.VRNDSCALEPD)
	}
	s.Op(op, s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(11))
	return r
}

// roundAway is the nearest integer, ties away from 0: what cutting takes off is exact.
func (s series) roundAway(x x86.Reg) x86.Reg {
	r := s.truncated(x)
	half := s.compareTo(s.magnitude(s.sub(x, x86.RegArg(r))), s.at(0.5), cmpGE)
	away := s.add(r, x86.RegArg(s.or(s.sign(x), s.at(1))))
	s.choose(r, away, half)
	return r
}

// excess is x-y, or 0 where that is less.
func (s series) excess(x, y x86.Reg) x86.Reg {
	const cmpLE = 0x12
	r := s.sub(x, x86.RegArg(y))
	s.choose(r, s.c(0), s.compareTo(r, s.at(0), cmpLE))
	return r
}

// hypot is the larger one times the root of 1 and the square of the quotient, as Go has it. The instructions return their second operand where one is
// a NaN: called in both orders, one of them keeps it.
func (s series) hypot(x, y x86.Reg) x86.Reg {
	x, y = s.magnitude(x), s.magnitude(y)
	most, least := s.two(x86.VMAXPS, x86.VMAXPD, x, x86.RegArg(y)), s.two(x86.VMINPS, x86.VMINPD, y, x86.RegArg(x))
	q := s.div(least, x86.RegArg(most))
	square := s.add(s.mul(q, x86.RegArg(q)), s.at(1))
	root := s.NewVector()
	s.Op(s.pick(x86.VSQRTPS, x86.VSQRTPD), s.w, x86.RegArg(root), x86.RegArg(square))
	r := s.mul(most, x86.RegArg(root))
	s.choose(r, s.add(most, x86.RegArg(least)), s.compareTo(most, s.at(0), cmpEQ))
	s.choose(r, x, s.compareTo(x, s.at(math.Inf(1)), cmpEQ))
	s.choose(r, y, s.compareTo(y, s.at(math.Inf(1)), cmpEQ))
	return r
}

// modulo is the rest of x / y with the sign of x. The rounded quotient, cut, is right or one too large, and x less its product is exact in both cases.
func (s series) modulo(x, y x86.Reg) (r, quotient x86.Reg) {
	r, quotient = s.rest(s.magnitude(x), s.magnitude(y))
	return s.or(r, x86.RegArg(s.sign(x))), quotient
}

// rest is x % y of numbers without a sign.
func (s series) rest(x, y x86.Reg) (r, quotient x86.Reg) {
	quotient = s.truncated(s.div(x, x86.RegArg(y)))
	r = s.copy(x)
	s.subProduct(r, quotient, x86.RegArg(y))
	s.choose(r, s.add(r, x86.RegArg(y)), s.compareTo(r, s.at(0), cmpLT))
	s.choose(r, x, s.compareTo(quotient, s.at(0), cmpEQ)) // y may be infinite
	return r, quotient
}

// remainder is x less the multiple of y that is nearest, the even one of two: y is taken away from the rest by 2y up to twice.
func (s series) remainder(x, y x86.Reg) (r, quotient x86.Reg) {
	y = s.magnitude(y)
	r, quotient = s.rest(s.magnitude(x), s.add(y, x86.RegArg(y)))
	far := s.compareTo(r, x86.RegArg(s.sub(y, x86.RegArg(r))), cmpGT)
	s.choose(r, s.sub(r, x86.RegArg(y)), far)
	again := s.both(far, s.compareTo(r, x86.RegArg(s.sub(y, x86.RegArg(r))), cmpGE))
	s.choose(r, s.sub(r, x86.RegArg(y)), again)
	return s.xor(r, x86.RegArg(s.sign(x))), quotient
}
