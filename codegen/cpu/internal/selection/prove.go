package selection

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// proveNest checks, before a parallel loop that directly contains lanes loops, all their affine
// accesses for all iterations. An index that is affine in both counters is extreme at the corners.
// If the corners are in range, the checks before each row are skipped.
func (g *preheader) proveNest(outer *ir.For) {
	step, _ := ir.ConstStep(outer)
	for _, s := range outer.Body {
		inner, ok := s.(*ir.For)
		if !ok || !g.lanesFor[inner] || !g.provable(outer, inner) {
			continue
		}
		flag, fail := g.NewGeneral(), g.NewLabel()
		g.SetGeneral(flag, 0)
		first, last := g.NewGeneral(), g.NewGeneral()
		g.Move(first, g.General(outer.Lo))
		g.Move(last, g.General(outer.Hi))
		g.AddConst(last, -step)
		g.Fits(first, fail)
		g.Fits(last, fail)
		for _, f := range g.factors(outer, inner) {
			g.Fits(g.General(f), fail)
		}
		for _, row := range []vcode.Reg{first, last} {
			g.Homes[outer.Var] = &memory.Home{General: row, Length: vcode.NoReg}
			g.proveRow(inner, fail)
		}
		delete(g.Homes, outer.Var)
		g.SetGeneral(flag, 1)
		g.Place(fail)
		g.proved[inner] = flag
	}
}

// proveRow checks one row of the inner loop.
func (g *preheader) proveRow(inner *ir.For, fail mach.Label) {
	step, _ := ir.ConstStep(inner)
	g.Shapes = analysis.ShapesOf(inner, step)
	base := g.NewGeneral()
	g.Move(base, g.GeneralOutside(inner.Lo))
	left := g.Trips(inner, base, step)
	g.Test(left)
	g.Jump(mach.CondLE, fail)
	g.Homes[inner.Var] = &memory.Home{General: base, Length: vcode.NoReg}
	f := &memory.LoopFrame{Counter: inner.Var, Changes: analysis.ChangedIn(inner)}
	g.Shared = map[string]vcode.Reg{}
	g.precheck(inner, f, left, step, fail)
	g.Shared, g.Shapes, g.Safe = nil, nil, map[*ir.Index]bool{}
	delete(g.Homes, inner.Var)
}

// provable reports whether the bounds of the inner loop are invariant in the outer one, and every
// affine access is affine in both counters with otherwise invariant terms.
func (g *preheader) provable(outer, inner *ir.For) bool {
	changes := analysis.ChangedIn(outer)
	fixed := func(e ir.Expr) bool {
		return (&memory.LoopFrame{Changes: changes}).Fixed(e)
	}
	step, ok := ir.ConstStep(inner)
	if !ok || !fixed(inner.Lo) || !fixed(inner.Hi) {
		return false
	}
	s := analysis.ShapesOf(inner, step)
	good := true
	ir.Inspect(inner.Body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if ok && len(analysis.LinearOf(ix.I).Withins) > 0 {
			good = false
		}
		if !ok || !ix.Checked || ix.X.Type().Kind != ir.Slice || s.Shape(ix.I).Kind != analysis.Affine {
			return
		}
		for _, t := range analysis.LinearOf(ix.I).Terms {
			if ir.IsRef(t.Expr, inner.Var) || ir.IsRef(t.Expr, outer.Var) || fixed(t.Expr) {
				continue
			}
			if x, y, ok := analysis.FactorsOf(t.Expr, outer.Var); !ok || x == nil || !fixed(y) {
				good = false
			}
		}
	})
	return good
}

// factors returns the coefficients of the outer counter in the indices of the inner loop.
func (g *preheader) factors(outer, inner *ir.For) []ir.Expr {
	var out []ir.Expr
	seen := map[string]bool{}
	ir.Inspect(inner.Body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok || !ix.Checked || ix.X.Type().Kind != ir.Slice {
			return
		}
		for _, t := range analysis.LinearOf(ix.I).Terms {
			if _, y, ok := analysis.FactorsOf(t.Expr, outer.Var); ok && !seen[ir.ExprKey(y)] && g.Known([]analysis.Term{{Expr: y}}) {
				seen[ir.ExprKey(y)] = true
				out = append(out, y)
			}
		}
	})
	return out
}
