package vecmath

import (
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// RotateBy turns the lower width bits of every lane. A shift by all of them leaves nothing.
func (s Integers) RotateBy(x, n vcode.Reg, width int64) vcode.Reg {
	n = s.And(n, s.AtBits(uint64(width-1)))
	left, right := s.NewVector(), s.NewVector()
	s.Op(s.pick(vcode.VShiftLeftEachI32, vcode.VShiftLeftEachI64), s.Width, vcode.RegArg(left), vcode.RegArg(x), vcode.RegArg(n))
	s.Op(s.pick(vcode.VShiftRightEachU32, vcode.VShiftRightEachU64), s.Width, vcode.RegArg(right), vcode.RegArg(x), vcode.RegArg(s.SubInts(s.ConstBits(uint64(width)), n)))
	y := s.Or(left, vcode.RegArg(right))
	if width < 8*int64(s.Type.Size) {
		y = s.And(y, s.AtBits(1<<width-1))
	}
	return y
}

// product32 multiplies the lower halves of 64-bit lanes.
func (s Integers) product32(x, y vcode.Reg) vcode.Reg {
	r := s.NewVector()
	s.Op(vcode.VMulWideU32, s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(y))
	return r
}

// HighProduct32 is the upper half of the products of 32-bit lanes: those of the even and of the odd
// lanes apart.
func (s Integers) HighProduct32(x, y vcode.Reg) vcode.Reg {
	l := s.as(ir.Uint64Type)
	even := l.ShiftRight(l.product32(x, y), 32)
	odd := l.product32(l.ShiftRight(x, 32), l.ShiftRight(y, 32))
	return l.Or(even, vcode.RegArg(l.And(odd, l.AtBits(0xFFFFFFFF<<32))))
}

// HighProduct64 is the upper half of the products of 64-bit lanes.
//
// Source: Warren, "Hacker's Delight", 2nd edition, section 8-2.
func (s Integers) HighProduct64(x, y vcode.Reg) vcode.Reg {
	xh, yh := s.ShiftRight(x, 32), s.ShiftRight(y, 32)
	first := s.AddInts(s.product32(xh, y), s.ShiftRight(s.product32(x, y), 32))
	second := s.AddInts(s.product32(x, yh), s.And(first, s.AtBits(1<<32-1)))
	high := s.AddInts(s.product32(xh, yh), s.ShiftRight(first, 32))
	return s.AddInts(high, s.ShiftRight(second, 32))
}

// Signs has all bits set in the lanes of x that are below 0.
func (s Integers) Signs(x vcode.Reg) vcode.Reg {
	r := s.NewVector()
	switch {
	case s.Type.Size <= 4:
		s.Op(vcode.VShiftRightI32, s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.ImmArg(31))
	case s.AVX512:
		s.Op(vcode.VShiftRightI64, s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.ImmArg(63))
	default:
		s.Op(vcode.VGreaterI64, s.Width, vcode.RegArg(r), vcode.RegArg(s.ConstVector(0, 8)), vcode.RegArg(x))
	}
	return r
}

// Extended copies the bit that sign names into all above it, where those are 0.
func (s Integers) Extended(x, sign vcode.Reg) vcode.Reg {
	return s.SubInts(s.Xor(x, vcode.RegArg(sign)), sign)
}

// MulLong sets d to the low half of a product of 64-bit lanes, from products of 32-bit halves where
// there is no operation for it.
func (s Integers) MulLong(d, x, y vcode.Reg) {
	if s.Extra&LongProducts != 0 {
		s.Op(vcode.VMulI64, s.Width, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y))
		return
	}
	xh, yh, a, b, low := s.NewVector(), s.NewVector(), s.NewVector(), s.NewVector(), s.NewVector()
	s.Op(vcode.VShiftRightU64, s.Width, vcode.RegArg(xh), vcode.RegArg(x), vcode.ImmArg(32))
	s.Op(vcode.VShiftRightU64, s.Width, vcode.RegArg(yh), vcode.RegArg(y), vcode.ImmArg(32))
	s.Op(vcode.VMulWideU32, s.Width, vcode.RegArg(a), vcode.RegArg(xh), vcode.RegArg(y))
	s.Op(vcode.VMulWideU32, s.Width, vcode.RegArg(b), vcode.RegArg(x), vcode.RegArg(yh))
	s.Op(vcode.VMulWideU32, s.Width, vcode.RegArg(low), vcode.RegArg(x), vcode.RegArg(y))
	s.Op(vcode.VAddI64, s.Width, vcode.RegArg(a), vcode.RegArg(a), vcode.RegArg(b))
	s.Op(vcode.VShiftLeftI64, s.Width, vcode.RegArg(a), vcode.RegArg(a), vcode.ImmArg(32))
	s.Op(vcode.VAddI64, s.Width, vcode.RegArg(d), vcode.RegArg(low), vcode.RegArg(a))
}
