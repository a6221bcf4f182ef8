package analysis

import (
	"math"
	"math/bits"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A deriver builds forms of expressions that are not affine. It introduces a variable for each
// derivation and adds the derivation to the sites.
type deriver struct{ of *Collector }

// deriving returns e as a form in which variables of derivations represent the parts that are not
// affine.
func (dv deriver) deriving(e ir.Expr) affine.Form {
	if e == nil || !e.Type().IsInteger() {
		return affine.Form{Unknown: true}
	}
	a := affine.Form{Unknown: true}
	switch e := e.(type) {
	case *ir.Const:
		return affine.OfConst(e)
	case *ir.Ref:
		if known, ok := dv.of.defs[e.Var]; ok {
			return known
		}
		a = dv.of.held(e.Var)
	case *ir.Member, *ir.Index:
		a = dv.partOfParam(e)
	case *ir.Len:
		a = dv.of.lengthOf(e.X)
	case *ir.Cap:
		if v := query.RefVar(e.X); v != nil && dv.of.ofKernel(v) && !dv.of.Mutable.Has(v) {
			a = affine.OfAtom(affine.Atom{Var: v, Of: affine.CapOf})
		}
	case *ir.Convert:
		a = dv.derivedConvert(e)
	case *ir.Unary:
		if e.Op == ir.Neg {
			a = dv.inType(affine.Form{}.Sub(dv.deriving(e.X)), e.Type())
		}
	case *ir.Binary:
		a = dv.derivedBinary(e)
	case *ir.Math:
		a = dv.derivedMath(e)
	}
	if n, ok := Below(e); !a.Known() && ok {
		return dv.derive(DerivedAny, affine.Constant(0), affine.Constant(n-1), e.Type())
	}
	return a
}

func (dv deriver) derivedConvert(e *ir.Convert) affine.Form {
	if !e.X.Type().IsInteger() {
		return affine.Form{Unknown: true}
	}
	a, from, to := dv.deriving(e.X), e.X.Type(), e.T
	if from.IsSigned() == to.IsSigned() && to.Size >= from.Size || !from.IsSigned() && to.Size > from.Size {
		return a
	}
	return dv.inType(a, to)
}

// inType returns the result a of arithmetic in t: a itself if t is int64, otherwise a derivation
// that requires a to fit in t. A constant that does not fit is unknown.
func (dv deriver) inType(a affine.Form, t *ir.Type) affine.Form {
	if !a.Known() || affine.NeverWraps(t) {
		return a
	}
	if n, ok := a.Const(); ok {
		if lo, hi := LimitsOf(t); n < lo || n > hi {
			return affine.Form{Unknown: true}
		}
		return a
	}
	return dv.derive(DerivedNarrow, a, affine.Form{}, t)
}

// LimitsOf returns the smallest and largest value of integer type t, limited to the range of int64.
func LimitsOf(t *ir.Type) (lo, hi int64) {
	size := uint(8 * t.Size)
	switch {
	case t.IsSigned():
		return math.MinInt64 >> (64 - size), math.MaxInt64 >> (64 - size)
	case size < 64:
		return 0, 1<<size - 1
	}
	return 0, math.MaxInt64
}

func (dv deriver) derivedBinary(e *ir.Binary) affine.Form {
	x, y := dv.deriving(e.X), dv.deriving(e.Y)
	if !x.Known() || !y.Known() {
		return affine.Form{Unknown: true}
	}
	switch e.Op {
	case ir.Add:
		return dv.inType(dv.rejoined(x.Add(y)), e.T)
	case ir.Sub:
		return dv.inType(x.Sub(y), e.T)
	case ir.Mul:
		return dv.inType(x.Mul(y), e.T)
	case ir.Div:
		return dv.derive(DerivedDiv, x, y, e.T)
	case ir.Rem:
		return dv.derive(DerivedRem, x, y, e.T)
	}
	if e.Op == ir.And || e.Op == ir.AndNot || e.Op == ir.Or || e.Op == ir.Xor {
		return dv.derivedBits(e.Op, x, y, e.T)
	}
	n, constant := y.Const()
	switch {
	case !constant || n < 0:
	case e.Op == ir.Shl && n < 62:
		return dv.inType(x.Mul(affine.Constant(1<<n)), e.T)
	case e.Op == ir.Shr && n < 62:
		return dv.derive(DerivedShr, x, y, e.T)
	}
	return affine.Form{Unknown: true}
}

// derivedBits returns the form of x op y in type t for a bit operation op. If the operands have no
// bit in common, the form is their sum. A mask keeps or clears the bits below a power of two.
func (dv deriver) derivedBits(op ir.Op, x, y affine.Form, t *ir.Type) affine.Form {
	if _, constant := x.Const(); constant && op != ir.AndNot {
		x, y = y, x
	}
	n, constant := y.Const()
	switch {
	case op == ir.Or && (dv.apart(x, y) || dv.apart(y, x)), op == ir.Xor && (dv.apart(x, y) || dv.apart(y, x)):
		return dv.inType(dv.rejoined(x.Add(y)), t)
	case !constant || !t.IsSigned() && n < 0:
		return affine.Form{Unknown: true}
	case op == ir.And && n < 0, op == ir.AndNot && n >= 0: // the bits that the mask clears
		if op == ir.And {
			n = ^n
		}
		return dv.inType(dv.rejoined(x.Sub(dv.derivedBits(ir.And, x, affine.Constant(n), t))), t)
	case op == ir.And && dv.apart(x, y):
		return affine.Form{}
	case op == ir.And:
		return dv.derive(DerivedAnd, x, y, t)
	case op == ir.AndNot:
		return dv.derivedBits(ir.And, x, affine.Constant(^n), t)
	case n < 0 || n >= 1<<32:
		return affine.Form{Unknown: true}
	}
	low := bits.Len64(uint64(n)) // Or and Xor change only the bits of the mask
	rest := dv.derive(DerivedAny, affine.Constant(0), affine.Constant(1<<low-1), t)
	return dv.inType(dv.derive(DerivedShr, x, affine.Constant(int64(low)), t).Mul(affine.Constant(1<<low)).Add(rest), t)
}

// apart reports whether x and y have no bit in common because x is a multiple of a power of two
// that exceeds y.
func (dv deriver) apart(x, y affine.Form) bool {
	most, ok := y.Const()
	if d := dv.single(y); d != nil {
		switch d.Op {
		case DerivedAnd, DerivedAny:
			most, ok = d.Y.Const()
			if least, known := d.X.Const(); d.Op == DerivedAny && (!known || least < 0 || d.Host != nil) {
				return false
			}
		}
	}
	return ok && most >= 0 && affine.MultipleOf(x, uint(bits.Len64(uint64(most))))
}

// single returns the derivation whose variable is a.
func (dv deriver) single(a affine.Form) *Derivation {
	if len(a.Terms) != 1 || a.Terms[0].Coef != 1 || len(a.Terms[0].Atoms) != 1 {
		return nil
	}
	return dv.of.Sites.Derived[a.Terms[0].Atoms[0].Var]
}

// rejoined returns a with q*d + r replaced by the dividend, where q and r are its quotient and
// remainder by d, and with the bits above and below a mask replaced by the masked value.
func (dv deriver) rejoined(a affine.Form) affine.Form {
	for _, rest := range a.Atoms() {
		r := dv.of.Sites.Derived[rest.Var]
		if r == nil || r.Op != DerivedRem && r.Op != DerivedAnd {
			continue
		}
		coef, ok := a.Coef(rest.Var)
		c, constant := coef.Const()
		if !ok || !constant {
			continue
		}
		for _, whole := range a.Atoms() {
			q := dv.of.Sites.Derived[whole.Var]
			if q == nil || !q.X.Equal(r.X) {
				continue
			}
			by, ok := partsOf(q, r)
			joined := a.Sub(affine.OfVar(q.Var).Mul(by).Add(affine.OfVar(r.Var)).Sub(r.X).Mul(affine.Constant(c)))
			if ok && joined.Known() && !joined.Has(q.Var) && !joined.Has(r.Var) {
				return joined
			}
		}
	}
	return a
}

// partsOf returns by such that by*q + r is the operand X of both derivations, if there is one.
func partsOf(q, r *Derivation) (by affine.Form, ok bool) {
	switch {
	case q.Op == DerivedDiv && r.Op == DerivedRem:
		return q.Y, q.Y.Equal(r.Y)
	case q.Op == DerivedShr && r.Op == DerivedAnd:
		k, ok1 := q.Y.Const()
		n, ok2 := r.Y.Const()
		return affine.Constant(n + 1), ok1 && ok2 && k < 62 && n == 1<<k-1
	}
	return affine.Form{}, false
}

// derivedMath returns the form of a minimum or maximum.
func (dv deriver) derivedMath(e *ir.Math) affine.Form {
	if e.Fn != ir.IMin && e.Fn != ir.IMax || len(e.Args) == 0 {
		return affine.Form{Unknown: true}
	}
	op := DerivedMin
	if e.Fn == ir.IMax {
		op = DerivedMax
	}
	a := dv.derivingAny(e.Args[0])
	for _, arg := range e.Args[1:] {
		a = dv.derive(op, a, dv.derivingAny(arg), e.T)
	}
	return a
}

// derivingAny is deriving, with a variable for a value of which nothing is known.
func (dv deriver) derivingAny(e ir.Expr) affine.Form {
	a := dv.deriving(e)
	if !a.Known() && dv.of.opens(e.Type()) {
		return dv.anyOf(e.Type())
	}
	return a
}

// derive returns the variable of a derivation. Equal derivations have the same variable.
func (dv deriver) derive(op DerivedOp, x, y affine.Form, t *ir.Type) affine.Form {
	if !x.Known() || !y.Known() || dv.of.changes(x) || dv.of.changes(y) || len(dv.of.Sites.Order) >= MaxForms {
		return affine.Form{Unknown: true}
	}
	if op != DerivedAny {
		for _, d := range dv.of.Sites.Order {
			if d.Op == op && d.X.Equal(x) && d.Y.Equal(y) && (op != DerivedNarrow || ir.Same(d.T, t)) {
				return affine.OfVar(d.Var)
			}
		}
	}
	d := dv.newDerivation(op, x, y, t)
	if op <= DerivedMax && t.IsSigned() {
		d.Host = dv.hostValue(d)
	}
	return affine.OfVar(d.Var)
}

func (dv deriver) newDerivation(op DerivedOp, x, y affine.Form, t *ir.Type) *Derivation {
	d := &Derivation{Op: op, X: x, Y: y, T: t, Var: &ir.Var{Name: "derived", Type: ir.IntType, ID: derivedIDs + len(dv.of.Sites.Order)}}
	dv.of.Sites.Order, dv.of.Sites.Derived[d.Var] = append(dv.of.Sites.Order, d), d
	return d
}

// anyOf returns the variable of a value of which nothing is known but its type.
func (dv deriver) anyOf(t *ir.Type) affine.Form {
	lo, hi := LimitsOf(t)
	return affine.OfVar(dv.newDerivation(DerivedAny, affine.Constant(lo), affine.Constant(hi), t).Var)
}

// hostValue returns d as an expression of kernel parameters, nil if there is none.
func (dv deriver) hostValue(d *Derivation) ir.Expr {
	at := ir.Pos{}
	x, y := dv.hostForm(d.X), dv.hostForm(d.Y)
	if x == nil || y == nil {
		return nil
	}
	op := map[DerivedOp]ir.Op{DerivedDiv: ir.Div, DerivedRem: ir.Rem, DerivedShr: ir.Shr, DerivedAnd: ir.And}
	switch d.Op {
	case DerivedMin:
		return build.IntMath(ir.IMin, x, y)
	case DerivedMax:
		return build.IntMath(ir.IMax, x, y)
	}
	return &ir.Binary{Op: op[d.Op], X: x, Y: y, T: ir.IntType, At: at}
}

// hostForm returns a as an expression of kernel parameters, nil if there is none.
func (dv deriver) hostForm(a affine.Form) ir.Expr {
	values := map[*ir.Var]ir.Expr{}
	for _, x := range a.Atoms() {
		d := dv.of.Sites.Derived[x.Var]
		switch {
		case d != nil && d.Host != nil:
			values[x.Var] = d.Host
		case d != nil || !dv.of.ofKernel(x.Var) || x.Of == affine.SetOf:
			return nil
		}
	}
	return ir.Subst(a.Expr(ir.Pos{}), values)
}

// partOfParam returns the form of an integer field or element of a struct or array parameter of the
// kernel, as the variable of a derivation.
func (dv deriver) partOfParam(e ir.Expr) affine.Form {
	root := ir.RootVar(e)
	if root == nil || !dv.of.ofKernel(root) || dv.of.Mutable.Has(root) || root.Type.Kind != ir.Struct && root.Type.Kind != ir.Array {
		return affine.Form{Unknown: true}
	}
	constant := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Member, *ir.Ref:
		case *ir.Index:
			_, ok := query.Int64(x.I)
			constant = constant && ok && x.X.Type().Kind == ir.Array
		case *ir.Const:
		default:
			constant = false
		}
		return constant
	})
	if !constant || len(dv.of.Sites.Order) >= MaxForms {
		return affine.Form{Unknown: true}
	}
	for _, d := range dv.of.Sites.Order {
		if d.Host != nil && query.Same(d.Host, e) {
			return affine.OfVar(d.Var)
		}
	}
	d := dv.newDerivation(DerivedAny, affine.Form{}, affine.Form{}, e.Type())
	d.Host = e
	return affine.OfVar(d.Var)
}

