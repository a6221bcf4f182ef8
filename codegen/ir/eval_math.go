package ir

import (
	"math"
	"math/bits"
)

// unaryFloat are the functions of one float. Those of float32 round the float64 result, as
// float32(math.F(float64(x))) does in Go.
var unaryFloat = [numMath]func(float64) float64{
	Abs: math.Abs, Sqrt: math.Sqrt, Cbrt: math.Cbrt, Exp: math.Exp, Exp2: math.Exp2, Expm1: math.Expm1, Log: math.Log,
	Log2: math.Log2, Log10: math.Log10, Log1p: math.Log1p, Sin: math.Sin, Cos: math.Cos, Tan: math.Tan, Asin: math.Asin,
	Acos: math.Acos, Atan: math.Atan, Sinh: math.Sinh, Cosh: math.Cosh, Tanh: math.Tanh, Asinh: math.Asinh,
	Acosh: math.Acosh, Atanh: math.Atanh, Erf: math.Erf, Erfc: math.Erfc, Gamma: math.Gamma, Floor: math.Floor,
	Ceil: math.Ceil, Trunc: math.Trunc, Round: math.Round, RoundToEven: math.RoundToEven,
}

// binaryFloat are the functions of two floats.
var binaryFloat = [numMath]func(x, y float64) float64{
	Pow: math.Pow, Atan2: math.Atan2, Hypot: math.Hypot, Mod: math.Mod, Remainder: math.Remainder, Copysign: math.Copysign,
	Dim: math.Dim, FMin: func(x, y float64) float64 { return min(x, y) }, FMax: func(x, y float64) float64 { return max(x, y) },
}

// FoldMath returns fn(args...); t is the type of the first argument.
func FoldMath(fn MathFn, t *Type, args ...Bits) Bits {
	if f := unaryFloat[fn]; f != nil {
		return FloatBits(t, f(Float(t, args[0])))
	}
	if f := binaryFloat[fn]; f != nil {
		return FloatBits(t, f(Float(t, args[0]), Float(t, args[1])))
	}
	switch fn {
	case Float32Bits, Float32FromBits, Float64Bits, Float64FromBits:
		return args[0]
	case IMin, IMax:
		op := Min
		if fn == IMax {
			op = Max
		}
		r, _ := FoldBinary(op, t, t, args[0], args[1])
		return r
	}
	if t.IsFloat() {
		return foldFloatMath(fn, t, args)
	}
	return foldBitsMath(fn, t, args)
}

func foldFloatMath(fn MathFn, t *Type, args []Bits) Bits {
	x := Float(t, args[0])
	switch fn {
	case Rsqrt:
		if t.Kind == Float32 {
			return Bits(math.Float32bits(float32(1 / math.Sqrt(x))))
		}
		return math.Float64bits(1 / math.Sqrt(x))
	case FMA:
		if t.Kind == Float32 {
			return Bits(math.Float32bits(fma32(x, Float(t, args[1]), Float(t, args[2]))))
		}
		return math.Float64bits(math.FMA(x, Float(t, args[1]), Float(t, args[2])))
	case IsNaN:
		return BoolBits(math.IsNaN(x))
	case IsInf:
		return BoolBits(math.IsInf(x, int(int64(args[1]))))
	case Signbit:
		return BoolBits(math.Signbit(x))
	}
	panic("gompss: bug: ir: no function " + fn.String() + " of floats")
}

// fma32 returns x*y+z rounded once to float32, for operands that are float32 values. The product is
// exact in float64. The sum is rounded to odd, so that rounding it again to float32 gives the
// result of a single rounding.
func fma32(x, y, z float64) float32 {
	p := x * y
	s := p + z
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return float32(s)
	}
	b := s - p
	low := (p - (s - b)) + (z - b)
	if u := math.Float64bits(s); low != 0 && u&1 == 0 {
		if (low > 0) == (s > 0) {
			u++
		} else {
			u--
		}
		s = math.Float64frombits(u)
	}
	return float32(s)
}

// foldBitsMath does the functions of math/bits on the unsigned type t.
func foldBitsMath(fn MathFn, t *Type, args []Bits) Bits {
	width, x := int(t.Size)*8, args[0]
	if t.IsSigned() {
		x &= ^uint64(0) >> (64 - width)
	}
	switch fn {
	case LeadingZeros:
		return Bits(bits.LeadingZeros64(x) - (64 - width))
	case TrailingZeros:
		return Bits(min(bits.TrailingZeros64(x), width))
	case OnesCount:
		return Bits(bits.OnesCount64(x))
	case BitLen:
		return Bits(bits.Len64(x))
	case Reverse:
		return Normal(t, bits.Reverse64(x)>>(64-width))
	case ReverseBytes:
		return Normal(t, bits.ReverseBytes64(x)>>(64-width))
	case RotateLeft:
		k := uint(args[1]) & uint(width-1)
		return Normal(t, x<<k|x>>(uint(width)-k))
	case MulHi:
		hi, lo := bits.Mul64(x, args[1])
		if width == 64 {
			return hi
		}
		return Normal(t, lo>>width)
	}
	panic("gompss: bug: ir: no function " + fn.String() + " of integers")
}
