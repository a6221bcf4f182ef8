package contract

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// This file adds to what launches are checked for the code of teams and parallel constructs that no
// loop shares out: every team, or every thread, runs it, and which of them touches what depends on
// their numbers, of which the host knows nothing. So memory that two touches may have in common is
// an error.

// regionsOf returns which regions a statement is: a block of teams, of threads, or of both.
func regionsOf(s ir.Stmt) (out []Region) {
	c, ok := s.(*ir.Construct)
	if !ok {
		return nil
	}
	if c.Directive.Parts&ir.Teams != 0 && !isOne(c.Directive.NumTeams) {
		out = append(out, Teams)
	}
	if c.Directive.Parts&ir.Parallel != 0 && !isOne(c.Directive.NumThreads) {
		out = append(out, Threads)
	}
	return out
}

func isOne(e ir.Expr) bool {
	if e == nil {
		return false
	}
	n, ok := query.Int64(e)
	return ok && n == 1
}

// addRegions adds the checks of w and r in the regions around both.
func (o *Overlaps) addRegions(k *ir.Kernel, w, r *conflictTouch) {
	if w.copied || r.copied {
		return
	}
	for i, s := range w.In {
		if i >= len(r.In) || r.In[i] != s {
			return
		}
		for _, region := range regionsOf(s) {
			if region == Teams && !teamsMeet(w.In[i+1:], r.In[i+1:]) || region == Threads && (w.Phase != r.Phase || !threadsMeet(w.In[i+1:], r.In[i+1:])) {
				continue
			}
			o.addCheck(k, overlapCheck{write: w, other: r, at: s.Pos(), region: region, outer: loopsAround(s, w.Loops, r.Loops), n: 1, apart: true})
		}
	}
}

// teamsMeet reports whether two teams may run code inside the constructs w and code inside r at
// once: not the iterations of one loop, which are a check of their own.
func teamsMeet(w, r []ir.Stmt) bool {
	x, y := sharedBy(ir.Distribute, w), sharedBy(ir.Distribute, r)
	return x == nil || x != y
}

// threadsMeet reports whether two threads of a team may run code inside the constructs w and code
// inside r at once. What lies in two constructs that are shared out has a barrier in between, or is
// a check of nowait.
func threadsMeet(w, r []ir.Stmt) bool {
	x, y := sharedBy(ir.Workshare|ir.Single|ir.Masked, w), sharedBy(ir.Workshare|ir.Single|ir.Masked, r)
	if x == nil || y == nil {
		return true
	}
	masked := func(s ir.Stmt) bool { return ir.DirectiveOf(s).Parts&ir.Masked != 0 }
	return x != y && masked(x) != masked(y)
}

// sharedBy returns the outermost construct among in with one of parts: nil where there is none, or
// another parallel construct before it.
func sharedBy(parts ir.Parts, in []ir.Stmt) ir.Stmt {
	for _, s := range in {
		d := ir.DirectiveOf(s)
		if parts&ir.Distribute == 0 && d.Parts&ir.Parallel != 0 {
			return nil
		}
		if d.Parts&parts != 0 {
			return s
		}
	}
	return nil
}

// loopsAround returns how many of the outermost loops that two touches have in common are around
// s.
func loopsAround(s ir.Stmt, a, b []analysis.LoopRange) int {
	n := analysis.CommonLoops(a, b)
	for i := range n {
		around := false
		ir.WalkStmts(a[i].For.Body, func(x ir.Stmt) bool {
			around = around || x == s
			return !around
		})
		if !around {
			return i
		}
	}
	return n
}
