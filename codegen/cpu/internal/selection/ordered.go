package selection

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/order"
)

// Sums and products of floats round, so that their result depends on the order of combination. The
// order is that of order.Lanes lanes on every machine: a loop has accumulators for all of them, in
// as many vectors as necessary, and its rounds use them in turn.

// orderedOf returns the sums whose result depends on the order.
func orderedOf(sums []*sum) []*sum {
	var out []*sum
	for _, x := range sums {
		if x.all != nil {
			out = append(out, x)
		}
	}
	return out
}

// A laneCount is the progress of a loop over lanes.
type laneCount struct {
	frame      *memory.LoopFrame
	base, left vcode.Reg // the counter of lane 0, and the remaining iterations
	step       int64
}

// mostCopies limits the unrolled copies of the body in a round over all accumulators, in
// instructions (weightOfBody for one vector of the body, times the vectors of all lanes). It is a
// third of the 1536 decoded instructions that processors since Haswell cache (later ones 2304 and
// more); the rest is for instructions that the estimate misses and for the surrounding loop. A
// longer round would wait for the decoder.
const mostCopies = 512

// A cutting describes how a loop with ordered sums is divided into blocks and groups. A loop inside
// an iteration has blocks of at least a given number of iterations, all in one group. For other
// loops the numbers are in registers; NoReg means one block for each call.
type cutting struct {
	least, blocks int64
	block, groups vcode.Reg
}

// cutOf prepares the cutting of s.
func (g *looping) cutOf(s *ir.For, ordered []*sum) cutting {
	c := cutting{block: vcode.NoReg, groups: vcode.NoReg}
	switch {
	case len(ordered) == 0:
	case s != g.ParallelLanes:
		c.least = ordered[0].block
	case scalarsIn(g, s):
		g.Groups = true
		c.blocks = order.CutOf(analysis.ReductionsOf(s)[0]).Blocks
		c.block, c.groups = g.NewGeneral(), g.NewGeneral()
		g.ReadWord(c.block, image.WordBlock)
		g.ReadWord(c.groups, image.WordGroups)
		for _, x := range ordered {
			x.stored = true
			if c.blocks == 1 {
				x.total = x.all
			}
			for _, a := range x.total {
				g.Move(a, x.identity)
			}
		}
	}
	return c
}

// scalarsIn reports whether no ordered reduction of s reduces an array.
func scalarsIn(g *looping, s *ir.For) bool {
	for _, r := range analysis.ReductionsOf(s) {
		if v := ir.RootVar(r.Place); g.Arrays[v] > 0 && order.Rounds(r.Op, v.Type.Elem) {
			return false
		}
	}
	return true
}

// cutLoop runs the remaining iterations block by block and group by group. run selects the code for
// one block, and jumps to the label after it.
func (g *looping) cutLoop(ordered []*sum, all *laneCount, c cutting, run func(at *laneCount, behind mach.Label)) {
	behind := g.NewLabel()
	if c.least > 0 {
		oneGroup(g, ordered, all, c.least, run)
		return
	}
	if c.block == vcode.NoReg {
		run(all, behind)
		g.Place(behind)
		return
	}
	at, top, blocks := *all, g.NewLabel(), vcode.NoReg
	if c.groups != vcode.NoReg && c.blocks > 1 {
		blocks = g.NewGeneral()
		g.SetGeneral(blocks, order.LastBlocks)
	}
	at.left = g.NewGeneral()
	g.Place(top)
	g.Move(at.left, all.left)
	g.Compare(at.left, c.block)
	g.MoveIf(mach.CondG, at.left, c.block)
	g.Subtract(all.left, at.left)
	run(&at, behind)
	g.Place(behind)
	if c.blocks == 1 {
		g.endGroup(ordered, c.groups)
	} else {
		g.endBlock(ordered)
	}
	if blocks != vcode.NoReg {
		group := g.NewLabel()
		g.Test(all.left)
		g.Jump(mach.CondLE, group)
		g.AddConst(blocks, -1)
		g.JumpBack(mach.CondNE, top)
		g.Place(group)
		g.endGroup(ordered, c.groups)
		g.SetGeneral(blocks, order.LastBlocks)
	}
	g.Test(all.left)
	g.JumpBack(mach.CondG, top)
}

