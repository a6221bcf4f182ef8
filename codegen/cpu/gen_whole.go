package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Floats are cut to integers as Go's compiler has it on amd64: to int32, and cut from that for smaller types; to int64 for the longer ones, of which
// uint32 is the lower half. A uint64 from 2^63 on is what lies above that, with the upper bit. What does not fit gives the integer with the upper bit
// alone.

// floatToInt truncates.
func (g *gen) floatToInt(dst, x []x86.Reg, from, to *ir.Type) []x86.Reg {
	switch {
	case to.Kind == ir.Int32 || to.Size < 4:
		out := g.widen(dst, x, from, to, map[bool]x86.Op{true: x86.VCVTTPS2DQ, false: x86.VCVTTPD2DQ}[from.Size == 4])
		if to.Size < 4 {
			return g.lift(nil, out, out, func(d, x, _ x86.Reg) { g.move(d, x); g.wrap(d, to) })
		}
		return out
	case to.Kind == ir.Int64 && g.avx512:
		return g.widen(dst, x, from, to, map[bool]x86.Op{true: x86.VCVTTPS2QQ, false: x86.VCVTTPD2QQ}[from.Size == 4])
	case to.Kind == ir.Uint32 && from.Size == 4:
		s := series{g, ir.Uint32Type, g.width(to)}
		return g.lift(dst, x, x, func(d, x, _ x86.Reg) { v, _, _ := s.whole(x); g.move(d, v) })
	}
	if from.Size == 4 {
		x = g.widen(nil, x, from, ir.Float64Type, x86.VCVTPS2PD)
	}
	s := series{g, ir.Float64Type, widthOf(8 * min(g.lanes, g.bytes/8))}
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) { g.move(d, s.toLong(x, to)) })
}

// toLong cuts float64 to lanes of 64 bits, or to the lower halves of these.
func (s series) toLong(x x86.Reg, to *ir.Type) x86.Reg {
	r := x86.NoReg
	switch {
	case s.avx512 && to.Kind == ir.Uint64:
		return s.toUnsigned(x)
	case s.avx512:
		r = s.NewVector()
		s.Op(x86.VCVTTPD2QQ, s.w, x86.RegArg(r), x86.RegArg(x))
	default:
		l := series{s.gen, ir.Uint64Type, s.w}
		var exponent, sign x86.Reg
		r, exponent, sign = l.whole(x)
		l.limitWhole(r, exponent, sign, to.Kind == ir.Uint64)
	}
	if to.Size == 8 {
		return r
	}
	d := s.NewVector()
	s.lowHalves(d, r)
	return d
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
	s.Op(pick(s.t, x86.VPSLLVD, x86.VPSLLVQ), s.w, x86.RegArg(left), x86.RegArg(m), x86.RegArg(exponent))
	s.Op(pick(s.t, x86.VPSRLVD, x86.VPSRLVQ), s.w, x86.RegArg(right), x86.RegArg(m), x86.RegArg(s.subInts(s.cBits(0), exponent)))
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
