package cpu

import (
	"fmt"
	"strconv"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// fixed tells whether nothing that the loop changes occurs in e.
func (f *loopFrame) fixed(e ir.Expr) bool {
	for _, v := range ir.ExprVars(e).List() {
		if f.changes.Has(v) {
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

func hoistKey(root *home, size int64, key string) string {
	return fmt.Sprintf("%d/%d/%s", root.gp, size, key)
}

// hoist computes, before a loop, the address of every row that its accesses walk: slice address
// plus the terms of the index that the loop does not change. It returns a function that forgets
// them after the loop.
func (g *gen) hoist(f *loopFrame, body []ir.Stmt) func() {
	old := g.pointer
	g.pointer = make(map[string]x86.Reg, len(old))
	for k, v := range old {
		g.pointer[k] = v
	}
	ir.Inspect(body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok || ix.X.Type().Kind != ir.Slice {
			return
		}
		root, ok := ix.X.(*ir.Ref)
		if !ok || g.homes[root.Var] == nil || g.homes[root.Var].per > 0 || g.shape(ix.I).Kind == analysis.Varying {
			return
		}
		terms, key := analysis.LinearOf(ix.I).Part(f.fixed)
		if len(terms) == 0 || !g.known(terms) {
			return
		}
		g.hoistRow(g.homes[root.Var], int64(ix.Type().Size), terms, key)
	})
	return func() { g.pointer = old }
}

// known tells whether all variables of the terms have homes: those of loops further in do not yet.
func (g *gen) known(terms []analysis.Term) bool {
	for _, t := range terms {
		for _, v := range ir.ExprVars(t.Expr).List() {
			if h := g.homes[v]; h == nil || h.gp == x86.NoReg {
				return false
			}
		}
	}
	return true
}

func (g *gen) hoistRow(root *home, size int64, terms []analysis.Term, key string) {
	k := hoistKey(root, size, key)
	if _, ok := g.pointer[k]; ok {
		return
	}
	if size != int64(int32(size)) {
		return
	}
	p := g.sum(terms)
	switch size {
	case 1, 2, 4, 8:
		g.Op(x86.LEAQ, x86.W128, x86.RegArg(p), x86.MemArg(x86.Indexed(root.gp, p, uint8(size), 0)))
	default:
		g.Op(x86.IMUL3Q, x86.W128, x86.RegArg(p), x86.RegArg(p), x86.ImmArg(size))
		g.Op(x86.ADDQ, x86.W128, x86.RegArg(p), x86.RegArg(root.gp))
	}
	g.pointer[k] = p
}

// hoisted finds the longest part of the index that some loop around has computed, and returns the
// pointer with the terms that are left.
func (g *gen) hoisted(a access, l analysis.Linear) (x86.Reg, []analysis.Term) {
	for i := len(g.loops) - 1; i >= 0; i-- {
		f := g.loops[i]
		if f.kind != hoistingLoop {
			continue
		}
		terms, key := l.Part(f.fixed)
		if len(terms) == 0 {
			continue
		}
		if p, ok := g.pointer[hoistKey(a.root, a.size, key)]; ok {
			rest, _ := l.Part(func(e ir.Expr) bool { return !f.fixed(e) })
			return p, rest
		}
	}
	rest, _ := l.Part(func(ir.Expr) bool { return true })
	return a.root.gp, rest
}

// checks tells whether an access is to be checked where it is made.
func (g *gen) checks(ix *ir.Index) bool {
	return !g.safe[ix] && !g.always[ix] && (ix.Checked || len(analysis.LinearOf(ix.I).Withins) > 0)
}

// markSafe notes the accesses s[k] in a loop "for k := c; k < len(s)" with c >= 0: they need no
// check. The front end of other loops does not prove this.
func (g *gen) markSafe(s *ir.For) {
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

// precheck tests, before the main loop, the first and the last index of every affine access whose
// other terms the loop does not change; where one is out of range it jumps to the loop that checks
// lane by lane.
func (g *gen) precheck(s *ir.For, f *loopFrame, left x86.Reg, step int64, tail mach.Label) {
	g.safe = map[*ir.Index]bool{}
	seen := map[string]bool{}
	ir.Inspect(s.Body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok || !g.checks(ix) || ix.X.Type().Kind != ir.Slice {
			return
		}
		root, ok := ix.X.(*ir.Ref)
		if !ok || g.homes[root.Var] == nil || g.homes[root.Var].per > 0 {
			return
		}
		l := analysis.LinearOf(ix.I)
		if g.shape(ix.I).Kind != analysis.Affine || !g.onlyLane(l, f, s.Var) {
			return
		}
		for _, w := range l.Withins {
			if g.shape(w.X).Kind == analysis.Varying || !g.onlyLane(analysis.LinearOf(w.X), f, s.Var) || !f.fixed(w.Y) || !g.known([]analysis.Term{{Expr: w.Y}}) {
				return
			}
		}
		g.safe[ix] = true
		if ix.Checked {
			g.precheckOnce(seen, strconv.Itoa(root.Var.ID), g.homes[root.Var].length, l, g.shape(ix.I), left, tail)
		}
		for _, w := range l.Withins {
			g.precheckOnce(seen, ir.ExprKey(w.Y), g.gpOutside(w.Y), analysis.LinearOf(w.X), g.shape(w.X), left, tail)
		}
	})
}

// precheckOnce tests an index against a length, unless that was done before.
func (g *gen) precheckOnce(seen map[string]bool, of string, length x86.Reg, l analysis.Linear, sh analysis.Shape, left x86.Reg, tail mach.Label) {
	_, all := l.Part(func(ir.Expr) bool { return true })
	key := fmt.Sprint(of, all, l.C)
	if !seen[key] {
		seen[key] = true
		g.precheckOne(length, l, left, sh.Stride, tail)
	}
}

// onlyLane tells whether the index has no changing part but the lane variable itself.
func (g *gen) onlyLane(l analysis.Linear, f *loopFrame, lane *ir.Var) bool {
	for _, t := range l.Terms {
		if r, ok := t.Expr.(*ir.Ref); ok && r.Var == lane {
			continue
		}
		if !f.fixed(t.Expr) || !g.known([]analysis.Term{t}) {
			return false
		}
	}
	return true
}

func (g *gen) precheckOne(length x86.Reg, l analysis.Linear, left x86.Reg, stride int64, tail mach.Label) {
	first := g.indexValue(l)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(first), x86.RegArg(length))
	g.Jump(mach.CondAE, tail)
	last := g.NewGeneral()
	g.times(last, left, stride)
	g.Op(x86.ADDQ, x86.W128, x86.RegArg(last), x86.RegArg(first))
	g.addConst(last, -stride)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(last), x86.RegArg(length))
	g.Jump(mach.CondAE, tail)
}
