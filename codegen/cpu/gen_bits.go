package cpu

import "github.com/gompss/gompss/codegen/ir"

// vecBits evaluates the functions of math/bits that shifts and sums of fields do; ok is false for others. Small integers lie in 32 bits, with
// zeros above them.
//
// Source: Warren, "Hacker's Delight", 2nd edition, sections 5-1 (population count), 5-3, 5-4 (zeros) and 7-1 (reversal).
func (g *gen) vecBits(dst []Reg, e *ir.Math) (out []Reg, ok bool) {
	t := e.Args[0].Type()
	if !t.IsInteger() {
		return nil, false
	}
	s := series{g, ir.Uint32Type, g.width(t)}
	if container(t) == 8 {
		s.t = ir.Uint64Type
	}
	width := 8 * int64(t.Size)
	f := map[ir.MathFn]func(x Reg) Reg{
		ir.OnesCount:     s.onesCount,
		ir.BitLen:        func(x Reg) Reg { return s.onesCount(s.smear(x)) },
		ir.LeadingZeros:  func(x Reg) Reg { return s.subInts(s.cBits(uint64(width)), s.onesCount(s.smear(x))) },
		ir.TrailingZeros: func(x Reg) Reg { return s.onesCount(s.belowLowest(x, width)) },
		ir.Reverse:       func(x Reg) Reg { return s.reverse(x, 1, width) },
		ir.ReverseBytes:  func(x Reg) Reg { return s.reverse(x, 8, width) },
	}[e.Fn]
	if k, isConst := rotation(e); isConst {
		f = func(x Reg) Reg { return s.rotate(x, k&(width-1), width) }
	}
	if f == nil {
		return nil, false
	}
	x := g.vec(e.Args[0])
	if container(e.T) > container(t) { // counts are of type int
		counts := g.lift(nil, x, x, func(d, x, _ Reg) { g.move(d, f(x)) })
		return g.widen(dst, counts, ir.Uint32Type, e.T, VPMOVZXDQ), true
	}
	return g.lift(dst, x, x, func(d, x, _ Reg) { g.move(d, f(x)) }), true
}

// rotation is the count of a RotateLeft by a constant.
func rotation(e *ir.Math) (k int64, ok bool) {
	if e.Fn != ir.RotateLeft {
		return 0, false
	}
	return constInt(e.Args[1])
}

func (s series) subInts(x, y Reg) Reg { return s.two(VPSUBD, VPSUBQ, x, RegArg(y)) }

// everyByte is a mask with the same in every byte.
func (s series) everyByte(b uint64) Arg {
	b *= 0x0101010101010101
	if s.t.Size == 4 {
		b &= 1<<32 - 1
	}
	return s.atBits(b)
}

// onesCount counts in pairs, nibbles and bytes at once, and adds these up.
func (s series) onesCount(x Reg) Reg {
	x = s.subInts(x, s.and(s.shiftRight(x, 1), s.everyByte(0x55)))
	x = s.addInts(s.and(x, s.everyByte(0x33)), s.and(s.shiftRight(x, 2), s.everyByte(0x33)))
	x = s.and(s.addInts(x, s.shiftRight(x, 4)), s.everyByte(0x0F))
	for n := int64(8); n < 8*int64(s.t.Size); n *= 2 {
		x = s.addInts(x, s.shiftRight(x, n))
	}
	return s.and(x, s.atBits(0x7F))
}

// smear sets every bit below the highest.
func (s series) smear(x Reg) Reg {
	for n := int64(1); n < 8*int64(s.t.Size); n *= 2 {
		x = s.or(x, RegArg(s.shiftRight(x, n)))
	}
	return x
}

// belowLowest sets the bits below the lowest that is set, all width of them where none is, and no other.
func (s series) belowLowest(x Reg, width int64) Reg {
	ones := s.cBits(^uint64(0) >> (64 - 8*uint(s.t.Size)))
	below := s.and(s.addInts(x, ones), RegArg(s.xor(x, RegArg(ones))))
	if width < 8*int64(s.t.Size) {
		below = s.and(below, s.atBits(1<<width-1))
	}
	return below
}

// reverse swaps fields of least bits, then of twice as many, up to the halves of the container, and keeps the upper width bits of that.
func (s series) reverse(x Reg, least, width int64) Reg {
	size := 8 * int64(s.t.Size)
	for n := least; n < size; n *= 2 {
		low := uint64(0) // the lower of each pair of fields
		for at := int64(0); at < size; at += 2 * n {
			low |= (1<<n - 1) << at
		}
		x = s.or(s.and(s.shiftRight(x, n), s.atBits(low)), RegArg(s.shiftLeft(s.and(x, s.atBits(low)), n)))
	}
	if width < size {
		x = s.shiftRight(x, size-width)
	}
	return x
}

func (s series) rotate(x Reg, k, width int64) Reg {
	if k == 0 {
		return x
	}
	y := s.or(s.shiftLeft(x, k), RegArg(s.shiftRight(x, width-k)))
	if width < 8*int64(s.t.Size) {
		y = s.and(y, s.atBits(1<<width-1))
	}
	return y
}
