package cuda

import (
	"math"
	"math/bits"
	"slices"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// binary prints a binary operation.
func (p arithPrinter) binary(e *ir.Binary) cprint.Val {
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
func (p arithPrinter) logical(e *ir.Binary) cprint.Val {
	if _, known := p.decided(e.X); known && !cprint.HasChecks(e.X) {
		return p.expr(e.Y) // e as a whole is not known: X does not decide
	}
	if y, known := p.decided(e.Y); known && !cprint.HasChecks(e.Y) && y == (e.Op == ir.LAnd) {
		return p.expr(e.X)
	}
	return dialect.Join(e.Op, p.expr(e.X), p.expr(e.Y), cprint.Bool)
}

func (p arithPrinter) floatOrBool(e *ir.Binary) cprint.Val {
	if root, ok := e.Y.(*ir.Math); ok && e.Op == ir.Div && root.Fn == ir.Sqrt && p.prog.FastMath {
		inverse := &ir.Math{Fn: ir.Rsqrt, Args: root.Args, T: root.T, At: root.At}
		return dialect.Join(ir.Mul, p.expr(e.X), p.expr(inverse), cprint.TypeOf(e.T))
	}
	x, y := p.expr(e.X), p.expr(e.Y)
	if e.T.Kind == ir.Bool {
		return p.bools(e, x, y)
	}
	return dialect.Join(e.Op, x, y, cprint.TypeOf(e.T))
}

// bools prints &, | and the like of lowered reductions on bools.
func (p arithPrinter) bools(e *ir.Binary, x, y cprint.Val) cprint.Val {
	op := map[ir.Op]ir.Op{ir.And: ir.LAnd, ir.Or: ir.LOr, ir.Xor: ir.Ne}[e.Op]
	if op == ir.NoOp {
		p.fail(e.At, "operator %s on bools", e.Op)
	}
	return dialect.Join(op, x, y, cprint.Bool)
}

// ring prints an addition, subtraction or multiplication of integers: signed where it provably
// stays in its type, on unsigned operands, modulo 2^bits, where it may wrap around.
func (p arithPrinter) ring(e *ir.Binary) cprint.Val {
	r, wraps := p.ranges.eval(e)
	w := p.ringWidth(e.T, r, wraps)
	wrap32 := p.wrap32 && w == 64 && p.all32(e)
	if wrap32 {
		w, wraps = 32, !p.rising
	}
	low := wrap32 || p.opt.Index32 && w == 32 && cprint.Width(e.T) == 64 // 32 bits of the operands are enough
	x, y := p.ringOperand(e.X, w, low), p.ringOperand(e.Y, w, low)
	if cprint.Common(x.Type, y.Type).Bits() < w {
		x = dialect.Cast(x, p.typed(widen(x.Type, y.Type, wraps, w)))
	}
	if ct := cprint.Common(x.Type, y.Type); p.mustWrap(e, ct, wraps) {
		x = p.toUnsigned(x, ct.Bits())
	}
	ct := cprint.Common(x.Type, y.Type)
	x, y = dialect.Beside(x, ct), dialect.Beside(y, ct)
	out := dialect.Join(e.Op, x, y, ct)
	out.Bits = ringBits(e.T, x, y, ct, r, wraps, wrap32)
	return out
}

// ringWidth returns the number of bits in which the operation is to be done.
func (p arithPrinter) ringWidth(t *ir.Type, r interval, wraps bool) int {
	n := max(cprint.Width(t), 32)
	if p.opt.Index32 && t.IsSigned() && !wraps && r.fits32() {
		return 32
	}
	return n
}

// mustWrap reports whether an operation in ct has to be made unsigned. Types below int never
// overflow it, but for a product of uint16.
func (p arithPrinter) mustWrap(e *ir.Binary, ct cprint.Type, wraps bool) bool {
	if !wraps || ct.IsUnsigned() {
		return false
	}
	return cprint.Width(e.T) >= 32 || e.T.Kind == ir.Uint16 && e.Op == ir.Mul
}

func (p arithPrinter) toUnsigned(x cprint.Val, bits int) cprint.Val {
	ct := p.typed(cprint.Unsigned(bits))
	if x.Bits != cprint.Exact {
		return cprint.Val{Text: "(" + dialect.Name(ct) + ")" + x.At(cprint.PrecUnary), Prec: cprint.PrecUnary, Type: ct, Bits: x.Bits}
	}
	return dialect.Cast(x, ct)
}

// widen returns the type to which the left operand is cast for an operation in w bits.
func widen(x, y cprint.Type, wraps bool, w int) cprint.Type {
	if wraps {
		return cprint.Unsigned(w)
	}
	return cprint.Signed(w)
}

// typed notes that the typedef of ct is used.
func (p *file) typed(ct cprint.Type) cprint.Type {
	p.scalarName(ct)
	return ct
}

// ringOperand prints an operand of an operation in w bits: it is right in as many.
func (p arithPrinter) ringOperand(e ir.Expr, w int, wrap32 bool) cprint.Val {
	saved := p.wrap32
	p.wrap32 = wrap32
	v := p.expr(e)
	p.wrap32 = saved
	if v.Bits < w {
		v = p.exact(v, e.Type())
	}
	return v
}

// ringBits says how much of the result is right.
func ringBits(t *ir.Type, x, y cprint.Val, ct cprint.Type, r interval, wraps, wrap32 bool) int {
	m := min(x.Bits, y.Bits)
	if wrap32 {
		return 32
	}
	if wraps && !(ct.IsUnsigned() && !t.IsSigned() && ct.Bits() == cprint.Width(t)) {
		return min(m, cprint.Width(t))
	}
	if wraps {
		return exactAt(min(m, cprint.Width(t)), cprint.Width(t))
	}
	if m == cprint.Exact && !ct.IsUnsigned() {
		return cprint.Exact
	}
	if ct.IsUnsigned() && r.nonNegative() && min(m, ct.Bits()) == ct.Bits() {
		return cprint.Exact
	}
	return min(m, ct.Bits())
}

// exactAt says that all of n bits are all that there is to know.
func exactAt(bits, n int) int {
	if bits >= n {
		return cprint.Exact
	}
	return bits
}

// all32 reports whether the leaves of a chain of additions, subtractions and multiplications are
// 32-bit values, so that the chain may be computed modulo 2^32.
func (p arithPrinter) all32(e ir.Expr) bool {
	b, ok := e.(*ir.Binary)
	if ok && (b.Op == ir.Add || b.Op == ir.Sub || b.Op == ir.Mul) {
		return p.all32(b.X) && p.all32(b.Y)
	}
	return p.isNarrow(e)
}

// isNarrow reports whether e is printed as a value of at most 32 bits.
func (p arithPrinter) isNarrow(e ir.Expr) bool {
	if _, ok := e.(*ir.Const); ok {
		return p.ranges.of(e).fits32()
	}
	return p.peek(e).Type.Bits() <= 32
}

// exact returns v as Go's value of type t.
func (p *printer) exact(v cprint.Val, t *ir.Type) cprint.Val {
	if v.Bits == cprint.Exact {
		return v
	}
	ct := cprint.TypeOf(t)
	if t.IsSigned() && v.Bits < ct.Bits() {
		ct = cprint.Signed(v.Bits)
	}
	return cprint.Val{Text: "(" + dialect.Name(p.typed(ct)) + ")" + v.At(cprint.PrecUnary), Prec: cprint.PrecUnary, Type: ct, Bits: cprint.Exact}
}

// alike prints the operands of a comparison, quotient or bit operation: exact, and not a negative
// one with an unsigned one, which C++ would take for a large one.
func (p arithPrinter) alike(a, b ir.Expr) (x, y cprint.Val) {
	x, y = p.number(a), p.number(b)
	ct := cprint.Common(x.Type, y.Type)
	if !ct.IsUnsigned() || !a.Type().IsSigned() {
		return x, y
	}
	if x.Type.IsUnsigned() && !p.ranges.of(b).nonNegative() {
		x = p.signed(x, a)
	}
	if y.Type.IsUnsigned() && !p.ranges.of(a).nonNegative() {
		y = p.signed(y, b)
	}
	return x, y
}

// signed returns v, the value of e, in a signed type.
func (p arithPrinter) signed(v cprint.Val, e ir.Expr) cprint.Val {
	if p.ranges.of(e).fits32() {
		return dialect.Cast(v, cprint.I32)
	}
	return dialect.Cast(v, p.typed(cprint.I64))
}

func (p arithPrinter) comparison(e *ir.Binary) cprint.Val {
	t := e.X.Type()
	if t.Kind == ir.Struct || t.Kind == ir.Array {
		p.equality(t)
		v := dialect.Join(ir.Eq, p.expr(e.X), p.expr(e.Y), cprint.Bool)
		if e.Op == ir.Ne {
			v = cprint.Value("!("+v.Text+")", cprint.PrecUnary, cprint.Bool)
		}
		return v
	}
	x, y := p.alike(e.X, e.Y)
	return dialect.Join(e.Op, x, y, cprint.Bool)
}

// division prints x / y or x % y. The least integer divided by -1 is overflow in C++.
func (p arithPrinter) division(e *ir.Binary) cprint.Val {
	x, y := p.alike(e.X, e.Y)
	if e.Checked {
		y = cprint.Value(p.call("check_divisor", y.Text, p.site(DivisorSite, e.At, e.Y), "fault"), cprint.PrecPostfix, y.Type)
	}
	ct := cprint.Common(x.Type, y.Type)
	if by := p.multiplier(e, ct); by != nil {
		return p.multiplied(e, x, y, ct, by)
	}
	if e.T.IsSigned() && cprint.Width(e.T) >= 32 && p.ranges.of(e.Y).has(-1) && p.mayBeLeast(e.X, ct) {
		name := map[ir.Op]string{ir.Div: "go_div", ir.Rem: "go_rem"}[e.Op]
		return cprint.Value(p.call(name, dialect.Cast(x, p.typed(ct)).Text, dialect.Cast(y, ct).Text), cprint.PrecPostfix, ct)
	}
	out := dialect.Join(e.Op, x, y, ct)
	if e.T.IsSigned() && cprint.Width(e.T) < 32 && e.Op == ir.Div {
		out.Bits = cprint.Width(e.T) // -128 / -1
	}
	return out
}

func (p arithPrinter) mayBeLeast(e ir.Expr, ct cprint.Type) bool {
	r := p.ranges.of(e)
	if ct == cprint.I32 {
		return r.has(math.MinInt32)
	}
	return r.has(math.MinInt64)
}

// findDivisors names the divisors in list that the host knows: division by one of them is a
// multiplication by a number that the host computes for each launch.
func (p arithPrinter) findDivisors(list []ir.Stmt) {
	ir.Inspect(list, nil, func(e ir.Expr) {
		b, ok := e.(*ir.Binary)
		if !ok || b.Op != ir.Div && b.Op != ir.Rem || !b.T.IsInteger() {
			return
		}
		if of := p.ranges.expand(b.Y); p.divisor(of) == nil && len(ir.ExprVars(of).List()) > 0 && p.onHost(of) {
			p.divisors = append(p.divisors, &divisor{of: of, name: p.Fresh("by")})
		}
	})
}

// divisor returns the divisor with the value of an expanded expression, nil where there is none.
func (p arithPrinter) divisor(of ir.Expr) *divisor {
	for _, d := range p.divisors {
		if cprint.SameExpr(d.of, of) {
			return d
		}
	}
	return nil
}

// onHost reports whether the host can compute e for a launch, without a check.
func (p arithPrinter) onHost(e ir.Expr) bool {
	steady := func(x ir.Expr) bool {
		r, ok := x.(*ir.Ref)
		return ok && r.Var.Space == ir.Param && !p.changed.Has(r.Var)
	}
	if !e.Type().IsInteger() {
		return false
	}
	switch e := e.(type) {
	case *ir.Const:
		return true
	case *ir.Ref:
		return steady(e)
	case *ir.Len:
		return steady(e.X)
	case *ir.Convert:
		return p.onHost(e.X)
	case *ir.Binary:
		return (e.Op == ir.Add || e.Op == ir.Sub || e.Op == ir.Mul) && p.onHost(e.X) && p.onHost(e.Y)
	case *ir.Math:
		return (e.Fn == ir.IMin || e.Fn == ir.IMax) && !slices.ContainsFunc(e.Args, func(a ir.Expr) bool { return !p.onHost(a) })
	}
	return false
}

// multiplier returns the divisor of a division in ct where a multiplication may stand for it, nil
// where it may not: the dividend has to be below 2^31 in magnitude.
func (p arithPrinter) multiplier(e *ir.Binary, ct cprint.Type) *divisor {
	x, y := p.ranges.of(e.X), p.ranges.of(e.Y)
	if len(p.divisors) == 0 || ct.Bits() > 32 || !x.fits32() || !y.fits32() || x.lo == math.MinInt32 || ct.IsUnsigned() && !(x.nonNegative() && y.nonNegative()) {
		return nil
	}
	return p.divisor(p.ranges.expand(e.Y))
}

// multiplied prints x / y or x % y by the multiplier of y.
func (p arithPrinter) multiplied(e *ir.Binary, x, y cprint.Val, ct cprint.Type, by *divisor) cprint.Val {
	by.used = true
	out := cprint.Value("", cprint.PrecPostfix, ct)
	if e.Op == ir.Div && e.T.IsSigned() && cprint.Width(e.T) < 32 {
		out.Bits = cprint.Width(e.T) // -128 / -1
	}
	positive := p.ranges.of(e.X).nonNegative() && p.ranges.of(e.Y).nonNegative()
	switch {
	case positive && e.Op == ir.Div && !e.Checked:
		out.Text = p.call("div_by", dialect.Cast(x, ct).Text, by.name)
	case positive && e.Op == ir.Rem:
		out.Text = p.call("rem_by", dialect.Cast(x, ct).Text, dialect.Cast(y, ct).Text, by.name)
	default:
		name := map[ir.Op]string{ir.Div: "div_signed", ir.Rem: "rem_signed"}[e.Op]
		out.Text, out.Type = p.call(name, x.Text, y.Text, by.name), cprint.I32
	}
	return out
}

// Multiplier returns the multiplier and the shift that a kernel divides by d with:
// x/d = x*multiplier >> (31 + shift) for 0 <= x < 2^31, where 0 < d <= 2^31; zeros for every other
// d. Source: Granlund and Montgomery, Division by invariant integers using multiplication, 1994,
// theorem 4.2 for 31 bits.
func Multiplier(d int64) (multiplier, shift uint32) {
	if d <= 0 || d > 1<<31 {
		return 0, 0
	}
	l := bits.Len64(uint64(d - 1))
	return uint32((uint64(1)<<(31+l) + uint64(d-1)) / uint64(d)), uint32(l)
}
