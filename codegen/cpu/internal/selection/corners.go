package selection

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// tileOf returns the tile of a parallel loop; nil if there is none or it would gain nothing.
func (g *preheader) tileOf(rows, lanes *ir.For) *analysis.Tile {
	if len(rows.Body) != 1 || rows.Body[0] != ir.Stmt(lanes) || len(analysis.ReductionsOf(rows))+len(analysis.ReductionsOf(lanes)) > 0 || rows.Rel == ir.Ne || lanes.Rel == ir.Ne {
		return nil
	}
	t := &analysis.Tile{Rows: rows, Lanes: lanes, Local: ir.Declared(lanes.Body)}
	changes := analysis.ChangedIn(rows)
	fixed := (&memory.LoopFrame{Changes: changes}).Fixed
	if !fixed(lanes.Lo) || !fixed(lanes.Hi) || !t.Jams(lanes.Body, fixed) || !t.HoldsLoop() {
		return nil
	}
	counters := t.Counters()
	good := true
	ir.Inspect(lanes.Body, nil, func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok && ix.Checked {
			good = good && g.cornered(ix, counters, fixed)
		}
	})
	if !good || !t.Fit(analysis.TileRoom(g.AVX512), g.Kernel.Fuses()) {
		return nil
	}
	return t
}

// cornered reports whether the index is a sum of counters, of products of a counter and a value
// that is invariant in the nest, and of invariant values. It is then extreme at the extreme values
// of the counters.
func (g *preheader) cornered(ix *ir.Index, counters map[*ir.Var]*ir.For, fixed func(ir.Expr) bool) bool {
	root, ok := ix.X.(*ir.Ref)
	if !ok || ix.X.Type().Kind != ir.Slice || g.Homes[root.Var] == nil || !fixed(root) {
		return false
	}
	weight := 0
	for _, t := range analysis.LinearOf(ix.I).Terms {
		if t.Coef > 1<<20 || t.Coef < -1<<20 {
			return false
		}
		if fixed(t.Expr) {
			if !g.Known([]analysis.Term{t}) {
				return false
			}
			continue
		}
		_, y, ok := analysis.Counted(t.Expr, counters)
		if !ok || y != nil && (!fixed(y) || !g.Known([]analysis.Term{{Expr: y}})) {
			return false
		}
		if y != nil {
			weight += int(max(t.Coef, -t.Coef))
		}
	}
	return weight <= 3 // products of numbers below 2^31: an unsigned 64-bit sum holds no more of them
}

// ends are the minimum and maximum of a counter.
type ends struct{ lo, hi vcode.Reg }

// proveCorners jumps to fail unless all accesses of the tile are in range in all iterations. rows
// is its outer loop, restricted to the iterations to run.
func (g *preheader) proveCorners(t *analysis.Tile, rows *ir.For, fail mach.Label) {
	counters, of := t.Counters(), map[*ir.Var]ends{}
	counters[t.Rows.Var] = rows
	changes := analysis.ChangedIn(t.Rows)
	fixed := (&memory.LoopFrame{Changes: changes}).Fixed
	small := map[string]vcode.Reg{}
	seen := map[string]bool{}
	g.Shared = map[string]vcode.Reg{}
	ir.Inspect(t.Lanes.Body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok || !ix.Checked || seen[ir.ExprKey(ix)] {
			return
		}
		seen[ir.ExprKey(ix)] = true
		lo, hi := g.ConstGeneral(0), g.ConstGeneral(0)
		l := analysis.LinearOf(ix.I)
		for _, term := range l.Terms {
			if fixed(term.Expr) {
				x := g.fitting(term.Expr, small, fail)
				g.AddTimes(lo, x, term.Coef)
				g.AddTimes(hi, x, term.Coef)
				continue
			}
			v, y, _ := analysis.Counted(term.Expr, counters)
			if _, ok := of[v]; !ok {
				of[v] = g.endsOf(counters[v], fail)
			}
			first, last := of[v].lo, of[v].hi
			if y != nil {
				f := g.fitting(y, small, fail)
				g.Test(f)
				g.Jump(mach.CondL, fail)
				first, last = g.Product(first, f), g.Product(last, f)
			}
			if term.Coef < 0 {
				first, last = last, first
			}
			g.AddTimes(lo, first, term.Coef)
			g.AddTimes(hi, last, term.Coef)
		}
		length := g.Homes[ix.X.(*ir.Ref).Var].Length
		for _, r := range []vcode.Reg{lo, hi} {
			g.AddConst(r, l.C)
			g.Compare(r, length)
			g.Jump(mach.CondAE, fail)
		}
	})
	g.Shared = nil
}

// fitting returns the value of e, and jumps to fail if it is not a small number.
func (g *preheader) fitting(e ir.Expr, small map[string]vcode.Reg, fail mach.Label) vcode.Reg {
	key := ir.ExprKey(e)
	if r, ok := small[key]; ok {
		return r
	}
	r := g.General(e)
	g.Fits(r, fail)
	small[key] = r
	return r
}

// endsOf computes the ends of a counter. It jumps to fail if there are no iterations or the numbers
// are large.
func (g *preheader) endsOf(s *ir.For, fail mach.Label) ends {
	step, _ := ir.ConstStep(s)
	from, to := s.Lo, s.Hi
	if step < 0 {
		from, to = to, from
	}
	e := ends{lo: g.NewGeneral(), hi: g.NewGeneral()}
	g.Move(e.lo, g.General(from))
	g.Move(e.hi, g.General(to))
	if s.Rel == ir.Lt {
		g.AddConst(e.hi, -1)
	} else if s.Rel == ir.Gt {
		g.AddConst(e.lo, 1)
	}
	g.Fits(e.lo, fail)
	g.Fits(e.hi, fail)
	g.Compare(e.lo, e.hi)
	g.Jump(mach.CondG, fail)
	return e
}
