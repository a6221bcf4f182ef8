package memory

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// LeavesMasked reports whether a loop holds a jump out of a loop around it that lanes leave at
// different times: there it only turns lanes off, and the loop must see that.
func (g *Addresses) LeavesMasked(s ir.Stmt) bool {
	for _, f := range g.Loops {
		if f.Varying && ir.LeavesLoop(s) {
			return true
		}
	}
	return false
}

// inLoopOfLanes reports whether a loop inside that over lanes is selected.
func (g *Addresses) inLoopOfLanes() bool {
	for i := len(g.Loops) - 1; i >= 0 && g.Shapes != nil && g.Loops[i].Counter != g.Shapes.Lane; i-- {
		if g.Loops[i].Kind != LabelledBlock {
			return true
		}
	}
	return false
}

// A frameKind says what break and continue may name.
type frameKind uint8

const (
	plainLoop     frameKind = iota
	HoistingLoop            // what it does not change is computed before it
	LabelledBlock           // break alone may name it
)

// A LoopFrame is a loop or labelled block that break and continue may name, while its body is
// selected.
type LoopFrame struct {
	Label   *ir.Label
	Kind    frameKind
	Varying bool        // lanes leave at different times: live and skip are masks
	Live    []vcode.Reg // lanes that have not left the loop
	Skip    []vcode.Reg // lanes that have not left this iteration
	BreakTo mach.Label
	NextTo  mach.Label
	Changes *ir.VarSet // variables that the loop changes, for hoisting
	Pieces  bool       // it looks whether to pause behind the loops inside and after many rounds
	Counter *ir.Var
}

// Fixed reports whether nothing that the loop changes occurs in e.
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
			memory = true // what the loop may store to
		case *ir.Binary:
			memory = memory || x.Checked || x.Op == prepare.Within // what fails where it stands, if it is reached
		}
		return true
	})
	return !memory
}

func HoistKey(root *Home, size int64, key string) string {
	return fmt.Sprintf("%d/%d/%s", root.General, size, key)
}

// hoisted finds the longest part of the index that some loop around has computed, and returns the
// pointer with the terms that are left.
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

// Checks reports whether an access is to be checked where it is made.
func (g *Addresses) Checks(ix *ir.Index) bool {
	return !g.Safe[ix] && !g.always[ix] && (ix.Checked || len(analysis.LinearOf(ix.I).Withins) > 0)
}

// MarkSafe notes the accesses s[k] in a loop "for k := c; k < len(s)" with c >= 0: they need no
// check. The front end of other loops does not prove this.
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

// OnlyLane reports whether the index has no changing part but the lane variable itself.
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
