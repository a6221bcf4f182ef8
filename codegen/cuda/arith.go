package cuda

import (
	"math"
	"strings"

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

// join prints x op y with the parentheses that C++ needs, and those that a reader wants around
// arithmetic below a shift or a bit operation and around && below ||.
func join(op ir.Op, x, y val, ct ctype) val {
	o := cOps[op]
	left, right := o.prec, o.prec+1
	if o.prec >= precOr && o.prec <= precShift && o.prec != precEq && o.prec != precRel {
		left, right = clear(o.prec, x), clear(o.prec, y)
	}
	if op == ir.LOr {
		left, right = aroundAnd(x), aroundAnd(y)
	}
	if op == ir.AndNot {
		return value(x.at(left)+" & ~"+y.at(precUnary), o.prec, ct)
	}
	if op == ir.Add && y.prec == precAdd && x.ct == ct && y.ct == ct && ct.isUnsigned() {
		right = precAdd // sums of unsigned numbers may be read from the left
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

// clear returns the binding strength that operand v needs below an operator of strength prec to be
// read at a glance.
func clear(prec int, v val) int {
	if v.prec == prec && prec != precShift {
		return prec
	}
	return precUnary
}

// binary prints a binary operation.
func (p *printer) binary(e *ir.Binary) val {
	switch e.Op {
	case ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge:
		return p.comparison(e)
	case ir.LAnd, ir.LOr:
		return p.logical(e)
	}
	t := e.T
	if !t.IsInteger() {
		return p.floatOrBool(e)
	}
	if x := negated16(e); x != nil {
		return p.negate16(x)
	}
	switch e.Op {
	case ir.Add, ir.Sub, ir.Mul:
		return p.ring(e)
	case ir.Div, ir.Rem:
		return p.division(e)
	case ir.Shl, ir.Shr:
		return p.shift(e)
	}
	return p.bitwise(e)
}

// logical prints && and ||, without a side that is known.
func (p *printer) logical(e *ir.Binary) val {
	if _, known := p.decided(e.X); known && !hasChecks(e.X) {
		return p.expr(e.Y) // e as a whole is not known: X does not decide
	}
	if y, known := p.decided(e.Y); known && !hasChecks(e.Y) && y == (e.Op == ir.LAnd) {
		return p.expr(e.X)
	}
	return join(e.Op, p.expr(e.X), p.expr(e.Y), boolean)
}

func (p *printer) floatOrBool(e *ir.Binary) val {
	x, y := p.expr(e.X), p.expr(e.Y)
	if e.T.Kind == ir.Bool {
		return p.bools(e, x, y)
	}
	return join(e.Op, x, y, ctypeOf(e.T))
}

// bools prints &, | and the like of lowered reductions on bools.
func (p *printer) bools(e *ir.Binary, x, y val) val {
	op := map[ir.Op]ir.Op{ir.And: ir.LAnd, ir.Or: ir.LOr, ir.Xor: ir.Ne}[e.Op]
	if op == ir.NoOp {
		p.fail(e.At, "operator %s on bools", e.Op)
	}
	return join(op, x, y, boolean)
}

// ring prints an addition, subtraction or multiplication of integers: signed where it provably
// stays in its type, on unsigned operands, modulo 2^bits, where it may wrap around.
func (p *printer) ring(e *ir.Binary) val {
	r, wraps := p.ranges.eval(e)
	w := p.ringWidth(e.T, r, wraps)
	wrap32 := p.wrap32 && w == 64 && p.all32(e)
	if wrap32 {
		w, wraps = 32, !p.rising
	}
	low := wrap32 || p.opt.Index32 && w == 32 && width(e.T) == 64 // 32 bits of the operands are enough
	x, y := p.ringOperand(e.X, w, low), p.ringOperand(e.Y, w, low)
	if common(x.ct, y.ct).bits() < w {
		x = x.cast(p.typed(widen(x.ct, y.ct, wraps, w)))
	}
	if ct := common(x.ct, y.ct); p.mustWrap(e, ct, wraps) {
		x = p.toUnsigned(x, ct.bits())
	}
	ct := common(x.ct, y.ct)
	x, y = x.beside(ct), y.beside(ct)
	out := join(e.Op, x, y, ct)
	out.bits = ringBits(e.T, x, y, ct, r, wraps, wrap32)
	return out
}

// ringWidth returns the number of bits in which the operation is to be done.
func (p *printer) ringWidth(t *ir.Type, r interval, wraps bool) int {
	n := max(width(t), 32)
	if p.opt.Index32 && t.IsSigned() && !wraps && r.fits32() {
		return 32
	}
	return n
}

// mustWrap reports whether an operation in ct has to be made unsigned. Types below int never
// overflow it, but for a product of uint16.
func (p *printer) mustWrap(e *ir.Binary, ct ctype, wraps bool) bool {
	if !wraps || ct.isUnsigned() {
		return false
	}
	return width(e.T) >= 32 || e.T.Kind == ir.Uint16 && e.Op == ir.Mul
}

func (p *printer) toUnsigned(x val, bits int) val {
	ct := p.typed(unsigned(bits))
	if x.bits != exact {
		return val{text: "(" + ct.String() + ")" + x.at(precUnary), prec: precUnary, ct: ct, bits: x.bits}
	}
	return x.cast(ct)
}

// widen returns the type to which the left operand is cast for an operation in w bits.
func widen(x, y ctype, wraps bool, w int) ctype {
	if wraps {
		return unsigned(w)
	}
	return signed(w)
}

// typed notes that the typedef of ct is used.
func (p *printer) typed(ct ctype) ctype {
	p.scalarName(ct)
	return ct
}

// ringOperand prints an operand of an operation in w bits: it is right in as many.
func (p *printer) ringOperand(e ir.Expr, w int, wrap32 bool) val {
	saved := p.wrap32
	p.wrap32 = wrap32
	v := p.expr(e)
	p.wrap32 = saved
	if v.bits < w {
		v = p.exact(v, e.Type())
	}
	return v
}

// ringBits says how much of the result is right.
func ringBits(t *ir.Type, x, y val, ct ctype, r interval, wraps, wrap32 bool) int {
	m := min(x.bits, y.bits)
	if wrap32 {
		return 32
	}
	if wraps && !(ct.isUnsigned() && !t.IsSigned() && ct.bits() == width(t)) {
		return min(m, width(t))
	}
	if wraps {
		return exactAt(min(m, width(t)), width(t))
	}
	if m == exact && !ct.isUnsigned() {
		return exact
	}
	if ct.isUnsigned() && r.nonNegative() && min(m, ct.bits()) == ct.bits() {
		return exact
	}
	return min(m, ct.bits())
}

// exactAt says that all of n bits are all that there is to know.
func exactAt(bits, n int) int {
	if bits >= n {
		return exact
	}
	return bits
}

// all32 reports whether the leaves of a chain of additions, subtractions and multiplications are
// 32-bit values, so that the chain may be computed modulo 2^32.
func (p *printer) all32(e ir.Expr) bool {
	b, ok := e.(*ir.Binary)
	if ok && (b.Op == ir.Add || b.Op == ir.Sub || b.Op == ir.Mul) {
		return p.all32(b.X) && p.all32(b.Y)
	}
	return p.isNarrow(e)
}

// isNarrow reports whether e is printed as a value of at most 32 bits.
func (p *printer) isNarrow(e ir.Expr) bool {
	if _, ok := e.(*ir.Const); ok {
		return p.ranges.of(e).fits32()
	}
	return p.peek(e).ct.bits() <= 32
}

// exact returns v as Go's value of type t.
func (p *printer) exact(v val, t *ir.Type) val {
	if v.bits == exact {
		return v
	}
	ct := ctypeOf(t)
	if t.IsSigned() && v.bits < ct.bits() {
		ct = signed(v.bits)
	}
	return val{text: "(" + p.typed(ct).String() + ")" + v.at(precUnary), prec: precUnary, ct: ct, bits: exact}
}

// alike prints the operands of a comparison, quotient or bit operation: exact, and not a negative
// one with an unsigned one, which C++ would take for a large one.
func (p *printer) alike(a, b ir.Expr) (x, y val) {
	x, y = p.number(a), p.number(b)
	ct := common(x.ct, y.ct)
	if !ct.isUnsigned() || !a.Type().IsSigned() {
		return x, y
	}
	if x.ct.isUnsigned() && !p.ranges.of(b).nonNegative() {
		x = p.signed(x, a)
	}
	if y.ct.isUnsigned() && !p.ranges.of(a).nonNegative() {
		y = p.signed(y, b)
	}
	return x, y
}

// signed returns v, the value of e, in a signed type.
func (p *printer) signed(v val, e ir.Expr) val {
	if p.ranges.of(e).fits32() {
		return v.cast(i32)
	}
	return v.cast(p.typed(i64))
}

func (p *printer) comparison(e *ir.Binary) val {
	t := e.X.Type()
	if t.Kind == ir.Struct || t.Kind == ir.Array {
		p.equality(t)
		v := join(ir.Eq, p.expr(e.X), p.expr(e.Y), boolean)
		if e.Op == ir.Ne {
			v = value("!("+v.text+")", precUnary, boolean)
		}
		return v
	}
	x, y := p.alike(e.X, e.Y)
	return join(e.Op, x, y, boolean)
}

// division prints x / y or x % y. The least integer divided by -1 is overflow in C++.
func (p *printer) division(e *ir.Binary) val {
	x, y := p.alike(e.X, e.Y)
	if e.Checked {
		y = value(p.call("check_divisor", y.text, p.site(DivisorSite, e.At, e.Y), "fault"), precPostfix, y.ct)
	}
	ct := common(x.ct, y.ct)
	if e.T.IsSigned() && width(e.T) >= 32 && p.ranges.of(e.Y).has(-1) && p.mayBeLeast(e.X, ct) {
		name := map[ir.Op]string{ir.Div: "go_div", ir.Rem: "go_rem"}[e.Op]
		return value(p.call(name, x.cast(p.typed(ct)).text, y.cast(ct).text), precPostfix, ct)
	}
	out := join(e.Op, x, y, ct)
	if e.T.IsSigned() && width(e.T) < 32 && e.Op == ir.Div {
		out.bits = width(e.T) // -128 / -1
	}
	return out
}

func (p *printer) mayBeLeast(e ir.Expr, ct ctype) bool {
	r := p.ranges.of(e)
	if ct == i32 {
		return r.has(math.MinInt32)
	}
	return r.has(math.MinInt64)
}
