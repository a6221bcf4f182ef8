package vecmath

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// SubInts is x - y of integers of the lane's size.
func (s Integers) SubInts(x, y vcode.Reg) vcode.Reg {
	return s.Two(vcode.VSubI32, vcode.VSubI64, x, vcode.RegArg(y))
}

// everyByte is a mask with the same in every byte.
func (s Integers) everyByte(b uint64) vcode.Arg {
	b *= 0x0101010101010101
	if s.Type.Size == 4 {
		b &= 1<<32 - 1
	}
	return s.AtBits(b)
}

// byNibbles looks up the halves of every byte, and combines what the tables have for the lower and
// for the upper one.
func (s Integers) byNibbles(x vcode.Reg, lower, upper func(nibble int64) int64, combine vcode.Op) vcode.Reg {
	table := func(half vcode.Reg, f func(int64) int64) vcode.Reg {
		r := s.NewVector()
		s.Op(vcode.VPermuteWithinI8, s.Width, vcode.RegArg(r), vcode.RegArg(s.bytesOf(f)), vcode.RegArg(half))
		return r
	}
	low := table(s.And(x, s.everyByte(0x0F)), lower)
	high := table(s.And(s.ShiftRight(x, 4), s.everyByte(0x0F)), upper)
	r := s.NewVector()
	s.Op(combine, s.Width, vcode.RegArg(r), vcode.RegArg(low), vcode.RegArg(high))
	return r
}

// bytesOf is a register with f of 0 to 15 in the bytes of every 16.
func (s Integers) bytesOf(f func(at int64) int64) vcode.Reg {
	numbers := make([]int64, max(16, s.Width.Bytes()))
	for i := range numbers {
		numbers[i] = f(int64(i % 16))
	}
	return s.Pattern(numbers, 1)
}

// OnesCount counts in nibbles, and adds up what the bytes of a number have.
func (s Integers) OnesCount(x vcode.Reg, width int64) vcode.Reg {
	ones := func(nibble int64) int64 { return int64(bits.OnesCount64(uint64(nibble))) }
	x = s.byNibbles(x, ones, ones, vcode.VAddI8)
	switch width {
	case 8:
		return x
	case 64:
		r := s.NewVector()
		s.Op(vcode.VSumOfDifferencesU8, s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(s.ConstVector(0, 8)))
		return r
	}
	pairs, sums := s.NewVector(), s.NewVector()
	s.Op(vcode.VMulPairsU8I8, s.Width, vcode.RegArg(pairs), vcode.RegArg(x), vcode.RegArg(s.ConstVector(0x01010101, 4)))
	if width == 16 {
		return pairs
	}
	s.Op(vcode.VMulPairsI16, s.Width, vcode.RegArg(sums), vcode.RegArg(pairs), vcode.RegArg(s.ConstVector(0x00010001, 4)))
	return sums
}

// exponent is the power of two that x begins with, plus 127, as its float has it, in lanes of 32
// bits; 0 for 0. Above 31 bits the sign of the float is there too, so that x is 288 + 127.
func (s Integers) exponent(x vcode.Reg) vcode.Reg {
	d := s.as(ir.Uint32Type)
	return d.ShiftRight(d.ToSingle(x), 23)
}

// notRounded is x with the same highest bit, and no float of it rounds up to the next power of two.
func (s Integers) notRounded(x vcode.Reg) vcode.Reg {
	r := s.NewVector()
	s.Op(vcode.VAndNotF32, s.Width, vcode.RegArg(r), vcode.RegArg(s.ShiftRight(x, 1)), vcode.RegArg(x))
	return r
}

func (s Integers) limited(op vcode.Op, x vcode.Reg, limit uint64) vcode.Reg {
	r := s.NewVector()
	s.Op(op, s.Width, vcode.RegArg(r), vcode.RegArg(x), s.AtBits(limit))
	return r
}

// BitLen is the number of bits without the zeros in front: from the exponents of the numbers, or of
// their halves, as floats.
func (s Integers) BitLen(x vcode.Reg, width int64) vcode.Reg {
	if width == 64 {
		return s.bitLen64(x)
	}
	if width == 32 {
		x = s.notRounded(x)
	}
	x = s.limited(vcode.VMaxI32, s.limited(vcode.VSubI32, s.exponent(x), 126), 0)
	if width == 32 {
		x = s.limited(vcode.VMinI32, x, 32)
	}
	return x
}