// oneGroup is cutLoop for a loop inside an iteration. A loop with a single block, the usual case,
// costs two tests; code for more blocks is out of line.
func oneGroup(g *looping, ordered []*sum, at *laneCount, least int64, run func(at *laneCount, behind mach.Label)) {
	behind, top, long, next, meet, met := g.NewLabel(), g.NewLabel(), g.NewLabel(), g.NewLabel(), g.NewLabel(), g.NewLabel()
	block, rest, seen := g.NewGeneral(), g.NewGeneral(), g.NewGeneral() // seen: this is not the first block
	for _, r := range []vcode.Reg{block, rest, seen} {
		g.SetGeneral(r, 0)
	}
	g.CompareConst(at.left, least)
	g.Jump(mach.CondG, long)
	g.Place(top)
	run(at, behind)
	g.Place(behind)
	g.Test(rest)
	g.Jump(mach.CondNE, next)
	g.Test(seen)
	g.Jump(mach.CondNE, meet)
	g.Place(met)
	take := func() { // takes at.left iterations from rest
		g.Move(at.left, rest)
		g.Compare(at.left, block)
		g.MoveIf(mach.CondG, at.left, block)
		g.Subtract(rest, at.left)
		g.Jump(mach.Always, top)
	}
	g.Later(long, func() { // computes the length of a block in one group (order.Cut)
		g.Move(rest, at.left)
		g.Move(block, at.left)
		g.AddConst(block, -1)
		g.ShiftRight(block, int64(bits.TrailingZeros64(uint64(least*order.LastBlocks))))
		g.AddConst(block, 1)
		g.MultiplyConst(block, block, least)
		take()
	})
	g.Later(next, func() {
		add, done := g.NewLabel(), g.NewLabel()
		g.Test(seen)
		g.Jump(mach.CondNE, add)
		for _, x := range ordered {
			for i, a := range x.all {
				g.Move(x.total[i], a)
				g.Move(a, x.identity)
			}
		}
		g.SetGeneral(seen, 1)
		g.Jump(mach.Always, done)
		g.Place(add)
		g.endBlock(ordered)
		g.Place(done)
		take()
	})
	g.Later(meet, func() {
		for _, x := range ordered {
			for i, a := range x.all {
				g.combine(x, a, x.total[i], a, g.Width(x.t))
			}
		}
		g.Jump(mach.Always, met)
	})
}

// endBlock combines the lanes of a block with those of the group, and clears them.
func (g *reductions) endBlock(ordered []*sum) {
	for _, x := range ordered {
		for i, a := range x.all {
			g.combine(x, x.total[i], x.total[i], a, g.Width(x.t))
			g.Move(a, x.identity)
		}
	}
}

// endGroup stores the values of a group, clears the lanes and advances to the next place.
func (g *reductions) endGroup(ordered []*sum, groups vcode.Reg) {
	for i, x := range ordered {
		g.StoreOne(vcode.At(groups, int32(8*i)), g.foldHalves(x, x.total), x.t)
		for _, a := range x.total {
			g.Move(a, x.identity)
		}
	}
	g.AddConst(groups, int64(8*len(ordered)))
}

// orderedLoop selects one block of a loop with ordered sums. A round of the main loop has a copy of
// the body for each accumulator, and so has the remainder. If these copies are too many, there are
// a few, and the accumulators are rotated after them.
func (g *looping) orderedLoop(s *ir.For, at *laneCount, ordered []*sum, end mach.Label) {
	unroll := g.Unroll
	vectors := order.Lanes / g.Lanes
	together := min(unroll, vectors)
	whole := analysis.Innermost(s.Body) && g.weightOfBody(s.Body)*int64(vectors) <= mostCopies
	if whole {
		g.Unroll = together
		g.fullLoop(s, at, ordered, vectors)
		if g.ISA.Short() { // masks work lane by lane there
			g.lastVectors(s, at, ordered, vectors, end)
		} else {
			g.lastRound(s, at, ordered, vectors, end)
		}
		g.Unroll = unroll
		return
	}
	turns := g.zeroTurns()
	g.Unroll = together
	g.turningLoop(s, at, ordered, turns)
	g.Unroll = unroll
	g.orderedTail(s, at, ordered, turns, end)
}

// zeroTurns initialises the count of rotations.
func (g *looping) zeroTurns() vcode.Reg {
	turns := g.NewGeneral()
	g.SetGeneral(turns, 0)
	return turns
}

// use makes the body add to the accumulators from number first on.
func (g *looping) use(ordered []*sum, first int) {
	for _, x := range ordered {
		x.inner.Vectors = x.all[first : first+g.Unroll]
	}
}

