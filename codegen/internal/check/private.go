package check

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// private checks that private copies, which start undefined, are assigned before they are read,
// that the last iteration assigns lastprivate variables, and that the values of other private
// copies are not read after the construct.
func (c *Check) private(list []ir.Stmt) {
	c.readBehind(list, nil)
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil {
			return true
		}
		for _, v := range d.Private {
			f := analysis.NewPrivateFlow(v, func(at ir.Pos, in analysis.AssignedState) { c.readsCopy(at, v, "private", d, in) })
			ir.Lists(s, func(body []ir.Stmt) { f.Stmts(body, analysis.Unassigned) })
		}
		if f, ok := s.(*ir.For); ok {
			for _, v := range d.Lastprivate {
				c.lastValue(f, v)
			}
		}
		return true
	})
}

// lastValue checks that every iteration of l assigns to v, whose last value is kept, before it
// reads v.
func (c *Check) lastValue(l *ir.For, v *ir.Var) {
	d, inner := l.Directive, l
	for range d.Collapse - 1 {
		if _, next := query.Perfect(inner.Body); next != nil {
			inner = next
		}
	}
	var read func(ir.Pos, analysis.AssignedState)
	if !slices.Contains(d.Firstprivate, v) {
		read = func(at ir.Pos, in analysis.AssignedState) { c.readsCopy(at, v, "lastprivate", d, in) }
	}
	what := "lastprivate(" + v.Name + ")"
	switch analysis.NewPrivateFlow(v, read).Iteration(inner) {
	case analysis.Unassigned:
		c.fail(d.At, what, "no iteration assigns to it", "take it out of the clause, or assign to it")
	case analysis.SomePaths:
		c.warn(d.At, what, "only some paths of an iteration assign to it: where the last iteration does not, it has no value, and plain Go keeps that of an earlier one",
			"assign to it on every path, or find the iteration that counts by reduction(maxloc)")
	}
}

// readBehind reports reads, after constructs, of variables whose private copies the constructs
// assigned. rest are the statement lists that follow list, the innermost first.
func (c *Check) readBehind(list []ir.Stmt, rest [][]ir.Stmt) {
	for i, s := range list {
		behind := append([][]ir.Stmt{list[i+1:]}, rest...)
		if d := ir.DirectiveOf(s); d != nil && len(d.Private)+len(d.Firstprivate) > 0 {
			c.lostCopies(s, d, behind)
		}
		ir.Lists(s, func(inner []ir.Stmt) { c.readBehind(inner, behind) })
	}
}

// lostCopies reports, for each private variable of d that the body of s assigns, the first read in
// the lists behind.
func (c *Check) lostCopies(s ir.Stmt, d *ir.Directive, behind [][]ir.Stmt) {
	var assigned *ir.VarSet
	ir.Lists(s, func(body []ir.Stmt) { assigned = ir.Assigned(body) })
	for _, v := range slices.Concat(d.Private, d.Firstprivate) {
		if assigned == nil || !assigned.Has(v) || slices.Contains(d.Lastprivate, v) {
			continue
		}
		clause, instead := "private", "assign to it before"
		if slices.Contains(d.Firstprivate, v) {
			clause = "firstprivate"
		}
		if d.Parts&(ir.Distribute|ir.Workshare) != 0 {
			instead += ", or write lastprivate(" + v.Name + ")"
		}
		f := analysis.NewPrivateFlow(v, func(at ir.Pos, _ analysis.AssignedState) {
			c.warn(at, clause+"("+v.Name+")", "it is read here with the value from before the directive at "+d.At.String()+
				", whose copies are gone; plain Go reads what the last of them got", instead)
		})
		state := analysis.Unassigned
		for _, list := range behind {
			state = f.Stmts(list, state)
		}
	}
}

// readsCopy reports a read of a private copy of v that has no value at that point, or may have
// none.
func (c *Check) readsCopy(at ir.Pos, v *ir.Var, clause string, d *ir.Directive, in analysis.AssignedState) {
	if clause == "lastprivate" && d.Parts&ir.Loop != 0 {
		return // such a loop runs in order if its iterations depend on each other
	}
	what, why := clause+"("+v.Name+")", "its copies have no value at "+d.At.String()+", and it is read "
	if in == analysis.Unassigned {
		c.fail(at, what, why+"before anything assigns to it", "assign to it first, or write firstprivate("+v.Name+")")
	} else {
		c.warn(at, what, why+"where only some paths have assigned to it", "assign to it on every path, or write firstprivate("+v.Name+")")
	}
}
