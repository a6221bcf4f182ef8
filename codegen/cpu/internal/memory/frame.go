package memory

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// LeavesMasked reports whether loop s contains a jump out of an enclosing loop that lanes leave at
// different times. Such a jump only turns lanes off, and loop s must check for that.
func (g *Addresses) LeavesMasked(s ir.Stmt) bool {
	for _, f := range g.Loops {
		if f.Varying && ir.LeavesLoop(s) {
			return true
		}
	}
	return false
}

// inLoopOfLanes reports whether the code being selected is in a loop inside the loop over lanes.
func (g *Addresses) inLoopOfLanes() bool {
	for i := len(g.Loops) - 1; i >= 0 && g.Shapes != nil && g.Loops[i].Counter != g.Shapes.Lane; i-- {
		if g.Loops[i].Kind != LabelledBlock {
			return true
		}
	}
	return false
}

// A frameKind is the kind of a statement that break or continue may name.
type frameKind uint8

const (
	plainLoop     frameKind = iota
	HoistingLoop            // a loop whose invariant values are computed before it
	LabelledBlock           // a block that only break may name
)

// A LoopFrame is a loop or labelled block that break and continue may name, while its body is
// selected.
type LoopFrame struct {
	Label   *ir.Label
	Kind    frameKind
	Varying bool        // lanes leave at different times: Live and Skip are masks
	Live    []vcode.Reg // lanes that have not left the loop
	Skip    []vcode.Reg // lanes that have not left this iteration; nil: no continue names the loop
	BreakTo mach.Label
	NextTo  mach.Label
	Changes *ir.VarSet // variables that the loop changes, for hoisting
	Pieces  bool       // strip-mined: pause points are after inner loops and after many iterations
	Counter *ir.Var    // the loop variable, nil for other statements
}

// Fixed reports whether e is invariant in the loop: it has no variable that the loop changes, reads
// no element of a slice, and cannot fail.
func (f *LoopFrame) Fixed(e ir.Expr) bool {
	for _, v := range ir.ExprVars(e).List() {
		if f.Changes.Has(v) {
			return false
		}
	}
	memory := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Index:
			memory = true // the loop may store to it
		case *ir.Binary:
			memory = memory || x.Checked || x.Op == prepare.Within // e may fail, and only where it is evaluated
		}
		return true
	})
	return !memory
}

// HoistKey returns the key of a hoisted pointer: its slice, the element size, and the key of the
// invariant part of the index.
func HoistKey(root *Home, size int64, key string) string {
	return fmt.Sprintf("%d/%d/%s", root.General, size, key)
}

// hoisted looks for the pointer with the innermost enclosing loop's invariant part of the index,
// then with those of the loops around it. It returns the pointer and the remaining terms.
func (g *Addresses) hoisted(a access, l analysis.Linear) (vcode.Reg, []analysis.Term) {
	for i := len(g.Loops) - 1; i >= 0; i-- {
		f := g.Loops[i]
		if f.Kind != HoistingLoop {
			continue
		}
		terms, key := l.Part(f.Fixed)
		if len(terms) == 0 {
			continue
		}
		if p, ok := g.Pointer[HoistKey(a.root, a.size, key)]; ok {
			rest, _ := l.Part(func(e ir.Expr) bool { return !f.Fixed(e) })
			return p, rest
		}
	}
	rest, _ := l.Part(func(ir.Expr) bool { return true })
	return a.root.General, rest
}

// Checks reports whether an access needs a bounds check at its own position.
func (g *Addresses) Checks(ix *ir.Index) bool {
	return !g.Safe[ix] && !g.always[ix] && (ix.Checked || len(analysis.LinearOf(ix.I).Withins) > 0)
}

// MarkSafe marks the accesses s[k] in a loop "for k := c; k < len(s)" with c >= 0, which need no
// bounds check. Earlier passes do not prove this for every loop.
func (g *Addresses) MarkSafe(s *ir.For) {
	length, ok := s.Hi.(*ir.Len)
	if !ok || s.Rel != ir.Lt {
		return
	}
	lo, ok := ir.ConstInt(s.Lo)
	step, ok2 := ir.ConstStep(s)
	root, ok3 := length.X.(*ir.Ref)
	if !ok || !ok2 || !ok3 || lo < 0 || step < 0 || ir.Assigned(s.Body).Has(root.Var) {
		return
	}
	ir.Inspect(s.Body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok {
			return
		}
		x, ok := ix.X.(*ir.Ref)
		i, ok2 := ix.I.(*ir.Ref)
		if ok && ok2 && x.Var == root.Var && i.Var == s.Var {
			g.always[ix] = true
		}
	})
}

// OnlyLane reports whether the lane variable is the only part of the index that loop f changes.
func (g *Addresses) OnlyLane(l analysis.Linear, f *LoopFrame, lane *ir.Var) bool {
	for _, t := range l.Terms {
		if r, ok := t.Expr.(*ir.Ref); ok && r.Var == lane {
			continue
		}
		if !f.Fixed(t.Expr) || !g.Known([]analysis.Term{t}) {
			return false
		}
	}
	return true
}
