package ir

// A MathFn is a pure library function that every back end knows.
type MathFn uint8

// The functions. Floats come in two widths (Math.T); integer functions in all widths of their
// argument.
const (
	NoMath MathFn = iota

	// math and codegen/kernel, floats
	Abs
	Sqrt
	Rsqrt // 1/sqrt(x)
	Cbrt
	FMA // fused multiply-add: one rounding
	Exp
	Exp2
	Expm1
	Log
	Log2
	Log10
	Log1p
	Pow
	Sin
	Cos
	Tan
	Asin
	Acos
	Atan
	Atan2
	Sinh
	Cosh
	Tanh
	Asinh
	Acosh
	Atanh
	Erf
	Erfc
	Gamma
	Hypot
	Floor
	Ceil
	Trunc
	Round       // half away from zero
	RoundToEven // half to even
	Mod         // Go's math.Mod
	Remainder
	Copysign
	Dim
	// builtin min on floats: NaN if either is NaN, -0 below +0 (not math.Min, where -Inf is below
	// NaN)
	FMin
	FMax
	IsNaN // -> bool
	IsInf // (x, sign int) -> bool
	Signbit

	// builtin min and max on integers
	IMin
	IMax

	// bit casts
	Float32Bits
	Float32FromBits
	Float64Bits
	Float64FromBits

	// math/bits, on the unsigned type of the argument; results of counts are int
	LeadingZeros
	TrailingZeros
	OnesCount
	BitLen
	Reverse
	ReverseBytes
	RotateLeft // (x, k int)
	MulHi      // high word of the unsigned product

	numMath
)

// mathNames are the names used in printed IR and in errors.
var mathNames = [numMath]string{
	"?", "abs", "sqrt", "rsqrt", "cbrt", "fma", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "sin", "cos",
	"tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "gamma",
	"hypot", "floor", "ceil", "trunc", "round", "roundToEven", "mod", "remainder", "copysign", "dim", "fmin", "fmax",
	"isNaN", "isInf", "signbit", "min", "max", "float32bits", "float32frombits", "float64bits", "float64frombits",
	"leadingZeros", "trailingZeros", "onesCount", "bitLen", "reverse", "reverseBytes", "rotateLeft", "mulHi",
}

func (f MathFn) String() string { return mathNames[f] }
