package vecmath

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// DivideByConst is x / c or x % c without a sign; half says that x is at most half of what a lane
// holds.
func (s Integers) DivideByConst(op ir.Op, x vcode.Reg, c uint64, half bool) vcode.Reg {
	if c&(c-1) == 0 {
		if op == ir.Rem {
			return s.And(x, s.AtBits(c-1))
		}
		return s.ShiftRight(x, int64(bits.TrailingZeros64(c)))
	}
	q := s.quotientByConst(x, c, half)
	if op == ir.Div {
		return q
	}
	return s.SubInts(x, s.timesConst(q, c))
}

// quotientByConst multiplies by 2^(width+shift) / c, rounded up. Where that is one bit too long for
// a c that is odd, it is taken without that bit, and x added to the product, which is halved on the
// way. An x that is at most half of what a lane holds, or that an even c makes shorter, needs no
// such bit.
func (s Integers) quotientByConst(x vcode.Reg, c uint64, half bool) vcode.Reg {
	width := 8 * int(s.Type.Size)
	m, shift, exact := reciprocal(c, width)
	zeros := bits.TrailingZeros64(c)
	switch {
	case exact || half:
		return s.ShiftRight(s.highProduct(x, m), int64(shift))
	case zeros > 0:
		m, shift, _ = reciprocal(c>>zeros, width)
		return s.ShiftRight(s.highProduct(s.ShiftRight(x, int64(zeros)), m), int64(shift))
	}
	t := s.highProduct(x, longReciprocal(c, width))
	return s.ShiftRight(s.AddInts(t, s.ShiftRight(s.SubInts(x, t), 1)), int64(shift))
}

func (s Integers) highProduct(x vcode.Reg, m uint64) vcode.Reg {
	if s.Type.Size == 4 {
		return s.HighProduct32(x, s.ConstBits(m))
	}
	return s.HighProduct64(x, s.ConstBits(m))
}

// timesConst is the lower half of x*c.
func (s Integers) timesConst(x vcode.Reg, c uint64) vcode.Reg {
	r, y := s.NewVector(), s.ConstBits(c)
	switch {
	case s.Type.Size == 4:
		s.Op(vcode.VMulI32, s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(y))
	case s.AVX512:
		s.Op(vcode.VMulI64, s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(y))
	case c < 1<<32:
		return s.AddInts(s.product32(x, y), s.ShiftLeft(s.product32(s.ShiftRight(x, 32), y), 32))
	default:
		s.MulLong(r, x, y)
	}
	return r
}

// reciprocal is 2^(width+shift) / c, rounded up, for the largest shift that keeps it in width bits;
// c is no power of two. exact says that no number of width bits is divided wrongly by it.
func reciprocal(c uint64, width int) (m uint64, shift int, exact bool) {
	shift = bits.Len64(c) - 1
	q, r := divideShifted(c, shift, width)
	return q + 1, shift, c-r <= 1<<shift
}

// longReciprocal has one bit more, which is left out.
func longReciprocal(c uint64, width int) uint64 {
	q, r := divideShifted(c, bits.Len64(c)-1, width)
	twice, carry := bits.Add64(r, r, 0)
	q *= 2
	if carry != 0 || twice >= c {
		q++
	}
	if width == 32 {
		return (q + 1) & (1<<32 - 1)
	}
	return q + 1
}

// divideShifted divides 2^(width+shift).
func divideShifted(c uint64, shift, width int) (q, r uint64) {
	if width == 64 {
		return bits.Div64(1<<shift, 0, c)
	}
	return 1 << (32 + shift) / c, 1 << (32 + shift) % c
}
