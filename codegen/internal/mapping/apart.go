package mapping

import (
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Two slices of one element type may overlap, and then no loop that writes one and reads the other
// is provably parallel; one with an index i*ld is parallel unless ld is 0, or so large that the
// index wraps. Where slices lie and what variables hold is known at every launch: such a loop is
// kept twice, with a test between.

// Where returns f twice: with then done to it where all conditions hold, and as it is.
func (m *mapper) Where(f *ir.For, conds []ir.Expr, then func(*ir.For)) ir.Stmt {
	at := f.At
	var cond ir.Expr
	for _, e := range conds {
		if cond == nil {
			cond = e
		} else {
			cond = build.Compare(ir.LAnd, cond, e, at)
		}
	}
	m.Decide(at, "loop "+f.Var.Text(), "two versions", "more of it is parallel where "+supposedText(conds)+", which each launch tests", "")
	fast := m.CopyOf([]ir.Stmt{f}, &m.Kernel.NumVars)
	then(fast[0].(*ir.For))
	m.plain[f] = true
	test := &ir.If{Cond: cond, Then: fast, Else: []ir.Stmt{f}, At: at}
	m.tests[test] = true
	return test
}

// supposedText says what conditions ask for.
func supposedText(conds []ir.Expr) string {
	var apart, parts []string
	for _, c := range conds {
		if a, ok := c.(*ir.Apart); ok {
			apart = append(apart, query.Source(a.X)+" and "+query.Source(a.Y))
		} else if b, ok := c.(*ir.Binary); ok && (b.Op == ir.Ne || b.Op == ir.Le) {
			parts = append(parts, query.Source(c))
		} else if !slices.Contains(parts, "no index wraps") {
			parts = append(parts, "no index wraps")
		}
	}
	if len(apart) > 0 {
		parts = append([]string{strings.Join(apart, ", ") + " do not overlap"}, parts...)
	}
	return strings.Join(parts, " and ")
}

// versions returns a descriptive loop as it is, or, where loops in it are parallel too if slices do
// not overlap, twice.
func (m *mapper) versions(f *ir.For, at Level) ir.Stmt {
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
	conds, ok := m.Supposing(f, func() bool { with = spread(); return with > without })
	m.decisions = m.decisions[:decided] // the mapping itself will say it again
	if !ok {
		return f
	}
	return m.Where(f, conds, func(*ir.For) {})
}