// bitLen64 takes the larger of what the halves say, of which the upper one counts from 32 on; what
// is no number of bits, as that of an empty half, is cut off at the ends.
func (s Integers) bitLen64(x vcode.Reg) vcode.Reg {
	e := s.exponent(s.notRounded(x))
	r := s.NewVector()
	s.Op(vcode.VSubI32, s.Width, vcode.RegArg(r), vcode.RegArg(e), vcode.RegArg(s.ConstBits(94<<32|126)))
	r = s.clampBoth(r, 64<<32|32)
	high, most := s.ShiftRight(r, 32), s.NewVector()
	s.Op(vcode.VMaxI32, s.Width, vcode.RegArg(most), vcode.RegArg(r), vcode.RegArg(high))
	return s.And(most, s.AtBits(1<<32-1))
}

// clampBoth cuts both 32-bit halves of 64-bit lanes off below 0 and above what most says.
func (s Integers) clampBoth(x vcode.Reg, most uint64) vcode.Reg {
	low, r := s.NewVector(), s.NewVector()
	s.Op(vcode.VMaxI32, s.Width, vcode.RegArg(low), vcode.RegArg(x), vcode.RegArg(s.ConstVector(0, 8)))
	s.Op(vcode.VMinI32, s.Width, vcode.RegArg(r), vcode.RegArg(low), vcode.RegArg(s.ConstBits(most)))
	return r
}

// LeadingZeros is the number of zeros in front of the highest bit that is set, in the lower width
// bits.
func (s Integers) LeadingZeros(x vcode.Reg, width int64) vcode.Reg {
	if width == 64 {
		return s.SubInts(s.ConstBits(64), s.bitLen64(x))
	}
	if width == 32 {
		x = s.notRounded(x)
	}
	x = s.limited(vcode.VMinI32, s.SubInts(s.ConstBits(uint64(width)+126), s.exponent(x)), uint64(width))
	if width == 32 {
		x = s.limited(vcode.VMaxI32, x, 0)
	}
	return x
}

// TrailingZeros is the exponent of the lowest bit; of 64 bits it counts those below that.
func (s Integers) TrailingZeros(x vcode.Reg, width int64) vcode.Reg {
	if width == 64 {
		return s.OnesCount(s.belowLowest(x), 64)
	}
	e := s.exponent(s.And(x, vcode.RegArg(s.SubInts(s.ConstBits(0), x))))
	if width == 32 {
		e = s.And(e, s.AtBits(0xFF))
	}
	return s.limited(vcode.VMinU32, s.limited(vcode.VSubI32, e, 127), uint64(width))
}

// belowLowest sets the bits below the lowest that is set, all where none is, and no other.
func (s Integers) belowLowest(x vcode.Reg) vcode.Reg {
	r := s.NewVector()
	s.Op(vcode.VAndNotF32, s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(s.AddInts(x, s.ConstBits(^uint64(0)))))
	return r
}

// ReverseInBytes turns every byte round.
func (s Integers) ReverseInBytes(x vcode.Reg) vcode.Reg {
	upper := func(nibble int64) int64 { return int64(bits.Reverse8(uint8(nibble))) }
	lower := func(nibble int64) int64 { return upper(nibble) >> 4 }
	return s.byNibbles(x, upper, lower, vcode.VAddI8)
}

// ReverseBytes turns the order of the lower width bits' bytes round.
func (s Integers) ReverseBytes(x vcode.Reg, width int64) vcode.Reg {
	if width == 8 {
		return x
	}
	r, size, n := s.NewVector(), s.Type.Size, width/8
	s.Op(vcode.VPermuteWithinI8, s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(s.bytesOf(func(at int64) int64 {
		first, k := at/int64(size)*int64(size), at%int64(size)
		if k >= n {
			return 0x80
		}
		return first + n - 1 - k
	})))
	return r
}

// Rotate turns the lower width bits of every lane to the left by k.
func (s Integers) Rotate(x vcode.Reg, k, width int64) vcode.Reg {
	if k == 0 {
		return x
	}
	y := s.Or(s.ShiftLeft(x, k), vcode.RegArg(s.ShiftRight(x, width-k)))
	if width < 8*int64(s.Type.Size) {
		y = s.And(y, s.AtBits(1<<width-1))
	}
	return y
}
