package cpu

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// forStmt selects a counted loop: the lanes loop where Compile chose it, else a loop of scalars
// around vectors, or one in which lanes drop out.
func (g *gen) forStmt(s *ir.For) {
	if after, ok := g.shareFrom(s); ok {
		defer g.Place(after)
	}
	if g.shapes == nil && g.lanesOf(s) {
		g.lanesLoop(s)
		return
	}
	varying := false
	if g.shapes != nil {
		w := analysis.ShapeWalk{Shapes: g.shapes}
		varying = w.VariesFor(s) || w.LeavesSplit(s.Body) || g.leavesMasked(s)
	}
	if varying {
		g.maskedFor(s)
		return
	}
	g.uniformFor(s)
}

// leavesMasked tells whether a loop holds a jump out of a loop around it that lanes leave at
// different times: there it only turns lanes off, and the loop must see that.
func (g *gen) leavesMasked(s ir.Stmt) bool {
	for _, f := range g.loops {
		if f.varying && ir.LeavesLoop(s) {
			return true
		}
	}
	return false
}

// uniformFor counts in a general register.
func (g *gen) uniformFor(s *ir.For) {
	step, ok := ir.ConstStep(s)
	if !ok {
		g.refuse(s.At, "a loop inside the one whose iterations are lanes needs a constant step: count in ones, and multiply")
	}
	h := g.declare(s.Var)
	if h.gp == x86.NoReg {
		g.refuse(s.At, "the counter %s differs between lanes: not supported yet", s.Var.Name)
	}
	g.move(h.gp, g.gp(s.Lo))
	hi := g.NewGeneral()
	g.move(hi, g.gp(s.Hi))
	f := &loopFrame{label: s.Label, breakTo: g.NewLabel(), nextTo: g.NewLabel(), counter: s.Var, changes: analysis.ChangedIn(s), kind: hoistingLoop}
	top := g.NewLabel()
	k := loopCond(s)
	none := g.NewLabel()
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(h.gp), x86.RegArg(hi))
	g.Jump(k.Not(), none)
	g.loops = append(g.loops, f)
	g.shared = map[string]x86.Reg{}
	restore := g.hoist(f, s.Body)
	g.shared = nil
	g.markSafe(s)
	safe := g.safe
	g.checkRounds(s, f, h.gp, hi, step, k)
	g.rounds(s, f, h.gp, hi, step, k, top)
	g.safe = safe
	g.Place(f.breakTo)
	g.loops = g.loops[:len(g.loops)-1]
	g.pauseBehind()
	g.Place(none)
	restore()
}

// pauseBehind is the pause point behind a loop of single numbers inside another: the rounds of that
// one need none of their own then.
func (g *gen) pauseBehind() {
	if n := len(g.loops); n > 0 && g.loops[n-1].pieces {
		g.pausePoint()
	}
}

// rounds are those of a loop of single numbers from i up to hi, of which there is one at least.
func (g *gen) rounds(s *ir.For, f *loopFrame, i, hi x86.Reg, step int64, k mach.Cond, top mach.Label) {
	g.Place(top)
	if f.pieces = g.runsInPieces(s, step); f.pieces {
		g.pieces(s, f, i, hi, k, top)
		return
	}
	g.list(s.Body)
	g.Place(f.nextTo)
	g.pausePoint()
	g.addConst(i, step)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(i), x86.RegArg(hi))
	g.JumpBack(k, top)
}

// runsInPieces tells the loops that have a pause point behind each loop inside, which no jump
// passes by.
func (g *gen) runsInPieces(s *ir.For, step int64) bool {
	if !g.single || g.shapes != nil || step != 1 || s.Rel != ir.Lt {
		return false
	}
	return analysis.ClosedInside(s.Body)
}