// fullLoop runs rounds over all accumulators while enough iterations are left.
func (g *looping) fullLoop(s *ir.For, at *laneCount, ordered []*sum, vectors int) {
	g.roundsOf(s, at, order.Lanes, vectors, func(frame *memory.LoopFrame) {
		for first := 0; first < vectors; first += g.Unroll {
			g.use(ordered, first)
			frame.NextTo = g.NewLabel()
			g.straight = 0
			g.list(s.Body)
			g.Place(frame.NextTo)
			g.AddConst(at.base, at.step*int64(g.Lanes*g.Unroll))
		}
	})
}

// lastRound runs the remaining iterations, fewer than there are lanes.
func (g *looping) lastRound(s *ir.For, at *laneCount, ordered []*sum, vectors int, end mach.Label) {
	g.Unroll = 1
	g.Test(at.left)
	g.Jump(mach.CondLE, end)
	inner := *at.frame
	inner.BreakTo = end
	g.enterBody(s, &inner)
	for u := range vectors {
		g.use(ordered, u)
		inner.NextTo = g.NewLabel()
		g.maskedCopy(s, at)
		g.Place(inner.NextTo)
		g.PausePoint()
		g.AddConst(at.base, at.step*int64(g.Lanes))
		g.AddConst(at.left, -int64(g.Lanes))
		if u < vectors-1 {
			g.Test(at.left)
			g.Jump(mach.CondLE, end)
		}
	}
	g.Loops[len(g.Loops)-1] = at.frame
}

// lastVectors is lastRound without masks but for what remains behind whole vectors: as many copies
// together as in the main loop, then single ones. The copy under a mask has accumulators of its
// own, as there is one for all.
func (g *looping) lastVectors(s *ir.For, at *laneCount, ordered []*sum, vectors int, end mach.Label) {
	inner, together, n := *at.frame, g.Unroll, int64(g.Lanes)
	inner.BreakTo = end
	g.enterBody(s, &inner)
	body := func(first, copies int) {
		g.Unroll = copies
		g.use(ordered, first)
		inner.NextTo = g.NewLabel()
		g.straight = 0
		g.list(s.Body)
		g.Place(inner.NextTo)
		g.AddConst(at.base, at.step*n*int64(copies))
		g.AddConst(at.left, -n*int64(copies))
	}
	part, masked, which := g.NewVectors(len(ordered)), g.NewLabel(), g.NewGeneral()
	leave := func(u int, k mach.Cond) {
		l := g.NewLabel()
		g.Jump(k, l)
		g.Later(l, func() {
			g.Test(at.left)
			g.Jump(mach.CondLE, end)
			g.SetGeneral(which, int64(u))
			for i, x := range ordered {
				g.Move(part[i], x.all[u])
			}
			g.Jump(mach.Always, masked)
		})
	}
	var singles []mach.Label
	for first := 0; first < vectors; first += together {
		singles = append(singles, g.NewLabel())
		if first+together < vectors { // the last vectors are never all full
			g.CompareConst(at.left, n*int64(together))
			g.Jump(mach.CondL, singles[len(singles)-1])
			body(first, together)
		}
	}
	for i := len(singles) - 1; i >= 0; i-- {
		g.Place(singles[i])
		u := i * together
		for range together - 1 {
			g.CompareConst(at.left, n)
			leave(u, mach.CondL)
			body(u, 1)
			u++
		}
		leave(u, mach.Always)
	}
	g.Place(masked)
	g.Unroll = 1
	for i, x := range ordered {
		x.inner.Vectors = part[i : i+1]
	}
	inner.NextTo = g.NewLabel()
	g.maskedCopy(s, at)
	g.Place(inner.NextTo)
	g.PausePoint()
	putBack(g, ordered, part, which, 0, vectors, end)
	g.Loops[len(g.Loops)-1] = at.frame
}

// putBack moves part to the accumulators whose number, from lo to hi, is in register which.
func putBack(g *looping, ordered []*sum, part []vcode.Reg, which vcode.Reg, lo, hi int, end mach.Label) {
	if hi-lo > 1 {
		half, upper := (lo+hi)/2, g.NewLabel()
		g.CompareConst(which, int64(half))
		g.Jump(mach.CondGE, upper)
		putBack(g, ordered, part, which, lo, half, end)
		g.Place(upper)
		putBack(g, ordered, part, which, half, hi, end)
		return
	}
	for i, x := range ordered {
		g.Move(x.all[lo], part[i])
	}
	g.Jump(mach.Always, end)
}

