package calls

import (
	"go/types"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/ir"
)

// floatFns are the functions of packages math and codegen/kernel with float arguments of one width,
// by name.
var floatFns = map[string]ir.MathFn{
	"Abs": ir.Abs, "Sqrt": ir.Sqrt, "Rsqrt": ir.Rsqrt, "Cbrt": ir.Cbrt, "FMA": ir.FMA, "Exp": ir.Exp, "Exp2": ir.Exp2,
	"Expm1": ir.Expm1, "Log": ir.Log, "Log2": ir.Log2, "Log10": ir.Log10, "Log1p": ir.Log1p, "Pow": ir.Pow, "Sin": ir.Sin,
	"Cos": ir.Cos, "Tan": ir.Tan, "Asin": ir.Asin, "Acos": ir.Acos, "Atan": ir.Atan, "Atan2": ir.Atan2, "Sinh": ir.Sinh,
	"Cosh": ir.Cosh, "Tanh": ir.Tanh, "Asinh": ir.Asinh, "Acosh": ir.Acosh, "Atanh": ir.Atanh, "Erf": ir.Erf,
	"Erfc": ir.Erfc, "Gamma": ir.Gamma, "Hypot": ir.Hypot, "Floor": ir.Floor, "Ceil": ir.Ceil, "Trunc": ir.Trunc,
	"Round": ir.Round, "RoundToEven": ir.RoundToEven, "Mod": ir.Mod, "Remainder": ir.Remainder, "Copysign": ir.Copysign,
	"Dim": ir.Dim, "Min": ir.FMin, "Max": ir.FMax, "IsNaN": ir.IsNaN, "IsInf": ir.IsInf, "Signbit": ir.Signbit,
	"Float32bits": ir.Float32Bits, "Float32frombits": ir.Float32FromBits, "Float64bits": ir.Float64Bits,
	"Float64frombits": ir.Float64FromBits,
}

// bitsFns are the functions of package math/bits with one result, without the width in their name.
var bitsFns = map[string]ir.MathFn{
	"LeadingZeros": ir.LeadingZeros, "TrailingZeros": ir.TrailingZeros, "OnesCount": ir.OnesCount, "Len": ir.BitLen,
	"Reverse": ir.Reverse, "ReverseBytes": ir.ReverseBytes, "RotateLeft": ir.RotateLeft,
}

// queries are the functions of codegen/kernel that ask for a coordinate.
var queries = map[string]ir.QueryKind{"ThreadNum": ir.ThreadNum, "NumThreads": ir.NumThreads, "TeamNum": ir.TeamNum,
	"NumTeams": ir.NumTeams}

// narrowFn reports whether the result of a float64 function, rounded to float32, is that of the
// float32 function: exactly, or within the 4 ulp that DIALECT.md section 5 gives both. FMA is not:
// rounded twice it differs from FMA rounded once.
func narrowFn(fn ir.MathFn) bool {
	return fn >= ir.Abs && fn <= ir.FMax && fn != ir.FMA && fn != ir.Rsqrt
}

// Library returns the function that f of a library package is, NoMath where no device has it or f
// is another thing.
func Library(f *types.Func) ir.MathFn {
	switch packagePath(f) {
	case "math", source.KernelPath:
		return floatFns[f.Name()]
	case "math/bits":
		return bitsFns[strings.TrimRight(f.Name(), "0123456789")]
	}
	return ir.NoMath
}

// isLibrary reports whether f belongs to one of the packages that kernels can import.
func isLibrary(f *types.Func) bool {
	switch packagePath(f) {
	case "math", "math/bits", "cmp", "fmt", source.KernelPath:
		return true
	}
	return false
}

func packagePath(o types.Object) string {
	if o.Pkg() == nil {
		return ""
	}
	return o.Pkg().Path()
}

// replacements gives the replacements of library functions that no device has.
var replacements = map[string]string{
	"cmp.Less": "compare with <", "cmp.Compare": "compare with <", "cmp.Or": "write an if statement",
}