// pieces runs the rounds up to hi, of which there is one at least; top is where a piece begins.
func (g *gen) pieces(s *ir.For, f *loopFrame, i, hi x86.Reg, k mach.Cond, top mach.Label) {
	until, round := g.NewGeneral(), g.NewLabel()
	most := g.constGeneral(g.roundsBetween(s.Body, 1))
	g.move(until, hi)
	g.Op(x86.SUBQ, x86.W128, x86.RegArg(until), x86.RegArg(i))
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(until), x86.RegArg(most)) // without a sign: hi lies above i
	g.Op(x86.CMOVQHI, x86.W128, x86.RegArg(until), x86.RegArg(most))
	g.Op(x86.ADDQ, x86.W128, x86.RegArg(until), x86.RegArg(i))
	g.Place(round)
	g.list(s.Body)
	g.Place(f.nextTo)
	g.addConst(i, 1)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(i), x86.RegArg(until))
	g.JumpBack(k, round)
	end := g.NewLabel()
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(i), x86.RegArg(hi))
	g.Jump(k.Not(), end)
	g.pausePoint()
	g.JumpBack(mach.Always, top)
	g.Place(end)
}

func loopCond(s *ir.For) mach.Cond {
	if s.Var.Type.IsSigned() {
		return signedConds[s.Rel]
	}
	return unsignedConds[s.Rel]
}

// maskedFor is a counted loop whose bounds differ between lanes, or which lanes leave at different
// times: the counter is a vector.
func (g *gen) maskedFor(s *ir.For) {
	if !s.Var.Type.IsInteger() {
		g.refuse(s.At, "a loop over %s is not supported yet", s.Var.Type)
	}
	hi := &ir.Var{Name: s.Var.Name + "_end", Type: s.Var.Type, ID: -1, At: s.At}
	g.shapes.Of[hi] = analysis.Shape{Kind: analysis.Varying}
	cond := &ir.Binary{Op: s.Rel, X: &ir.Ref{Var: s.Var, At: s.At}, Y: &ir.Ref{Var: hi, At: s.At}, T: ir.BoolType, At: s.At}
	next := &ir.Assign{Place: &ir.Ref{Var: s.Var, At: s.At}, Value: &ir.Binary{Op: ir.Add, X: &ir.Ref{Var: s.Var, At: s.At}, Y: s.Step, T: s.Var.Type, At: s.At}, At: s.At}
	g.decl(&ir.Decl{Var: hi, Init: s.Hi, At: s.At})
	g.decl(&ir.Decl{Var: s.Var, Init: s.Lo, At: s.At})
	g.homes[s.Var].even = nil // of its first value alone
	g.maskedLoop(&ir.While{Label: s.Label, Cond: cond, Body: s.Body, Post: []ir.Stmt{next}, At: s.At})
}

func (g *gen) while(s *ir.While) {
	if g.shapes != nil {
		w := analysis.ShapeWalk{Shapes: g.shapes}
		if s.Cond != nil && g.shape(s.Cond).Kind != analysis.Uniform || w.LeavesSplit(s.Body) || g.leavesMasked(s) {
			g.maskedLoop(s)
			return
		}
	}
	f := &loopFrame{label: s.Label, breakTo: g.NewLabel(), nextTo: g.NewLabel()}
	top := g.NewLabel()
	left := x86.NoReg
	if g.single && g.shapes == nil && analysis.Innermost(s.Body) {
		left = g.constGeneral(g.roundsBetween(s.Body, 1))
	}
	g.loops = append(g.loops, f)
	g.Place(top)
	g.list(s.Pre)
	if s.Cond != nil {
		g.branch(s.Cond, false, f.breakTo)
	}
	g.list(s.Body)
	g.Place(f.nextTo)
	g.list(s.Post)
	if left != x86.NoReg {
		g.addConst(left, -1)
		g.JumpBack(mach.CondNE, top)
		g.setGeneral(left, g.roundsBetween(s.Body, 1))
		g.pausePoint()
	} else {
		g.pausePoint()
	}
	g.JumpBack(mach.Always, top)
	g.Place(f.breakTo)
	g.loops = g.loops[:len(g.loops)-1]
	g.pauseBehind()
}

