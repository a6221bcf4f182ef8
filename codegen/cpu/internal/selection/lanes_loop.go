package selection

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/order"
)

// lanesLoop selects a loop whose iterations become lanes: first full vectors, unrolled and without
// masks; then the remainder under a mask of the lanes in range.
func (g *looping) lanesLoop(s *ir.For) {
	step, ok := ir.ConstStep(s)
	if !ok || s.Rel == ir.Ne {
		g.Refuse(s.At, "a vector loop needs a constant step and <, <=, > or >=")
	}
	g.Shapes = analysis.ShapesOf(s, step)
	defer func() { g.Shapes = nil }()
	g.Lanes = g.Bytes / analysis.LaneBytes(s)
	g.fillLanes(s)
	if g.SawLanes == 0 {
		g.SawLanes, g.SawLoop = g.Lanes, s.At
	}
	g.Shapes.Inside[s.Var] = true
	base := g.NewGeneral()
	g.Move(base, g.GeneralOutside(s.Lo))
	left := g.Trips(s, base, step)
	g.Homes[s.Var] = &memory.Home{General: base, Length: vcode.NoReg}
	sums := g.openReductions(s)
	ordered := orderedOf(sums)
	if s == g.ParallelLanes {
		g.Round = int64(g.Lanes * g.Unroll)
		if len(ordered) > 0 {
			g.Round = order.Lanes
		}
	}
	f := &memory.LoopFrame{Label: s.Label, BreakTo: g.NewLabel(), NextTo: g.NewLabel(), Counter: s.Var, Changes: analysis.ChangedIn(s), Kind: memory.HoistingLoop}
	g.Loops = append(g.Loops, f)
	g.Shared = map[string]vcode.Reg{}
	restore := g.hoist(f, s.Body)
	g.IndexUses = analysis.IndexUses(s.Body)
	g.spreadAhead(f, s.Body)
	defer func() { g.Spreads = nil }()
	tail, end := g.NewLabel(), g.NewLabel()
	g.Test(left)
	g.Jump(mach.CondLE, end)
	cut := g.cutOf(s, ordered)
	g.checkAhead(s, f, base, left, step, end, ordered, cut)
	t := &tailing{end: end, again: g.NewLabel(), first: vcode.NoReg}
	if store, ok := g.wholeStore(s, f, step); ok && len(sums) == 0 { // the result of float sums must not depend on the alignment of slices
		t.first, t.peel = g.NewGeneral(), g.NewLabel()
		if g.rowGoesPast(store, s) {
			g.pastRow = store
		}
		g.peel(store, left, t)
	}
	if len(ordered) > 0 {
		g.cutLoop(ordered, &laneCount{f, base, left, step}, cut, func(at *laneCount, behind mach.Label) { g.orderedLoop(s, at, ordered, behind) })
	} else {
		g.mainLoop(s, f, base, left, step, tail, t.again, sums)
		if g.ISA.Short() && g.Unroll > 1 { // full vectors of the remainder, because masks work lane by lane
			g.Place(tail)
			unroll := g.Unroll
			tail, g.Unroll = g.NewLabel(), 1
			g.mainLoop(s, f, base, left, step, tail, g.NewLabel(), nil)
			g.Unroll = unroll
		}
		g.Place(tail)
		g.tailLoop(s, f, base, left, step, t)
	}
	g.pastRow = nil
	g.Safe = map[*ir.Index]bool{}
	g.Place(end)
	restore()
	g.Loops = g.Loops[:len(g.Loops)-1]
	if len(ordered) > 0 {
		g.foldSums(sums)
	}
	g.closeReductions(sums)
}

// fillLanes broadcasts values of 4 bytes from outside the loop to all its lanes: fewer lanes were
// active when they were computed.
func (g *looping) fillLanes(s *ir.For) {
	for _, v := range ir.Used(s.Body).List() {
		h := g.Homes[v]
		if h == nil || len(h.Vectors) == 0 || !v.Type.IsScalar() || vector.Container(v.Type) != 4 || g.Lanes*4 < g.Bytes {
			continue
		}
		for u, r := range h.Vectors {
			if u == 0 || r != h.Vectors[0] {
				g.BroadcastLane(r, vcode.RegArg(r), v.Type)
			}
		}
	}
}

// checkAhead checks the affine accesses of all iterations before the first one. If a check fails,
// an out-of-line loop runs instead that checks the accesses of the active lanes.
func (g *looping) checkAhead(s *ir.For, f *memory.LoopFrame, base, left vcode.Reg, step int64, end mach.Label, ordered []*sum, cut cutting) {
	slow := g.NewLabel()
	hot := g.NewLabel()
	if flag, ok := g.proved[s]; ok {
		g.Test(flag)
		g.Jump(mach.CondNE, hot)
	}
	before := g.Len()
	g.precheck(s, f, left, step, slow)
	g.Shared = nil
	if g.Len() == before {
		g.Place(hot)
		return
	}
	g.Later(slow, func() {
		g.Safe = map[*ir.Index]bool{}
		if len(ordered) > 0 {
			g.cutLoop(ordered, &laneCount{f, base, left, step}, cut, func(at *laneCount, behind mach.Label) {
				g.orderedTail(s, at, ordered, g.zeroTurns(), behind)
			})
			g.Jump(mach.Always, end)
			return
		}
		g.tailLoop(s, f, base, left, step, &tailing{end: end, again: -1, first: vcode.NoReg})
		g.Jump(mach.Always, end)
	})
	g.Place(hot)
}

