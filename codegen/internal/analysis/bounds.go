package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// ProveBounds clears Checked where loop bounds and slice lengths prove an index to be in range.
func ProveBounds(k *ir.Kernel) {
	p := NewProver(k.Body)
	p.list(k.Body)
}

// NewProver returns a prover for list, the body of a kernel. It determines which variables list
// never changes.
func NewProver(list []ir.Stmt) Prover {
	p := Prover{Changed: ir.Assigned(list), Taken: ir.AddressTaken(list), Defs: affine.Definitions{}, lengths: map[*ir.Var]affine.Form{}}
	changed := ir.Assigned(list)
	for _, v := range p.Taken.List() {
		changed.Add(v)
	}
	p.First = valuesOf(list, changed)
	return p
}

// Prover walks loop IR and maintains the facts about the variables in scope.
type Prover struct {
	Changed, Taken *ir.VarSet
	Defs           affine.Definitions
	lengths        map[*ir.Var]affine.Form // of slice variables that the kernel declares
	Ranges         []bounds                // of the loop variables in scope, innermost last
	Facts          []Fact                  // that follow from the enclosing conditions
	First          FirstValues             // of variables that never change
}

// A Fact is a form that is not negative. It follows from a comparison of X and Y, or from one of
// several bounds of a loop.
type Fact struct {
	Form, X, Y affine.Form
	Bound      bool
	Unequal    bool // X and Y differ: it holds where Form is known to be at least -1
}

// Plain reports whether the comparison compares atoms or constants, and no results of arithmetic,
// which might have wrapped.
func (f Fact) Plain() bool { return IsAtom(f.X) && IsAtom(f.Y) }

// bounds are the bounds of one loop variable: Lo <= Var <= Hi. Var stands for the variable minus
// From.
type bounds struct {
	Var    *ir.Var
	Lo, Hi affine.Form
	From   affine.Form
}

