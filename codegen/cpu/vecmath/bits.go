package vecmath

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// SubInts is x - y of integers of the lane's size.
func (s Integers) SubInts(x, y x86.Reg) x86.Reg {
	return s.Two(x86.VPSUBD, x86.VPSUBQ, x, x86.RegArg(y))
}

// everyByte is a mask with the same in every byte.
func (s Integers) everyByte(b uint64) x86.Arg {
	b *= 0x0101010101010101
	if s.Type.Size == 4 {
		b &= 1<<32 - 1
	}
	return s.AtBits(b)
}

// byNibbles looks up the halves of every byte, and combines what the tables have for the lower and
// for the upper one.
func (s Integers) byNibbles(x x86.Reg, lower, upper func(nibble int64) int64, combine x86.Op) x86.Reg {
	table := func(half x86.Reg, f func(int64) int64) x86.Reg {
		r := s.NewVector()
		s.Op(x86.VPSHUFB, s.Width, x86.RegArg(r), x86.RegArg(s.bytesOf(f)), x86.RegArg(half))
		return r
	}
	low := table(s.And(x, s.everyByte(0x0F)), lower)
	high := table(s.And(s.ShiftRight(x, 4), s.everyByte(0x0F)), upper)
	r := s.NewVector()
	s.Op(combine, s.Width, x86.RegArg(r), x86.RegArg(low), x86.RegArg(high))
	return r
}

// bytesOf is a register with f of 0 to 15 in the bytes of every 16.
func (s Integers) bytesOf(f func(at int64) int64) x86.Reg {
	numbers := make([]int64, max(16, s.Width.Bytes()))
	for i := range numbers {
		numbers[i] = f(int64(i % 16))
	}
	return s.Pattern(numbers, 1)
}

// OnesCount counts in nibbles, and adds up what the bytes of a number have.
func (s Integers) OnesCount(x x86.Reg, width int64) x86.Reg {
	ones := func(nibble int64) int64 { return int64(bits.OnesCount64(uint64(nibble))) }
	x = s.byNibbles(x, ones, ones, x86.VPADDB)
	switch width {
	case 8:
		return x
	case 64:
		r := s.NewVector()
		s.Op(x86.VPSADBW, s.Width, x86.RegArg(r), x86.RegArg(x), x86.RegArg(s.ConstVector(0, 8)))
		return r
	}
	pairs, sums := s.NewVector(), s.NewVector()
	s.Op(x86.VPMADDUBSW, s.Width, x86.RegArg(pairs), x86.RegArg(x), x86.RegArg(s.ConstVector(0x01010101, 4)))
	if width == 16 {
		return pairs
	}
	s.Op(x86.VPMADDWD, s.Width, x86.RegArg(sums), x86.RegArg(pairs), x86.RegArg(s.ConstVector(0x00010001, 4)))
	return sums
}

// exponent is the power of two that x begins with, plus 127, as its float has it, in lanes of 32
// bits; 0 for 0. Above 31 bits the sign of the float is there too, so that x is 288 + 127.
func (s Integers) exponent(x x86.Reg) x86.Reg {
	d := s.as(ir.Uint32Type)
	return d.ShiftRight(d.ToSingle(x), 23)
}

// notRounded is x with the same highest bit, and no float of it rounds up to the next power of two.
func (s Integers) notRounded(x x86.Reg) x86.Reg {
	r := s.NewVector()
	s.Op(x86.VANDNPS, s.Width, x86.RegArg(r), x86.RegArg(s.ShiftRight(x, 1)), x86.RegArg(x))
	return r
}

func (s Integers) limited(op x86.Op, x x86.Reg, limit uint64) x86.Reg {
	r := s.NewVector()
	s.Op(op, s.Width, x86.RegArg(r), x86.RegArg(x), s.AtBits(limit))
	return r
}

// BitLen is the number of bits without the zeros in front: from the exponents of the numbers, or of
// their halves, as floats.
func (s Integers) BitLen(x x86.Reg, width int64) x86.Reg {
	if width == 64 {
		return s.bitLen64(x)
	}
	if width == 32 {
		x = s.notRounded(x)
	}
	x = s.limited(x86.VPMAXSD, s.limited(x86.VPSUBD, s.exponent(x), 126), 0)
	if width == 32 {
		x = s.limited(x86.VPMINSD, x, 32)
	}
	return x
}

