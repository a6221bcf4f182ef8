package opencl

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// floatFuncs are the builtin functions of OpenCL C, which are overloaded.
var floatFuncs = map[ir.MathFn]string{
	ir.Abs: "fabs", ir.Sqrt: "sqrt", ir.Rsqrt: "rsqrt", ir.Cbrt: "cbrt", ir.FMA: "fma", ir.Exp: "exp", ir.Exp2: "exp2",
	ir.Expm1: "expm1", ir.Log: "log", ir.Log2: "log2", ir.Log10: "log10", ir.Log1p: "log1p", ir.Pow: "pow", ir.Sin: "sin",
	ir.Cos: "cos", ir.Tan: "tan", ir.Asin: "asin", ir.Acos: "acos", ir.Atan: "atan", ir.Atan2: "atan2", ir.Sinh: "sinh",
	ir.Cosh: "cosh", ir.Tanh: "tanh", ir.Asinh: "asinh", ir.Acosh: "acosh", ir.Atanh: "atanh", ir.Erf: "erf",
	ir.Erfc: "erfc", ir.Gamma: "tgamma", ir.Hypot: "hypot", ir.Floor: "floor", ir.Ceil: "ceil", ir.Trunc: "trunc",
	ir.Round: "round", ir.RoundToEven: "rint", ir.Mod: "fmod", ir.Remainder: "remainder", ir.Copysign: "copysign",
}

// doubled are the functions whose float32 form may err by more than 4 ulp; the float64 one, which
// errs by at most 16 of its own, is rounded instead.
// Source: The OpenCL C Specification 3.0, section 7.4, relative error as ULPs.
var doubled = map[ir.MathFn]bool{ir.Atan: true, ir.Atanh: true, ir.Tan: true, ir.Tanh: true, ir.Atan2: true, ir.Erf: true, ir.Erfc: true,
	ir.Pow: true, ir.Gamma: true}

// goFuncs are those where C differs from Go.
var goFuncs = map[ir.MathFn]struct{ name, text string }{ir.FMin: {"go_min", minText}, ir.FMax: {"go_max", maxText}, ir.Dim: {"go_dim", dimText}}

// math prints the call of a library function.
func (p mathsPrinter) math(e *ir.Math) cprint.Val {
	if len(e.Args) > 0 && e.Args[0].Type().IsFloat() && e.T.IsFloat() {
		return p.floatMath(e)
	}
	arg := func(i int) string { return p.number(e.Args[i]).Text }
	switch e.Fn {
	case ir.IMin, ir.IMax:
		return p.extreme(e)
	case ir.IsNaN:
		x := p.expr(e.Args[0])
		return asBool(cprint.Value("isnan("+x.Text+")", cprint.PrecPostfix, cprint.I32))
	case ir.IsInf:
		name := p.typed("go_isinf", isinfText, cprint.TypeOf(e.Args[0].Type()))
		return cprint.Value(name+"("+arg(0)+", "+arg(1)+")", cprint.PrecPostfix, cprint.Bool)
	case ir.Signbit:
		as := map[cprint.Type]string{cprint.F32: "as_int", cprint.F64: "as_long"}[cprint.TypeOf(e.Args[0].Type())]
		return cprint.Value(as+"("+arg(0)+") < 0", cprint.PrecRel, cprint.Bool)
	case ir.Float32Bits:
		return cprint.Value("as_uint("+arg(0)+")", cprint.PrecPostfix, cprint.U32)
	case ir.Float32FromBits:
		return cprint.Value("as_float("+dialect.Cast(p.number(e.Args[0]), cprint.U32).Text+")", cprint.PrecPostfix, cprint.F32)
	case ir.Float64Bits:
		return cprint.Value("as_ulong("+arg(0)+")", cprint.PrecPostfix, cprint.U64)
	case ir.Float64FromBits:
		p.needs["cl_khr_fp64"] = true
		return cprint.Value("as_double("+dialect.Cast(p.number(e.Args[0]), cprint.U64).Text+")", cprint.PrecPostfix, cprint.F64)
	}
	return p.bitMath(e)
}

// asBool is the int that a relational builtin returns as a bool.
func asBool(v cprint.Val) cprint.Val {
	return cprint.Value(v.At(cprint.PrecEq)+" != 0", cprint.PrecEq, cprint.Bool)
}

