package opencl

import (
	"fmt"
	"strings"

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
func (p *printer) math(e *ir.Math) val {
	if len(e.Args) > 0 && e.Args[0].Type().IsFloat() && e.T.IsFloat() {
		return p.floatMath(e)
	}
	arg := func(i int) string { return p.number(e.Args[i]).text }
	switch e.Fn {
	case ir.IMin, ir.IMax:
		return p.extreme(e)
	case ir.IsNaN:
		x := p.expr(e.Args[0])
		return value("isnan("+x.text+")", precPostfix, i32).asBool()
	case ir.IsInf:
		name := p.typed("go_isinf", isinfText, ctypeOf(e.Args[0].Type()))
		return value(name+"("+arg(0)+", "+arg(1)+")", precPostfix, boolean)
	case ir.Signbit:
		as := map[ctype]string{f32: "as_int", f64: "as_long"}[ctypeOf(e.Args[0].Type())]
		return value(as+"("+arg(0)+") < 0", precRel, boolean)
	case ir.Float32Bits:
		return value("as_uint("+arg(0)+")", precPostfix, u32)
	case ir.Float32FromBits:
		return value("as_float("+p.number(e.Args[0]).cast(u32).text+")", precPostfix, f32)
	case ir.Float64Bits:
		return value("as_ulong("+arg(0)+")", precPostfix, u64)
	case ir.Float64FromBits:
		p.needs["cl_khr_fp64"] = true
		return value("as_double("+p.number(e.Args[0]).cast(u64).text+")", precPostfix, f64)
	}
	return p.bitMath(e)
}

// asBool is the int that a relational builtin returns as a bool.
func (v val) asBool() val { return value(v.at(precEq)+" != 0", precEq, boolean) }

func (p *printer) floatMath(e *ir.Math) val {
	ct := ctypeOf(e.T)
	if ct == f64 {
		p.needs["cl_khr_fp64"] = true
	}
	args := make([]val, len(e.Args))
	for i, a := range e.Args {
		args[i] = p.expr(a)
	}
	if f, ok := goFuncs[e.Fn]; ok {
		name := p.typed(f.name, f.text, ct)
		out := args[0].text
		for _, a := range args[1:] { // min and max take any number
			out = name + "(" + out + ", " + a.text + ")"
		}
		return value(out, precPostfix, ct)
	}
	name, ok := floatFuncs[e.Fn]
	if !ok {
		p.fail(e.At, "function %s: not supported by opencl", e.Fn)
		return args[0]
	}
	wide := ct == f32 && !p.prog.FastMath && (doubled[e.Fn] || e.Fn == ir.Sqrt && !p.opt.RoundedDivide)
	texts := make([]string, len(args))
	for i, a := range args {
		if wide {
			p.needs["cl_khr_fp64"] = true
			a = a.cast(f64)
		}
		texts[i] = a.text
	}
	if e.Fn == ir.Erfc && (ct == f64 || wide) {
		name = p.piece("go_erfc", erfcText)
	}
	out := value(name+"("+strings.Join(texts, ", ")+")", precPostfix, ct)
	if wide {
		out.ct = f64
		return out.cast(f32)
	}
	return out
}

// extreme prints min and max of integers, whose builtins take two arguments of one type.
func (p *printer) extreme(e *ir.Math) val {
	name, ct := map[ir.MathFn]string{ir.IMin: "min", ir.IMax: "max"}[e.Fn], ctypeOf(e.T)
	out := ""
	for i, a := range e.Args {
		v := p.number(a)
		if v.ct != ct {
			v = value("("+ct.String()+")"+v.at(precUnary), precUnary, ct)
		}
		if out = out + v.text; i > 0 {
			out = name + "(" + out + ")"
		}
		if i+1 < len(e.Args) {
			out += ", "
		}
	}
	return value(out, precPostfix, ct)
}

// bitMath prints the functions of math/bits, in the width of their argument.
func (p *printer) bitMath(e *ir.Math) val {
	if len(e.Args) == 0 || !e.Args[0].Type().IsInteger() {
		p.fail(e.At, "function %s: not supported by opencl", e.Fn)
		return value("0", precPostfix, i32)
	}
	t := e.Args[0].Type()
	n, ct := width(t), ctypeOf(t)
	x := p.number(e.Args[0])
	if x.ct != ct {
		x = value("("+ct.String()+")"+x.at(precUnary), precUnary, ct)
	}
	count := func(text string) val { return value("(int)"+text, precUnary, i32) }
	wide := func(piece, text string) string { // a function on 32 bits at least
		return p.typed(piece, text, unsignedOf(n)) + "(" + x.text + ")"
	}
	switch e.Fn {
	case ir.LeadingZeros:
		return count("clz(" + x.text + ")")
	case ir.BitLen:
		return value(fmt.Sprintf("%d - (int)clz(%s)", n, x.text), precAdd, i32)
	case ir.TrailingZeros:
		if n < 32 {
			x = value(fmt.Sprintf("%s | 0x%xu", x.at(precOr), 1<<n), precOr, u32)
		}
		return value(wide("go_ctz", ctzText), precPostfix, i32)
	case ir.OnesCount:
		return count("popcount(" + x.text + ")")
	case ir.Reverse:
		out := wide("go_reverse", reverseText)
		if n < 32 {
			return value(fmt.Sprintf("%s >> %d", out, 32-n), precShift, u32)
		}
		return value(out, precPostfix, ct)
	case ir.ReverseBytes:
		switch n {
		case 64:
			return value("as_ulong(as_uchar8("+x.text+").s76543210)", precPostfix, u64)
		case 32:
			return value("as_uint(as_uchar4("+x.text+").s3210)", precPostfix, u32)
		case 16:
			return value("as_ushort(as_uchar2("+x.text+").s10)", precPostfix, u16)
		}
		return x
	case ir.RotateLeft:
		return value("rotate("+x.text+", ("+ct.String()+")"+p.number(e.Args[1]).at(precUnary)+")", precPostfix, ct)
	case ir.MulHi:
		y := p.number(e.Args[1])
		return value("mul_hi("+x.text+", ("+ct.String()+")"+y.at(precUnary)+")", precPostfix, ct)
	}
	p.fail(e.At, "function %s: not supported by opencl", e.Fn)
	return x
}