// maskedLoop runs until no lane is left in it.
func (g *gen) maskedLoop(s *ir.While) {
	old, split := g.exec, g.split
	f := &loopFrame{label: s.Label, varying: true, breakTo: g.NewLabel(), nextTo: g.NewLabel(), live: g.copyMasks()}
	f.skip = make([]x86.Reg, g.unroll)
	g.each(func(u int) { f.skip[u] = g.newMask() })
	top, end := g.NewLabel(), g.NewLabel()
	g.loops = append(g.loops, f)
	g.Place(top)
	g.exec, g.split = f.live, true
	g.list(s.Pre)
	if s.Cond != nil {
		c := g.masksOf(s.Cond)
		g.each(func(u int) { g.maskMove(f.live[u], g.maskAnd(f.live[u], c[u])) })
	}
	g.anyLane(f.live)
	g.Jump(mach.CondE, end)
	g.each(func(u int) { g.maskMove(f.skip[u], f.live[u]) })
	g.list(s.Body)
	if s.Cond != nil && prepare.MayFail(s.Cond) || g.needsLane(s.Post) || g.needsLane(s.Pre) {
		g.anyLane(f.live)
		g.Jump(mach.CondE, end)
	}
	g.list(s.Post)
	g.pausePoint()
	g.JumpBack(mach.Always, top)
	g.Place(end)
	g.loops = g.loops[:len(g.loops)-1]
	g.exec, g.split = old, split
}

// lanesLoop is the loop whose iterations become lanes: full vectors, unrolled, without masks; then
// the rest under a mask of the lanes that are in range.
func (g *gen) lanesLoop(s *ir.For) {
	step, ok := ir.ConstStep(s)
	if !ok || s.Rel == ir.Ne {
		g.refuse(s.At, "a vector loop needs a constant step and <, <=, > or >=")
	}
	g.shapes = analysis.ShapesOf(s, step)
	defer func() { g.shapes = nil }()
	g.lanes = g.bytes / analysis.LaneBytes(s)
	g.fillLanes(s)
	if g.sawLanes == 0 {
		g.sawLanes, g.sawLoop = g.lanes, s.At
	}
	if s == g.parallelLanes {
		g.round = int64(g.lanes * g.unroll)
	}
	g.shapes.Inside[s.Var] = true
	base := g.NewGeneral()
	g.move(base, g.gpOutside(s.Lo))
	left := g.trips(s, base, step)
	g.homes[s.Var] = &home{gp: base, length: x86.NoReg}
	sums := g.openReductions(s)
	f := &loopFrame{label: s.Label, breakTo: g.NewLabel(), nextTo: g.NewLabel(), counter: s.Var, changes: analysis.ChangedIn(s), kind: hoistingLoop}
	g.loops = append(g.loops, f)
	g.shared = map[string]x86.Reg{}
	restore := g.hoist(f, s.Body)
	g.indexUses = analysis.IndexUses(s.Body)
	g.spreadAhead(f, s.Body)
	defer func() { g.spreads = nil }()
	tail, end := g.NewLabel(), g.NewLabel()
	g.Op(x86.TESTQ, x86.W128, x86.RegArg(left), x86.RegArg(left))
	g.Jump(mach.CondLE, end)
	g.checkAhead(s, f, base, left, step, end, sums)
	t := &tailing{end: end, again: g.NewLabel(), first: x86.NoReg}
	if store, ok := g.wholeStore(s, f, step); ok && len(sums) == 0 { // sums of floats must not depend on where slices lie
		t.first, t.peel = g.NewGeneral(), g.NewLabel()
		if g.rowGoesPast(store, s) {
			g.pastRow = store
		}
		g.peel(store, left, t)
	}
	g.mainLoop(s, f, base, left, step, tail, t.again, sums)
	g.pastRow = nil
	g.Place(tail)
	g.tailLoop(s, f, base, left, step, t, sums)
	g.safe = map[*ir.Index]bool{}
	g.Place(end)
	restore()
	g.loops = g.loops[:len(g.loops)-1]
	g.closeReductions(sums)
}

