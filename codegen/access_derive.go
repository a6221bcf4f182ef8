package codegen

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// deriving returns e as a form in which variables of derivations stand for what is not affine.
func (c *collector) deriving(e ir.Expr) Affine {
	if e == nil || !e.Type().IsInteger() {
		return Affine{unknown: true}
	}
	a := Affine{unknown: true}
	switch e := e.(type) {
	case *ir.Const:
		return constForm(e)
	case *ir.Ref:
		if known, ok := c.defs[e.Var]; ok {
			return known
		}
		a = c.held(e.Var)
	case *ir.Member, *ir.Index:
		a = c.partOfParam(e)
	case *ir.Len:
		a = c.lengthOf(e.X)
	case *ir.Cap:
		if v := refVar(e.X); v != nil && c.ofKernel(v) && !c.mutable.Has(v) {
			a = atomAffine(Atom{Var: v, Of: CapOf})
		}
	case *ir.Convert:
		a = c.derivedConvert(e)
	case *ir.Unary:
		if e.Op == ir.Neg {
			a = c.inType(Affine{}.Sub(c.deriving(e.X)), e.Type())
		}
	case *ir.Binary:
		a = c.derivedBinary(e)
	case *ir.Math:
		a = c.derivedMath(e)
	}
	if n, ok := below(e); !a.Known() && ok {
		return c.derive(derivedAny, constAffine(0), constAffine(n-1), e.Type())
	}
	return a
}

func (c *collector) derivedConvert(e *ir.Convert) Affine {
	if !e.X.Type().IsInteger() {
		return Affine{unknown: true}
	}
	a, from, to := c.deriving(e.X), e.X.Type(), e.T
	if from.IsSigned() == to.IsSigned() && to.Size >= from.Size || !from.IsSigned() && to.Size > from.Size {
		return a
	}
	return c.inType(a, to)
}

// inType returns a, the value of arithmetic in t, which must not wrap there.
func (c *collector) inType(a Affine, t *ir.Type) Affine {
	if !a.Known() || wide(t) {
		return a
	}
	if n, ok := a.Const(); ok {
		if lo, hi := limitsOf(t); n < lo || n > hi {
			return Affine{unknown: true}
		}
		return a
	}
	return c.derive(derivedNarrow, a, Affine{}, t)
}

// limitsOf returns the least and greatest value of an integer type that an int64 holds.
func limitsOf(t *ir.Type) (lo, hi int64) {
	bits := uint(8 * t.Size)
	switch {
	case t.IsSigned():
		return math.MinInt64 >> (64 - bits), math.MaxInt64 >> (64 - bits)
	case bits < 64:
		return 0, 1<<bits - 1
	}
	return 0, math.MaxInt64
}

func (c *collector) derivedBinary(e *ir.Binary) Affine {
	x, y := c.deriving(e.X), c.deriving(e.Y)
	if !x.Known() || !y.Known() {
		return Affine{unknown: true}
	}
	n, constant := y.Const()
	switch e.Op {
	case ir.Add:
		return c.inType(x.Add(y), e.T)
	case ir.Sub:
		return c.inType(x.Sub(y), e.T)
	case ir.Mul:
		return c.inType(x.Mul(y), e.T)
	case ir.Div:
		return c.derive(derivedDiv, x, y, e.T)
	case ir.Rem:
		return c.derive(derivedRem, x, y, e.T)
	}
	if !constant || n < 0 {
		return Affine{unknown: true}
	}
	switch {
	case e.Op == ir.Shl && n < 62:
		return c.inType(x.Mul(constAffine(1<<n)), e.T)
	case e.Op == ir.Shr && n < 62:
		return c.derive(derivedShr, x, y, e.T)
	case e.Op == ir.And:
		return c.derive(derivedAnd, x, y, e.T)
	}
	return Affine{unknown: true}
}

// derivedMath has minima and maxima.
func (c *collector) derivedMath(e *ir.Math) Affine {
	if e.Fn != ir.IMin && e.Fn != ir.IMax || len(e.Args) == 0 {
		return Affine{unknown: true}
	}
	op := derivedMin
	if e.Fn == ir.IMax {
		op = derivedMax
	}
	a := c.deriving(e.Args[0])
	for _, arg := range e.Args[1:] {
		a = c.derive(op, a, c.deriving(arg), e.T)
	}
	return a
}

// derive returns the variable of a derivation, the same for the same.
func (c *collector) derive(op derivedOp, x, y Affine, t *ir.Type) Affine {
	if !x.Known() || !y.Known() || c.changes(x) || c.changes(y) || len(c.sites.order) >= maxForms {
		return Affine{unknown: true}
	}
	if op != derivedAny {
		for _, d := range c.sites.order {
			if d.op == op && d.x.Equal(x) && d.y.Equal(y) && (op != derivedNarrow || ir.Same(d.t, t)) {
				return varAffine(d.v)
			}
		}
	}
	d := c.newDerivation(op, x, y, t)
	if op <= derivedMax && t.IsSigned() {
		d.host = c.hostValue(d)
	}
	return varAffine(d.v)
}

