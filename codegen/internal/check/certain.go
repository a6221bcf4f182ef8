package check

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A race is certain if two concurrent iterations execute both accesses for every number of
// iterations from two on. It is then an error. It is a warning if a condition, a jump or an empty
// loop may skip one of the accesses, or if a clause may run the loop in one thread.

// constructsAround returns the statements with directives in list that contain l, outermost first.
func constructsAround(list []ir.Stmt, l *ir.For) (out []ir.Stmt) {
	for _, s := range list {
		holds := false
		ir.WalkStmts([]ir.Stmt{s}, func(t ir.Stmt) bool { holds = holds || t == ir.Stmt(l); return !holds })
		if !holds || s == ir.Stmt(l) {
			continue
		}
		if ir.DirectiveOf(s) != nil {
			out = append(out, s)
		}
		ir.Lists(s, func(inner []ir.Stmt) { out = append(out, constructsAround(inner, l)...) })
	}
	return out
}

// threadOwn returns the variables that are private to the threads, or teams, that share the
// iterations of l: those of the enclosing parallel region, or of the teams construct.
func threadOwn(l *ir.For, around []ir.Stmt) *ir.VarSet {
	out, region := &ir.VarSet{}, ir.Parts(0)
	switch p := l.Directive.Parts; {
	case p&(ir.Workshare|ir.Parallel) == ir.Workshare:
		region = ir.Parallel
	case p&(ir.Distribute|ir.Parallel|ir.Simd|ir.Teams) == ir.Distribute:
		region = ir.Teams
	}
	for _, s := range around {
		d := ir.DirectiveOf(s)
		if d.Parts&region == 0 {
			continue
		}
		out = ir.Declared([]ir.Stmt{s})
		for _, v := range slices.Concat(d.Private, d.Firstprivate) {
			out.Add(v)
		}
		for _, r := range d.Reductions {
			out.Add(query.PlaceVar(r.Place))
			if r.Index != nil {
				out.Add(query.PlaceVar(r.Index))
			}
		}
	}
	return out
}

// withinSafelen reports whether the safelen clause of l prevents iterations with this distance from
// running concurrently.
func withinSafelen(l *ir.For, distance int64) bool {
	d := l.Directive
	return d.Parts == ir.Simd && d.Safelen > 0 && integers.Magnitude(distance) >= uint64(d.Safelen)
}

// certainRace reports whether w and r, which access the same element in iterations of n at this
// distance, do so for every number of iterations from two on.
func certainRace(l *ir.For, n *nestLoop, w, r analysis.Reach, distance int64, around []ir.Stmt) bool {
	if n.Var.Name == query.BadName || !w.Is(analysis.Always) || !r.Is(analysis.Always) || r.Atomic || !analysis.PlainPlace(w.Expr) || !analysis.PlainPlace(r.Expr) || mayRunAlone(l.Directive) || !runs(n, w.Loops) || !runs(n, r.Loops) {
		return false
	}
	if slices.ContainsFunc(around, func(s ir.Stmt) bool { return mayRunAlone(ir.DirectiveOf(s)) }) {
		return false
	}
	trips, known := analysis.ConstTrips(n.For)
	if known && trips <= max(int64(integers.Magnitude(distance)), 1) {
		return false
	}
	return integers.Magnitude(distance) <= 1 || known
}

// mayRunAlone reports whether a clause of d may run the construct in one team or thread.
func mayRunAlone(d *ir.Directive) bool {
	return d.NumThreads != nil || d.NumTeams != nil || d.ThreadLimit != nil || d.If != nil || d.Nested.Kind != ir.NestedNone ||
		d.Parts&(ir.Single|ir.Masked) != 0
}

// runs reports whether no loop inside n is known to be empty, in all or in some iterations of n.
func runs(n *nestLoop, loops []analysis.LoopRange) bool {
	return rectangular(n, loops) && !slices.ContainsFunc(loops, func(l analysis.LoopRange) bool {
		trips, ok := analysis.ConstTrips(l.For)
		return ok && trips == 0
	})
}

// otherField reports whether two places in elements of the same type are in different fields.
func otherField(a, b ir.Expr) bool {
	x, y := fieldsOf(a), fieldsOf(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return true
		}
	}
	return false
}

// fieldsOf returns the path of field numbers from an element to place e, up to the first array
// index.
func fieldsOf(e ir.Expr) []int {
	switch e := e.(type) {
	case *ir.Member:
		if ix, ok := e.X.(*ir.Index); ok && ix.X.Type().Kind == ir.Array && query.RefVar(ix.X) == nil {
			return fieldsOf(ix)
		}
		return append(fieldsOf(e.X), e.Field)
	case *ir.Index:
		if e.X.Type().Kind == ir.Array && query.RefVar(e.X) == nil {
			return slices.Clip(fieldsOf(e.X))
		}
	}
	return nil
}