// fillLanes puts numbers of 4 bytes that come from outside of a loop into all its lanes: where they
// were computed fewer were on.
func (g *gen) fillLanes(s *ir.For) {
	for _, v := range ir.Used(s.Body).List() {
		h := g.homes[v]
		if h == nil || len(h.vec) == 0 || !v.Type.IsScalar() || container(v.Type) != 4 || g.lanes*4 < g.bytes {
			continue
		}
		for u, r := range h.vec {
			if u == 0 || r != h.vec[0] {
				g.broadcastLane(r, x86.RegArg(r), v.Type)
			}
		}
	}
}

// checkAhead makes the checks of affine accesses for all iterations before the first. Where one
// fails, a loop that checks what the lanes that are on touch runs instead, out of line.
func (g *gen) checkAhead(s *ir.For, f *loopFrame, base, left x86.Reg, step int64, end mach.Label, sums []*sum) {
	slow := g.NewLabel()
	hot := g.NewLabel()
	if flag, ok := g.proved[s]; ok {
		g.Op(x86.TESTQ, x86.W128, x86.RegArg(flag), x86.RegArg(flag))
		g.Jump(mach.CondNE, hot)
	}
	before := g.Len()
	g.precheck(s, f, left, step, slow)
	g.shared = nil
	if g.Len() == before {
		g.Place(hot)
		return
	}
	g.later(slow, func() {
		g.safe = map[*ir.Index]bool{}
		g.tailLoop(s, f, base, left, step, &tailing{end: end, again: -1, first: x86.NoReg}, sums)
		g.Jump(mach.Always, end)
	})
	g.Place(hot)
}

// gpOutside evaluates a bound of the lanes loop, where no lane variable exists yet.
func (g *gen) gpOutside(e ir.Expr) x86.Reg {
	old := g.shapes
	g.shapes = nil
	defer func() { g.shapes = old }()
	return g.gp(e)
}

// trips is the number of iterations, in a fresh register: zero or less when there are none.
func (g *gen) trips(s *ir.For, lo x86.Reg, step int64) x86.Reg {
	n := g.NewGeneral()
	hi := g.gpOutside(s.Hi)
	size := step
	if step > 0 {
		g.move(n, hi)
		g.Op(x86.SUBQ, x86.W128, x86.RegArg(n), x86.RegArg(lo))
	} else {
		g.move(n, lo)
		g.Op(x86.SUBQ, x86.W128, x86.RegArg(n), x86.RegArg(hi))
		size = -step
	}
	if s.Rel == ir.Le || s.Rel == ir.Ge {
		g.addConst(n, 1)
	}
	if size == 1 {
		return n
	}
	// (n + size - 1) / size, for n > 0; n <= 0 stays at most zero with truncation
	g.addConst(n, size-1)
	d := g.constGeneral(size)
	g.Op(x86.MOVQStore, x86.W128, x86.RegArg(x86.AX), x86.RegArg(n))
	g.DivideSigned(d)
	r := g.NewGeneral()
	g.Op(x86.MOVQStore, x86.W128, x86.RegArg(r), x86.RegArg(x86.AX))
	return r
}

// mainLoop runs full vectors while enough iterations are left, in strips between which it can
// pause.
func (g *gen) mainLoop(s *ir.For, f *loopFrame, base, left x86.Reg, step int64, tail, again mach.Label, sums []*sum) {
	per := int64(g.lanes * g.unroll)
	top := g.NewLabel()
	g.Place(again)
	g.Op(x86.CMPQImm, x86.W128, x86.RegArg(left), x86.ImmArg(per))
	g.Jump(mach.CondL, tail)
	inner := *f
	inner.breakTo, inner.nextTo = g.NewLabel(), g.NewLabel()
	g.enterBody(s, &inner)
	strip, now := g.NewLabel(), left
	rounds := g.roundsBetween(s.Body, g.unroll)
	if rounds > 1 {
		now = g.NewGeneral()
		g.Place(strip)
		g.openStrip(left, now, rounds*per)
	}
	g.Place(top)
	g.copies(s.Body)
	g.Place(inner.nextTo)
	if rounds == 1 {
		g.pausePoint()
	}
	g.addConst(base, step*per)
	g.addConst(now, -per)
	g.Op(x86.CMPQImm, x86.W128, x86.RegArg(now), x86.ImmArg(per))
	g.JumpBack(mach.CondGE, top)
	if rounds > 1 {
		g.closeStrip(left, now, per, strip)
	}
	g.Place(inner.breakTo)
	g.foldSums(sums)
	g.loops[len(g.loops)-1] = f
}

