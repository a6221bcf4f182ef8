package cuda

import (
	"fmt"
	"math"

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
func (p *printer) math(e *ir.Math) val {
	if len(e.Args) > 0 && e.Args[0].Type().IsFloat() && e.T.IsFloat() {
		return p.floatMath(e)
	}
	switch e.Fn {
	case ir.IMin, ir.IMax:
		return p.extreme(e)
	case ir.IsNaN, ir.IsInf, ir.Signbit:
		return p.classify(e)
	case ir.Float32Bits:
		return value(p.call("__float_as_uint", p.args(e)...), precPostfix, u32)
	case ir.Float32FromBits:
		return value(p.call("__uint_as_float", p.args(e)...), precPostfix, f32)
	case ir.Float64Bits:
		return value("("+p.scalarName(u64)+")"+p.call("__double_as_longlong", p.args(e)...), precUnary, u64)
	case ir.Float64FromBits:
		return value(p.call("__longlong_as_double", p.args(e)...), precPostfix, f64)
	}
	return p.bitMath(e)
}

func (p *printer) args(e *ir.Math) []string {
	out := make([]string, len(e.Args))
	for i, a := range e.Args {
		out[i] = p.number(a).text
	}
	return out
}

func (p *printer) floatMath(e *ir.Math) val {
	ct, args := ctypeOf(e.T), p.args(e)
	if name, ok := goFuncs[e.Fn]; ok {
		out := args[0]
		for _, a := range args[1:] { // min and max take any number
			out = p.call(name, out, a)
		}
		return value(out, precPostfix, ct)
	}
	name, ok := floatFuncs[e.Fn]
	switch {
	case !ok:
		p.fail(e.At, "function %s: not supported yet by cuda", e.Fn)
	case e.Fn == ir.Erfc && ct == f64:
		name = "go_erfc"
	case ct == f32 && doubled[e.Fn]:
		return value("(float)"+p.call(name, "(double)"+p.number(e.Args[0]).at(precUnary)), precUnary, f32)
	case ct == f32 && e.Fn == ir.Rsqrt && p.isNormal(e.Args[0]):
		name = "rsqrt_normal"
	case ct == f32 && p.prog.FastMath:
		name = fastName(e, name+"f")
	case ct == f32:
		name += "f"
	}
	return value(p.call(name, args...), precPostfix, ct)
}

// fastName returns the approximation of a float32 function under fastmath, or the function itself.
func fastName(e *ir.Math, name string) string {
	if fast, ok := fastFuncs[e.Fn]; ok {
		return fast
	}
	return name
}

// isNormal reports whether a float32 expression is at least the least normal number, or NaN: a sum
// of squares and of a positive constant. rsqrtf spends a third of its time on the others, and gives
// the same bits for these.
func (p *printer) isNormal(e ir.Expr) bool {
	low, ok := atLeast(e, p.inits)
	return ok && low >= 0x1p-126
}

// atLeast returns a lower bound of e that holds unless e is NaN.
func atLeast(e ir.Expr, constants map[*ir.Var]ir.Expr) (low float64, ok bool) {
	switch e := e.(type) {
	case *ir.Const:
		v := float64(math.Float32frombits(uint32(e.Bits)))
		return v, e.T.Kind == ir.Float32 && v >= 0
	case *ir.Ref:
		if init, ok := constants[e.Var]; ok {
			return atLeast(init, constants)
		}
	case *ir.Binary:
		if e.Op == ir.Mul && sameExpr(e.X, e.Y) {
			return 0, true
		}
		if e.Op == ir.Add {
			x, okX := atLeast(e.X, constants)
			y, okY := atLeast(e.Y, constants)
			return max(x, y), okX && okY
		}
	case *ir.Math:
		if e.Fn == ir.FMA && sameExpr(e.Args[0], e.Args[1]) {
			return atLeast(e.Args[2], constants)
		}
	}
	return 0, false
}

// extreme prints min and max of integers, with CUDA's functions, whose overloads take two arguments
// of one type.
func (p *printer) extreme(e *ir.Math) val {
	name, ct := map[ir.MathFn]string{ir.IMin: "min", ir.IMax: "max"}[e.Fn], i32
	vals := make([]val, len(e.Args))
	for i, a := range e.Args {
		vals[i] = p.number(a)
		if vals[i].ct.isUnsigned() && e.T.IsSigned() {
			vals[i] = p.signed(vals[i], a)
		}
		if !cprint.IsNumber(vals[i].text) {
			ct = common(ct, vals[i].ct)
		}
	}
	if !e.T.IsSigned() && width(e.T) >= 32 {
		ct = ctypeOf(e.T)
	}
	out := p.argument(vals[0], ct)
	for _, v := range vals[1:] {
		out = p.call(name, out, p.argument(v, ct))
	}
	return value(out, precPostfix, ct)
}

// argument prints v for a parameter of type ct of an overloaded function.
func (p *printer) argument(v val, ct ctype) string {
	if v.ct.promote() == ct {
		return v.text
	}
	return v.cast(p.typed(ct)).text
}

func (p *printer) classify(e *ir.Math) val {
	args := p.args(e)
	switch {
	case e.Fn == ir.IsNaN:
		return value(p.call("go_isnan", args...), precPostfix, boolean)
	case e.Fn == ir.IsInf:
		return value(p.call("go_isinf", args...), precPostfix, boolean)
	case e.Args[0].Type().Kind == ir.Float32:
		return value(p.call("__float_as_int", args...)+" < 0", precRel, boolean)
	}
	return value(p.call("__double_as_longlong", args...)+" < 0", precRel, boolean)
}

// bitMath prints the functions of math/bits, in the width of their argument.
func (p *printer) bitMath(e *ir.Math) val {
	if len(e.Args) == 0 || !e.Args[0].Type().IsInteger() {
		p.fail(e.At, "function %s: not supported yet by cuda", e.Fn)
		return value("0", precPostfix, i32)
	}
	t := e.Args[0].Type()
	n := width(t)
	x := p.number(e.Args[0])
	if n >= 32 || cprint.IsNumber(x.text) {
		x = x.cast(p.typed(ctypeOf(t)))
	}
	switch e.Fn {
	case ir.LeadingZeros:
		return p.leadingZeros(x, n)
	case ir.BitLen:
		zeros := p.leadingZeros(x, n)
		return value(fmt.Sprintf("%d - %s", n, zeros.at(precMul)), precAdd, i32)
	case ir.TrailingZeros:
		return p.trailingZeros(x, n)
	case ir.OnesCount:
		return value(p.call(long("__popc", n), x.text), precPostfix, i32)
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

func (p *printer) leadingZeros(x val, n int) val {
	out := p.call(long("__clz", n), x.text)
	if n < 32 {
		return value(fmt.Sprintf("%s - %d", out, 32-n), precAdd, i32)
	}
	return value(out, precPostfix, i32)
}

// trailingZeros counts from the other end: zero has as many as bits, which __ffs does not say.
func (p *printer) trailingZeros(x val, n int) val {
	if n < 32 {
		x = join(ir.Or, x, value(fmt.Sprintf("0x%xu", 1<<n), precPostfix, u32), u32)
	}
	return value(p.call(long("__clz", n), p.call(long("__brev", n), x.text)), precPostfix, i32)
}

// bitPattern prints the functions whose result has the type of the argument.
func (p *printer) bitPattern(e *ir.Math, x val, n int) val {
	ct := p.typed(ctypeOf(e.T))
	narrow := func(text string) val { return val{text: text, prec: precShift, ct: u32, bits: exactAt(n, 32)} }
	switch e.Fn {
	case ir.Reverse:
		out := p.call(long("__brev", n), x.text)
		if n < 32 {
			return value(fmt.Sprintf("%s >> %d", out, 32-n), precShift, u32)
		}
		return value(out, precPostfix, ct)
	case ir.ReverseBytes:
		switch n {
		case 64:
			return value(p.call("go_swap64", x.text), precPostfix, u64)
		case 32:
			return value(p.call("__byte_perm", x.text, "0", "0x0123"), precPostfix, u32)
		case 16:
			return value(p.call("__byte_perm", x.text, "0", "0x4401"), precPostfix, u32)
		}
		return x
	case ir.RotateLeft:
		return value(p.call("go_rotl", x.cast(ct).text, p.number(e.Args[1]).text), precPostfix, ct)
	case ir.MulHi:
		y := p.number(e.Args[1])
		switch n {
		case 64:
			return value(p.call("__umul64hi", x.text, y.text), precPostfix, u64)
		case 32:
			return value(p.call("__umulhi", x.text, y.text), precPostfix, u32)
		}
		return narrow(fmt.Sprintf("(unsigned)%s * %s >> %d", x.at(precUnary), y.at(precUnary), n))
	}
	p.fail(e.At, "function %s: not supported yet by cuda", e.Fn)
	return x
}