// maskedCopy selects the body for one vector under a mask of the remaining iterations.
func (g *looping) maskedCopy(s *ir.For, at *laneCount) {
	count := g.NewGeneral()
	limit := g.ConstGeneral(int64(g.Lanes))
	g.Move(count, at.left)
	g.Compare(count, limit)
	g.MoveIf(mach.CondG, count, limit)
	g.Exec, g.Prefix, g.Split = []vcode.Reg{g.PrefixMask(count)}, count, false
	g.straight = 0
	g.list(s.Body)
	g.Exec, g.Prefix, g.Split = nil, vcode.NoReg, false
}

// turningLoop runs rounds over the first accumulators, and rotates them after each round.
func (g *looping) turningLoop(s *ir.For, at *laneCount, ordered []*sum, turns vcode.Reg) {
	g.use(ordered, 0)
	g.roundsOf(s, at, int64(g.Lanes*g.Unroll), g.Unroll, func(frame *memory.LoopFrame) {
		frame.NextTo = g.NewLabel()
		g.straight = 0
		g.list(s.Body)
		g.Place(frame.NextTo)
		g.turn(ordered, turns)
		g.AddConst(at.base, at.step*int64(g.Lanes*g.Unroll))
	})
}

// roundsOf runs rounds of per iterations while enough are left, in strips between which it can
// pause. vectors is the number of vectors in a round.
func (g *looping) roundsOf(s *ir.For, at *laneCount, per int64, vectors int, round func(*memory.LoopFrame)) {
	end, top, strip := g.NewLabel(), g.NewLabel(), g.NewLabel()
	g.CompareConst(at.left, per)
	g.Jump(mach.CondL, end)
	inner := *at.frame
	inner.BreakTo = end
	g.enterBody(s, &inner)
	rounds, now := g.roundsBetween(s.Body, vectors), at.left
	if rounds > 1 {
		now = g.NewGeneral()
		g.Place(strip)
		g.openStrip(at.left, now, rounds*per)
	}
	g.Place(top)
	round(&inner)
	if rounds == 1 {
		g.PausePoint()
	}
	g.AddConst(now, -per)
	g.CompareConst(now, per)
	g.JumpBack(mach.CondGE, top)
	if rounds > 1 {
		g.closeStrip(at.left, now, per, strip)
	}
	g.Place(end)
	g.Loops[len(g.Loops)-1] = at.frame
}

// orderedTail runs one vector at a time under a mask of the remaining iterations, rotates the
// accumulators back to their initial position and jumps to end.
func (g *looping) orderedTail(s *ir.For, at *laneCount, ordered []*sum, turns vcode.Reg, end mach.Label) {
	unroll := g.Unroll
	g.Unroll = 1
	g.use(ordered, 0)
	top, rest, turned := g.NewLabel(), g.NewLabel(), g.NewLabel()
	g.Test(at.left)
	g.Jump(mach.CondLE, rest)
	inner := *at.frame
	inner.BreakTo, inner.NextTo = rest, g.NewLabel()
	g.enterBody(s, &inner)
	g.Place(top)
	g.maskedCopy(s, at)
	g.Place(inner.NextTo)
	g.PausePoint()
	g.turn(ordered, turns)
	g.AddConst(at.base, at.step*int64(g.Lanes))
	g.AddConst(at.left, -int64(g.Lanes))
	g.Test(at.left)
	g.Jump(mach.CondG, top)
	g.Loops[len(g.Loops)-1] = at.frame
	g.Place(rest)
	g.AndConst(turns, int64(order.Lanes/g.Lanes-1))
	g.Place(turned)
	g.Test(turns)
	g.Jump(mach.CondE, end)
	g.turn(ordered, turns)
	g.AndConst(turns, int64(order.Lanes/g.Lanes-1))
	g.JumpBack(mach.Always, turned)
	g.Unroll = unroll
}

// turn rotates the used accumulators behind the others, and counts it.
func (g *looping) turn(ordered []*sum, turns vcode.Reg) {
	for _, x := range ordered {
		used := g.NewVectors(g.Unroll)
		for u, r := range used {
			g.Move(r, x.all[u])
		}
		for u := g.Unroll; u < len(x.all); u++ {
			g.Move(x.all[u-g.Unroll], x.all[u])
		}
		for u, r := range used {
			g.Move(x.all[len(x.all)-g.Unroll+u], r)
		}
	}
	g.AddConst(turns, int64(g.Unroll))
}

// foldHalves adds the halves of all lanes until one lane is left.
func (g *reductions) foldHalves(x *sum, lanes []vcode.Reg) vcode.Reg {
	for n := len(lanes) / 2; n > 0; n /= 2 {
		for i := range n {
			g.combine(x, lanes[i], lanes[i], lanes[i+n], g.Width(x.t))
		}
	}
	return g.foldLanes(x, lanes[0])
}
