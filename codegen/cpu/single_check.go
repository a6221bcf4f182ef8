package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// checkRounds checks the accesses of an innermost loop of single numbers before its rounds, where
// their indices grow with the counter: the first and the last of each. Where one is out of range,
// rounds with checks run instead, out of line.
func (g *gen) checkRounds(s *ir.For, f *loopFrame, i, hi x86.Reg, step int64, k mach.Cond) {
	if !g.single || g.shapes != nil || step != 1 || s.Rel != ir.Lt || !analysis.Innermost(s.Body) {
		return
	}
	checked := g.growing(s, f)
	if len(checked) == 0 {
		return
	}
	slow, count := g.NewLabel(), g.NewGeneral()
	g.move(count, hi)
	g.Op(x86.SUBQ, x86.W128, x86.RegArg(count), x86.RegArg(i))
	seen := map[string]bool{}
	g.shared = map[string]x86.Reg{}
	for _, ix := range checked {
		l, root := analysis.LinearOf(ix.I), ix.X.(*ir.Ref)
		g.precheckOnce(seen, root.Var.Name+ir.ExprKey(root), g.homes[root.Var].length, l, analysis.AffineShape(1), count, slow)
	}
	g.shared = nil
	g.later(slow, func() {
		inner := *f
		inner.nextTo = g.NewLabel()
		g.loops[len(g.loops)-1] = &inner
		g.rounds(s, &inner, i, hi, step, k, g.NewLabel())
		g.Jump(mach.Always, f.breakTo)
	})
	safe := make(map[*ir.Index]bool, len(g.safe)+len(checked))
	for ix := range g.safe {
		safe[ix] = true
	}
	for _, ix := range checked {
		safe[ix] = true
	}
	g.safe = safe
}

// growing finds the checked accesses whose index is the counter and what the loop does not change.
func (g *gen) growing(s *ir.For, f *loopFrame) (out []*ir.Index) {
	ir.Inspect(s.Body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok || ix.X.Type().Kind != ir.Slice || !ix.Checked || !g.checks(ix) {
			return
		}
		root, ok := ix.X.(*ir.Ref)
		if !ok || g.homes[root.Var] == nil || g.homes[root.Var].per > 0 || f.changes.Has(root.Var) {
			return
		}
		l := analysis.LinearOf(ix.I)
		if len(l.Withins) > 0 {
			return
		}
		grows := false
		for _, t := range l.Terms {
			switch {
			case analysis.IsCounter(t.Expr, s.Var):
				grows = t.Coef == 1
			case !f.fixed(t.Expr) || !g.known([]analysis.Term{t}):
				return
			}
		}
		if grows {
			out = append(out, ix)
		}
	})
	return out
}
