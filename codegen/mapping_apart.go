package codegen

import "github.com/gompss/gompss/codegen/ir"

// Two slices of one element type may overlap, and then no loop that writes one and reads the other is provably
// parallel. Where they lie is known at every launch: such a loop is kept twice, with a test between.

// A pair is two slices, parameters of the kernel.
type pair struct{ x, y *ir.Var }

func (p pair) is(x, y *ir.Var) bool { return p.x == x && p.y == y || p.x == y && p.y == x }

// maxPairs bounds the test.
const maxPairs = 12

// supposeApart reports whether x and y are known, or may be supposed, to have no byte in common.
func (m *mapper) supposeApart(x, y *ir.Var) bool {
	if x == nil || y == nil || x.Space != ir.Param || y.Space != ir.Param || x.Type.Kind != ir.Slice || y.Type.Kind != ir.Slice {
		return false
	}
	known := m.apart
	if m.suppose != nil {
		known = append(append([]pair{}, known...), *m.suppose...)
	}
	for _, p := range known {
		if p.is(x, y) {
			return true
		}
	}
	if m.suppose == nil || len(*m.suppose) >= maxPairs {
		return false
	}
	*m.suppose = append(*m.suppose, pair{x, y})
	return true
}

// supposing returns what has to be apart for holds to be true, where that makes it true.
func (m *mapper) supposing(holds func() bool) ([]pair, bool) {
	outer := m.suppose
	var pairs []pair
	m.suppose = &pairs
	ok := holds()
	m.suppose = outer
	return pairs, ok && len(pairs) > 0
}

// whereApart returns f twice: with then done to it where all pairs are apart, and as it is.
func (m *mapper) whereApart(f *ir.For, pairs []pair, then func(*ir.For)) ir.Stmt {
	at := f.At
	names, cond := "", ir.Expr(nil)
	for i, p := range pairs {
		e := ir.Expr(&ir.Apart{X: ref(p.x, at), Y: ref(p.y, at), At: at})
		if i > 0 {
			names += ", "
			e = compare(ir.LAnd, cond, e, at)
		}
		cond, names = e, names+p.x.Name+" and "+p.y.Name
	}
	m.decide(at, "loop "+f.Var.Name, "two versions", "more of it is parallel where "+names+
		" do not overlap, which each launch tests", "")
	fast := m.copyOf([]ir.Stmt{f}, &m.kernel.NumVars)
	then(fast[0].(*ir.For))
	m.plain[f] = true
	return &ir.If{Cond: cond, Then: fast, Else: []ir.Stmt{f}, At: at}
}

// apartIn returns the pairs that a condition says to be apart.
func apartIn(cond ir.Expr) []pair {
	switch e := cond.(type) {
	case *ir.Binary:
		if e.Op == ir.LAnd {
			return append(apartIn(e.X), apartIn(e.Y)...)
		}
	case *ir.Apart:
		x, okX := e.X.(*ir.Ref)
		y, okY := e.Y.(*ir.Ref)
		if okX && okY {
			return []pair{{x.Var, y.Var}}
		}
	}
	return nil
}

// versions returns a descriptive loop as it is, or, where loops in it are parallel too if slices do not overlap, twice.
func (m *mapper) versions(f *ir.For, at level) ir.Stmt {
	d := f.Directive
	if m.plain[f] || at > inTeams || d.Bind == ir.BindThread || d.Bind == ir.BindParallel || d.Parts&ir.Parallel != 0 || d.Collapse > 1 ||
		len(d.Reductions) > 0 || len(d.Lastprivate) > 0 {
		return f
	}
	spread := func() int {
		n := m.chain(f)
		if n == 1 && m.threadLoop(f) != nil {
			return 2
		}
		return n
	}
	decided := len(m.decisions)
	without, with := spread(), 0
	pairs, ok := m.supposing(func() bool { with = spread(); return with > without })
	m.decisions = m.decisions[:decided] // the mapping itself will say it again
	if !ok {
		return f
	}
	return m.whereApart(f, pairs, func(*ir.For) {})
}
