package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// rotateBy turns the lower width bits of every lane. A shift by all of them leaves nothing.
func (s series) rotateBy(x, n x86.Reg, width int64) x86.Reg {
	n = s.and(n, s.atBits(uint64(width-1)))
	left, right := s.NewVector(), s.NewVector()
	s.Op(s.pick(x86.VPSLLVD, x86.VPSLLVQ), s.w, x86.RegArg(left), x86.RegArg(x), x86.RegArg(n))
	s.Op(s.pick(x86.VPSRLVD, x86.VPSRLVQ), s.w, x86.RegArg(right), x86.RegArg(x), x86.RegArg(s.subInts(s.cBits(uint64(width)), n)))
	y := s.or(left, x86.RegArg(right))
	if width < 8*int64(s.t.Size) {
		y = s.and(y, s.atBits(1<<width-1))
	}
	return y
}

// product32 multiplies the lower halves of 64-bit lanes.
func (s series) product32(x, y x86.Reg) x86.Reg {
	r := s.NewVector()
	s.Op(x86.VPMULUDQ, s.w, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
	return r
}

// highProduct32 is the upper half of the products of 32-bit lanes: those of the even and of the odd lanes apart.
func (s series) highProduct32(x, y x86.Reg) x86.Reg {
	l := s.as(ir.Uint64Type)
	even := l.shiftRight(l.product32(x, y), 32)
	odd := l.product32(l.shiftRight(x, 32), l.shiftRight(y, 32))
	return l.or(even, x86.RegArg(l.and(odd, l.atBits(0xFFFFFFFF<<32))))
}

// highProduct64 is the upper half of the products of 64-bit lanes.
//
// Source: Warren, "Hacker's Delight", 2nd edition, section 8-2.
func (s series) highProduct64(x, y x86.Reg) x86.Reg {
	xh, yh := s.shiftRight(x, 32), s.shiftRight(y, 32)
	first := s.addInts(s.product32(xh, y), s.shiftRight(s.product32(x, y), 32))
	second := s.addInts(s.product32(x, yh), s.and(first, s.atBits(1<<32-1)))
	high := s.addInts(s.product32(xh, yh), s.shiftRight(first, 32))
	return s.addInts(high, s.shiftRight(second, 32))
}

// signs has all bits set in the lanes of x that are below 0.
func (s series) signs(x x86.Reg) x86.Reg {
	r := s.NewVector()
	switch {
	case s.t.Size <= 4:
		s.Op(x86.VPSRAD, s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(31))
	case s.avx512:
		s.Op(x86.VPSRAQ, s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(63))
	default:
		s.Op(x86.VPCMPGTQ, s.w, x86.RegArg(r), x86.RegArg(s.ConstVector(0, 8)), x86.RegArg(x))
	}
	return r
}

// extended copies the bit that sign names into all above it, where those are 0.
func (s series) extended(x, sign x86.Reg) x86.Reg { return s.subInts(s.xor(x, x86.RegArg(sign)), sign) }

// mulLong sets d to the low half of a product of 64-bit lanes, from products of 32-bit halves.
func (s series) mulLong(d, x, y x86.Reg) {
	xh, yh, a, b, low := s.NewVector(), s.NewVector(), s.NewVector(), s.NewVector(), s.NewVector()
	s.Op(x86.VPSRLQ, s.w, x86.RegArg(xh), x86.RegArg(x), x86.ImmArg(32))
	s.Op(x86.VPSRLQ, s.w, x86.RegArg(yh), x86.RegArg(y), x86.ImmArg(32))
	s.Op(x86.VPMULUDQ, s.w, x86.RegArg(a), x86.RegArg(xh), x86.RegArg(y))
	s.Op(x86.VPMULUDQ, s.w, x86.RegArg(b), x86.RegArg(x), x86.RegArg(yh))
	s.Op(x86.VPMULUDQ, s.w, x86.RegArg(low), x86.RegArg(x), x86.RegArg(y))
	s.Op(x86.VPADDQ, s.w, x86.RegArg(a), x86.RegArg(a), x86.RegArg(b))
	s.Op(x86.VPSLLQ, s.w, x86.RegArg(a), x86.RegArg(a), x86.ImmArg(32))
	s.Op(x86.VPADDQ, s.w, x86.RegArg(d), x86.RegArg(low), x86.RegArg(a))
}
