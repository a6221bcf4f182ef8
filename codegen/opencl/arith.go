package opencl

import (
	"math"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

func (p arithPrinter) binary(e *ir.Binary) cprint.Val {
	switch e.Op {
	case ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge:
		return p.comparison(e)
	case ir.LAnd, ir.LOr:
		return p.logical(e)
	}
	switch {
	case e.T.Kind == ir.Bool:
		op := map[ir.Op]ir.Op{ir.And: ir.LAnd, ir.Or: ir.LOr, ir.Xor: ir.Ne}[e.Op]
		if op == ir.NoOp {
			p.fail(e.At, "operator %d on bools", e.Op)
			return cprint.Value("false", cprint.PrecPostfix, cprint.Bool)
		}
		return dialect.Join(op, p.expr(e.X), p.expr(e.Y), cprint.Bool)
	case e.T.IsFloat():
		return p.floats(e)
	}
	switch e.Op {
	case ir.Add, ir.Sub, ir.Mul:
		return p.ring(e)
	case ir.Div, ir.Rem:
		return p.division(e)
	case ir.Shl, ir.Shr:
		return p.shift(e)
	}
	x, y := p.asGo(p.number(e.X), e.T), p.asGo(p.number(e.Y), e.T)
	if e.Op == ir.AndNot && cprint.IsNumber(y.Text) && !e.T.IsSigned() {
		y = dialect.Cast(y, cprint.Unsigned(cprint.Width(e.T)))
	}
	ct := cprint.Common(x.Type, y.Type)
	return cprint.Value(dialect.Join(e.Op, x, y, ct).Text, cprint.Ops[e.Op].Prec, ct)
}

// floats prints an operation on floats. A float32 division that the device does not round correctly
// is done in float64: with more than twice the digits, rounding twice gives the same.
func (p arithPrinter) floats(e *ir.Binary) cprint.Val {
	x, y := p.expr(e.X), p.expr(e.Y)
	ct := cprint.TypeOf(e.T)
	if ct == cprint.F64 {
		p.needs["cl_khr_fp64"] = true
	}
	if e.Op == ir.Div && ct == cprint.F32 && !p.opt.RoundedDivide && !p.prog.FastMath {
		p.needs["cl_khr_fp64"] = true
		return dialect.Cast(dialect.Join(e.Op, dialect.Cast(x, cprint.F64), dialect.Cast(y, cprint.F64), cprint.F64), cprint.F32)
	}
	return dialect.Join(e.Op, x, y, ct)
}

// ring prints an addition, subtraction or multiplication of integers: signed where it provably
// stays in its type, on unsigned operands, modulo 2^bits, where it may wrap around.
func (p arithPrinter) ring(e *ir.Binary) cprint.Val {
	x, y := p.expr(e.X), p.expr(e.Y)
	n := cprint.Width(e.T)
	if n < 32 { // C computes in int, of which the type takes the low bits
		x, y = p.exact(x, e.T), p.exact(y, e.T)
		if e.Op == ir.Mul && e.T.Kind == ir.Uint16 {
			x = dialect.Cast(x, cprint.U32)
		}
		out := dialect.Join(e.Op, x, y, cprint.Common(x.Type, y.Type))
		out = out.Modulo(cprint.Width(e.Type()), p.wraps(e))
		return out
	}
	if !p.wraps(e) && e.T.IsSigned() {
		x, y = p.exact(x, e.T), p.exact(y, e.T)
		if ct := cprint.Common(x.Type, y.Type); ct.Bits() < n {
			x = dialect.Cast(x, cprint.Signed(n))
		}
		ct := cprint.Common(x.Type, y.Type)
		out := dialect.Join(e.Op, x, y, ct)
		out = out.Modulo(cprint.Width(e.Type()), ct.IsUnsigned() && p.rangeOf(e).lo < 0)
		return out
	}
	unsigned := cprint.Unsigned(n)
	if !x.IsExact() && x.Type != unsigned {
		x = p.exact(x, e.T)
	}
	if !y.IsExact() && y.Type != unsigned {
		y = p.exact(y, e.T)
	}
	if cprint.Common(x.Type, y.Type) != unsigned {
		low := x
		low.Bits = cprint.Exact
		x = dialect.Cast(low, unsigned)
	}
	out := dialect.Join(e.Op, x, y, unsigned)
	out = out.Modulo(cprint.Width(e.Type()), e.T.IsSigned())
	return out
}

// alike prints the operands of a comparison or quotient: exact, and signed ones signed.
func (p arithPrinter) alike(a, b ir.Expr) (x, y cprint.Val) {
	return p.comparable(p.number(a), a.Type()), p.comparable(p.number(b), b.Type())
}

func (p *printer) comparable(v cprint.Val, t *ir.Type) cprint.Val {
	if t.IsSigned() && v.Type.IsUnsigned() {
		return dialect.Cast(v, cprint.TypeOf(t))
	}
	return v
}

func (p arithPrinter) comparison(e *ir.Binary) cprint.Val {
	t := e.X.Type()
	switch t.Kind {
	case ir.Struct, ir.Array:
		x, y := p.expr(e.X), p.expr(e.Y)
		text := p.equality(t) + "(" + x.Text + ", " + y.Text + ")"
		if e.Op == ir.Ne {
			return cprint.Value("!"+text, cprint.PrecUnary, cprint.Bool)
		}
		return cprint.Value(text, cprint.PrecPostfix, cprint.Bool)
	case ir.Slice: // with nil
		x := e.X
		if _, isNil := x.(*ir.Const); isNil {
			x = e.Y
		}
		return cprint.Value(p.places().slice(x).ptr.At(cprint.PrecEq)+" "+cprint.Ops[e.Op].Text+" NULL", cprint.PrecEq, cprint.Bool)
	}
	x, y := p.alike(e.X, e.Y)
	return dialect.Join(e.Op, x, y, cprint.Bool)
}

// logical prints && and ||. Checks of the second operand are made only where it decides.
func (p arithPrinter) logical(e *ir.Binary) cprint.Val {
	if !p.needsStatements(e.Y) {
		return dialect.Join(e.Op, p.expr(e.X), p.expr(e.Y), cprint.Bool)
	}
	v := &ir.Var{Name: "so_far", Type: ir.BoolType, Space: ir.Local, At: e.At}
	p.decl(&ir.Decl{Var: v, Init: e.X, At: e.At})
	ref := &ir.Ref{Var: v, At: e.At}
	var cond ir.Expr = ref
	if e.Op == ir.LOr {
		cond = &ir.Unary{Op: ir.Not, X: ref, At: e.At}
	}
	p.stmt(&ir.If{Cond: cond, Then: []ir.Stmt{&ir.Assign{Place: ref, Value: e.Y, At: e.At}}, At: e.At})
	return p.ref(ref)
}

// division prints x / y or x % y.
func (p arithPrinter) division(e *ir.Binary) cprint.Val {
	y := e.Y
	if e.Checked {
		v := p.asGo(p.stable(e.Y, "divisor"), e.T)
		p.checks().check(e.At, v.At(cprint.PrecEq)+" == 0", ir.DivisorCheck, ir.Source(e.Y), false, "0", "0")
		return p.quotient(e, p.comparable(p.number(e.X), e.T), v)
	}
	if c, ok := y.(*ir.Const); ok && c.Bits != 0 && int64(c.Bits) != -1 || p.rangeOf(y).within(span(1, math.MaxInt64)) {
		a, b := p.alike(e.X, e.Y)
		return dialect.Join(e.Op, a, b, cprint.Common(a.Type, b.Type))
	}
	a, b := p.alike(e.X, e.Y)
	return p.quotient(e, a, b)
}

// quotient prints a division by something that the compiler cannot see.
func (p arithPrinter) quotient(e *ir.Binary, x, y cprint.Val) cprint.Val {
	ct := cprint.Unsigned(cprint.Width(e.T))
	if e.T.IsSigned() {
		ct = cprint.Signed(cprint.Width(e.T))
	}
	text := map[bool]map[ir.Op]string{true: {ir.Div: divText, ir.Rem: remText}, false: {ir.Div: udivText, ir.Rem: uremText}}[e.T.IsSigned()][e.Op]
	name := p.typed(map[ir.Op]string{ir.Div: "go_div", ir.Rem: "go_rem"}[e.Op], text, ct)
	out := cprint.Value(name+"("+x.Text+", "+y.Text+")", cprint.PrecPostfix, ct)
	out = out.Modulo(cprint.Width(e.Type()), e.T.IsSigned() && cprint.Width(e.T) < 32) // -128 / -1
	return out
}

func (p arithPrinter) shift(e *ir.Binary) cprint.Val {
	n := cprint.Width(e.T)
	count := p.number(e.Y)
	if e.Checked {
		count = p.stable(e.Y, "count")
		p.checks().check(e.At, count.At(cprint.PrecRel)+" < 0", ir.CountCheck, ir.Source(e.Y), false, "(long)"+count.At(cprint.PrecUnary), "0")
	}
	x := p.number(e.X)
	r := p.rangeOf(e.Y)
	unsigned, signed := cprint.Unsigned(n), cprint.Signed(n)
	fits := !e.Checked && r.within(span(0, int64(max(n, 32)-1)))
	if e.Op == ir.Shr {
		ct := unsigned
		if e.T.IsSigned() {
			ct = signed
		}
		if fits {
			return dialect.Join(ir.Shr, p.wide(x, ct), count, ct)
		}
		return cprint.Value(p.typed("go_shr", shrText, ct)+"("+x.Text+", "+count.Text+")", cprint.PrecPostfix, ct)
	}
	out := cprint.Val{}
	if fits {
		out = dialect.Join(ir.Shl, p.wide(x, unsigned), count, unsigned)
	} else {
		out = cprint.Value(p.typed("go_shl", shlText, unsigned)+"("+x.Text+", "+count.Text+")", cprint.PrecPostfix, unsigned)
	}
	out = out.Modulo(cprint.Width(e.Type()), e.T.IsSigned() || n < 32)
	return out
}

// wide returns v in a type of at least ct's width and sign.
func (p *printer) wide(v cprint.Val, ct cprint.Type) cprint.Val {
	if v.Type.Promote() == ct && !cprint.IsNumber(v.Text) {
		return v
	}
	return dialect.Cast(v, ct)
}

func (p arithPrinter) unary(e *ir.Unary) cprint.Val {
	t := e.Type()
	x := p.expr(e.X)
	switch {
	case e.Op == ir.Not:
		return cprint.Value("!"+x.At(cprint.PrecUnary), cprint.PrecUnary, cprint.Bool)
	case t.IsFloat():
		return cprint.Minus(x, cprint.TypeOf(t))
	}
	x = p.exact(x, t)
	n := cprint.Width(t)
	if e.Op == ir.Com {
		if n >= 32 {
			x = p.wide(x, map[bool]cprint.Type{true: cprint.Signed(n), false: cprint.Unsigned(n)}[t.IsSigned()])
		}
		out := cprint.Value("~"+x.At(cprint.PrecUnary), cprint.PrecUnary, x.Type.Promote())
		out = out.Modulo(cprint.Width(e.Type()), n < 32 && !t.IsSigned())
		return out
	}
	if r := p.rangeOf(e.X); n >= 32 && t.IsSigned() && r.known && r.lo > typeRange(t).lo && !x.Type.IsUnsigned() {
		return cprint.Minus(p.wide(x, cprint.Signed(n)), cprint.Signed(n))
	}
	if n < 32 {
		out := cprint.Minus(x, cprint.I32)
		out = out.Modulo(cprint.Width(e.Type()), true)
		return out
	}
	out := cprint.Value("0 - "+p.wide(x, cprint.Unsigned(n)).At(cprint.PrecMul), cprint.PrecAdd, cprint.Unsigned(n))
	out = out.Modulo(cprint.Width(e.Type()), t.IsSigned())
	return out
}
