package ir

import "math"

// FoldConvert returns to(x) for a scalar x of type from. Integers wrap. The conversion of a float
// out of the range of an integer type, which Go does not define, has the result of Go's compiler on
// this machine.
func FoldConvert(to, from *Type, x Bits) Bits {
	switch {
	case from.Kind == to.Kind:
		return x
	case from.Kind == Float32:
		return fromFloat(to, math.Float32frombits(uint32(x)))
	case from.Kind == Float64:
		return fromFloat(to, math.Float64frombits(x))
	case to.IsFloat() && from.IsSigned():
		return toFloat(to, int64(x))
	case to.IsFloat():
		return toFloat(to, x)
	}
	return Normal(to, x)
}

// toFloat rounds once, straight from the integer.
func toFloat[T int64 | uint64](to *Type, x T) Bits {
	if to.Kind == Float32 {
		return Bits(math.Float32bits(float32(x)))
	}
	return math.Float64bits(float64(x))
}

// fromFloat converts like the code for every target: a value out of range gives the least number of
// the 32-bit or 64-bit integer of the conversion, on every host. Go does not define this result,
// and processors differ.
func fromFloat[F float32 | float64](to *Type, f F) Bits {
	switch x := float64(f); to.Kind {
	case Float32:
		return Bits(math.Float32bits(float32(f)))
	case Float64:
		return math.Float64bits(x)
	case Int8:
		return Bits(int8(cutInt32(x)))
	case Int16:
		return Bits(int16(cutInt32(x)))
	case Int32:
		return Bits(cutInt32(x))
	case Int64:
		return Bits(CutInt64(x))
	case Uint8:
		return Bits(uint8(cutInt32(x)))
	case Uint16:
		return Bits(uint16(cutInt32(x)))
	case Uint32:
		return Bits(uint32(CutInt64(x)))
	case Uint64:
		return cutUint64(x)
	}
	panic("gompss: bug: ir: no conversion of a float to " + to.String())
}

func cutInt32(x float64) int32 {
	if !(math.Trunc(x) >= math.MinInt32 && x < 1<<31) { // also where x is no number
		return math.MinInt32
	}
	return int32(x)
}

// CutInt64 converts x to an int64; a value out of range gives the least int64, on every host.
func CutInt64(x float64) int64 {
	if !(x >= -1<<63 && x < 1<<63) {
		return math.MinInt64
	}
	return int64(x)
}

func cutUint64(x float64) uint64 {
	if x >= 1<<63 {
		return uint64(CutInt64(x-1<<63)) | 1<<63
	}
	return uint64(CutInt64(x))
}