// openStrip takes as many iterations from left as come before the next pause point.
func (g *gen) openStrip(left, now x86.Reg, most int64) {
	limit := g.constGeneral(most)
	g.move(now, left)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(now), x86.RegArg(limit))
	g.Op(x86.CMOVQGT, x86.W128, x86.RegArg(now), x86.RegArg(limit))
	g.Op(x86.SUBQ, x86.W128, x86.RegArg(left), x86.RegArg(now))
}

// closeStrip gives back to left what the last round has not taken, and goes on with the next strip
// where there is one.
func (g *gen) closeStrip(left, now x86.Reg, per int64, strip mach.Label) {
	end := g.NewLabel()
	g.Op(x86.ADDQ, x86.W128, x86.RegArg(left), x86.RegArg(now))
	g.Op(x86.CMPQImm, x86.W128, x86.RegArg(left), x86.ImmArg(per))
	g.Jump(mach.CondL, end)
	g.pausePoint()
	g.Jump(mach.Always, strip)
	g.Place(end)
}

// copies selects all copies of the body of the main loop. Where it only moves and combines
// elements, they come one after the other: a row of loads and then one of stores takes a tenth
// longer in the first cache.
func (g *gen) copies(body []ir.Stmt) {
	for _, s := range body {
		if !g.moves(s) {
			g.list(body)
			return
		}
	}
	n := g.unroll
	g.unroll = 1
	for u := range n {
		g.first = u
		g.list(body)
	}
	g.unroll, g.first = n, 0
}

// moves tells the stores of neighbouring elements, made of such elements, numbers that are the same
// for all lanes, and simple operations.
func (g *gen) moves(s ir.Stmt) bool {
	a, ok := s.(*ir.Assign)
	if !ok {
		return false
	}
	if _, ok := a.Place.(*ir.Index); !ok {
		return false
	}
	good := true
	for _, e := range []ir.Expr{a.Place, a.Value} {
		ir.WalkExpr(e, func(e ir.Expr) bool {
			switch e := e.(type) {
			case *ir.Index:
				sh := g.shape(e.I)
				simple := e.X.Type().Kind == ir.Slice && e.Type().IsFloat() && !g.checks(e) && (sh.Kind == analysis.Uniform || sh.Kind == analysis.Affine && sh.Stride == 1)
				good = good && simple
				return false
			case *ir.Const:
			case *ir.Ref:
				good = good && g.shape(e).Kind == analysis.Uniform && e.Var.Type.IsFloat()
			case *ir.Unary:
				good = good && e.Type().IsFloat()
			case *ir.Binary:
				good = good && e.T.IsFloat() && e.Op != ir.Div
			default:
				good = false
			}
			return good
		})
	}
	return good
}

func (g *gen) enterBody(s *ir.For, f *loopFrame) {
	f.varying = (&analysis.ShapeWalk{Shapes: g.shapes}).LeavesSplit(s.Body)
	if f.varying {
		g.refuse(s.At, "continue under a condition in the vector loop itself is not supported yet: write the rest of the body under the opposite condition")
	}
	g.loops[len(g.loops)-1] = f
}

// A tailing is how the loop of single vectors under masks is joined to the main loop: behind it,
// and, where there is a peel, before it too.
type tailing struct {
	end   mach.Label
	again mach.Label // of the main loop, where there is one
	peel  mach.Label // enters the loop with the number of iterations in first
	first x86.Reg    // NoReg: there is no such entry
}

