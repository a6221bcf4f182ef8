package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// steppedOver reports whether the elements that w accesses lie between those that a accesses, in
// any two iterations of f.
func (m *Dependences) steppedOver(f *ir.For, w, a AccessForm) bool {
	l := &lattice{m: m, f: f, free: map[*ir.Var]bool{}}
	own := func() affine.Form { return l.start(f).Add(l.steps(f)) }
	return l.apart(l.index(w, own()), l.index(a, own()))
}

// A lattice writes indices as sums of the values that are the same in all iterations of f, and of
// multiples of counters: the variable of a loop with step s is its first value plus s times a
// counter.
type lattice struct {
	m    *Dependences
	f    *ir.For
	free map[*ir.Var]bool // the counters
	next int
}

// fresh returns a variable that occurs nowhere else.
func (l *lattice) fresh() *ir.Var {
	l.next++
	return &ir.Var{Name: "counter", Type: ir.IntType, ID: -1 - l.next}
}

// steps returns the step of g times a new counter.
func (l *lattice) steps(g *ir.For) affine.Form {
	step, ok := query.Int64(g.Step)
	v := l.fresh()
	if l.free[v] = ok && integers.Magnitude(step) < smallStride; !l.free[v] {
		return affine.OfVar(v)
	}
	return affine.OfVar(v).Mul(affine.Constant(step))
}

// start returns a form that differs from the first value of g by a multiple of g's step.
func (l *lattice) start(g *ir.For) affine.Form {
	step, _ := query.Int64(g.Step)
	step = max(step, -step)
	if a := l.residue(g.Lo, step, 0); a.Known() {
		// A sum may wrap before the remainder, which keeps the remainders of powers of two.
		if _, isAffine := affine.Of(g.Lo); isAffine || step&(step-1) == 0 {
			return a
		}
	}
	return affine.OfVar(l.fresh())
}

// residue returns a form that differs from e by a multiple of mod. The form is unknown if there is
// none.
func (l *lattice) residue(e ir.Expr, mod int64, depth int) affine.Form {
	if depth > 16 {
		return affine.Form{Unknown: true}
	}
	if form, ok := affine.Of(e); ok {
		return l.original(form, mod, depth)
	}
	b, ok := e.(*ir.Binary)
	if !ok || !affine.NeverWraps(b.T) || mod == 0 {
		return affine.Form{Unknown: true}
	}
	switch x, c := l.residue(b.X, mod, depth+1), int64(0); b.Op {
	case ir.Add:
		return x.Add(l.residue(b.Y, mod, depth+1))
	case ir.Sub:
		return x.Sub(l.residue(b.Y, mod, depth+1))
	case ir.Mul:
		return x.Mul(l.residue(b.Y, mod, depth+1))
	case ir.Rem:
		if c, ok = query.Int64(b.Y); ok && c%mod == 0 {
			return x
		}
	case ir.And:
		if c, ok = query.Int64(b.Y); ok && c > 0 && c&(c+1) == 0 && (c+1)%mod == 0 {
			return x
		}
	case ir.Xor:
		if mod == 2 {
			return x.Add(l.residue(b.Y, mod, depth+1))
		}
	}
	return affine.Form{Unknown: true}
}

// original returns form with the variables that each iteration of f declares replaced by the values
// that they keep.
func (l *lattice) original(form affine.Form, mod int64, depth int) affine.Form {
	for _, x := range form.Atoms() {
		if x.Of != affine.ValueOf || l.m.keeps(l.f, affine.OfAtom(x)) {
			continue
		}
		if init := onlyValue(l.f.Body, x.Var); init != nil {
			form = form.Subst(x.Var, l.residue(init, mod, depth+1))
		}
	}
	return form
}

// onlyValue returns the value that list declares v with, nil if v, or a variable of that value, has
// another one later.
func onlyValue(list []ir.Stmt, v *ir.Var) (init ir.Expr) {
	changed, taken := ir.Assigned(list), ir.AddressTaken(list)
	if changed.Has(v) || taken.Has(v) {
		return nil
	}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok && d.Var == v {
			init = d.Init
		}
		return init == nil
	})
	if init == nil || slices.ContainsFunc(ir.ExprVars(init).List(), func(x *ir.Var) bool { return changed.Has(x) || taken.Has(x) }) {
		return nil
	}
	return init
}

// index returns the index of x in an iteration of f whose variable is own.
func (l *lattice) index(x AccessForm, own affine.Form) affine.Form {
	form := x.Form
	for k, g := range x.Loops { // the first value of a loop is one of the variables themselves
		form = form.Subst(g.Var, affine.OfVar(g.Var).Sub(x.ranges[k].From))
	}
	for k := len(x.Loops) - 1; k >= 0; k-- {
		if g := x.Loops[k]; form.Has(g.Var) {
			form = form.Subst(g.Var, l.start(g).Add(l.steps(g)))
		}
	}
	form = form.Subst(l.f.Var, own)
	for _, y := range form.Atoms() {
		if !l.free[y.Var] && y.Var != l.f.Var && !l.m.keeps(l.f, affine.OfAtom(y)) {
			form = l.renamed(form, y)
		}
	}
	return form
}

// renamed returns form with a new variable for atom x, which has another value in each iteration.
func (l *lattice) renamed(form affine.Form, x affine.Atom) affine.Form {
	if form.Unknown {
		return form
	}
	terms, y := make([]affine.Term, len(form.Terms)), affine.Atom{Var: l.fresh()}
	for i, t := range form.Terms {
		terms[i] = affine.Term{Coef: t.Coef, Atoms: swapAtom(t.Atoms, x, y)}
		slices.SortFunc(terms[i].Atoms, affine.CompareAtoms)
	}
	return affine.Normalise(terms)
}