func (p *Prover) list(list []ir.Stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

func (p *Prover) stmt(s ir.Stmt) {
	ir.StmtExprs(s, func(e ir.Expr) { p.expr(e) })
	switch s := s.(type) {
	case *ir.Decl:
		p.Define(s)
	case *ir.For:
		p.Within(s, p.list)
		return
	case *ir.If:
		p.Branches(s, p.list)
		return
	}
	ir.Lists(s, p.list)
}

// Within visits the body of f with the facts that follow from the bounds of f. If a bound is a
// minimum or maximum, each of its arguments gives a fact.
func (p *Prover) Within(f *ir.For, list func([]ir.Stmt)) {
	ranges, facts := len(p.Ranges), len(p.Facts)
	g := *f
	if step, ok := query.Int64(f.Step); ok && step > 0 && (f.Rel == ir.Lt || f.Rel == ir.Le) {
		g.Lo, g.Hi = p.simplest(f.Lo, ir.IMax), p.simplest(f.Hi, ir.IMin)
		for _, e := range oneOf(f.Lo, ir.IMax) {
			p.comparison(&ir.Binary{Op: ir.Ge, X: build.Ref(f.Var, f.At), Y: e, T: ir.BoolType, At: f.At}, true)
		}
		for _, e := range oneOf(f.Hi, ir.IMin) {
			p.comparison(&ir.Binary{Op: f.Rel, X: build.Ref(f.Var, f.At), Y: e, T: ir.BoolType, At: f.At}, true)
		}
	}
	p.Ranges = append(p.Ranges, p.BoundsOf(&g)) // the range may be wider than that of f
	for k := range p.Facts[facts:] {
		p.Facts[facts+k].Bound = true
	}
	list(f.Body)
	p.Ranges, p.Facts = p.Ranges[:ranges], p.Facts[:facts]
}

// oneOf returns the arguments of the call e of fn; nil if e is not such a call.
func oneOf(e ir.Expr, fn ir.MathFn) []ir.Expr {
	m, ok := e.(*ir.Math)
	if !ok || m.Fn != fn {
		return nil
	}
	var out []ir.Expr
	for _, arg := range m.Args {
		if inner := oneOf(arg, fn); inner != nil {
			out = append(out, inner...)
			continue
		}
		out = append(out, arg)
	}
	return out
}

// Branches visits both branches of an If with the facts that follow from its condition.
func (p *Prover) Branches(s *ir.If, list func([]ir.Stmt)) {
	n := len(p.Facts)
	p.assume(s.Cond, true)
	list(s.Then)
	p.Facts = p.Facts[:n]
	p.assume(s.Cond, false)
	list(s.Else)
	p.Facts = p.Facts[:n]
}

// assume adds the facts that follow if cond has the value holds.
func (p *Prover) assume(cond ir.Expr, holds bool) {
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

// comparison adds the facts that follow if x op y has the value holds. For example, x < y implies y
// - x - 1 >= 0.
func (p *Prover) comparison(c *ir.Binary, holds bool) {
	x, y := p.Defs.Form(c.X), p.Defs.Form(c.Y)
	if !x.Known() || !y.Known() || !p.Fixed(x) || !p.Fixed(y) {
		return
	}
	add := func(a affine.Form) { p.Facts = append(p.Facts, Fact{Form: p.ReplaceLengths(a), X: x, Y: y}) }
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

// IsAtom reports whether a is a constant or an atom.
func IsAtom(a affine.Form) bool {
	if _, ok := a.Const(); ok {
		return true
	}
	return len(a.Terms) == 1 && a.Terms[0].Coef == 1 && len(a.Terms[0].Atoms) == 1
}

// Define records the form of a variable that keeps its first value.
func (p *Prover) Define(s *ir.Decl) {
	if s.Init == nil || p.Changed.Has(s.Var) || p.Taken.Has(s.Var) {
		return
	}
	if rs, ok := s.Init.(*ir.Reslice); ok {
		if n := p.resliced(rs); n.Known() {
			p.lengths[s.Var] = n
		}
		return
	}
	if form, ok := p.Defs.Of(s.Init); ok && p.Fixed(form) {
		p.Defs[s.Var] = form
	}
}

// Between records that lo <= v <= hi in the following code.
func (p *Prover) Between(v *ir.Var, lo, hi affine.Form) {
	p.Ranges = append(p.Ranges, bounds{Var: v, Lo: lo, Hi: hi})
}

// Quotient returns an upper bound of x / y, where 0 <= x <= a and y >= 1. Terms of a that are
// multiples of y are divided exactly.
func Quotient(a, y affine.Form) (affine.Form, bool) {
	c, isConst := y.Const()
	out, rest := affine.Form{}, int64(0)
	for _, t := range a.Terms {
		switch {
		case len(t.Atoms) == 0:
			rest = t.Coef
		case isConst && c > 0 && t.Coef%c == 0:
			out = out.Add(affine.Form{Terms: []affine.Term{{Coef: t.Coef / c, Atoms: t.Atoms}}})
		case !isConst && IsAtom(y):
			k := slices.Index(t.Atoms, y.Terms[0].Atoms[0])
			if k < 0 {
				return affine.Form{}, false
			}
			out = out.Add(affine.Form{Terms: []affine.Term{{Coef: t.Coef, Atoms: slices.Delete(slices.Clone(t.Atoms), k, k+1)}}})
		default:
			return affine.Form{}, false
		}
	}
	switch {
	case isConst && c > 0:
		rest = integers.FloorDiv(rest, c)
	case isConst || !IsAtom(y):
		return affine.Form{}, false
	case rest < 0:
		rest = -1
	}
	return out.AddConst(rest), true
}

// Fixed reports whether the variables of a form never change.
func (p *Prover) Fixed(a affine.Form) bool {
	for _, x := range a.Atoms() {
		if p.Changed.Has(x.Var) || p.Taken.Has(x.Var) {
			return false
		}
	}
	return true
}

func (p *Prover) resliced(rs *ir.Reslice) affine.Form {
	lo := affine.Constant(0)
	if rs.Lo != nil {
		lo = p.Defs.Form(rs.Lo)
	}
	var hi affine.Form
	switch {
	case rs.Hi != nil:
		hi = p.Defs.Form(rs.Hi)
	case rs.X.Type().Kind == ir.Array:
		hi = affine.Constant(rs.X.Type().Len)
	default:
		hi = p.Length(rs.X)
	}
	if n := hi.Sub(lo); n.Known() && p.Fixed(n) {
		return n
	}
	return affine.Form{Unknown: true}
}

// Length returns len(x) as a form.
func (p *Prover) Length(x ir.Expr) affine.Form {
	r, ok := x.(*ir.Ref)
	if !ok || p.Changed.Has(r.Var) || p.Taken.Has(r.Var) {
		return affine.Form{Unknown: true}
	}
	if n, ok := p.lengths[r.Var]; ok {
		return n
	}
	return affine.OfAtom(affine.Atom{Var: r.Var, Of: affine.LenOf})
}

// BoundsOf returns the range of the variable of f; its ends are unknown if they are not affine.
func (p *Prover) BoundsOf(f *ir.For) bounds {
	lo, hi := p.bound(f.Lo), p.bound(f.Hi)
	b := bounds{Var: f.Var, Lo: affine.Form{Unknown: true}, Hi: affine.Form{Unknown: true}}
	step, ok := query.Int64(f.Step)
	if !ok && p.First.Positive(f.Step) {
		step, ok = 2, true // positive, but perhaps not 1
	}
	if !lo.Known() && p.First.NonNegative(f.Lo) {
		lo = affine.Constant(0) // a lower bound: the position in the grid has no form
	}
	switch {
	case !ok || !f.Var.Type.IsInteger():
	case step > 0 && f.Rel == ir.Lt:
		b.Lo, b.Hi = lo, hi.AddConst(-1)
	case step > 0 && f.Rel == ir.Le:
		b.Lo, b.Hi = lo, hi
	case step == 1 && f.Rel == ir.Ne:
		b.Lo, b.Hi = lo, hi.AddConst(-1)
	case step < 0 && f.Rel == ir.Gt:
		b.Lo, b.Hi = hi.AddConst(1), lo
	case step < 0 && f.Rel == ir.Ge:
		b.Lo, b.Hi = hi, lo
	}
	return b
}

// simplest returns a bound of a loop. If e is a call of fn, each argument is a bound by itself;
// simplest prefers an argument that no enclosing loop changes and that is a variable or a length
// instead of a sum.
func (p *Prover) simplest(e ir.Expr, fn ir.MathFn) ir.Expr {
	cost := func(a affine.Form) int {
		switch {
		case slices.ContainsFunc(p.Ranges, func(r bounds) bool { return a.Has(r.Var) }):
			return 3
		case !IsAtom(a):
			return 2
		}
		return 1
	}
	best, least := e, 4
	for _, one := range oneOf(e, fn) {
		if a := p.bound(one); a.Known() && cost(a) < least {
			best, least = one, cost(a)
		}
	}
	return best
}

// bound returns a bound of a loop as a form, with the lengths of local slices replaced by their
// forms.
func (p *Prover) bound(e ir.Expr) affine.Form {
	a := p.ReplaceLengths(p.Defs.Form(e))
	if a.Known() && p.Fixed(a) {
		return a
	}
	return affine.Form{Unknown: true}
}

// ReplaceLengths returns a with the length of each local slice replaced by the form that the slice
// was made with.
func (p *Prover) ReplaceLengths(a affine.Form) affine.Form {
	for _, x := range a.Atoms() {
		n, ok := p.lengths[x.Var]
		if !ok || x.Of != affine.LenOf {
			continue
		}
		// Subst replaces values only, so a fresh variable represents the length.
		v := &ir.Var{Name: x.String(), Type: ir.IntType, ID: -1}
		terms := make([]affine.Term, len(a.Terms))
		for i, t := range a.Terms {
			terms[i] = affine.Term{Coef: t.Coef, Atoms: swapAtom(t.Atoms, x, affine.Atom{Var: v})}
		}
		a = affine.Normalise(terms).Subst(v, n)
	}
	return a
}

func swapAtom(atoms []affine.Atom, from, to affine.Atom) []affine.Atom {
	out := make([]affine.Atom, len(atoms))
	for i, a := range atoms {
		if out[i] = a; a == from {
			out[i] = to
		}
	}
	return out
}

// expr visits every index in e.
func (p *Prover) expr(e ir.Expr) {
	ir.WalkExpr(e, func(x ir.Expr) bool {
		if ix, ok := x.(*ir.Index); ok && ix.Checked && p.inRange(ix) {
			ix.Checked = false
		}
		return true
	})
}

func (p *Prover) inRange(ix *ir.Index) bool {
	if n, ok := Below(ix.I); ok && ix.X.Type().Kind == ir.Array && n <= ix.X.Type().Len {
		return true
	}
	i := p.ReplaceLengths(p.Defs.Form(ix.I))
	n := affine.Constant(ix.X.Type().Len)
	if ix.X.Type().Kind == ir.Slice {
		n = p.Length(ix.X)
	}
	if !i.Known() || !n.Known() || !p.Fixed(i) {
		return false
	}
	return p.holds(i) && p.holds(n.AddConst(-1).Sub(i))
}

// holds reports whether a >= 0, by the ranges of the loops alone or together with one plain
// enclosing condition.
func (p *Prover) holds(a affine.Form) bool {
	if p.notNegative(a) {
		return true
	}
	for _, f := range p.Facts {
		if f.Plain() && p.notNegative(a.Sub(f.Form)) {
			return true
		}
	}
	return false
}

// notNegative reports whether a >= 0 for all values of the loop variables in their ranges.
func (p *Prover) notNegative(a affine.Form) bool {
	for k := len(p.Ranges) - 1; k >= 0; k-- {
		b := p.Ranges[k]
		if !a.Has(b.Var) {
			continue
		}
		coef, ok := a.Coef(b.Var)
		if !ok {
			return false
		}
		c, ok := coef.Const()
		switch {
		case !ok && positiveTerms(coef): // a sum of products of lengths
			c = 1
		case !ok && positiveTerms(affine.Form{}.Sub(coef)):
			c = -1
		case !ok:
			return false
		}
		least := b.Lo
		if c < 0 {
			least = b.Hi
		}
		if !least.Known() {
			return false
		}
		a = a.Subst(b.Var, least)
	}
	return a.Known() && PositiveOver(a, p.notNegativeAtoms(a))
}

// notNegativeAtoms returns the variables in a that keep their first value, if that value is not
// negative.
func (p *Prover) notNegativeAtoms(a affine.Form) map[affine.Atom]bool {
	var out map[affine.Atom]bool
	for _, x := range a.Atoms() {
		if first := p.First[x.Var]; x.Of == affine.ValueOf && first != nil && p.First.NonNegative(first) {
			if out == nil {
				out = map[affine.Atom]bool{}
			}
			out[x] = true
		}
	}
	return out
}

// positiveTerms reports whether a is a sum of terms that cannot be negative: constants and products
// of lengths.
func positiveTerms(a affine.Form) bool { return PositiveOver(a, nil) }

// PositiveOver is positiveTerms for a form in which the atoms in positive are not negative either.
func PositiveOver(a affine.Form, positive map[affine.Atom]bool) bool {
	for _, t := range a.Terms {
		if t.Coef < 0 {
			return false
		}
		for _, x := range t.Atoms {
			if x.Of == affine.ValueOf && x.Var.Type.IsSigned() && !positive[x] {
				return false
			}
		}
	}
	return true
}