// mainLoop runs full vectors while enough iterations are left, in strips between which it can
// pause.
func (g *looping) mainLoop(s *ir.For, f *memory.LoopFrame, base, left vcode.Reg, step int64, tail, again mach.Label, sums []*sum) {
	per := int64(g.Lanes * g.Unroll)
	top := g.NewLabel()
	g.Place(again)
	g.CompareConst(left, per)
	g.Jump(mach.CondL, tail)
	inner := *f
	inner.BreakTo, inner.NextTo = g.NewLabel(), g.NewLabel()
	g.enterBody(s, &inner)
	strip, now := g.NewLabel(), left
	rounds := g.roundsBetween(s.Body, g.Unroll)
	if rounds > 1 {
		now = g.NewGeneral()
		g.Place(strip)
		g.openStrip(left, now, rounds*per)
	}
	biased := g.ISA.Short() && now != left // now is kept smaller by per, so that the subtraction sets the flags
	if biased {
		g.AddConst(now, -per)
	}
	g.Place(top)
	g.copies(s.Body)
	g.Place(inner.NextTo)
	if rounds == 1 {
		g.PausePoint()
	}
	g.AddConst(base, step*per)
	g.AddConst(now, -per)
	if biased {
		g.JumpBack(mach.CondGE, top)
		g.AddConst(now, per)
	} else {
		g.CompareConst(now, per)
		g.JumpBack(mach.CondGE, top)
	}
	if rounds > 1 {
		g.closeStrip(left, now, per, strip)
	}
	g.Place(inner.BreakTo)
	g.foldSums(sums)
	g.Loops[len(g.Loops)-1] = f
}

// openStrip takes from left the iterations up to the next pause point.
func (g *looping) openStrip(left, now vcode.Reg, most int64) {
	limit := g.ConstGeneral(most)
	g.Move(now, left)
	g.Compare(now, limit)
	g.MoveIf(mach.CondG, now, limit)
	g.Subtract(left, now)
}

// closeStrip returns to left the iterations that the last round has not run, and starts the next
// strip if there is one.
func (g *looping) closeStrip(left, now vcode.Reg, per int64, strip mach.Label) {
	end := g.NewLabel()
	g.Add(left, now)
	g.CompareConst(left, per)
	g.Jump(mach.CondL, end)
	g.PausePoint()
	g.Jump(mach.Always, strip)
	g.Place(end)
}

// copies selects all unrolled copies of the body of the main loop. If the body only moves and
// combines elements, the copies come one after the other: all loads followed by all stores take a
// tenth longer in the first-level cache.
func (g *looping) copies(body []ir.Stmt) {
	for _, s := range body {
		if !g.moves(s) {
			g.straight = 0
			g.list(body)
			return
		}
	}
	n, together := g.Unroll, 1
	if g.ISA.Short() { // adjacent vectors are loaded and stored in pairs
		together = min(2, n)
	}
	g.Unroll = together
	for u := 0; u < n; u += together {
		g.First = u
		g.straight = 0
		g.list(body)
	}
	g.Unroll, g.First = n, 0
}

func (g *looping) enterBody(s *ir.For, f *memory.LoopFrame) {
	f.Varying = (&analysis.ShapeWalk{Shapes: g.Shapes}).LeavesSplit(s.Body)
	if f.Varying {
		g.Refuse(s.At, "continue under a condition in the vector loop itself is not supported yet: write the rest of the body under the opposite condition")
	}
	g.Loops[len(g.Loops)-1] = f
}

// tailLoop runs one vector at a time under a mask of the remaining iterations.
func (g *looping) tailLoop(s *ir.For, f *memory.LoopFrame, base, left vcode.Reg, step int64, t *tailing) {
	end := t.end
	unroll := g.Unroll
	per := int64(g.Lanes * unroll)
	g.Unroll = 1
	defer func() { g.Unroll = unroll }()
	top := g.NewLabel()
	g.Test(left)
	g.Jump(mach.CondLE, end)
	inner := *f
	inner.BreakTo, inner.NextTo = end, g.NewLabel()
	g.enterBody(s, &inner)
	g.Place(top)
	count := t.first
	if count == vcode.NoReg {
		count = g.NewGeneral()
	}
	limit := g.ConstGeneral(int64(g.Lanes))
	g.Move(count, left)
	g.Compare(count, limit)
	g.MoveIf(mach.CondG, count, limit)
	if t.first != vcode.NoReg {
		g.Place(t.peel)
	}
	g.Exec, g.Prefix, g.Split = []vcode.Reg{g.PrefixMask(count)}, count, false
	g.straight = 0
	g.list(s.Body)
	g.Exec, g.Prefix, g.Split = nil, vcode.NoReg, false
	g.Place(inner.NextTo)
	g.PausePoint()
	if t.first == vcode.NoReg {
		g.AddConst(base, step*int64(g.Lanes))
		g.AddConst(left, -int64(g.Lanes))
	} else {
		g.Add(base, count)
		g.Subtract(left, count)
		g.CompareConst(left, per)
		g.Jump(mach.CondGE, t.again)
	}
	g.Test(left)
	g.Jump(mach.CondG, top)
	g.Loops[len(g.Loops)-1] = f
}