// apart reports whether indices x and y are different for all values of their variables: the
// greatest common divisor of the coefficients of their difference does not divide its constant.
// Source: Banerjee, Dependence Analysis for Supercomputing, 1988, section 4.3; differs: a variable
// that is no counter may hold any 64 bits, so that only powers of two divide its multiples.
func (l *lattice) apart(x, y affine.Form) bool {
	diff := x.Sub(y)
	if !diff.Known() {
		return false
	}
	gap, divisor := int64(0), uint64(0)
	for _, t := range diff.Terms {
		switch c := integers.Magnitude(t.Coef); {
		case len(t.Atoms) == 0:
			gap = t.Coef
		case len(t.Atoms) == 1 && l.free[t.Atoms[0].Var] && c < smallStride:
			divisor = gcd(divisor, c)
		default:
			divisor = gcd(divisor, c&-c)
		}
	}
	if divisor == 0 {
		return gap != 0
	}
	return integers.Magnitude(gap)%divisor != 0
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// withoutEqual removes from w and a a loop inside f whose variable must have the same value in both
// wherever they access the same element, because its stride exceeds the distance that all other
// variables can cover. In a[i*m+j] with for j { for i { } } this is the loop over i.
func (m *Dependences) withoutEqual(f *ir.For, w, a AccessForm) (w2, a2 AccessForm, ok bool) {
	for i, g := range w.Loops {
		j := slices.Index(a.Loops, g)
		if j < 0 {
			continue
		}
		cw, ok1 := w.Form.Coef(g.Var)
		ca, ok2 := a.Form.Coef(g.Var)
		if !ok1 || !ok2 || !cw.Equal(ca) || cw.Equal(affine.Form{}) || !m.keeps(f, cw) || cw.Has(f.Var) || boundsOn(w.ranges, g.Var) || boundsOn(a.ranges, g.Var) || !m.sameLattice(f, g) {
			continue
		}
		if _, isConst := cw.Const(); !isConst && !positiveTerms(cw) && !m.notZero(cw, f, []*ir.For{g, f}) {
			continue
		}
		w2, a2 = w.without(i), a.without(j)
		diff, ok := m.restOver(f, w2, a2)
		if ok && m.stepsBeyond(g, cw, diff) && (m.counts(f, cw) || m.wraps(g, cw, "wraps") == "") {
			return w2, a2, true
		}
	}
	return w, a, false
}

// sameLattice reports whether two values of g's variable, in any two iterations of f, differ by a
// multiple of g's step: g starts at the same value in each iteration, or visits every integer.
func (m *Dependences) sameLattice(f, g *ir.For) bool {
	if step, ok := query.Int64(g.Step); ok && (step == 1 || step == -1) {
		return true
	}
	first, ok := affine.Of(g.Lo)
	return ok && first.Known() && !first.Has(f.Var) && m.keeps(f, first)
}

// boundsOn reports whether the bounds of one of ranges depend on v.
func boundsOn(ranges []bounds, v *ir.Var) bool {
	return slices.ContainsFunc(ranges, func(b bounds) bool { return b.Var != v && (b.Lo.Has(v) || b.Hi.Has(v)) })
}

// without returns a with the variable of its loop i replaced by zero.
func (a AccessForm) without(i int) AccessForm {
	a.Form = a.Form.Without(a.Loops[i].Var)
	a.Loops = slices.Delete(slices.Clone(a.Loops), i, i+1)
	a.ranges = slices.Delete(slices.Clone(a.ranges), i, i+1)
	return a
}

// restOver returns the range of the index of a minus the index of w, in any two iterations of f.
func (m *Dependences) restOver(f *ir.For, w, a AccessForm) (extent, bool) {
	whole := boundsOfAll([]*ir.For{f})
	sw, ok1 := spread(w.Form, append(whole, w.ranges...))
	sa, ok2 := spread(a.Form, append(whole, a.ranges...))
	if !ok1 || !ok2 || !m.keeps(f, sw.lo, sw.hi, sa.lo, sa.hi) {
		return extent{}, false
	}
	s := extent{lo: sa.lo.Sub(sw.hi), hi: sa.hi.Sub(sw.lo)}
	return s, s.lo.Known() && s.hi.Known()
}

// counts reports whether f runs about coef iterations. A loop with enough iterations to make an
// index wrap would never end.
func (m *Dependences) counts(f *ir.For, coef affine.Form) bool {
	b := boundsOfAll([]*ir.For{f})[0]
	if !b.Lo.Known() || !b.Hi.Known() {
		return false
	}
	c, ok := coef.Sub(b.Hi).Add(b.Lo).Const()
	return ok && integers.Magnitude(c) < smallStride
}

// fromZero returns a with inner loops that start at zero. It shifts each loop whose start, but not
// whose length, depends on the variable of f: for j := i*m; j < (i+1)*m with x[j] becomes a loop
// from 0 with x[i*m+j].
func (a AccessForm) fromZero(f *ir.For) AccessForm {
	for i, b := range a.ranges {
		width := b.Hi.Sub(b.Lo)
		if !b.Lo.Has(f.Var) || !width.Known() || width.Has(f.Var) || boundsOn(a.ranges, b.Var) {
			continue
		}
		a.ranges = slices.Clone(a.ranges)
		a.ranges[i].Lo, a.ranges[i].Hi, a.ranges[i].From = affine.Form{}, width, b.Lo
		a.Form = a.Form.Subst(b.Var, affine.OfVar(b.Var).Add(b.Lo))
	}
	a.Known = a.Form.Known()
	return a
}
