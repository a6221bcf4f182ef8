package vecmath

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// RotateBy turns the lower width bits of every lane. A shift by all of them leaves nothing.
func (s Integers) RotateBy(x, n x86.Reg, width int64) x86.Reg {
	n = s.And(n, s.AtBits(uint64(width-1)))
	left, right := s.NewVector(), s.NewVector()
	s.Op(s.pick(x86.VPSLLVD, x86.VPSLLVQ), s.Width, x86.RegArg(left), x86.RegArg(x), x86.RegArg(n))
	s.Op(s.pick(x86.VPSRLVD, x86.VPSRLVQ), s.Width, x86.RegArg(right), x86.RegArg(x), x86.RegArg(s.SubInts(s.ConstBits(uint64(width)), n)))
	y := s.Or(left, x86.RegArg(right))
	if width < 8*int64(s.Type.Size) {
		y = s.And(y, s.AtBits(1<<width-1))
	}
	return y
}

// product32 multiplies the lower halves of 64-bit lanes.
func (s Integers) product32(x, y x86.Reg) x86.Reg {
	r := s.NewVector()
	s.Op(x86.VPMULUDQ, s.Width, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
	return r
}

// HighProduct32 is the upper half of the products of 32-bit lanes: those of the even and of the odd
// lanes apart.
func (s Integers) HighProduct32(x, y x86.Reg) x86.Reg {
	l := s.as(ir.Uint64Type)
	even := l.ShiftRight(l.product32(x, y), 32)
	odd := l.product32(l.ShiftRight(x, 32), l.ShiftRight(y, 32))
	return l.Or(even, x86.RegArg(l.And(odd, l.AtBits(0xFFFFFFFF<<32))))
}

// HighProduct64 is the upper half of the products of 64-bit lanes.
//
// Source: Warren, "Hacker's Delight", 2nd edition, section 8-2.
func (s Integers) HighProduct64(x, y x86.Reg) x86.Reg {
	xh, yh := s.ShiftRight(x, 32), s.ShiftRight(y, 32)
	first := s.AddInts(s.product32(xh, y), s.ShiftRight(s.product32(x, y), 32))
	second := s.AddInts(s.product32(x, yh), s.And(first, s.AtBits(1<<32-1)))
	high := s.AddInts(s.product32(xh, yh), s.ShiftRight(first, 32))
	return s.AddInts(high, s.ShiftRight(second, 32))
}

// Signs has all bits set in the lanes of x that are below 0.
func (s Integers) Signs(x x86.Reg) x86.Reg {
	r := s.NewVector()
	switch {
	case s.Type.Size <= 4:
		s.Op(x86.VPSRAD, s.Width, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(31))
	case s.AVX512:
		s.Op(x86.VPSRAQ, s.Width, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(63))
	default:
		s.Op(x86.VPCMPGTQ, s.Width, x86.RegArg(r), x86.RegArg(s.ConstVector(0, 8)), x86.RegArg(x))
	}
	return r
}

// Extended copies the bit that sign names into all above it, where those are 0.
func (s Integers) Extended(x, sign x86.Reg) x86.Reg {
	return s.SubInts(s.Xor(x, x86.RegArg(sign)), sign)
}

// MulLong sets d to the low half of a product of 64-bit lanes, from products of 32-bit halves where
// there is no operation for it.
func (s Integers) MulLong(d, x, y x86.Reg) {
	if s.LongMul {
		s.Op(x86.VPMULLQ, s.Width, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y))
		return
	}
	xh, yh, a, b, low := s.NewVector(), s.NewVector(), s.NewVector(), s.NewVector(), s.NewVector()
	s.Op(x86.VPSRLQ, s.Width, x86.RegArg(xh), x86.RegArg(x), x86.ImmArg(32))
	s.Op(x86.VPSRLQ, s.Width, x86.RegArg(yh), x86.RegArg(y), x86.ImmArg(32))
	s.Op(x86.VPMULUDQ, s.Width, x86.RegArg(a), x86.RegArg(xh), x86.RegArg(y))
	s.Op(x86.VPMULUDQ, s.Width, x86.RegArg(b), x86.RegArg(x), x86.RegArg(yh))
	s.Op(x86.VPMULUDQ, s.Width, x86.RegArg(low), x86.RegArg(x), x86.RegArg(y))
	s.Op(x86.VPADDQ, s.Width, x86.RegArg(a), x86.RegArg(a), x86.RegArg(b))
	s.Op(x86.VPSLLQ, s.Width, x86.RegArg(a), x86.RegArg(a), x86.ImmArg(32))
	s.Op(x86.VPADDQ, s.Width, x86.RegArg(d), x86.RegArg(low), x86.RegArg(a))
}
