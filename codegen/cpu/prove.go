package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// proveNest checks, before a parallel loop that has lanes loops directly inside, all their affine
// accesses for all iterations at once: an index that is affine in both counters is extreme at the
// corners. Where the corners are in range, the checks before every single row are stepped over.
func (g *gen) proveNest(outer *ir.For) {
	step, _ := ir.ConstStep(outer)
	for _, s := range outer.Body {
		inner, ok := s.(*ir.For)
		if !ok || !g.lanesFor[inner] || !g.provable(outer, inner) {
			continue
		}
		flag, fail := g.NewGeneral(), g.NewLabel()
		g.setGeneral(flag, 0)
		first, last := g.NewGeneral(), g.NewGeneral()
		g.move(first, g.gp(outer.Lo))
		g.move(last, g.gp(outer.Hi))
		g.addConst(last, -step)
		g.fits(first, fail)
		g.fits(last, fail)
		for _, f := range g.factors(outer, inner) {
			g.fits(g.gp(f), fail)
		}
		for _, row := range []x86.Reg{first, last} {
			g.homes[outer.Var] = &home{gp: row, length: x86.NoReg}
			g.proveRow(inner, fail)
		}
		delete(g.homes, outer.Var)
		g.setGeneral(flag, 1)
		g.Place(fail)
		g.proved[inner] = flag
	}
}

// proveRow makes the checks of one row of the inner loop.
func (g *gen) proveRow(inner *ir.For, fail mach.Label) {
	step, _ := ir.ConstStep(inner)
	g.shapes = analysis.ShapesOf(inner, step)
	base := g.NewGeneral()
	g.move(base, g.gpOutside(inner.Lo))
	left := g.trips(inner, base, step)
	g.Op(x86.TESTQ, x86.W128, x86.RegArg(left), x86.RegArg(left))
	g.Jump(mach.CondLE, fail)
	g.homes[inner.Var] = &home{gp: base, length: x86.NoReg}
	f := &loopFrame{counter: inner.Var, changes: analysis.ChangedIn(inner)}
	g.shared = map[string]x86.Reg{}
	g.precheck(inner, f, left, step, fail)
	g.shared, g.shapes, g.safe = nil, nil, map[*ir.Index]bool{}
	delete(g.homes, inner.Var)
}

// fits jumps to fail unless r is a small number: products of two such do not wrap.
func (g *gen) fits(r x86.Reg, fail mach.Label) {
	low := g.NewGeneral()
	g.Op(x86.MOVLQSX, x86.W128, x86.RegArg(low), x86.RegArg(r))
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(low), x86.RegArg(r))
	g.Jump(mach.CondNE, fail)
}

// provable tells whether the bounds of the inner loop are fixed in the outer one, and every affine
// access is affine in both counters with nothing else that changes.
func (g *gen) provable(outer, inner *ir.For) bool {
	changes := analysis.ChangedIn(outer)
	fixed := func(e ir.Expr) bool {
		return (&loopFrame{changes: changes}).fixed(e)
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

// factors are what the outer counter is multiplied with in the indices of the inner loop.
func (g *gen) factors(outer, inner *ir.For) []ir.Expr {
	var out []ir.Expr
	seen := map[string]bool{}
	ir.Inspect(inner.Body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok || !ix.Checked || ix.X.Type().Kind != ir.Slice {
			return
		}
		for _, t := range analysis.LinearOf(ix.I).Terms {
			if _, y, ok := analysis.FactorsOf(t.Expr, outer.Var); ok && !seen[ir.ExprKey(y)] && g.known([]analysis.Term{{Expr: y}}) {
				seen[ir.ExprKey(y)] = true
				out = append(out, y)
			}
		}
	})
	return out
}