// tailLoop runs one vector at a time under a mask of the iterations that are left.
func (g *gen) tailLoop(s *ir.For, f *loopFrame, base, left x86.Reg, step int64, t *tailing, sums []*sum) {
	end := t.end
	unroll := g.unroll
	per := int64(g.lanes * unroll)
	g.unroll = 1
	defer func() { g.unroll = unroll }()
	top := g.NewLabel()
	g.Op(x86.TESTQ, x86.W128, x86.RegArg(left), x86.RegArg(left))
	g.Jump(mach.CondLE, end)
	inner := *f
	inner.breakTo, inner.nextTo = end, g.NewLabel()
	g.enterBody(s, &inner)
	g.Place(top)
	count := t.first
	if count == x86.NoReg {
		count = g.NewGeneral()
	}
	limit := g.constGeneral(int64(g.lanes))
	g.move(count, left)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(count), x86.RegArg(limit))
	g.Op(x86.CMOVQGT, x86.W128, x86.RegArg(count), x86.RegArg(limit))
	if t.first != x86.NoReg {
		g.Place(t.peel)
	}
	g.exec, g.prefix, g.split = []x86.Reg{g.prefixMask(count)}, count, false
	g.list(s.Body)
	g.exec, g.prefix, g.split = nil, x86.NoReg, false
	g.Place(inner.nextTo)
	g.pausePoint()
	if t.first == x86.NoReg {
		g.addConst(base, step*int64(g.lanes))
		g.addConst(left, -int64(g.lanes))
	} else {
		g.Op(x86.ADDQ, x86.W128, x86.RegArg(base), x86.RegArg(count))
		g.Op(x86.SUBQ, x86.W128, x86.RegArg(left), x86.RegArg(count))
		g.Op(x86.CMPQImm, x86.W128, x86.RegArg(left), x86.ImmArg(per))
		g.Jump(mach.CondGE, t.again)
	}
	g.Op(x86.TESTQ, x86.W128, x86.RegArg(left), x86.RegArg(left))
	g.Jump(mach.CondG, top)
	g.loops[len(g.loops)-1] = f
}

// wholeStore finds a store of whole vectors, an element an iteration, that the loop makes in every
// round: lines that it splits cost most.
func (g *gen) wholeStore(s *ir.For, f *loopFrame, step int64) (*ir.Index, bool) {
	if step != 1 || g.lanes*g.unroll < 2 {
		return nil, false
	}
	for _, st := range s.Body {
		a, ok := st.(*ir.Assign)
		if !ok {
			continue
		}
		ix, ok := a.Place.(*ir.Index)
		if !ok || ix.X.Type().Kind != ir.Slice || !ix.Type().IsScalar() || ix.Type().Size < 4 || g.lanes*int(ix.Type().Size) != g.bytes {
			continue
		}
		root, ok := ix.X.(*ir.Ref)
		if sh := g.shape(ix.I); !ok || g.homes[root.Var] == nil || g.homes[root.Var].per > 0 || sh.Kind != analysis.Affine || sh.Stride != 1 || !g.onlyLane(analysis.LinearOf(ix.I), f, s.Var) {
			continue
		}
		return ix, true
	}
	return nil, false
}

// peel enters the loop of single vectors for as many iterations as there are before the store is at
// a multiple of its size, where many follow.
func (g *gen) peel(store *ir.Index, left x86.Reg, t *tailing) {
	per := int64(g.lanes * g.unroll)
	least := 2 * per
	if g.pastRow != nil { // always, before the first whole round: its stores must be aligned
		least = per
	}
	g.Op(x86.CMPQImm, x86.W128, x86.RegArg(left), x86.ImmArg(least))
	g.Jump(mach.CondL, t.again)
	g.Op(x86.LEAQ, x86.W128, x86.RegArg(t.first), x86.MemArg(g.memOf(g.accessOf(store), analysis.LinearOf(store.I))))
	g.Op(x86.NEGQ, x86.W128, x86.RegArg(t.first))
	g.Op(x86.ANDQImm, x86.W128, x86.RegArg(t.first), x86.ImmArg(int64(g.bytes-1)))
	g.Jump(mach.CondE, t.again)
	g.Op(x86.SHRQ, x86.W128, x86.RegArg(t.first), x86.ImmArg(int64(bits.TrailingZeros64(uint64(store.Type().Size)))))
	g.Jump(mach.Always, t.peel)
}
