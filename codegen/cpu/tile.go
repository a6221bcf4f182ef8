package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// tileOf finds the tile of a parallel loop; nil where there is none, or it would gain nothing.
func (g *gen) tileOf(rows, lanes *ir.For) *analysis.Tile {
	if len(rows.Body) != 1 || rows.Body[0] != ir.Stmt(lanes) || len(analysis.ReductionsOf(rows))+len(analysis.ReductionsOf(lanes)) > 0 || rows.Rel == ir.Ne || lanes.Rel == ir.Ne {
		return nil
	}
	t := &analysis.Tile{Rows: rows, Lanes: lanes, Local: ir.Declared(lanes.Body)}
	changes := analysis.ChangedIn(rows)
	fixed := (&loopFrame{changes: changes}).fixed
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
	if !good || !t.Fit(analysis.TileRoom(g.avx512), g.kernel.Fuses()) {
		return nil
	}
	return t
}

// variable makes a new variable like v.
func (g *gen) variable(v *ir.Var) *ir.Var {
	c := *v
	g.made++
	c.ID = g.kernel.NumVars + g.made
	return &c
}

// tiled runs as many rows of the chunk as make whole tiles, and leaves the others. The loop over
// lanes is the outer one here: what all rows read stays in the caches for the next rows.
func (g *gen) tiled(t *analysis.Tile) {
	step, _ := ir.ConstStep(t.Rows)
	lo, hi := g.homes[g.tripLo].gp, g.homes[g.tripHi].gp
	rest := g.NewLabel()
	whole := g.NewGeneral()
	g.move(whole, hi)
	g.Op(x86.SUBQ, x86.W128, x86.RegArg(whole), x86.RegArg(lo))
	g.Op(x86.ANDQImm, x86.W128, x86.RegArg(whole), x86.ImmArg(-int64(t.Most)))
	g.Op(x86.TESTQ, x86.W128, x86.RegArg(whole), x86.RegArg(whole))
	g.Jump(mach.CondLE, rest)
	g.Op(x86.ADDQ, x86.W128, x86.RegArg(whole), x86.RegArg(lo))
	end := g.variable(g.tripHi)
	g.homes[end] = &home{gp: whole, length: x86.NoReg}
	g.proveCorners(t, analysis.Between(t.Rows, g.tripLo, end), rest)
	rows := analysis.Between(t.Rows, g.tripLo, end)
	rows.Var = g.variable(t.Rows.Var)
	rows.Step = &ir.Const{T: ir.IntType, Bits: uint64(step * int64(t.Most)), At: rows.At}
	rows.Body = t.Jam(g.variable, rows.Var, step)
	lanes := *t.Lanes
	lanes.Body = []ir.Stmt{rows}
	g.lanesFor[&lanes] = true
	g.note("the loop at %s takes %d rows at once, %d vectors of each", t.Rows.At, t.Most, t.Copies)
	unroll, round := g.unroll, g.round
	g.unroll = t.Copies
	g.forStmt(&lanes)
	g.unroll, g.round = unroll, max(round, int64(t.Most))
	g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordLo), x86.RegArg(whole))
	g.Place(rest)
	g.loadAgain()
}

// loadAgain loads what outlives the stage from the block once more, so that nothing that comes
// before has to keep it in registers.
func (g *gen) loadAgain() {
	for _, v := range g.entered {
		g.homes[v] = g.loadWord(v, g.frame.Word[v])
	}
	for word, v := range []*ir.Var{image.WordLo: g.tripLo, image.WordHi: g.tripHi} {
		h := &home{gp: g.NewGeneral(), length: x86.NoReg}
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(h.gp), blockWord(word))
		g.homes[v] = h
	}
}

// cornered tells whether the index is a sum of counters, products of a counter and what the nest
// does not change, and what it does not change: it is extreme where all counters are.
func (g *gen) cornered(ix *ir.Index, counters map[*ir.Var]*ir.For, fixed func(ir.Expr) bool) bool {
	root, ok := ix.X.(*ir.Ref)
	if !ok || ix.X.Type().Kind != ir.Slice || g.homes[root.Var] == nil || !fixed(root) {
		return false
	}
	weight := 0
	for _, t := range analysis.LinearOf(ix.I).Terms {
		if t.Coef > 1<<20 || t.Coef < -1<<20 {
			return false
		}
		if fixed(t.Expr) {
			if !g.known([]analysis.Term{t}) {
				return false
			}
			continue
		}
		_, y, ok := analysis.Counted(t.Expr, counters)
		if !ok || y != nil && (!fixed(y) || !g.known([]analysis.Term{{Expr: y}})) {
			return false
		}
		if y != nil {
			weight += int(max(t.Coef, -t.Coef))
		}
	}
	return weight <= 3 // products of numbers below 2^31: no more of them than an unsigned number holds
}

