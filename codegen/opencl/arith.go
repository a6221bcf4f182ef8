package opencl

import (
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

var cOps = map[ir.Op]struct {
	text string
	prec int
}{
	ir.Add: {"+", precAdd}, ir.Sub: {"-", precAdd}, ir.Mul: {"*", precMul}, ir.Div: {"/", precMul}, ir.Rem: {"%", precMul},
	ir.And: {"&", precAnd}, ir.Or: {"|", precOr}, ir.Xor: {"^", precXor}, ir.AndNot: {"& ~", precAnd},
	ir.Shl: {"<<", precShift}, ir.Shr: {">>", precShift},
	ir.Eq: {"==", precEq}, ir.Ne: {"!=", precEq}, ir.Lt: {"<", precRel}, ir.Le: {"<=", precRel}, ir.Gt: {">", precRel},
	ir.Ge: {">=", precRel}, ir.LAnd: {"&&", precLAnd}, ir.LOr: {"||", precLOr},
}

// join prints x op y with the parentheses that C needs, and those that a reader wants around
// arithmetic below a shift or a bit operation and around && below ||.
func join(op ir.Op, x, y val, ct ctype) val {
	o := cOps[op]
	left, right := o.prec, o.prec+1
	switch {
	case o.prec >= precOr && o.prec <= precAnd || o.prec == precShift:
		left, right = precUnary, precUnary
	case op == ir.LOr:
		left, right = aroundAnd(x), aroundAnd(y)
	}
	if op == ir.AndNot {
		return value(x.at(left)+" & ~"+y.at(precUnary), o.prec, ct)
	}
	rhs := y.at(right)
	if o.prec == precAdd && strings.HasPrefix(rhs, "-") {
		rhs = "(" + rhs + ")"
	}
	return value(x.at(left)+" "+o.text+" "+rhs, o.prec, ct)
}

// aroundAnd asks for parentheses around && below ||.
func aroundAnd(v val) int {
	if v.prec == precLAnd {
		return precUnary
	}
	return precLOr
}

func (p *printer) binary(e *ir.Binary) val {
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
			return value("false", precPostfix, boolean)
		}
		return join(op, p.expr(e.X), p.expr(e.Y), boolean)
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
	if e.Op == ir.AndNot && cprint.IsNumber(y.text) && !e.T.IsSigned() {
		y = y.cast(unsignedOf(width(e.T)))
	}
	ct := common(x.ct, y.ct)
	return value(join(e.Op, x, y, ct).text, cOps[e.Op].prec, ct)
}

// floats prints an operation on floats. A float32 division that the device does not round correctly
// is done in float64: with more than twice the digits, rounding twice gives the same.
func (p *printer) floats(e *ir.Binary) val {
	x, y := p.expr(e.X), p.expr(e.Y)
	ct := ctypeOf(e.T)
	if ct == f64 {
		p.needs["cl_khr_fp64"] = true
	}
	if e.Op == ir.Div && ct == f32 && !p.opt.RoundedDivide && !p.prog.FastMath {
		p.needs["cl_khr_fp64"] = true
		return join(e.Op, x.cast(f64), y.cast(f64), f64).cast(f32)
	}
	return join(e.Op, x, y, ct)
}

// ring prints an addition, subtraction or multiplication of integers: signed where it provably
// stays in its type, on unsigned operands, modulo 2^bits, where it may wrap around.
func (p *printer) ring(e *ir.Binary) val {
	x, y := p.expr(e.X), p.expr(e.Y)
	n := width(e.T)
	if n < 32 { // C computes in int, of which the type takes the low bits
		x, y = p.exact(x, e.T), p.exact(y, e.T)
		if e.Op == ir.Mul && e.T.Kind == ir.Uint16 {
			x = x.cast(u32)
		}
		out := join(e.Op, x, y, common(x.ct, y.ct))
		out.modular = p.wraps(e)
		return out
	}
	if !p.wraps(e) && e.T.IsSigned() {
		x, y = p.exact(x, e.T), p.exact(y, e.T)
		if ct := common(x.ct, y.ct); ct.bits() < n {
			x = x.cast(signedOf(n))
		}
		ct := common(x.ct, y.ct)
		out := join(e.Op, x, y, ct)
		out.modular = ct.isUnsigned() && p.rangeOf(e).lo < 0
		return out
	}
	unsigned := unsignedOf(n)
	if x.modular && x.ct != unsigned {
		x = p.exact(x, e.T)
	}
	if y.modular && y.ct != unsigned {
		y = p.exact(y, e.T)
	}
	if common(x.ct, y.ct) != unsigned {
		modular := x
		modular.modular = false
		x = modular.cast(unsigned)
	}
	out := join(e.Op, x, y, unsigned)
	out.modular = e.T.IsSigned()
	return out
}

// alike prints the operands of a comparison or quotient: exact, and signed ones signed.
func (p *printer) alike(a, b ir.Expr) (x, y val) {
	return p.comparable(p.number(a), a.Type()), p.comparable(p.number(b), b.Type())
}

func (p *printer) comparable(v val, t *ir.Type) val {
	if t.IsSigned() && v.ct.isUnsigned() {
		return v.cast(ctypeOf(t))
	}
	return v
}

