package unchecked

import (
	"math/bits"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A loop whose checked indices are affine in the induction variables is versioned: if a test before
// the loop shows that all of them are in range, the version without these checks runs; else the
// checked version runs, and fails at the wrong access, as the Go code does.

const (
	maxTests   = 24 // comparisons in the test of a loop
	maxFactors = 4  // factors of a product of sizes: the dimensions of an array
)

// Version returns the test, and the iteration space with the unchecked body that is correct if the
// test holds. The test is nil if versioning is not profitable.
func Version(t *crews.Crew, sp *spaces.Space) (test ir.Expr, fast *spaces.Space) {
	if t.Opt.KeepChecks {
		return nil, nil
	}
	fast = t.Fresh(sp)
	v := &versioner{crew: t, at: sp.At, Prover: analysis.NewProver(fast.Body)}
	v.inside = ir.Declared(fast.Body)
	for _, f := range fast.Loops {
		v.Ranges = append(v.Ranges, v.BoundsOf(f))
		v.inside.Add(f.Var)
	}
	v.list(fast.Body)
	if v.tests.len() > maxTests {
		v.prune(len(sp.Loops))
	}
	if v.cleared == 0 || v.tests.len() > maxTests {
		return nil, nil
	}
	test = v.conjunction()
	fast.MayWrap = fast.MayWrap && !v.tests.bound(fast.Loops[0].Lo)
	t.Decide(sp.At, "loop "+sp.Loops[0].Var.Text(), "a version without index checks",
		"one test before the loop shows that its indices are in range", "")
	return test, fast
}

// versioner collects the tests that clear the checks of a loop body.
type versioner struct {
	analysis.Prover
	crew    *crews.Crew
	at      ir.Pos
	inside  *ir.VarSet // variables that are not available to the test
	tests   Tests
	cleared int
	parts   []divided // quotients and remainders that indices hold
}

// Tests are conditions under which checks can be removed: non-negative affine forms, and atoms
// below limits.
type Tests struct {
	Forms  []affine.Form
	limits []limit
}

// A limit is the test -below < atom < below.
type limit struct {
	atom  affine.Atom
	below int64
}

// Need adds the test a >= 0, unless an equally strong one exists: of forms that differ by a
// constant the least counts.
func (t *Tests) Need(a affine.Form) {
	for i, have := range t.Forms {
		if c, ok := a.Sub(have).Const(); ok {
			if c < 0 {
				t.Forms[i] = a
			}
			return
		}
	}
	t.Forms = append(t.Forms, a)
}

func (t *Tests) limit(x affine.Atom, below int64) {
	for i, have := range t.limits {
		if have.atom == x {
			t.limits[i].below = min(have.below, below)
			return
		}
	}
	t.limits = append(t.limits, limit{x, below})
}

// bound reports whether the limits keep e far from the ends of 64 bits: it is a sum of few numbers
// below 2^58.
func (t *Tests) bound(e ir.Expr) bool {
	form, ok := affine.Of(e)
	if !ok || len(form.Terms) > 16 {
		return false
	}
	for _, term := range form.Terms {
		length := bits.Len64(integers.Magnitude(term.Coef))
		for _, a := range term.Atoms {
			i := slices.IndexFunc(t.limits, func(l limit) bool { return l.atom == a })
			switch {
			case a.Of != affine.ValueOf:
				length += build.LengthBits
			case i < 0:
				return false
			default:
				length += bits.Len64(uint64(t.limits[i].below))
			}
		}
		if length > 58 {
			return false
		}
	}
	return true
}

func (t *Tests) add(other Tests) {
	for _, a := range other.Forms {
		t.Need(a)
	}
	for _, l := range other.limits {
		t.limit(l.atom, l.below)
	}
}

func (t *Tests) len() int { return len(t.Forms) + len(t.limits) }

func (v *versioner) list(list []ir.Stmt) {
	for _, s := range list {
		v.stmt(s)
	}
}

func (v *versioner) stmt(s ir.Stmt) {
	ir.StmtExprs(s, func(e ir.Expr) {
		ir.WalkExpr(e, func(x ir.Expr) bool {
			if ix, ok := x.(*ir.Index); ok && ix.Checked {
				v.index(ix)
			}
			return true
		})
	})
	switch s := s.(type) {
	case *ir.Decl:
		d := *s
		d.Init = v.divided(s.Init)
		v.Define(&d)
	case *ir.For:
		parts := len(v.parts)
		v.Within(s, v.list)
		v.parts = v.parts[:parts]
		return
	case *ir.If:
		v.Branches(s, v.list)
		return
	}
	ir.Lists(s, v.list)
}

// index removes the check of ix if tests over loop-invariant values can show that it is in range.
func (v *versioner) index(ix *ir.Index) {
	i := v.ReplaceLengths(v.Defs.Form(v.divided(ix.I)))
	n := affine.Constant(ix.X.Type().Len)
	if ix.X.Type().Kind == ir.Slice {
		n = v.ReplaceLengths(v.Length(ix.X))
	}
	if !i.Known() || !n.Known() || !v.Fixed(i) {
		return
	}
	add, ok := v.withinLoops(i, n)
	if len(v.Facts) > 0 {
		if other, fine := v.withinFacts(i, n); fine && (!ok || v.weaker(other, add)) {
			add, ok = other, true
		}
	}
	if !ok {
		return
	}
	v.tests.add(add)
	ix.Checked = false
	v.cleared++
}

// withinLoops returns the tests that show 0 <= i < n at the ends of the loops.
func (v *versioner) withinLoops(i, n affine.Form) (add Tests, ok bool) {
	lo, hi := v.extreme(i, false, &add), v.extreme(i, true, &add)
	if !v.visible(lo) || !v.visible(hi) || !v.visible(n) || !add.small(lo) || !add.small(hi) || !add.small(n) {
		return Tests{}, false
	}
	last := n.AddConst(-1)
	v.require(i, lo, &add)
	v.require(last.Sub(i), last.Sub(hi), &add)
	return add, v.possible(add)
}

// withinFacts returns the tests that show 0 <= i < n under the surrounding conditions.
func (v *versioner) withinFacts(i, n affine.Form) (add Tests, ok bool) {
	lo, okLo := v.underFacts(i, &add)
	hi, okHi := v.underFacts(n.AddConst(-1).Sub(i), &add)
	if !okLo || !okHi || !v.visible(lo) || !v.visible(hi) || !v.visible(n) || !add.small(lo) || !add.small(hi) || !add.small(n) {
		return Tests{}, false
	}
	add.Need(lo)
	add.Need(hi)
	return add, v.possible(add)
}

// weaker reports whether than, together with the tests of all indices, implies a, and a is the
// weaker test.
func (v *versioner) weaker(a, than Tests) bool {
	given := append(slices.Clone(v.tests.Forms), than.Forms...)
	least := leastValues(given)
	less := false
	for _, g := range a.Forms {
		follows := notNegative(g, least)
		for _, f := range given {
			if more := g.Sub(f); more.Known() && notNegative(more, least) {
				follows, less = true, less || !more.Equal(affine.Constant(0))
			}
		}
		if !follows {
			return false
		}
	}
	return less
}

// A divided is a quotient or a remainder, the variable that replaces it, and the conditions under
// which its bounds hold.
type divided struct {
	e    ir.Expr
	v    *ir.Var
	when Tests
}

// divided returns e with variables in place of the quotients and remainders whose bounds are known:
// those of a non-negative dividend by a constant or a size.
func (v *versioner) divided(e ir.Expr) ir.Expr {
	return (&ir.Rewrite{Instead: v.bounded, Expr: func(e ir.Expr) ir.Expr {
		b, ok := e.(*ir.Binary)
		if !ok || b.Op != ir.Div && b.Op != ir.Rem || b.T.Kind != ir.Int64 {
			return e
		}
		for _, have := range v.parts {
			if query.Same(have.e, b) {
				return build.Ref(have.v, b.At)
			}
		}
		q := divided{e: b, v: v.crew.Local("part", ir.IntType, b.At)}
		x, y := v.ReplaceLengths(v.Defs.Form(b.X)), v.ReplaceLengths(v.Defs.Form(b.Y))
		if !x.Known() || !y.Known() || !v.Fixed(x) || !v.Fixed(y) || !v.visible(y) || !q.when.small(y) {
			return e
		}
		lo, hi := v.extreme(x, false, &q.when), v.extreme(x, true, &q.when)
		if !v.visible(lo) || !v.visible(hi) || !q.when.small(lo) || !q.when.small(hi) {
			return e
		}
		for _, least := range []affine.Form{lo, y.AddConst(-1)} {
			if c, isConst := least.Const(); isConst && c < 0 {
				return e
			} else if !isConst {
				q.when.Need(least)
			}
		}
		most, fits := y.AddConst(-1), true
		if b.Op == ir.Div {
			most, fits = analysis.Quotient(hi, y)
		}
		if !fits || !most.Known() {
			return e
		}
		v.inside.Add(q.v)
		v.parts = append(v.parts, q)
		v.Between(q.v, affine.Constant(0), most)
		return build.Ref(q.v, b.At)
	}}).CopyExpr(e)
}

// ofLoops reports whether the bounds of loops give a tighter range of e.
func (v *versioner) ofLoops(e ir.Expr) bool {
	form := v.Defs.Form(e)
	for _, r := range v.Ranges {
		if form.Known() && form.Has(r.Var) {
			return true
		}
	}
	return false
}

// bounded returns a variable for e if the width of its bits bounds it, else nil.
func (v *versioner) bounded(e ir.Expr) ir.Expr {
	n, ok := analysis.Masked(e)
	if !ok || forms.IsConst(e) || v.ofLoops(e) {
		return nil
	}
	for _, have := range v.parts {
		if query.Same(have.e, e) {
			return build.Ref(have.v, e.Pos())
		}
	}
	q := divided{e: e, v: v.crew.Local("part", ir.IntType, e.Pos())}
	v.inside.Add(q.v)
	v.parts = append(v.parts, q)
	v.Between(q.v, affine.Constant(0), affine.Constant(n-1))
	return build.Ref(q.v, e.Pos())
}

// require adds the tests that show a >= 0 in every iteration, where least is the least value of a:
// if a surrounding condition implies it, none but the tests of that condition. Both ends come from
// the index itself, so that they agree on the signs of its coefficients: asking 0 <= n for i*n and
// n <= 0 for len-1-i*n would leave n = 0 alone.
func (v *versioner) require(a, least affine.Form, add *Tests) {
	for _, f := range v.Facts {
		known := *add
		known.Forms, known.limits = slices.Clone(add.Forms), slices.Clone(add.limits)
		rest := a.Sub(f.Form)
		c, ok := rest.Const()
		if !ok && f.Bound && v.lasting(rest) && known.small(rest) { // tighter than the other bounds
			known.Need(rest)
			c, ok = 0, true
		}
		if ok && c >= 0 && v.exact(f, &known) {
			*add = known
			return
		}
	}
	add.Need(least)
}

// lasting reports whether the test can see a, in which no loop has its variable.
func (v *versioner) lasting(a affine.Form) bool {
	for _, r := range v.Ranges {
		if a.Has(r.Var) {
			return false
		}
	}
	return v.visible(a)
}

// underFacts returns a lower bound of a under the surrounding conditions, as a form over values
// that are available to the test. The first condition that bounds an induction variable on the
// required side eliminates it, else the end of its loop does. Non-negative multiples are subtracted
// from a: (i+p)*n + j+q is n*(i+p), where 0 <= i+p, plus j+q.
func (v *versioner) underFacts(a affine.Form, add *Tests) (affine.Form, bool) {
	for k := len(v.Ranges) - 1; k >= 0; k-- {
		if w := v.Ranges[k].Var; a.Has(w) {
			if less, ok := v.lessFact(a, w, add); ok {
				a = less
			}
		}
	}
	a = v.extreme(a, false, add)
	return a, a.Known()
}

// lessFact subtracts a multiple of a condition that holds from a, so that induction variable w is
// eliminated.
func (v *versioner) lessFact(a affine.Form, w *ir.Var, add *Tests) (affine.Form, bool) {
	coef, ok := a.Coef(w)
	if !ok {
		return a, false
	}
	for _, f := range v.Facts {
		step, ok := f.Form.Coef(w)
		c, isConst := step.Const()
		if !ok || !isConst || integers.Magnitude(c) != 1 {
			continue
		}
		times := coef.Mul(affine.Constant(c))
		trial := *add
		trial.Forms, trial.limits = slices.Clone(add.Forms), slices.Clone(add.limits)
		if n, ok := times.Const(); ok && n < 0 {
			continue
		} else if !ok {
			if !v.visible(times) || !trial.small(times) || !slices.ContainsFunc(times.Terms, func(t affine.Term) bool { return t.Coef > 0 }) {
				continue
			}
			trial.Need(times)
		}
		if less := a.Sub(times.Mul(f.Form)); less.Known() && !less.Has(w) && v.exact(f, &trial) {
			*add = trial
			return less, true
		}
	}
	return a, false
}

// exact adds the tests that exclude overflow in the comparison from which f is known.
func (v *versioner) exact(f analysis.Fact, add *Tests) bool {
	if f.Plain() {
		return true
	}
	for _, side := range []affine.Form{f.X, f.Y} {
		lo, hi := v.extreme(side, false, add), v.extreme(side, true, add)
		if !v.visible(lo) || !v.visible(hi) || !add.small(lo) || !add.small(hi) {
			return false
		}
	}
	return true
}

// extreme returns the least or greatest value of a over the loops, given the tests that it adds.
func (v *versioner) extreme(a affine.Form, greatest bool, add *Tests) affine.Form {
	for k := len(v.Ranges) - 1; k >= 0; k-- {
		b := v.Ranges[k]
		if !a.Has(b.Var) {
			continue
		}
		coef, ok := a.Coef(b.Var)
		if !ok {
			return affine.Form{Unknown: true}
		}
		for _, q := range v.parts {
			if q.v == b.Var {
				add.add(q.when)
			}
		}
		rises, ok := v.rises(coef, add)
		if !ok {
			return affine.Form{Unknown: true}
		}
		end := b.Lo
		if greatest == rises {
			end = b.Hi
		}
		a = a.Subst(b.Var, end)
	}
	return a
}

// rises returns the sign of coef: that of a constant; else the one that makes sense, with the test
// that it is so. A coefficient with only negative terms is taken to be negative, any other
// positive, as products of sizes are.
func (v *versioner) rises(coef affine.Form, add *Tests) (rises, ok bool) {
	if c, ok := coef.Const(); ok {
		return c > 0, true
	}
	if !v.visible(coef) || !add.small(coef) {
		return false, false
	}
	if slices.ContainsFunc(coef.Terms, func(t affine.Term) bool { return t.Coef > 0 }) {
		add.Need(coef)
		return true, true
	}
	add.Need(affine.Form{}.Sub(coef))
	return false, true
}

// visible reports whether the test before the loop can compute a and no thread changes it
// meanwhile.
func (v *versioner) visible(a affine.Form) bool {
	if !a.Known() {
		return false
	}
	for _, x := range a.Atoms() {
		if x.Var.ID < 0 || v.inside.Has(x.Var) || v.crew.IsShared(x.Var) && !steady(v.crew, x.Var) || v.Changed.Has(x.Var) || v.Taken.Has(x.Var) {
			return false
		}
	}
	return true
}

// steady reports whether no statement of the parallel region changes v, a variable in team memory.
func steady(t *crews.Crew, v *ir.Var) bool {
	return t.Shared[v] && t.Scratch[v] == nil && t.Effects.Exact[v] && t.Changing != nil && !t.Changing.Has(v)
}

// InRegion records the variables that parallel region s changes, while the region is lowered. undo
// ends this.
func InRegion(t *crews.Crew, s ir.Stmt) (undo func()) {
	before := t.Changing
	if before == nil {
		t.Changing = ir.Assigned([]ir.Stmt{s})
	}
	return func() { t.Changing = before }
}

// conjunction returns the tests as one condition, without those that others imply.
func (v *versioner) conjunction() ir.Expr {
	var all ir.Expr
	and := func(x ir.Expr) {
		if all == nil {
			all = x
		} else {
			all = build.Compare(ir.LAnd, all, x, v.at)
		}
	}
	positive := map[affine.Atom]bool{}
	for _, a := range v.tests.Forms {
		if len(a.Terms) == 1 && len(a.Terms[0].Atoms) == 1 && a.Terms[0].Coef > 0 {
			positive[a.Terms[0].Atoms[0]] = true
		}
	}
	for _, a := range v.tests.Forms {
		if len(a.Terms) == 1 && len(a.Terms[0].Atoms) == 1 && positive[a.Terms[0].Atoms[0]] && a.Terms[0].Coef > 0 ||
			!analysis.PositiveOver(a, positive) {
			and(analysis.NotNegativeTest(a, v.at))
		}
	}
	for _, l := range v.tests.limits {
		x := l.atom.Expr(v.at)
		and(build.Compare(ir.Lt, x, build.Int(l.below, v.at), v.at))
		if l.atom.Of == affine.ValueOf && !positive[l.atom] {
			and(build.Compare(ir.Lt, build.Int(-l.below, v.at), x, v.at))
		}
	}
	if all == nil {
		return build.Bool(true, v.at)
	}
	return all
}

// small adds the tests that keep the arithmetic on a from leaving 64 bits: each term stays below
// 2^56, and there are few. It reports whether such tests exist.
func (t *Tests) small(a affine.Form) bool {
	if len(a.Terms) > 16 {
		return false
	}
	for _, term := range a.Terms {
		left := 56 - bits.Len64(integers.Magnitude(term.Coef))
		switch {
		case len(term.Atoms) == 0 && left >= 0:
			continue
		case len(term.Atoms) == 0 || len(term.Atoms) > maxFactors || left < 20:
			return false
		case len(term.Atoms) == 1 && (term.Atoms[0].Of != affine.ValueOf || term.Atoms[0].Var.Type.Size < 8) && left >= 48:
			continue // no slice is that long
		}
		for _, x := range term.Atoms {
			t.limit(x, int64(1)<<(left/len(term.Atoms)))
		}
	}
	return true
}

// If a test cannot hold in a launch whose loops have an iteration, the unchecked version would
// never run. The check that requires such a test therefore stays in both versions, and does not
// prevent the removal of the other checks.

// possible reports whether the tests in add and those so far can hold together if every surrounding
// loop has an iteration.
func (v *versioner) possible(add Tests) bool {
	forms := slices.Clone(v.tests.Forms)
	forms = append(forms, add.Forms...)
	for _, b := range v.Ranges {
		if span := b.Hi.Sub(b.Lo); b.Lo.Known() && b.Hi.Known() && span.Known() {
			forms = append(forms, span)
		}
	}
	least := leastValues(forms)
	first := 0
	if sameLeast(leastValues(v.tests.Forms), least) { // all tests can hold together
		first = len(v.tests.Forms)
	}
	for i := first; i < len(forms); i++ {
		f := forms[i]
		if negative(f, least) {
			return false
		}
		for _, g := range forms[:i] {
			if sum := f.Add(g); sum.Known() && negative(sum, least) {
				return false
			}
		}
	}
	return true
}

// sameLeast reports whether all atoms of before have the same least value in now.
func sameLeast(before, now map[affine.Atom]int64) bool {
	for x, least := range before {
		if now[x] != least {
			return false
		}
	}
	return true
}

// prune adds the tests that the outer loops of the nest have an iteration, and removes the tests
// that others then imply: an index that is in range with the largest offset is in range with
// smaller ones.
func (v *versioner) prune(outer int) {
	for _, b := range v.Ranges[:outer] {
		if span := b.Hi.Sub(b.Lo); b.Lo.Known() && b.Hi.Known() && span.Known() && v.visible(span) && v.tests.small(span) {
			v.tests.Need(span)
		}
	}
	least := leastValues(v.tests.Forms)
	var kept []affine.Form
	for i, f := range v.tests.Forms {
		_, _, single := singleAtom(f)
		follows := !single && notNegative(f, least)
		for k, g := range v.tests.Forms {
			if less := f.Sub(g); k != i && less.Known() && notNegative(less, least) && (k < i || !notNegative(g.Sub(f), least)) {
				follows = follows || !single
			}
		}
		if !follows {
			kept = append(kept, f)
		}
	}
	v.tests.Forms = kept
}

// notNegative reports whether f is non-negative for all values of its atoms from least upwards.
func notNegative(f affine.Form, least map[affine.Atom]int64) bool {
	sum := int64(0)
	for _, t := range f.Terms {
		at := min(max(t.Coef, -1<<40), 1<<40)
		for _, x := range t.Atoms {
			n, known := least[x]
			if !known || t.Coef < 0 {
				return false
			}
			at *= min(n, 1<<5) // a smaller factor suffices, and does not overflow
		}
		sum += min(at, 1<<50)
	}
	return sum >= 0
}

// leastValues returns lower bounds of atoms, at least 0, if all forms are non-negative. Lengths are
// never negative.
func leastValues(forms []affine.Form) map[affine.Atom]int64 {
	least := map[affine.Atom]int64{}
	for _, f := range forms {
		for _, x := range f.Atoms() {
			if _, ok := least[x]; !ok && (x.Of != affine.ValueOf || !x.Var.Type.IsSigned()) {
				least[x] = 0
			}
		}
		if x, c, ok := singleAtom(f); ok && c <= 0 {
			least[x] = max(least[x], -c)
		}
	}
	return least
}

// singleAtom reports whether f is the sum of an atom and a constant.
func singleAtom(f affine.Form) (x affine.Atom, c int64, ok bool) {
	for _, t := range f.Terms {
		switch {
		case len(t.Atoms) == 0:
			c = t.Coef
		case ok || len(t.Atoms) > 1 || t.Coef != 1:
			return x, 0, false
		default:
			x, ok = t.Atoms[0], true
		}
	}
	return x, c, ok
}

// negative reports whether f is negative for all values of its atoms from least upwards.
func negative(f affine.Form, least map[affine.Atom]int64) bool {
	most := int64(0)
	for _, t := range f.Terms {
		if len(t.Atoms) == 0 {
			most += min(max(t.Coef, -1<<40), 1<<40)
			continue
		}
		if t.Coef > 0 {
			return false
		}
		above := true // every factor is 1 or more
		for _, x := range t.Atoms {
			n, known := least[x]
			if !known {
				return false
			}
			above = above && n > 0
		}
		if above {
			most += max(t.Coef, -1<<40)
		}
	}
	return most < 0
}