// ends are the least and the greatest value of a counter.
type ends struct{ lo, hi x86.Reg }

// proveCorners jumps to fail unless all accesses of the tile are in range for all iterations. rows
// is its outer loop restricted to those that are to run.
func (g *gen) proveCorners(t *analysis.Tile, rows *ir.For, fail mach.Label) {
	counters, of := t.Counters(), map[*ir.Var]ends{}
	counters[t.Rows.Var] = rows
	changes := analysis.ChangedIn(t.Rows)
	fixed := (&loopFrame{changes: changes}).fixed
	small := map[string]x86.Reg{}
	seen := map[string]bool{}
	g.shared = map[string]x86.Reg{}
	ir.Inspect(t.Lanes.Body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok || !ix.Checked || seen[ir.ExprKey(ix)] {
			return
		}
		seen[ir.ExprKey(ix)] = true
		lo, hi := g.constGeneral(0), g.constGeneral(0)
		l := analysis.LinearOf(ix.I)
		for _, term := range l.Terms {
			if fixed(term.Expr) {
				x := g.fitting(term.Expr, small, fail)
				g.addTimes(lo, x, term.Coef)
				g.addTimes(hi, x, term.Coef)
				continue
			}
			v, y, _ := analysis.Counted(term.Expr, counters)
			if _, ok := of[v]; !ok {
				of[v] = g.endsOf(counters[v], fail)
			}
			first, last := of[v].lo, of[v].hi
			if y != nil {
				f := g.fitting(y, small, fail)
				g.Op(x86.TESTQ, x86.W128, x86.RegArg(f), x86.RegArg(f))
				g.Jump(mach.CondL, fail)
				first, last = g.product(first, f), g.product(last, f)
			}
			if term.Coef < 0 {
				first, last = last, first
			}
			g.addTimes(lo, first, term.Coef)
			g.addTimes(hi, last, term.Coef)
		}
		length := g.homes[ix.X.(*ir.Ref).Var].length
		for _, r := range []x86.Reg{lo, hi} {
			g.addConst(r, l.C)
			g.Op(x86.CMPQ, x86.W128, x86.RegArg(r), x86.RegArg(length))
			g.Jump(mach.CondAE, fail)
		}
	})
	g.shared = nil
}

// fitting is the value of e, which is a small number from here on.
func (g *gen) fitting(e ir.Expr, small map[string]x86.Reg, fail mach.Label) x86.Reg {
	key := ir.ExprKey(e)
	if r, ok := small[key]; ok {
		return r
	}
	r := g.gp(e)
	g.fits(r, fail)
	small[key] = r
	return r
}

func (g *gen) product(x, y x86.Reg) x86.Reg {
	r := g.NewGeneral()
	g.move(r, x)
	g.Op(x86.IMULQ, x86.W128, x86.RegArg(r), x86.RegArg(y))
	return r
}

// addTimes adds coef*x to d.
func (g *gen) addTimes(d, x x86.Reg, coef int64) {
	if coef != 1 {
		y := g.NewGeneral()
		g.Op(x86.IMUL3Q, x86.W128, x86.RegArg(y), x86.RegArg(x), x86.ImmArg(coef))
		x = y
	}
	g.Op(x86.ADDQ, x86.W128, x86.RegArg(d), x86.RegArg(x))
}

// endsOf computes the ends of a counter; it jumps to fail where there are no iterations, or the
// numbers are large.
func (g *gen) endsOf(s *ir.For, fail mach.Label) ends {
	step, _ := ir.ConstStep(s)
	from, to := s.Lo, s.Hi
	if step < 0 {
		from, to = to, from
	}
	e := ends{lo: g.NewGeneral(), hi: g.NewGeneral()}
	g.move(e.lo, g.gp(from))
	g.move(e.hi, g.gp(to))
	if s.Rel == ir.Lt {
		g.addConst(e.hi, -1)
	} else if s.Rel == ir.Gt {
		g.addConst(e.lo, 1)
	}
	g.fits(e.lo, fail)
	g.fits(e.hi, fail)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(e.lo), x86.RegArg(e.hi))
	g.Jump(mach.CondG, fail)
	return e
}