func (p *printer) comparison(e *ir.Binary) val {
	t := e.X.Type()
	switch t.Kind {
	case ir.Struct, ir.Array:
		x, y := p.expr(e.X), p.expr(e.Y)
		text := p.equality(t) + "(" + x.text + ", " + y.text + ")"
		if e.Op == ir.Ne {
			return value("!"+text, precUnary, boolean)
		}
		return value(text, precPostfix, boolean)
	case ir.Slice: // with nil
		x := e.X
		if _, isNil := x.(*ir.Const); isNil {
			x = e.Y
		}
		return value(p.slice(x).ptr.at(precEq)+" "+cOps[e.Op].text+" NULL", precEq, boolean)
	}
	x, y := p.alike(e.X, e.Y)
	return join(e.Op, x, y, boolean)
}

// logical prints && and ||. Checks of the second operand are made only where it decides.
func (p *printer) logical(e *ir.Binary) val {
	if !p.needsStatements(e.Y) {
		return join(e.Op, p.expr(e.X), p.expr(e.Y), boolean)
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
func (p *printer) division(e *ir.Binary) val {
	y := e.Y
	if e.Checked {
		v := p.asGo(p.stable(e.Y, "divisor"), e.T)
		p.check(e.At, v.at(precEq)+" == 0", ir.DivisorCheck, ir.Source(e.Y), false, "0", "0")
		return p.quotient(e, p.comparable(p.number(e.X), e.T), v)
	}
	if c, ok := y.(*ir.Const); ok && c.Bits != 0 && int64(c.Bits) != -1 {
		a, b := p.alike(e.X, e.Y)
		return join(e.Op, a, b, common(a.ct, b.ct))
	}
	a, b := p.alike(e.X, e.Y)
	return p.quotient(e, a, b)
}

// quotient prints a division by something that the compiler cannot see.
func (p *printer) quotient(e *ir.Binary, x, y val) val {
	ct := unsignedOf(width(e.T))
	if e.T.IsSigned() {
		ct = signedOf(width(e.T))
	}
	text := map[bool]map[ir.Op]string{true: {ir.Div: divText, ir.Rem: remText}, false: {ir.Div: udivText, ir.Rem: uremText}}[e.T.IsSigned()][e.Op]
	name := p.typed(map[ir.Op]string{ir.Div: "go_div", ir.Rem: "go_rem"}[e.Op], text, ct)
	out := value(name+"("+x.text+", "+y.text+")", precPostfix, ct)
	out.modular = e.T.IsSigned() && width(e.T) < 32 // -128 / -1
	return out
}

func (p *printer) shift(e *ir.Binary) val {
	n := width(e.T)
	count := p.number(e.Y)
	if e.Checked {
		count = p.stable(e.Y, "count")
		p.check(e.At, count.at(precRel)+" < 0", ir.CountCheck, ir.Source(e.Y), false, "(long)"+count.at(precUnary), "0")
	}
	x := p.number(e.X)
	r := p.rangeOf(e.Y)
	unsigned, signed := unsignedOf(n), signedOf(n)
	fits := !e.Checked && r.within(span(0, int64(max(n, 32)-1)))
	if e.Op == ir.Shr {
		ct := unsigned
		if e.T.IsSigned() {
			ct = signed
		}
		if fits {
			return join(ir.Shr, p.wide(x, ct), count, ct)
		}
		return value(p.typed("go_shr", shrText, ct)+"("+x.text+", "+count.text+")", precPostfix, ct)
	}
	out := val{}
	if fits {
		out = join(ir.Shl, p.wide(x, unsigned), count, unsigned)
	} else {
		out = value(p.typed("go_shl", shlText, unsigned)+"("+x.text+", "+count.text+")", precPostfix, unsigned)
	}
	out.modular = e.T.IsSigned() || n < 32
	return out
}

// wide returns v in a type of at least ct's width and sign.
func (p *printer) wide(v val, ct ctype) val {
	if v.ct.promote() == ct && !cprint.IsNumber(v.text) {
		return v
	}
	return v.cast(ct)
}

func (p *printer) unary(e *ir.Unary) val {
	t := e.Type()
	x := p.expr(e.X)
	switch {
	case e.Op == ir.Not:
		return value("!"+x.at(precUnary), precUnary, boolean)
	case t.IsFloat():
		return minus(x, ctypeOf(t))
	}
	x = p.exact(x, t)
	n := width(t)
	if e.Op == ir.Com {
		if n >= 32 {
			x = p.wide(x, map[bool]ctype{true: signedOf(n), false: unsignedOf(n)}[t.IsSigned()])
		}
		out := value("~"+x.at(precUnary), precUnary, x.ct.promote())
		out.modular = n < 32 && !t.IsSigned()
		return out
	}
	if r := p.rangeOf(e.X); n >= 32 && t.IsSigned() && r.known && r.lo > typeRange(t).lo && !x.ct.isUnsigned() {
		return minus(p.wide(x, signedOf(n)), signedOf(n))
	}
	if n < 32 {
		out := minus(x, i32)
		out.modular = true
		return out
	}
	out := value("0 - "+p.wide(x, unsignedOf(n)).at(precMul), precAdd, unsignedOf(n))
	out.modular = t.IsSigned()
	return out
}

// minus prints -x; two signs are kept apart.
func minus(x val, ct ctype) val {
	text := x.at(precUnary)
	if strings.HasPrefix(text, "-") {
		text = "(" + text + ")"
	}
	return value("-"+text, precUnary, ct)
}
