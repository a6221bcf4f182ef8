package cuda

import (
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

func (p *printer) bitwise(e *ir.Binary) val {
	x, y := p.alike(e.X, e.Y)
	ct := common(x.ct, y.ct)
	if e.Op == ir.AndNot {
		y = p.extend(y, ct)
	}
	out := join(e.Op, x, y, ct)
	if ct.isUnsigned() && e.T.IsSigned() && !p.ranges.of(e).nonNegative() {
		out.bits = ct.bits()
	}
	return out
}

// extend returns v in the width of ct, so that the bits above it are there when it is complemented.
func (p *printer) extend(v val, ct ctype) val {
	if v.ct.promote().isUnsigned() && v.ct.bits() < ct.bits() {
		return v.cast(p.typed(ct))
	}
	return v
}

func (p *printer) shift(e *ir.Binary) val {
	n := p.ranges.of(e.Y)
	count := p.number(e.Y)
	if e.Checked {
		count = value(p.call("check_count", count.text, p.site(CountSite, e.At, e.Y), "fault"), precPostfix, u64)
	}
	if e.Checked || !n.within(span(0, int64(width(e.T)-1))) {
		name := map[ir.Op]string{ir.Shl: "go_shl", ir.Shr: "go_shr"}[e.Op]
		ct := p.typed(ctypeOf(e.T))
		return value(p.call(name, p.number(e.X).cast(ct).text, count.text), precPostfix, ct)
	}
	if e.Op == ir.Shr {
		x := p.fullWidth(p.number(e.X), e, n)
		return join(e.Op, x, count, x.ct.promote())
	}
	return p.shiftLeft(e, count)
}

// fullWidth casts the shifted value to its Go type where the count may pass the width of the one
// that it has, and a number that stands for an unsigned value.
func (p *printer) fullWidth(x val, e *ir.Binary, count interval) val {
	if count.hi >= int64(x.ct.promote().bits()) || !e.T.IsSigned() && cprint.IsNumber(x.text) {
		return x.cast(p.typed(ctypeOf(e.T)))
	}
	return x
}

func (p *printer) shiftLeft(e *ir.Binary, count val) val {
	r, wraps := p.ranges.eval(e)
	w := p.ringWidth(e.T, r, wraps)
	if p.ranges.of(e.Y).hi >= 32 {
		w = max(width(e.T), 32)
	}
	x := p.number(e.X)
	if x.ct.promote().bits() < w {
		x = x.cast(p.typed(widen(x.ct, x.ct, wraps || !r.nonNegative(), w)))
	}
	if ct := x.ct.promote(); !ct.isUnsigned() && (wraps || !r.nonNegative()) {
		x = x.cast(p.typed(unsigned(ct.bits())))
	}
	ct := x.ct.promote()
	out := join(ir.Shl, x, count, ct)
	switch {
	case wraps && (e.T.IsSigned() || ct.bits() > width(e.T)):
		out.bits = width(e.T)
	case ct.isUnsigned() && e.T.IsSigned() && !r.nonNegative():
		out.bits = ct.bits()
	}
	return out
}

func (p *printer) unary(e *ir.Unary) val {
	if e.Op == ir.Not {
		return value("!"+p.expr(e.X).at(precUnary), precUnary, boolean)
	}
	t := e.Type()
	if t.IsFloat() {
		return minus(p.expr(e.X), ctypeOf(t))
	}
	if t.Kind == ir.Int16 && e.Op == ir.Neg {
		return p.negate16(e.X)
	}
	x := p.number(e.X)
	if e.Op == ir.Neg {
		return p.negate(e, x)
	}
	if !t.IsSigned() && width(t) >= 32 && x.ct != ctypeOf(t) {
		x = x.cast(p.typed(ctypeOf(t)))
	}
	if t.IsSigned() && x.ct.isUnsigned() {
		x = p.signed(x, e.X)
	}
	out := value("~"+x.at(precUnary), precUnary, x.ct.promote())
	if !t.IsSigned() && width(t) < 32 {
		out.bits = width(t)
	}
	return out
}

func (p *printer) negate(e *ir.Unary, x val) val {
	t := e.Type()
	_, wraps := p.ranges.eval(e)
	switch {
	case width(t) < 32:
		out := minus(x, i32)
		if wraps || !t.IsSigned() {
			out.bits = width(t)
		}
		return out
	case wraps || !t.IsSigned():
		return p.negateWrapping(e)
	case x.ct.isUnsigned():
		x = p.signed(x, e.X)
	}
	if !p.ranges.of(e).fits32() {
		x = x.cast(p.typed(ctypeOf(t)))
	}
	return minus(x, x.ct.promote())
}

// minus prints -x; two signs are kept apart.
func minus(x val, ct ctype) val {
	text := x.at(precUnary)
	if strings.HasPrefix(text, "-") {
		text = "(" + text + ")"
	}
	return value("-"+text, precUnary, ct)
}

// negateWrapping prints 0 - x modulo 2^width.
func (p *printer) negateWrapping(e *ir.Unary) val {
	t := e.Type()
	n := width(t)
	x := p.ringOperand(e.X, n, false)
	if !x.ct.isUnsigned() || x.ct.bits() < n {
		x = p.toUnsigned(x, n)
	}
	out := value("0 - "+x.at(precMul), precAdd, x.ct)
	if out.bits = min(x.bits, n); !t.IsSigned() {
		out.bits = exactAt(out.bits, n)
	}
	return out
}

// negate16 prints -x of an int16 in a way that ptxas does not see through: up to CUDA 13.0 at
// least, it widens neg.s16 to 32 bits and takes the result for sign-extended, which -(-32768) is
// not.
func (p *printer) negate16(x ir.Expr) val {
	return value(p.call("go_neg16", p.number(x).text), precPostfix, i16)
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