func (p mathsPrinter) floatMath(e *ir.Math) cprint.Val {
	ct := cprint.TypeOf(e.T)
	if ct == cprint.F64 {
		p.needs["cl_khr_fp64"] = true
	}
	args := make([]cprint.Val, len(e.Args))
	for i, a := range e.Args {
		args[i] = p.expr(a)
	}
	if f, ok := goFuncs[e.Fn]; ok {
		name := p.typed(f.name, f.text, ct)
		out := args[0].Text
		for _, a := range args[1:] { // min and max take any number
			out = name + "(" + out + ", " + a.Text + ")"
		}
		return cprint.Value(out, cprint.PrecPostfix, ct)
	}
	name, ok := floatFuncs[e.Fn]
	if !ok {
		p.fail(e.At, "function %s: not supported by opencl", e.Fn)
		return args[0]
	}
	wide := ct == cprint.F32 && !p.prog.FastMath && (doubled[e.Fn] || e.Fn == ir.Sqrt && !p.opt.RoundedDivide)
	texts := make([]string, len(args))
	for i, a := range args {
		if wide {
			p.needs["cl_khr_fp64"] = true
			a = dialect.Cast(a, cprint.F64)
		}
		texts[i] = a.Text
	}
	if e.Fn == ir.Rsqrt && ct == cprint.F32 && p.opt.Fence == PTXFence && cprint.IsNormal(e.Args[0], p.inits) {
		name = p.piece("rsqrt_normal", rsqrtText)
	}
	if e.Fn == ir.Erfc && (ct == cprint.F64 || wide) {
		name = p.piece("go_erfc", erfcText)
	}
	out := cprint.Value(name+"("+strings.Join(texts, ", ")+")", cprint.PrecPostfix, ct)
	if wide {
		out.Type = cprint.F64
		return dialect.Cast(out, cprint.F32)
	}
	return out
}

// extreme prints min and max of integers, whose builtins take two arguments of one type.
func (p mathsPrinter) extreme(e *ir.Math) cprint.Val {
	name, ct := map[ir.MathFn]string{ir.IMin: "min", ir.IMax: "max"}[e.Fn], cprint.TypeOf(e.T)
	out := ""
	for i, a := range e.Args {
		v := p.number(a)
		if v.Type != ct {
			v = cprint.Value("("+dialect.Name(ct)+")"+v.At(cprint.PrecUnary), cprint.PrecUnary, ct)
		}
		if out = out + v.Text; i > 0 {
			out = name + "(" + out + ")"
		}
		if i+1 < len(e.Args) {
			out += ", "
		}
	}
	return cprint.Value(out, cprint.PrecPostfix, ct)
}

// bitMath prints the functions of math/bits, in the width of their argument.
func (p mathsPrinter) bitMath(e *ir.Math) cprint.Val {
	if len(e.Args) == 0 || !e.Args[0].Type().IsInteger() {
		p.fail(e.At, "function %s: not supported by opencl", e.Fn)
		return cprint.Value("0", cprint.PrecPostfix, cprint.I32)
	}
	t := e.Args[0].Type()
	n, ct := cprint.Width(t), cprint.TypeOf(t)
	x := p.number(e.Args[0])
	if x.Type != ct {
		x = cprint.Value("("+dialect.Name(ct)+")"+x.At(cprint.PrecUnary), cprint.PrecUnary, ct)
	}
	count := func(text string) cprint.Val { return cprint.Value("(int)"+text, cprint.PrecUnary, cprint.I32) }
	wide := func(piece, text string) string { // a function on 32 bits at least
		return p.typed(piece, text, cprint.Unsigned(n)) + "(" + x.Text + ")"
	}
	switch e.Fn {
	case ir.LeadingZeros:
		return count("clz(" + x.Text + ")")
	case ir.BitLen:
		return cprint.Value(fmt.Sprintf("%d - (int)clz(%s)", n, x.Text), cprint.PrecAdd, cprint.I32)
	case ir.TrailingZeros:
		if n < 32 {
			x = cprint.Value(fmt.Sprintf("%s | 0x%xu", x.At(cprint.PrecOr), 1<<n), cprint.PrecOr, cprint.U32)
		}
		return cprint.Value(wide("go_ctz", ctzText), cprint.PrecPostfix, cprint.I32)
	case ir.OnesCount:
		return count("popcount(" + x.Text + ")")
	case ir.Reverse:
		out := wide("go_reverse", reverseText)
		if n < 32 {
			return cprint.Value(fmt.Sprintf("%s >> %d", out, 32-n), cprint.PrecShift, cprint.U32)
		}
		return cprint.Value(out, cprint.PrecPostfix, ct)
	case ir.ReverseBytes:
		switch n {
		case 64:
			return cprint.Value("as_ulong(as_uchar8("+x.Text+").s76543210)", cprint.PrecPostfix, cprint.U64)
		case 32:
			return cprint.Value("as_uint(as_uchar4("+x.Text+").s3210)", cprint.PrecPostfix, cprint.U32)
		case 16:
			return cprint.Value("as_ushort(as_uchar2("+x.Text+").s10)", cprint.PrecPostfix, cprint.U16)
		}
		return x
	case ir.RotateLeft:
		return cprint.Value("rotate("+x.Text+", ("+dialect.Name(ct)+")"+p.number(e.Args[1]).At(cprint.PrecUnary)+")", cprint.PrecPostfix, ct)
	case ir.MulHi:
		y := p.number(e.Args[1])
		return cprint.Value("mul_hi("+x.Text+", ("+dialect.Name(ct)+")"+y.At(cprint.PrecUnary)+")", cprint.PrecPostfix, ct)
	}
	p.fail(e.At, "function %s: not supported by opencl", e.Fn)
	return x
}
