package codegen

import (
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// Two slices of one element type may overlap, and then no loop that writes one and reads the other is provably
// parallel; one with an index i*ld is parallel unless ld is 0, or so large that the index wraps. Where slices lie and what
// variables hold is known at every launch: such a loop is kept twice, with a test between.

// maxSupposed bounds the test.
const maxSupposed = 16

// A supposition is what has to hold for a loop to be parallel.
type supposition struct {
	conds []ir.Expr
	loop  *ir.For // that is kept twice: the test stands in front of it
}

// supposeApart reports whether x and y are known, or may be supposed, to have no byte in common.
func (m *mapper) supposeApart(x, y *ir.Var) bool {
	given := func(v *ir.Var) bool {
		return v != nil && v.Space == ir.Param && (v.Type.Kind == ir.Slice || v.Type.Kind == ir.Pointer)
	}
	if !given(x) || !given(y) {
		return false
	}
	at := ir.Pos{}
	if m.suppose != nil {
		at = m.suppose.loop.At
	}
	return m.supposeAll(&ir.Apart{X: ref(x, at), Y: ref(y, at), At: at})
}

// supposeAll reports whether conditions are known to hold, or may be supposed to.
func (m *mapper) supposeAll(conds ...ir.Expr) bool {
	var missing []ir.Expr
	for _, c := range conds {
		if !containsExpr(m.known, c) && !containsExpr(missing, c) && (m.suppose == nil || !containsExpr(m.suppose.conds, c)) {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return true
	}
	if m.suppose == nil || len(m.suppose.conds)+len(missing) > maxSupposed {
		return false
	}
	for _, c := range missing {
		if !loadFree(c) || !m.seesAll(c) {
			return false
		}
	}
	m.suppose.conds = append(m.suppose.conds, missing...)
	return true
}

// seesAll reports whether the variables in c are what they are in the loop already where the test stands.
func (m *mapper) seesAll(c ir.Expr) bool {
	f := m.suppose.loop
	declared, assigned, taken := ir.Declared([]ir.Stmt{f}), ir.Assigned(f.Body), ir.AddressTaken(m.kernel.Body)
	for _, v := range ir.ExprVars(c).List() {
		if declared.Has(v) || assigned.Has(v) || taken.Has(v) {
			return false
		}
	}
	return true
}

func containsExpr(list []ir.Expr, e ir.Expr) bool {
	var swapped ir.Expr
	if a, ok := e.(*ir.Apart); ok {
		swapped = &ir.Apart{X: a.Y, Y: a.X, At: a.At}
	}
	return slices.ContainsFunc(list, func(x ir.Expr) bool { return sameExpr(x, e) || swapped != nil && sameExpr(x, swapped) })
}

// supposing returns what has to hold for a loop in f, or f itself, to be parallel, where that makes it so.
func (m *mapper) supposing(f *ir.For, parallel func() bool) ([]ir.Expr, bool) {
	outer := m.suppose
	m.suppose = &supposition{loop: f}
	ok := parallel()
	conds := m.suppose.conds
	m.suppose = outer
	return conds, ok && len(conds) > 0
}

// where returns f twice: with then done to it where all conditions hold, and as it is.
func (m *mapper) where(f *ir.For, conds []ir.Expr, then func(*ir.For)) ir.Stmt {
	at := f.At
	var cond ir.Expr
	for _, e := range conds {
		if cond == nil {
			cond = e
		} else {
			cond = compare(ir.LAnd, cond, e, at)
		}
	}
	m.decide(at, "loop "+f.Var.Name, "two versions", "more of it is parallel where "+supposedText(conds)+", which each launch tests", "")
	fast := m.copyOf([]ir.Stmt{f}, &m.kernel.NumVars)
	then(fast[0].(*ir.For))
	m.plain[f] = true
	return &ir.If{Cond: cond, Then: fast, Else: []ir.Stmt{f}, At: at}
}

// supposedText says what conditions ask for.
func supposedText(conds []ir.Expr) string {
	var apart, parts []string
	for _, c := range conds {
		if a, ok := c.(*ir.Apart); ok {
			apart = append(apart, sourceText(a.X)+" and "+sourceText(a.Y))
		} else if b, ok := c.(*ir.Binary); ok && (b.Op == ir.Ne || b.Op == ir.Le) {
			parts = append(parts, sourceText(c))
		} else if !slices.Contains(parts, "no index wraps") {
			parts = append(parts, "no index wraps")
		}
	}
	if len(apart) > 0 {
		parts = append([]string{strings.Join(apart, ", ") + " do not overlap"}, parts...)
	}
	return strings.Join(parts, " and ")
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
	conds, ok := m.supposing(f, func() bool { with = spread(); return with > without })
	m.decisions = m.decisions[:decided] // the mapping itself will say it again
	if !ok {
		return f
	}
	return m.where(f, conds, func(*ir.For) {})
}
