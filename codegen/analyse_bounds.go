package codegen

import "github.com/gompss/gompss/codegen/ir"

// proveBounds clears Checked where loop bounds and slice lengths prove an index to be in range.
func (l *lowering) proveBounds() {
	p := newProver(l.kernel.Body)
	p.list(l.kernel.Body)
}

func newProver(list []ir.Stmt) prover {
	p := prover{changed: ir.Assigned(list), taken: ir.AddressTaken(list), defs: definitions{}, lengths: map[*ir.Var]Affine{}}
	changed := ir.Assigned(list)
	for _, v := range p.taken.List() {
		changed.Add(v)
	}
	p.first = valuesOf(list, changed)
	return p
}

// prover walks the loop IR with what is known of the variables in scope.
type prover struct {
	changed, taken *ir.VarSet
	defs           definitions
	lengths        map[*ir.Var]Affine // of slice variables made in the kernel
	ranges         []bounds           // of the loop variables in scope, innermost last
	facts          []fact             // what the conditions around say
	first          firstValues        // of variables that never change
}

// A fact is that form is not negative, known from a comparison of x and y.
type fact struct{ form, x, y Affine }

// plain reports whether no arithmetic was done for the comparison, which might have wrapped.
func (f fact) plain() bool { return isAtom(f.x) && isAtom(f.y) }

// bounds are those of one loop variable: lo <= v <= hi.
type bounds struct {
	v      *ir.Var
	lo, hi Affine
}