func (c *collector) newDerivation(op derivedOp, x, y Affine, t *ir.Type) *derivation {
	d := &derivation{op: op, x: x, y: y, t: t, v: &ir.Var{Name: "derived", Type: ir.IntType, ID: derivedIDs + len(c.sites.order)}}
	c.sites.order, c.sites.derived[d.v] = append(c.sites.order, d), d
	return d
}

// hostValue returns the expression over parameters that d is, nil where it is none.
func (c *collector) hostValue(d *derivation) ir.Expr {
	at := ir.Pos{}
	x, y := c.hostForm(d.x), c.hostForm(d.y)
	if x == nil || y == nil {
		return nil
	}
	op := map[derivedOp]ir.Op{derivedDiv: ir.Div, derivedRem: ir.Rem, derivedShr: ir.Shr, derivedAnd: ir.And}
	switch d.op {
	case derivedMin:
		return intMath(ir.IMin, x, y)
	case derivedMax:
		return intMath(ir.IMax, x, y)
	}
	return &ir.Binary{Op: op[d.op], X: x, Y: y, T: ir.IntType, At: at}
}

// hostForm returns a as an expression over parameters, nil where it is none.
func (c *collector) hostForm(a Affine) ir.Expr {
	values := map[*ir.Var]ir.Expr{}
	for _, x := range a.Atoms() {
		d := c.sites.derived[x.Var]
		switch {
		case d != nil && d.host != nil:
			values[x.Var] = d.host
		case d != nil || !c.ofKernel(x.Var) || x.Of == SetOf:
			return nil
		}
	}
	return ir.Subst(a.Expr(ir.Pos{}), values)
}

// partOfParam returns an integer in a struct or array that the kernel is given by value as a derivation.
func (c *collector) partOfParam(e ir.Expr) Affine {
	root := ir.RootVar(e)
	if root == nil || !c.ofKernel(root) || c.mutable.Has(root) || root.Type.Kind != ir.Struct && root.Type.Kind != ir.Array {
		return Affine{unknown: true}
	}
	constant := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Member, *ir.Ref:
		case *ir.Index:
			_, ok := constInt(x.I)
			constant = constant && ok && x.X.Type().Kind == ir.Array
		case *ir.Const:
		default:
			constant = false
		}
		return constant
	})
	if !constant || len(c.sites.order) >= maxForms {
		return Affine{unknown: true}
	}
	for _, d := range c.sites.order {
		if d.host != nil && sameExpr(d.host, e) {
			return varAffine(d.v)
		}
	}
	d := c.newDerivation(derivedAny, Affine{}, Affine{}, e.Type())
	d.host = e
	return varAffine(d.v)
}

// held returns what a variable holds here as a form.
func (c *collector) held(v *ir.Var) Affine {
	if a, ok := c.sites.frozen[v]; ok {
		return a
	}
	if c.mutable.Has(v) && !c.counts(v) {
		return Affine{unknown: true}
	}
	return varAffine(v)
}

// counts reports whether v only changes at the end of a loop around.
func (c *collector) counts(v *ir.Var) bool { return c.sites != nil && c.sites.counters[v] }

// derivedIDs is above the numbers of the variables of kernels.
const derivedIDs = 1 << 40

// changes reports whether a variable in a has more than one value.
func (c *collector) changes(a Affine) bool {
	for _, x := range a.Atoms() {
		if c.mutable.Has(x.Var) && !c.counts(x.Var) {
			return true
		}
	}
	return false
}

// factsWithSides returns what comparisons of forms say where all of conds hold.
func (c *collector) factsWithSides(conds []ir.Expr) []fact {
	var out []fact
	for _, e := range conds {
		out = c.assume(e, true, out)
	}
	return out
}

func (c *collector) assume(e ir.Expr, holds bool, out []fact) []fact {
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
			out = append(out, fact{form: a, x: x, y: y})
		}
	}
	return out
}

// factsOf returns forms that are not negative where x op y.
func factsOf(op ir.Op, x, y Affine) []Affine {
	switch op {
	case ir.Lt:
		return []Affine{y.Sub(x).AddConst(-1)}
	case ir.Le:
		return []Affine{y.Sub(x)}
	case ir.Gt:
		return []Affine{x.Sub(y).AddConst(-1)}
	case ir.Ge:
		return []Affine{x.Sub(y)}
	case ir.Eq:
		return []Affine{x.Sub(y), y.Sub(x)}
	}
	return nil
}
