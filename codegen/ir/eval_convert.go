package ir

import "math"

// FoldConvert returns to(x) for a scalar x of type from. Integers wrap. A float out of the range of
// an integer type gives what Go's compiler gives on this machine; the language leaves it open.
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

func fromFloat[F float32 | float64](to *Type, f F) Bits {
	switch to.Kind {
	case Float32:
		return Bits(math.Float32bits(float32(f)))
	case Float64:
		return math.Float64bits(float64(f))
	case Int8:
		return Bits(int8(f))
	case Int16:
		return Bits(int16(f))
	case Int32:
		return Bits(int32(f))
	case Int64:
		return Bits(int64(f))
	case Uint8:
		return Bits(uint8(f))
	case Uint16:
		return Bits(uint16(f))
	case Uint32:
		return Bits(uint32(f))
	case Uint64:
		return uint64(f)
	}
	panic("gompss: bug: ir: no conversion of a float to " + to.String())
}