func (p *prover) list(list []ir.Stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

func (p *prover) stmt(s ir.Stmt) {
	ir.StmtExprs(s, func(e ir.Expr) { p.expr(e) })
	switch s := s.(type) {
	case *ir.Decl:
		p.define(s)
	case *ir.For:
		p.ranges = append(p.ranges, p.boundsOf(s))
		p.list(s.Body)
		p.ranges = p.ranges[:len(p.ranges)-1]
		return
	case *ir.If:
		p.branches(s, p.list)
		return
	}
	ir.Lists(s, p.list)
}

// branches visits both sides of an If with what its condition says about them.
func (p *prover) branches(s *ir.If, list func([]ir.Stmt)) {
	n := len(p.facts)
	p.assume(s.Cond, true)
	list(s.Then)
	p.facts = p.facts[:n]
	p.assume(s.Cond, false)
	list(s.Else)
	p.facts = p.facts[:n]
}

// assume adds what follows from cond being holds.
func (p *prover) assume(cond ir.Expr, holds bool) {
	switch c := cond.(type) {
	case *ir.Unary:
		p.assume(c.X, !holds)
	case *ir.Binary:
		switch {
		case c.Op == ir.LAnd && holds, c.Op == ir.LOr && !holds:
			p.assume(c.X, holds)
			p.assume(c.Y, holds)
		case c.X.Type().IsInteger():
			p.comparison(c, holds)
		}
	}
}

// comparison adds the facts of x op y, which is holds: x < y says y - x - 1 >= 0, and so on.
func (p *prover) comparison(c *ir.Binary, holds bool) {
	x, y := p.defs.form(c.X), p.defs.form(c.Y)
	if !x.Known() || !y.Known() || !p.fixed(x) || !p.fixed(y) {
		return
	}
	add := func(a Affine) { p.facts = append(p.facts, fact{form: p.replaceLengths(a), x: x, y: y}) }
	op := c.Op
	if !holds {
		op = negated(op)
	}
	switch op {
	case ir.Lt:
		add(y.Sub(x).AddConst(-1))
	case ir.Le:
		add(y.Sub(x))
	case ir.Gt:
		add(x.Sub(y).AddConst(-1))
	case ir.Ge:
		add(x.Sub(y))
	case ir.Eq:
		add(x.Sub(y))
		add(y.Sub(x))
	}
}

func negated(op ir.Op) ir.Op {
	switch op {
	case ir.Lt:
		return ir.Ge
	case ir.Le:
		return ir.Gt
	case ir.Gt:
		return ir.Le
	case ir.Ge:
		return ir.Lt
	case ir.Ne:
		return ir.Eq
	}
	return ir.NoOp
}

// isAtom reports whether a is a constant or an atom.
func isAtom(a Affine) bool {
	if _, ok := a.Const(); ok {
		return true
	}
	return len(a.Terms) == 1 && a.Terms[0].Coef == 1 && len(a.Terms[0].Atoms) == 1
}

// define remembers the form of a variable that keeps its first value.
func (p *prover) define(s *ir.Decl) {
	if s.Init == nil || p.changed.Has(s.Var) || p.taken.Has(s.Var) {
		return
	}
	if rs, ok := s.Init.(*ir.Reslice); ok {
		if n := p.resliced(rs); n.Known() {
			p.lengths[s.Var] = n
		}
		return
	}
	if form, ok := p.defs.affineOf(s.Init); ok && p.fixed(form) {
		p.defs[s.Var] = form
	}
}

// fixed reports whether nothing changes what a form is made of.
func (p *prover) fixed(a Affine) bool {
	for _, x := range a.Atoms() {
		if p.changed.Has(x.Var) || p.taken.Has(x.Var) {
			return false
		}
	}
	return true
}

func (p *prover) resliced(rs *ir.Reslice) Affine {
	lo := constAffine(0)
	if rs.Lo != nil {
		lo = p.defs.form(rs.Lo)
	}
	var hi Affine
	switch {
	case rs.Hi != nil:
		hi = p.defs.form(rs.Hi)
	case rs.X.Type().Kind == ir.Array:
		hi = constAffine(rs.X.Type().Len)
	default:
		hi = p.length(rs.X)
	}
	if n := hi.Sub(lo); n.Known() && p.fixed(n) {
		return n
	}
	return Affine{unknown: true}
}

// length returns len(x) as a form.
func (p *prover) length(x ir.Expr) Affine {
	r, ok := x.(*ir.Ref)
	if !ok || p.changed.Has(r.Var) || p.taken.Has(r.Var) {
		return Affine{unknown: true}
	}
	if n, ok := p.lengths[r.Var]; ok {
		return n
	}
	return atomAffine(Atom{Var: r.Var, Of: LenOf})
}

func (p *prover) boundsOf(f *ir.For) bounds {
	lo, hi := p.bound(f.Lo), p.bound(f.Hi)
	b := bounds{v: f.Var, lo: Affine{unknown: true}, hi: Affine{unknown: true}}
	step, ok := constInt(f.Step)
	if !ok && p.first.positive(f.Step) {
		step, ok = 2, true // 1 or more
	}
	if !lo.Known() && p.first.nonNegative(f.Lo) {
		lo = constAffine(0) // or more: the place in the grid has no form
	}
	switch {
	case !ok || !f.Var.Type.IsInteger():
	case step > 0 && f.Rel == ir.Lt:
		b.lo, b.hi = lo, hi.AddConst(-1)
	case step > 0 && f.Rel == ir.Le:
		b.lo, b.hi = lo, hi
	case step == 1 && f.Rel == ir.Ne:
		b.lo, b.hi = lo, hi.AddConst(-1)
	case step < 0 && f.Rel == ir.Gt:
		b.lo, b.hi = hi.AddConst(1), lo
	case step < 0 && f.Rel == ir.Ge:
		b.lo, b.hi = hi, lo
	}
	return b
}

// bound returns a bound of a loop, with the lengths of slices made in the kernel replaced by their forms.
func (p *prover) bound(e ir.Expr) Affine {
	a := p.replaceLengths(p.defs.form(e))
	if a.Known() && p.fixed(a) {
		return a
	}
	return Affine{unknown: true}
}

func (p *prover) replaceLengths(a Affine) Affine {
	for _, x := range a.Atoms() {
		n, ok := p.lengths[x.Var]
		if !ok || x.Of != LenOf {
			continue
		}
		// Give the length a variable to substitute: forms replace values alone.
		v := &ir.Var{Name: x.String(), Type: ir.IntType, ID: -1}
		terms := make([]Term, len(a.Terms))
		for i, t := range a.Terms {
			terms[i] = Term{Coef: t.Coef, Atoms: swapAtom(t.Atoms, x, Atom{Var: v})}
		}
		a = normalise(terms).Subst(v, n)
	}
	return a
}

func swapAtom(atoms []Atom, from, to Atom) []Atom {
	out := make([]Atom, len(atoms))
	for i, a := range atoms {
		if out[i] = a; a == from {
			out[i] = to
		}
	}
	return out
}

// expr looks at every index in e.
func (p *prover) expr(e ir.Expr) {
	ir.WalkExpr(e, func(x ir.Expr) bool {
		if ix, ok := x.(*ir.Index); ok && ix.Checked && p.inRange(ix) {
			ix.Checked = false
		}
		return true
	})
}

func (p *prover) inRange(ix *ir.Index) bool {
	if n, ok := below(ix.I); ok && ix.X.Type().Kind == ir.Array && n <= ix.X.Type().Len {
		return true
	}
	i := p.replaceLengths(p.defs.form(ix.I))
	n := constAffine(ix.X.Type().Len)
	if ix.X.Type().Kind == ir.Slice {
		n = p.length(ix.X)
	}
	if !i.Known() || !n.Known() || !p.fixed(i) {
		return false
	}
	return p.holds(i) && p.holds(n.AddConst(-1).Sub(i))
}

// holds reports whether a >= 0, by the ranges of the loops alone or with a plain condition around.
func (p *prover) holds(a Affine) bool {
	if p.notNegative(a) {
		return true
	}
	for _, f := range p.facts {
		if f.plain() && p.notNegative(a.Sub(f.form)) {
			return true
		}
	}
	return false
}

// notNegative reports whether a >= 0 for all values of the loop variables in range.
func (p *prover) notNegative(a Affine) bool {
	for k := len(p.ranges) - 1; k >= 0; k-- {
		b := p.ranges[k]
		if !a.Has(b.v) {
			continue
		}
		coef, ok := a.Coef(b.v)
		if !ok {
			return false
		}
		c, ok := coef.Const()
		switch {
		case !ok && positiveTerms(coef): // a sum of products of lengths
			c = 1
		case !ok && positiveTerms(Affine{}.Sub(coef)):
			c = -1
		case !ok:
			return false
		}
		least := b.lo
		if c < 0 {
			least = b.hi
		}
		if !least.Known() {
			return false
		}
		a = a.Subst(b.v, least)
	}
	return a.Known() && positiveOver(a, p.notNegativeAtoms(a))
}

// notNegativeAtoms returns the variables in a whose first values, which they keep, are not negative.
func (p *prover) notNegativeAtoms(a Affine) map[Atom]bool {
	var out map[Atom]bool
	for _, x := range a.Atoms() {
		if first := p.first[x.Var]; x.Of == ValueOf && first != nil && p.first.nonNegative(first) {
			if out == nil {
				out = map[Atom]bool{}
			}
			out[x] = true
		}
	}
	return out
}

// positiveTerms reports whether a is a sum of terms that cannot be negative: constants and products of lengths.
func positiveTerms(a Affine) bool { return positiveOver(a, nil) }