// held returns the current value of a variable as a form.
func (c *Collector) held(v *ir.Var) affine.Form {
	if a, ok := c.Sites.frozen[v]; ok {
		return a
	}
	if c.Mutable.Has(v) && !c.counts(v) {
		return affine.Form{Unknown: true}
	}
	return affine.OfVar(v)
}

// counts reports whether v changes only at the end of an enclosing loop.
func (c *Collector) counts(v *ir.Var) bool { return c.Sites != nil && c.Sites.counters[v] }

// derivedIDs is larger than the ID of any variable of a kernel.
const derivedIDs = 1 << 40

// changes reports whether a variable in a has more than one value during its life.
func (c *Collector) changes(a affine.Form) bool {
	for _, x := range a.Atoms() {
		if c.Mutable.Has(x.Var) && !c.counts(x.Var) {
			return true
		}
	}
	return false
}

// factsWithSides returns the facts that follow if all of conds hold.
func (c *Collector) factsWithSides(conds []ir.Expr) []Fact {
	var out []Fact
	for _, e := range conds {
		out = c.assume(e, true, out)
	}
	return out
}

func (c *Collector) assume(e ir.Expr, holds bool, out []Fact) []Fact {
	switch e := e.(type) {
	case *ir.Unary:
		return c.assume(e.X, holds != (e.Op == ir.Not), out)
	case *ir.Binary:
		if e.Op == ir.LAnd && holds || e.Op == ir.LOr && !holds {
			return c.assume(e.Y, holds, c.assume(e.X, holds, out))
		}
		if !e.X.Type().IsInteger() {
			return out
		}
		x, y := c.form(e.X), c.form(e.Y)
		if !x.Known() || !y.Known() {
			return out
		}
		op := e.Op
		if !holds {
			op = negated(op)
		}
		for _, a := range factsOf(op, x, y) {
			out = append(out, Fact{Form: a, X: x, Y: y})
		}
	}
	return out
}

// factsOf returns forms that are not negative if x op y holds.
func factsOf(op ir.Op, x, y affine.Form) []affine.Form {
	switch op {
	case ir.Lt:
		return []affine.Form{y.Sub(x).AddConst(-1)}
	case ir.Le:
		return []affine.Form{y.Sub(x)}
	case ir.Gt:
		return []affine.Form{x.Sub(y).AddConst(-1)}
	case ir.Ge:
		return []affine.Form{x.Sub(y)}
	case ir.Eq:
		return []affine.Form{x.Sub(y), y.Sub(x)}
	}
	return nil
}
