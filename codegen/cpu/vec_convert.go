package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// toLong cuts float64 to lanes of 64 bits, of which a uint32 is the lower half.
func (s series) toLong(x x86.Reg, to *ir.Type) x86.Reg {
	r := x86.NoReg
	switch {
	case s.avx512 && to.Kind == ir.Uint64:
		return s.toUnsigned(x)
	case s.avx512:
		r = s.NewVector()
		s.Op(x86.VCVTTPD2QQ, s.w, x86.RegArg(r), x86.RegArg(x))
	default:
		l := s.as(ir.Uint64Type)
		var exponent, sign x86.Reg
		r, exponent, sign = l.whole(x)
		l.limitWhole(r, exponent, sign, to.Kind == ir.Uint64)
	}
	return r
}

// toUnsigned cuts to int64 what is below 2^63, and else what is above that.
func (s series) toUnsigned(x x86.Reg) x86.Reg {
	large := s.compareTo(x, s.at(1<<63), cmpNLT) // NaN too
	y := s.copy(x)
	s.choose(y, s.sub(x, s.at(1<<63)), large)
	r := s.NewVector()
	s.Op(x86.VCVTTPD2QQ, s.w, x86.RegArg(r), x86.RegArg(y))
	s.choose(r, s.or(r, s.atBits(1<<63)), large)
	return r
}

// whole shifts the mantissa of a float, in lanes of its size, to where its last bit counts 1: left or right, as a shift past the width leaves
// nothing. exponent is how far, to the left; sign has all bits set below 0. What has no bits in the lane is 0.
func (s series) whole(x x86.Reg) (v, exponent, sign x86.Reg) {
	mantissa := int64(23)
	bias := int64(127)
	if s.t.Size == 8 {
		mantissa, bias = 52, 1023
	}
	width := 8 * int64(s.t.Size)
	hidden := uint64(1) << mantissa
	exponent = s.subInts(s.and(s.shiftRight(x, mantissa), s.atBits(1<<(width-1-mantissa)-1)), s.cBits(uint64(bias+mantissa)))
	m := s.or(s.and(x, s.atBits(hidden-1)), s.atBits(hidden))
	left, right := s.NewVector(), s.NewVector()
	s.Op(s.pick(x86.VPSLLVD, x86.VPSLLVQ), s.w, x86.RegArg(left), x86.RegArg(m), x86.RegArg(exponent))
	s.Op(s.pick(x86.VPSRLVD, x86.VPSRLVQ), s.w, x86.RegArg(right), x86.RegArg(m), x86.RegArg(s.subInts(s.cBits(0), exponent)))
	sign = s.signs(x)
	v = s.subInts(s.xor(s.or(left, x86.RegArg(right)), x86.RegArg(sign)), sign)
	return v, exponent, sign
}

// limitWhole overwrites with the upper bit alone the lanes whose numbers do not fit: the mantissa of 53 bits is shifted by at most 10, or 11 where there
// is no sign.
func (s series) limitWhole(v, exponent, sign x86.Reg, unsigned bool) {
	most := s.cBits(10)
	if unsigned {
		most = s.addInts(s.cBits(11), sign)
	}
	m := s.NewVector()
	s.Op(x86.VPCMPGTQ, s.w, x86.RegArg(m), x86.RegArg(exponent), x86.RegArg(most))
	s.Op(x86.VPBLENDVB, s.w, x86.RegArg(v), x86.RegArg(v), x86.RegArg(s.cBits(math.Float64bits(math.Copysign(0, -1)))), x86.RegArg(m))
}

func (s series) toSingle(x x86.Reg) x86.Reg {
	r := s.NewVector()
	s.Op(x86.VCVTDQ2PS, s.w, x86.RegArg(r), x86.RegArg(x))
	return r
}

// fromLong puts the halves of x where the mantissas of 2^84 and 2^52 end, and takes these away again.
func (s series) fromLong(x x86.Reg, signed bool) x86.Reg {
	top, bias := math.Float64bits(1<<84), float64(1<<84+1<<52)
	if signed { // a half that counts from -2^31 on
		top, bias = top|1<<31, bias+1<<63
	}
	high := s.xor(s.shiftRight(x, 32), s.atBits(top))
	low := s.or(s.and(x, s.atBits(1<<32-1)), s.at(1<<52))
	return s.add(s.sub(high, s.at(bias)), x86.RegArg(low))
}