// bitLen64 takes the larger of what the halves say, of which the upper one counts from 32 on; what
// is no number of bits, as that of an empty half, is cut off at the ends.
func (s Integers) bitLen64(x x86.Reg) x86.Reg {
	e := s.exponent(s.notRounded(x))
	r := s.NewVector()
	s.Op(x86.VPSUBD, s.Width, x86.RegArg(r), x86.RegArg(e), x86.RegArg(s.ConstBits(94<<32|126)))
	r = s.clampBoth(r, 64<<32|32)
	high, most := s.ShiftRight(r, 32), s.NewVector()
	s.Op(x86.VPMAXSD, s.Width, x86.RegArg(most), x86.RegArg(r), x86.RegArg(high))
	return s.And(most, s.AtBits(1<<32-1))
}

// clampBoth cuts both 32-bit halves of 64-bit lanes off below 0 and above what most says.
func (s Integers) clampBoth(x x86.Reg, most uint64) x86.Reg {
	low, r := s.NewVector(), s.NewVector()
	s.Op(x86.VPMAXSD, s.Width, x86.RegArg(low), x86.RegArg(x), x86.RegArg(s.ConstVector(0, 8)))
	s.Op(x86.VPMINSD, s.Width, x86.RegArg(r), x86.RegArg(low), x86.RegArg(s.ConstBits(most)))
	return r
}

// LeadingZeros is the number of zeros in front of the highest bit that is set, in the lower width
// bits.
func (s Integers) LeadingZeros(x x86.Reg, width int64) x86.Reg {
	if width == 64 {
		return s.SubInts(s.ConstBits(64), s.bitLen64(x))
	}
	if width == 32 {
		x = s.notRounded(x)
	}
	x = s.limited(x86.VPMINSD, s.SubInts(s.ConstBits(uint64(width)+126), s.exponent(x)), uint64(width))
	if width == 32 {
		x = s.limited(x86.VPMAXSD, x, 0)
	}
	return x
}

// TrailingZeros is the exponent of the lowest bit; of 64 bits it counts those below that.
func (s Integers) TrailingZeros(x x86.Reg, width int64) x86.Reg {
	if width == 64 {
		return s.OnesCount(s.belowLowest(x), 64)
	}
	e := s.exponent(s.And(x, x86.RegArg(s.SubInts(s.ConstBits(0), x))))
	if width == 32 {
		e = s.And(e, s.AtBits(0xFF))
	}
	return s.limited(x86.VPMINUD, s.limited(x86.VPSUBD, e, 127), uint64(width))
}

// belowLowest sets the bits below the lowest that is set, all where none is, and no other.
func (s Integers) belowLowest(x x86.Reg) x86.Reg {
	r := s.NewVector()
	s.Op(x86.VANDNPS, s.Width, x86.RegArg(r), x86.RegArg(x), x86.RegArg(s.AddInts(x, s.ConstBits(^uint64(0)))))
	return r
}

// ReverseInBytes turns every byte round.
func (s Integers) ReverseInBytes(x x86.Reg) x86.Reg {
	upper := func(nibble int64) int64 { return int64(bits.Reverse8(uint8(nibble))) }
	lower := func(nibble int64) int64 { return upper(nibble) >> 4 }
	return s.byNibbles(x, upper, lower, x86.VPADDB)
}

// ReverseBytes turns the order of the lower width bits' bytes round.
func (s Integers) ReverseBytes(x x86.Reg, width int64) x86.Reg {
	if width == 8 {
		return x
	}
	r, size, n := s.NewVector(), s.Type.Size, width/8
	s.Op(x86.VPSHUFB, s.Width, x86.RegArg(r), x86.RegArg(x), x86.RegArg(s.bytesOf(func(at int64) int64 {
		first, k := at/int64(size)*int64(size), at%int64(size)
		if k >= n {
			return 0x80
		}
		return first + n - 1 - k
	})))
	return r
}

// Rotate turns the lower width bits of every lane to the left by k.
func (s Integers) Rotate(x x86.Reg, k, width int64) x86.Reg {
	if k == 0 {
		return x
	}
	y := s.Or(s.ShiftLeft(x, k), x86.RegArg(s.ShiftRight(x, width-k)))
	if width < 8*int64(s.Type.Size) {
		y = s.And(y, s.AtBits(1<<width-1))
	}
	return y
}
