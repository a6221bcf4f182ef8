package vecmath

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// ToLong cuts float64 to lanes of 64 bits, of which a uint32 is the lower half.
func (s Integers) ToLong(x vcode.Reg, to *ir.Type) vcode.Reg {
	r := vcode.NoReg
	switch {
	case s.AVX512 && to.Kind == ir.Uint64:
		return s.toUnsigned(x)
	case s.AVX512:
		r = s.NewVector()
		s.Op(vcode.VTruncateF64I64, s.Width, vcode.RegArg(r), vcode.RegArg(x))
	default:
		l := s.as(ir.Uint64Type)
		var exponent, sign vcode.Reg
		r, exponent, sign = l.Whole(x)
		l.limitWhole(r, exponent, sign, to.Kind == ir.Uint64)
	}
	return r
}

// toUnsigned cuts to int64 what is below 2^63, and else what is above that.
func (s Integers) toUnsigned(x vcode.Reg) vcode.Reg {
	large := s.CompareTo(x, s.At(1<<63), CmpNLT) // NaN too
	y := s.Copy(x)
	s.Choose(y, s.Sub(x, s.At(1<<63)), large)
	r := s.NewVector()
	s.Op(vcode.VTruncateF64I64, s.Width, vcode.RegArg(r), vcode.RegArg(y))
	s.Choose(r, s.Or(r, s.AtBits(1<<63)), large)
	return r
}

// Whole shifts the mantissa of a float, in lanes of its size, to where its last bit counts 1: left
// or right, as a shift past the width leaves nothing. exponent is how far, to the left; sign has
// all bits set below 0. What has no bits in the lane is 0.
func (s Integers) Whole(x vcode.Reg) (v, exponent, sign vcode.Reg) {
	mantissa := int64(23)
	bias := int64(127)
	if s.Type.Size == 8 {
		mantissa, bias = 52, 1023
	}
	width := 8 * int64(s.Type.Size)
	hidden := uint64(1) << mantissa
	exponent = s.SubInts(s.And(s.ShiftRight(x, mantissa), s.AtBits(1<<(width-1-mantissa)-1)), s.ConstBits(uint64(bias+mantissa)))
	m := s.Or(s.And(x, s.AtBits(hidden-1)), s.AtBits(hidden))
	left, right := s.NewVector(), s.NewVector()
	s.Op(s.pick(vcode.VShiftLeftEachI32, vcode.VShiftLeftEachI64), s.Width, vcode.RegArg(left), vcode.RegArg(m), vcode.RegArg(exponent))
	s.Op(s.pick(vcode.VShiftRightEachU32, vcode.VShiftRightEachU64), s.Width, vcode.RegArg(right), vcode.RegArg(m), vcode.RegArg(s.SubInts(s.ConstBits(0), exponent)))
	sign = s.Signs(x)
	v = s.SubInts(s.Xor(s.Or(left, vcode.RegArg(right)), vcode.RegArg(sign)), sign)
	return v, exponent, sign
}

// limitWhole overwrites with the upper bit alone the lanes whose numbers do not fit: the mantissa
// of 53 bits is shifted by at most 10, or 11 where there is no sign.
func (s Integers) limitWhole(v, exponent, sign vcode.Reg, unsigned bool) {
	most := s.ConstBits(10)
	if unsigned {
		most = s.AddInts(s.ConstBits(11), sign)
	}
	m := s.NewVector()
	s.Op(vcode.VGreaterI64, s.Width, vcode.RegArg(m), vcode.RegArg(exponent), vcode.RegArg(most))
	s.Op(vcode.VBlend, s.Width, vcode.RegArg(v), vcode.RegArg(v), vcode.RegArg(s.ConstBits(math.Float64bits(math.Copysign(0, -1)))), vcode.RegArg(m))
}

// ToSingle makes float32 of int32 lanes.
func (s Integers) ToSingle(x vcode.Reg) vcode.Reg {
	r := s.NewVector()
	s.Op(vcode.VConvertI32F32, s.Width, vcode.RegArg(r), vcode.RegArg(x))
	return r
}

// FromLong puts the halves of x where the mantissas of 2^84 and 2^52 end, and takes these away
// again.
func (s Integers) FromLong(x vcode.Reg, signed bool) vcode.Reg {
	top, bias := math.Float64bits(1<<84), float64(1<<84+1<<52)
	if signed { // a half that counts from -2^31 on
		top, bias = top|1<<31, bias+1<<63
	}
	high := s.Xor(s.ShiftRight(x, 32), s.AtBits(top))
	low := s.Or(s.And(x, s.AtBits(1<<32-1)), s.At(1<<52))
	return s.Add(s.Sub(high, s.At(bias)), vcode.RegArg(low))
}
