package selection

import (
	"slices"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// looping selects loops.
type looping struct {
	atomics
	nested   []*image.Stage // by number: the stages that sequential code may call
	Round    int64          // the number of iterations of the parallel loop in a round
	Groups   bool           // the code stores the values of the groups of ordered sums
	SawLanes int            // the number of lanes of the first loop over lanes
	SawLoop  ir.Pos
}

func (g *looping) lanesOf(s *ir.For) bool { return g.lanesFor[s] }

// forStmt selects a counted loop: as the lanes loop if Compile has chosen it, as a scalar loop
// around vectors, or as a loop that lanes leave at different times.
func (g *looping) forStmt(s *ir.For) {
	if after, ok := g.shareFrom(s); ok {
		defer g.Place(after)
	}
	if g.Shapes == nil && g.lanesOf(s) {
		g.lanesLoop(s)
		return
	}
	varying := false
	if g.Shapes != nil {
		w := analysis.ShapeWalk{Shapes: g.Shapes}
		varying = w.VariesFor(s) || w.LeavesSplit(s.Body) || g.LeavesMasked(s)
	}
	if varying {
		g.maskedFor(s)
		return
	}
	g.uniformFor(s)
}

// uniformFor selects a loop with a scalar counter.
func (g *looping) uniformFor(s *ir.For) {
	step, ok := ir.ConstStep(s)
	if !ok {
		g.Refuse(s.At, "a loop inside the one whose iterations are lanes needs a constant step: count in ones, and multiply")
	}
	h := g.Declare(s.Var)
	if h.General == vcode.NoReg {
		g.Refuse(s.At, "the counter %s differs between lanes: not supported yet", s.Var.Name)
	}
	g.Move(h.General, g.General(s.Lo))
	hi := g.NewGeneral()
	g.Move(hi, g.General(s.Hi))
	f := &memory.LoopFrame{Label: s.Label, BreakTo: g.NewLabel(), NextTo: g.NewLabel(), Counter: s.Var, Changes: analysis.ChangedIn(s), Kind: memory.HoistingLoop}
	top := g.NewLabel()
	k := vector.LoopCond(s)
	none := g.NewLabel()
	g.Compare(h.General, hi)
	g.Jump(k.Not(), none)
	g.Loops = append(g.Loops, f)
	g.Shared = map[string]vcode.Reg{}
	restore := g.hoist(f, s.Body)
	g.Shared = nil
	g.MarkSafe(s)
	safe := g.Safe
	g.checkRounds(s, f, h.General, hi, step, k)
	g.rounds(s, f, h.General, hi, step, k, top)
	g.Safe = safe
	g.Place(f.BreakTo)
	g.Loops = g.Loops[:len(g.Loops)-1]
	g.pauseBehind()
	g.Place(none)
	restore()
}

// pauseBehind selects a pause point after a scalar loop inside another one, whose rounds then need
// no pause points.
func (g *looping) pauseBehind() {
	if n := len(g.Loops); n > 0 && g.Loops[n-1].Pieces {
		g.PausePoint()
	}
}

// rounds selects the rounds of a scalar loop from i up to hi, with at least one iteration.
func (g *looping) rounds(s *ir.For, f *memory.LoopFrame, i, hi vcode.Reg, step int64, k mach.Cond, top mach.Label) {
	g.Place(top)
	if f.Pieces = g.runsInPieces(s, step); f.Pieces {
		g.pieces(s, f, i, hi, k, top)
		return
	}
	g.straight = 0
	g.list(s.Body)
	g.Place(f.NextTo)
	g.PausePoint()
	g.AddConst(i, step)
	g.Compare(i, hi)
	g.JumpBack(k, top)
}

// runsInPieces reports whether a loop has a pause point after each inner loop that no jump
// bypasses, or, around vectors, has no inner loop: where a pause point is four instructions.
func (g *looping) runsInPieces(s *ir.For, step int64) bool {
	switch {
	case step != 1 || s.Rel != ir.Lt:
		return false
	case g.Shapes != nil:
		return g.ISA.Short() && analysis.Innermost(s.Body)
	}
	return g.Single && analysis.ClosedInside(s.Body)
}

// pieces runs the rounds up to hi, at least one; top is the start of a piece.
func (g *looping) pieces(s *ir.For, f *memory.LoopFrame, i, hi vcode.Reg, k mach.Cond, top mach.Label) {
	until, round := g.NewGeneral(), g.NewLabel()
	vectors := 1
	if g.Shapes != nil {
		vectors = g.Unroll
	}
	most := g.ConstGeneral(g.roundsBetween(s.Body, vectors))
	g.Move(until, hi)
	g.Subtract(until, i)
	g.Compare(until, most) // unsigned, because hi is above i
	g.MoveIf(mach.CondA, until, most)
	g.Add(until, i)
	g.Place(round)
	g.straight = 0
	g.list(s.Body)
	g.Place(f.NextTo)
	g.AddConst(i, 1)
	g.Compare(i, until)
	g.JumpBack(k, round)
	end := g.NewLabel()
	g.Compare(i, hi)
	g.Jump(k.Not(), end)
	g.PausePoint()
	g.JumpBack(mach.Always, top)
	g.Place(end)
}

// maskedFor selects a counted loop whose bounds differ between lanes, or that lanes leave at
// different times: the counter is a vector.
func (g *looping) maskedFor(s *ir.For) {
	if !s.Var.Type.IsInteger() {
		g.Refuse(s.At, "a loop over %s is not supported yet", s.Var.Type)
	}
	hi := &ir.Var{Name: s.Var.Name + "_end", Type: s.Var.Type, ID: -1, At: s.At}
	g.Shapes.Of[hi] = analysis.Shape{Kind: analysis.Varying}
	cond := &ir.Binary{Op: s.Rel, X: &ir.Ref{Var: s.Var, At: s.At}, Y: &ir.Ref{Var: hi, At: s.At}, T: ir.BoolType, At: s.At}
	next := &ir.Assign{Place: &ir.Ref{Var: s.Var, At: s.At}, Value: &ir.Binary{Op: ir.Add, X: &ir.Ref{Var: s.Var, At: s.At}, Y: s.Step, T: s.Var.Type, At: s.At}, At: s.At}
	g.decl(&ir.Decl{Var: hi, Init: s.Hi, At: s.At})
	g.decl(&ir.Decl{Var: s.Var, Init: s.Lo, At: s.At})
	g.Homes[s.Var].Even = nil // true for its first value only
	g.maskedLoop(&ir.While{Label: s.Label, Cond: cond, Body: s.Body, Post: []ir.Stmt{next}, At: s.At})
}

func (g *looping) while(s *ir.While) {
	if g.Shapes != nil {
		w := analysis.ShapeWalk{Shapes: g.Shapes}
		if s.Cond != nil && g.Shape(s.Cond).Kind != analysis.Uniform || w.LeavesSplit(s.Body) || g.LeavesMasked(s) {
			g.maskedLoop(s)
			return
		}
	}
	f := &memory.LoopFrame{Label: s.Label, BreakTo: g.NewLabel(), NextTo: g.NewLabel()}
	top := g.NewLabel()
	left := vcode.NoReg
	if g.Single && g.Shapes == nil && analysis.Innermost(s.Body) {
		left = g.ConstGeneral(g.roundsBetween(s.Body, 1))
	}
	g.Loops = append(g.Loops, f)
	g.Place(top)
	g.list(s.Pre)
	if s.Cond != nil {
		g.Branch(s.Cond, false, f.BreakTo)
	}
	g.straight = 0
	g.list(s.Body)
	g.Place(f.NextTo)
	g.list(s.Post)
	if left != vcode.NoReg {
		g.AddConst(left, -1)
		g.JumpBack(mach.CondNE, top)
		g.SetGeneral(left, g.roundsBetween(s.Body, 1))
		g.PausePoint()
	} else {
		g.PausePoint()
	}
	g.JumpBack(mach.Always, top)
	g.Place(f.BreakTo)
	g.Loops = g.Loops[:len(g.Loops)-1]
	g.pauseBehind()
}

// maskedLoop runs until all lanes have left it.
func (g *looping) maskedLoop(s *ir.While) {
	old, split := g.Exec, g.Split
	f := &memory.LoopFrame{Label: s.Label, Varying: true, BreakTo: g.NewLabel(), NextTo: g.NewLabel(), Live: g.CopyMasks()}
	if analysis.Continues(s.Body, s.Label) {
		f.Skip = make([]vcode.Reg, g.Unroll)
		g.Each(func(u int) { f.Skip[u] = g.NewMaskRegister() })
	}
	top, end := g.NewLabel(), g.NewLabel()
	left := vcode.NoReg
	if g.ISA.Short() && analysis.Innermost(s.Body) {
		left = g.NewGeneral()
		g.SetGeneral(left, g.roundsBetween(s.Body, g.Unroll))
	}
	g.Loops = append(g.Loops, f)
	g.Place(top)
	g.Exec, g.Split = f.Live, true
	g.list(s.Pre)
	if s.Cond != nil {
		c := g.Masks(s.Cond)
		g.Each(func(u int) { g.MaskMove(f.Live[u], g.MaskAnd(f.Live[u], c[u])) })
	}
	g.AnyLane(f.Live)
	g.Jump(mach.CondE, end)
	for u, skip := range f.Skip {
		g.MaskMove(skip, f.Live[u])
	}
	g.straight = 0
	g.list(s.Body)
	if s.Cond != nil && prepare.MayFail(s.Cond) || g.NeedsLane(s.Post) || g.NeedsLane(s.Pre) {
		g.AnyLane(f.Live)
		g.Jump(mach.CondE, end)
	}
	g.list(s.Post)
	if left != vcode.NoReg {
		g.AddConst(left, -1)
		g.JumpBack(mach.CondNE, top)
		g.SetGeneral(left, g.roundsBetween(s.Body, g.Unroll))
	}
	g.PausePoint()
	g.JumpBack(mach.Always, top)
	g.Place(end)
	g.Loops = g.Loops[:len(g.Loops)-1]
	g.Exec, g.Split = old, split
}

// shareFrom selects the exit to Go if the loop is long enough to be shared.
func (g *looping) shareFrom(s *ir.For) (after mach.Label, ok bool) {
	i := slices.IndexFunc(g.nested, func(n *image.Stage) bool { return n != nil && n.Loop == s && !n.Refused() })
	if i < 0 || g.inLoop || g.Shapes != nil {
		return 0, false
	}
	n := g.nested[i]
	step, _ := ir.ConstStep(s)
	lo := g.NewGeneral()
	g.Move(lo, g.GeneralOutside(s.Lo))
	trips := g.Trips(s, lo, step)
	cold, after := g.NewLabel(), g.NewLabel()
	k := g.NewSite(image.Site{Kind: image.SiteShare, Stage: i})
	g.CompareWord(trips, n.Threshold)
	g.Jump(mach.CondGE, cold)
	g.Later(cold, func() {
		g.storeFree(n)
		g.WriteWord(image.WordTrips, trips)
		g.Yield(k)
		g.loadChanged(n)
		g.Jump(mach.Always, after)
	})
	g.Note("the loop at %s, inside sequential code, is shared by idle workers where it takes long enough", s.At)
	return after, true
}

// storeFree stores the variables that a nested stage uses, except parameters that never change.
func (g *looping) storeFree(n *image.Stage) {
	for _, v := range ir.Free(n.Body).List() {
		if h := g.Homes[v]; h != nil && (v.Space != ir.Param || ir.Assigned(g.Kernel.Body).Has(v)) {
			g.StoreWord(h, v.Type, g.Frame.Word[v])
		}
	}
}

// loadChanged loads the variables that the nested stage has reduced.
func (g *looping) loadChanged(n *image.Stage) {
	for _, v := range ir.Assigned(n.Body).List() {
		h := g.Homes[v]
		if h == nil || g.Frame.Word[v] == 0 || !ir.Free(n.Body).Has(v) {
			continue
		}
		from := g.LoadWord(v, g.Frame.Word[v])
		if h.Vectors != nil {
			g.Move(h.Vectors[0], from.Vectors[0])
		} else {
			g.Move(h.General, from.General)
		}
	}
}

// checkRounds checks the accesses of an innermost scalar loop before its rounds, if their indices
// increase with the counter: the first and the last of each. If one is out of range, rounds with
// checks run instead, out of line.
func (g *looping) checkRounds(s *ir.For, f *memory.LoopFrame, i, hi vcode.Reg, step int64, k mach.Cond) {
	if !g.Single || g.Shapes != nil || step != 1 || s.Rel != ir.Lt || !analysis.Innermost(s.Body) {
		return
	}
	checked := g.growing(s, f)
	if len(checked) == 0 {
		return
	}
	slow, count := g.NewLabel(), g.NewGeneral()
	g.Move(count, hi)
	g.Subtract(count, i)
	seen := map[string]bool{}
	g.Shared = map[string]vcode.Reg{}
	for _, ix := range checked {
		l, root := analysis.LinearOf(ix.I), ix.X.(*ir.Ref)
		g.precheckOnce(seen, root.Var.Name+ir.ExprKey(root), g.Homes[root.Var].Length, l, analysis.AffineShape(1), count, slow)
	}
	g.Shared = nil
	g.Later(slow, func() {
		inner := *f
		inner.NextTo = g.NewLabel()
		g.Loops[len(g.Loops)-1] = &inner
		g.rounds(s, &inner, i, hi, step, k, g.NewLabel())
		g.Jump(mach.Always, f.BreakTo)
	})
	safe := make(map[*ir.Index]bool, len(g.Safe)+len(checked))
	for ix := range g.Safe {
		safe[ix] = true
	}
	for _, ix := range checked {
		safe[ix] = true
	}
	g.Safe = safe
}

// roundsBetween returns the number of rounds of a loop over body, each for the given number of
// vectors, that may run between two pause points.
func (g *looping) roundsBetween(body []ir.Stmt, vectors int) int64 {
	if !g.Single && !analysis.Innermost(body) {
		return 1 // the inner loops have pause points
	}
	if g.StopAlways {
		return 2
	}
	return max(1, protocol.MostBetween/(max(1, g.weightOfBody(body))*int64(vectors)))
}

// weightOfBody returns the approximate number of instructions of body for one vector.
func (g *looping) weightOfBody(body []ir.Stmt) int64 {
	weight := int64(0)
	ir.Inspect(body, func(s ir.Stmt) {
		weight++
		if _, ok := s.(*ir.Atomic); ok {
			weight += g.atomicWeight()
		}
	}, func(e ir.Expr) { weight += g.weightOf(e) })
	return weight
}

// lockedWeight is the approximate cost of an atomic of one lane in instructions if other workers
// update the same cache line: about 20 cycles without contention, hundreds with it.
const lockedWeight = 64

// atomicWeight is weightOf for an atomic, which runs lane by lane.
func (g *looping) atomicWeight() int64 {
	if g.locked {
		return lockedWeight * int64(g.Lanes)
	}
	return 4 * int64(g.Lanes)
}

// weightOf returns the approximate number of instructions of e, without those of its operands.
func (g *looping) weightOf(e ir.Expr) int64 {
	if e, ok := e.(*ir.Index); ok {
		if g.Shapes == nil {
			return protocol.Missing
		}
		if s := g.Shape(e.I); s.Kind == analysis.Varying || s.Kind == analysis.Affine && s.Stride != 1 {
			return protocol.Missing * int64(g.Lanes)
		}
	}
	return analysis.Operations(e)
}
