package cuda

import (
	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

func (p arithPrinter) bitwise(e *ir.Binary) cprint.Val {
	x, y := p.alike(e.X, e.Y)
	ct := cprint.Common(x.Type, y.Type)
	if e.Op == ir.AndNot {
		y = p.extend(y, ct)
	}
	out := dialect.Join(e.Op, x, y, ct)
	if ct.IsUnsigned() && e.T.IsSigned() && !p.ranges.of(e).nonNegative() {
		out.Bits = ct.Bits()
	}
	return out
}

// extend returns v in the width of ct, so that the bits above it are there when it is complemented.
func (p arithPrinter) extend(v cprint.Val, ct cprint.Type) cprint.Val {
	if v.Type.Promote().IsUnsigned() && v.Type.Bits() < ct.Bits() {
		return dialect.Cast(v, p.typed(ct))
	}
	return v
}

func (p arithPrinter) shift(e *ir.Binary) cprint.Val {
	n := p.ranges.of(e.Y)
	count := p.number(e.Y)
	if e.Checked {
		count = cprint.Value(p.call("check_count", count.Text, p.site(CountSite, e.At, e.Y), "fault"), cprint.PrecPostfix, cprint.U64)
	}
	if e.Checked || !n.within(span(0, int64(cprint.Width(e.T)-1))) {
		name := map[ir.Op]string{ir.Shl: "go_shl", ir.Shr: "go_shr"}[e.Op]
		ct := p.typed(cprint.TypeOf(e.T))
		return cprint.Value(p.call(name, dialect.Cast(p.number(e.X), ct).Text, count.Text), cprint.PrecPostfix, ct)
	}
	if e.Op == ir.Shr {
		x := p.fullWidth(p.number(e.X), e, n)
		return dialect.Join(e.Op, x, count, x.Type.Promote())
	}
	return p.shiftLeft(e, count)
}

// fullWidth casts the shifted value to its Go type where the count may pass the width of the one
// that it has, and a number that stands for an unsigned value.
func (p arithPrinter) fullWidth(x cprint.Val, e *ir.Binary, count interval) cprint.Val {
	if count.hi >= int64(x.Type.Promote().Bits()) || !e.T.IsSigned() && cprint.IsNumber(x.Text) {
		return dialect.Cast(x, p.typed(cprint.TypeOf(e.T)))
	}
	return x
}

func (p arithPrinter) shiftLeft(e *ir.Binary, count cprint.Val) cprint.Val {
	r, wraps := p.ranges.eval(e)
	w := p.ringWidth(e.T, r, wraps)
	if p.ranges.of(e.Y).hi >= 32 {
		w = max(cprint.Width(e.T), 32)
	}
	x := p.number(e.X)
	if x.Type.Promote().Bits() < w {
		x = dialect.Cast(x, p.typed(widen(x.Type, x.Type, wraps || !r.nonNegative(), w)))
	}
	if ct := x.Type.Promote(); !ct.IsUnsigned() && (wraps || !r.nonNegative()) {
		x = dialect.Cast(x, p.typed(cprint.Unsigned(ct.Bits())))
	}
	ct := x.Type.Promote()
	out := dialect.Join(ir.Shl, x, count, ct)
	switch {
	case wraps && (e.T.IsSigned() || ct.Bits() > cprint.Width(e.T)):
		out.Bits = cprint.Width(e.T)
	case ct.IsUnsigned() && e.T.IsSigned() && !r.nonNegative():
		out.Bits = ct.Bits()
	}
	return out
}

func (p arithPrinter) unary(e *ir.Unary) cprint.Val {
	if e.Op == ir.Not {
		return cprint.Value("!"+p.expr(e.X).At(cprint.PrecUnary), cprint.PrecUnary, cprint.Bool)
	}
	t := e.Type()
	if t.IsFloat() {
		return cprint.Minus(p.expr(e.X), cprint.TypeOf(t))
	}
	if t.Kind == ir.Int16 && e.Op == ir.Neg {
		return p.negate16(e.X)
	}
	x := p.number(e.X)
	if e.Op == ir.Neg {
		return p.negate(e, x)
	}
	if !t.IsSigned() && cprint.Width(t) >= 32 && x.Type != cprint.TypeOf(t) {
		x = dialect.Cast(x, p.typed(cprint.TypeOf(t)))
	}
	if t.IsSigned() && x.Type.IsUnsigned() {
		x = p.signed(x, e.X)
	}
	out := cprint.Value("~"+x.At(cprint.PrecUnary), cprint.PrecUnary, x.Type.Promote())
	if !t.IsSigned() && cprint.Width(t) < 32 {
		out.Bits = cprint.Width(t)
	}
	return out
}

func (p arithPrinter) negate(e *ir.Unary, x cprint.Val) cprint.Val {
	t := e.Type()
	_, wraps := p.ranges.eval(e)
	switch {
	case cprint.Width(t) < 32:
		out := cprint.Minus(x, cprint.I32)
		if wraps || !t.IsSigned() {
			out.Bits = cprint.Width(t)
		}
		return out
	case wraps || !t.IsSigned():
		return p.negateWrapping(e)
	case x.Type.IsUnsigned():
		x = p.signed(x, e.X)
	}
	if !p.ranges.of(e).fits32() {
		x = dialect.Cast(x, p.typed(cprint.TypeOf(t)))
	}
	return cprint.Minus(x, x.Type.Promote())
}

// negateWrapping prints 0 - x modulo 2^width.
func (p arithPrinter) negateWrapping(e *ir.Unary) cprint.Val {
	t := e.Type()
	n := cprint.Width(t)
	x := p.ringOperand(e.X, n, false)
	if !x.Type.IsUnsigned() || x.Type.Bits() < n {
		x = p.toUnsigned(x, n)
	}
	out := cprint.Value("0 - "+x.At(cprint.PrecMul), cprint.PrecAdd, x.Type)
	if out.Bits = min(x.Bits, n); !t.IsSigned() {
		out.Bits = exactAt(out.Bits, n)
	}
	return out
}

// negate16 prints -x of an int16 in a way that ptxas does not see through: up to CUDA 13.0 at
// least, it widens neg.s16 to 32 bits and takes the result for sign-extended, which -(-32768) is
// not.
func (p arithPrinter) negate16(x ir.Expr) cprint.Val {
	return cprint.Value(p.call("go_neg16", p.number(x).Text), cprint.PrecPostfix, cprint.I16)
}

// negated16 returns x where e is x * -1, x / -1 or 0 - x of an int16, which the compiler turns into
// -x; else nil.
func negated16(e *ir.Binary) ir.Expr {
	is := func(x ir.Expr, v int64) bool {
		c, ok := x.(*ir.Const)
		return ok && int64(c.Bits) == v
	}
	switch {
	case e.T.Kind != ir.Int16:
		return nil
	case (e.Op == ir.Mul || e.Op == ir.Div) && is(e.Y, -1), e.Op == ir.Sub && is(e.X, 0):
		return map[bool]ir.Expr{true: e.Y, false: e.X}[e.Op == ir.Sub]
	case e.Op == ir.Mul && is(e.X, -1):
		return e.Y
	}
	return nil
}
