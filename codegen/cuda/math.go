package cuda

import (
	"fmt"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// floatFuncs are the C functions of the math functions that map to one; the float32 form has an f
// behind it. All are within 4 ulp (CUDA Programming Guide, mathematical functions) but those in
// doubled and erfc of float64.
var floatFuncs = map[ir.MathFn]string{
	ir.Abs: "fabs", ir.Sqrt: "sqrt", ir.Rsqrt: "rsqrt", ir.Cbrt: "cbrt", ir.FMA: "fma", ir.Exp: "exp", ir.Exp2: "exp2",
	ir.Expm1: "expm1", ir.Log: "log", ir.Log2: "log2", ir.Log10: "log10", ir.Log1p: "log1p", ir.Pow: "pow", ir.Sin: "sin",
	ir.Cos: "cos", ir.Tan: "tan", ir.Asin: "asin", ir.Acos: "acos", ir.Atan: "atan", ir.Atan2: "atan2", ir.Sinh: "sinh",
	ir.Cosh: "cosh", ir.Tanh: "tanh", ir.Asinh: "asinh", ir.Acosh: "acosh", ir.Atanh: "atanh", ir.Erf: "erf",
	ir.Erfc: "erfc", ir.Gamma: "tgamma", ir.Hypot: "hypot", ir.Floor: "floor", ir.Ceil: "ceil", ir.Trunc: "trunc",
	ir.Round: "round", ir.RoundToEven: "rint", ir.Mod: "fmod", ir.Remainder: "remainder", ir.Copysign: "copysign",
}

// doubled are the float32 functions of CUDA that err by more than 4 ulp; the float64 one is rounded
// instead.
var doubled = map[ir.MathFn]bool{ir.Gamma: true}

// goFuncs are those where C differs from Go, in functions of the prelude for both floats.
var goFuncs = map[ir.MathFn]string{ir.FMin: "go_min", ir.FMax: "go_max", ir.Dim: "go_dim"}

// fastFuncs are the float32 approximations that fastmath permits: an error of at most 1e-5 over the
// whole range, relative, or absolute around the zero of a logarithm (2^-21.4). The others are not:
// __expf loses 117 ulp at 100, __sinf and __cosf lose all digits of large arguments, __powf those
// of large exponents, tanh.approx has 11 bits, and __fdividef is 0 for divisors above 2^126.
var fastFuncs = map[ir.MathFn]string{ir.Log: "__logf", ir.Log2: "__log2f", ir.Log10: "__log10f"}

// math prints the call of a library function.
func (p mathsPrinter) math(e *ir.Math) cprint.Val {
	if len(e.Args) > 0 && e.Args[0].Type().IsFloat() && e.T.IsFloat() {
		return p.floatMath(e)
	}
	switch e.Fn {
	case ir.IMin, ir.IMax:
		return p.extreme(e)
	case ir.IsNaN, ir.IsInf, ir.Signbit:
		return p.classify(e)
	case ir.Float32Bits:
		return cprint.Value(p.call("__float_as_uint", p.args(e)...), cprint.PrecPostfix, cprint.U32)
	case ir.Float32FromBits:
		return cprint.Value(p.call("__uint_as_float", p.args(e)...), cprint.PrecPostfix, cprint.F32)
	case ir.Float64Bits:
		return cprint.Value("("+p.scalarName(cprint.U64)+")"+p.call("__double_as_longlong", p.args(e)...), cprint.PrecUnary, cprint.U64)
	case ir.Float64FromBits:
		return cprint.Value(p.call("__longlong_as_double", p.args(e)...), cprint.PrecPostfix, cprint.F64)
	}
	return p.bitMath(e)
}

func (p mathsPrinter) args(e *ir.Math) []string {
	out := make([]string, len(e.Args))
	for i, a := range e.Args {
		out[i] = p.number(a).Text
	}
	return out
}

func (p mathsPrinter) floatMath(e *ir.Math) cprint.Val {
	ct, args := cprint.TypeOf(e.T), p.args(e)
	if name, ok := goFuncs[e.Fn]; ok {
		out := args[0]
		for _, a := range args[1:] { // min and max take any number
			out = p.call(name, out, a)
		}
		return cprint.Value(out, cprint.PrecPostfix, ct)
	}
	name, ok := floatFuncs[e.Fn]
	switch {
	case !ok:
		p.fail(e.At, "function %s: not supported yet by cuda", e.Fn)
	case e.Fn == ir.Erfc && ct == cprint.F64:
		name = "go_erfc"
	case ct == cprint.F32 && doubled[e.Fn]:
		return cprint.Value("(float)"+p.call(name, "(double)"+p.number(e.Args[0]).At(cprint.PrecUnary)), cprint.PrecUnary, cprint.F32)
	case ct == cprint.F32 && e.Fn == ir.Rsqrt && cprint.IsNormal(e.Args[0], p.inits):
		name = "rsqrt_normal"
	case ct == cprint.F32 && p.prog.FastMath:
		name = fastName(e, name+"f")
	case ct == cprint.F32:
		name += "f"
	}
	return cprint.Value(p.call(name, args...), cprint.PrecPostfix, ct)
}

// fastName returns the approximation of a float32 function under fastmath, or the function itself.
func fastName(e *ir.Math, name string) string {
	if fast, ok := fastFuncs[e.Fn]; ok {
		return fast
	}
	return name
}

// extreme prints min and max of integers, with CUDA's functions, whose overloads take two arguments
// of one type.
func (p mathsPrinter) extreme(e *ir.Math) cprint.Val {
	name, ct := map[ir.MathFn]string{ir.IMin: "min", ir.IMax: "max"}[e.Fn], cprint.I32
	vals := make([]cprint.Val, len(e.Args))
	for i, a := range e.Args {
		vals[i] = p.number(a)
		if vals[i].Type.IsUnsigned() && e.T.IsSigned() {
			vals[i] = p.arith().signed(vals[i], a)
		}
		if !cprint.IsNumber(vals[i].Text) {
			ct = cprint.Common(ct, vals[i].Type)
		}
	}
	if !e.T.IsSigned() && cprint.Width(e.T) >= 32 {
		ct = cprint.TypeOf(e.T)
	}
	out := p.argument(vals[0], ct)
	for _, v := range vals[1:] {
		out = p.call(name, out, p.argument(v, ct))
	}
	return cprint.Value(out, cprint.PrecPostfix, ct)
}

// argument prints v for a parameter of type ct of an overloaded function.
func (p mathsPrinter) argument(v cprint.Val, ct cprint.Type) string {
	if v.Type.Promote() == ct {
		return v.Text
	}
	return dialect.Cast(v, p.typed(ct)).Text
}

func (p mathsPrinter) classify(e *ir.Math) cprint.Val {
	args := p.args(e)
	switch {
	case e.Fn == ir.IsNaN:
		return cprint.Value(p.call("go_isnan", args...), cprint.PrecPostfix, cprint.Bool)
	case e.Fn == ir.IsInf:
		return cprint.Value(p.call("go_isinf", args...), cprint.PrecPostfix, cprint.Bool)
	case e.Args[0].Type().Kind == ir.Float32:
		return cprint.Value(p.call("__float_as_int", args...)+" < 0", cprint.PrecRel, cprint.Bool)
	}
	return cprint.Value(p.call("__double_as_longlong", args...)+" < 0", cprint.PrecRel, cprint.Bool)
}

// bitMath prints the functions of math/bits, in the width of their argument.
func (p mathsPrinter) bitMath(e *ir.Math) cprint.Val {
	if len(e.Args) == 0 || !e.Args[0].Type().IsInteger() {
		p.fail(e.At, "function %s: not supported yet by cuda", e.Fn)
		return cprint.Value("0", cprint.PrecPostfix, cprint.I32)
	}
	t := e.Args[0].Type()
	n := cprint.Width(t)
	x := p.number(e.Args[0])
	if n >= 32 || cprint.IsNumber(x.Text) {
		x = dialect.Cast(x, p.typed(cprint.TypeOf(t)))
	}
	switch e.Fn {
	case ir.LeadingZeros:
		return p.leadingZeros(x, n)
	case ir.BitLen:
		zeros := p.leadingZeros(x, n)
		return cprint.Value(fmt.Sprintf("%d - %s", n, zeros.At(cprint.PrecMul)), cprint.PrecAdd, cprint.I32)
	case ir.TrailingZeros:
		return p.trailingZeros(x, n)
	case ir.OnesCount:
		return cprint.Value(p.call(long("__popc", n), x.Text), cprint.PrecPostfix, cprint.I32)
	}
	return p.bitPattern(e, x, n)
}

// long returns the name of the 64-bit form.
func long(name string, bits int) string {
	if bits == 64 {
		return name + "ll"
	}
	return name
}

func (p mathsPrinter) leadingZeros(x cprint.Val, n int) cprint.Val {
	out := p.call(long("__clz", n), x.Text)
	if n < 32 {
		return cprint.Value(fmt.Sprintf("%s - %d", out, 32-n), cprint.PrecAdd, cprint.I32)
	}
	return cprint.Value(out, cprint.PrecPostfix, cprint.I32)
}

// trailingZeros counts from the other end: zero has as many as bits, which __ffs does not say.
func (p mathsPrinter) trailingZeros(x cprint.Val, n int) cprint.Val {
	if n < 32 {
		x = dialect.Join(ir.Or, x, cprint.Value(fmt.Sprintf("0x%xu", 1<<n), cprint.PrecPostfix, cprint.U32), cprint.U32)
	}
	return cprint.Value(p.call(long("__clz", n), p.call(long("__brev", n), x.Text)), cprint.PrecPostfix, cprint.I32)
}

// bitPattern prints the functions whose result has the type of the argument.
func (p mathsPrinter) bitPattern(e *ir.Math, x cprint.Val, n int) cprint.Val {
	ct := p.typed(cprint.TypeOf(e.T))
	narrow := func(text string) cprint.Val {
		return cprint.Val{Text: text, Prec: cprint.PrecShift, Type: cprint.U32, Bits: exactAt(n, 32)}
	}
	switch e.Fn {
	case ir.Reverse:
		out := p.call(long("__brev", n), x.Text)
		if n < 32 {
			return cprint.Value(fmt.Sprintf("%s >> %d", out, 32-n), cprint.PrecShift, cprint.U32)
		}
		return cprint.Value(out, cprint.PrecPostfix, ct)
	case ir.ReverseBytes:
		switch n {
		case 64:
			return cprint.Value(p.call("go_swap64", x.Text), cprint.PrecPostfix, cprint.U64)
		case 32:
			return cprint.Value(p.call("__byte_perm", x.Text, "0", "0x0123"), cprint.PrecPostfix, cprint.U32)
		case 16:
			return cprint.Value(p.call("__byte_perm", x.Text, "0", "0x4401"), cprint.PrecPostfix, cprint.U32)
		}
		return x
	case ir.RotateLeft:
		return cprint.Value(p.call("go_rotl", dialect.Cast(x, ct).Text, p.number(e.Args[1]).Text), cprint.PrecPostfix, ct)
	case ir.MulHi:
		y := p.number(e.Args[1])
		switch n {
		case 64:
			return cprint.Value(p.call("__umul64hi", x.Text, y.Text), cprint.PrecPostfix, cprint.U64)
		case 32:
			return cprint.Value(p.call("__umulhi", x.Text, y.Text), cprint.PrecPostfix, cprint.U32)
		}
		return narrow(fmt.Sprintf("(unsigned)%s * %s >> %d", x.At(cprint.PrecUnary), y.At(cprint.PrecUnary), n))
	}
	p.fail(e.At, "function %s: not supported yet by cuda", e.Fn)
	return x
}
