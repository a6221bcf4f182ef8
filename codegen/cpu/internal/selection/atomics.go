package selection

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// atomics selects atomic updates.
type atomics struct {
	laneByLane
	locked   bool  // other workers update the same data as the atomics of this stage
	straight int64 // the approximate number of instructions of the body since the last pause point
}

// atomic selects the update of a place in each lane: as a few vector instructions if possible,
// otherwise as scalar code for one lane after the other. If one goroutine runs the loop, or each
// has copies of the updated data, no lock prefix is needed; locked.go has the form for several
// goroutines.
func (g *atomics) atomic(s *ir.Atomic) {
	t := s.Place.Type()
	ok := vector.HasGeneral(s.Op)
	float := t.IsFloat() && (s.Op == ir.Add || s.Op == ir.Sub)
	if g.Shapes == nil {
		if g.locked {
			g.lockedAtomic(s)
		} else {
			g.list(analysis.InSteps(s, -1000-len(g.Homes)))
		}
		return
	}
	if _, isVar := s.Place.(*ir.Ref); isVar {
		g.Refuse(s.At, "an atomic update of the local variable %s has no form for lanes: write a reduction", ir.Source(s.Place))
	}
	if g.atomicTogether(s) {
		return
	}
	if s.Kind != ir.AtomicUpdate || s.Swapped || !ok || t.IsFloat() != float || t.Kind == ir.Bool || s.Op == ir.Mul || g.LaneOwned(s.Place) {
		g.serial(s)
		return
	}
	value := g.Vector(s.Value)
	at := g.Target(s.Place)
	g.Each(func(u int) { at.CheckNow(u) })
	if at.Index == nil {
		at = g.AsGather(at, t, s.Place)
	}
	size := vector.Container(t)
	constant := vcode.NoReg
	if !float && g.Shape(s.Value).Kind == analysis.Uniform {
		constant = g.General(s.Value)
	}
	g.Each(func(u int) {
		bits := vcode.NoReg
		if g.Exec != nil {
			bits = g.SpreadIndices(at, u)
		}
		if constant == vcode.NoReg {
			g.WriteVector(protocol.LaneRoom(64), value[u], vector.WidthOf(g.Lanes*size))
		}
		update := func(lane int, index vcode.Reg) {
			place := vcode.MemArg(vcode.Indexed(at.Mem.Base, index, at.Scale, at.Mem.Disp))
			operand := vcode.MemArg(protocol.LaneRoom(64 + size*lane))
			if g.locked {
				g.LockedLane(s, place, operand, constant, g.retry)
				return
			}
			if float {
				g.AddFloat(s.Op, place, operand, t)
				return
			}
			r, v := g.NewGeneral(), constant
			if v == vcode.NoReg {
				v = g.NewGeneral()
				g.LoadContainer(v, operand, t, false)
			}
			if (s.Op == ir.Add || s.Op == ir.Sub) && t.Size >= 4 {
				g.UpdateInteger(s.Op, place, v, t)
				return
			}
			g.LoadInteger(r, place, t)
			g.Apply(s.Op, r, v)
			g.StoreInteger(place, r, t)
		}
		if g.Exec == nil {
			g.LanesOut(at, u, update)
			return
		}
		g.InLanes(bits, func(lane int) { update(lane, g.LaneIndex(at, lane)) })
	})
}

// Atomic updates of adjacent places, or of one place, need not run lane by lane. In a stage that
// owns its data they are ordinary vector instructions. In a locked stage other workers update the
// same data, and only an update of one integer is made for all lanes together.

// atomicTogether selects an update of places that differ in all lanes, or of one integer, for all
// lanes together. It returns false for other places.
func (g *atomics) atomicTogether(s *ir.Atomic) bool {
	ix, ok := s.Place.(*ir.Index)
	if !ok || s.Kind != ir.AtomicUpdate || s.Old != nil || ix.X.Type().Kind != ir.Slice || g.Shape(ix.X).Kind != analysis.Uniform || g.LaneOwned(s.Place) {
		return false
	}
	switch sh := g.Shape(ix.I); {
	case sh.Kind == analysis.Affine && sh.Stride != 0 && !g.locked:
		g.plainUpdate(s)
		return true
	case sh.Kind == analysis.Uniform && analysis.FoldsLanes(s):
		g.foldedUpdate(s)
		return true
	}
	return false
}

// plainUpdate selects the update of places that no two lanes share: a load, an operation and a
// store.
func (g *atomics) plainUpdate(s *ir.Atomic) {
	steps := analysis.InSteps(s, -1000-len(g.Homes))
	for _, st := range steps {
		if d, ok := st.(*ir.Decl); ok {
			g.Shapes.Of[d.Var], g.Shapes.Inside[d.Var] = analysis.Shape{Kind: analysis.Varying}, true
		}
	}
	g.list(steps)
}

// foldedUpdate combines the values of the active lanes, and updates the place once if there is an
// active lane.
func (g *atomics) foldedUpdate(s *ir.Atomic) {
	t, x := s.Place.Type(), &sum{op: analysis.Combined(s.Op), t: s.Place.Type()}
	value := func() vcode.Reg { return g.sameFolded(s, g.General(s.Value)) }
	if g.Shape(s.Value).Kind != analysis.Uniform {
		lanes := g.Vector(s.Value)
		value = func() vcode.Reg { return g.lanesFolded(x, s, lanes) }
	}
	at := g.Target(s.Place)
	skip := g.NewLabel()
	if g.Exec != nil {
		g.AnyLane(g.Exec)
		g.Jump(mach.CondE, skip)
	}
	all := value()
	x.op = s.Op
	if g.locked {
		g.lockedFold(s, x, at.Mem, all)
		g.Place(skip)
		return
	}
	r, old := g.NewGeneral(), g.NewVector()
	g.LoadInteger(r, vcode.MemArg(at.Mem), t)
	g.BroadcastGeneral(old, r, vector.Container(t), vcode.W128)
	g.combine(x, old, old, all, vcode.W128)
	g.StoreInteger(vcode.MemArg(at.Mem), g.FirstLane(old, t), t)
	g.Place(skip)
}

// lanesFolded combines the values of the active lanes in lane 0.
func (g *atomics) lanesFolded(x *sum, s *ir.Atomic, value []vcode.Reg) vcode.Reg {
	all, identity := vcode.NoReg, g.identity(ir.Reduction{Op: x.op, Place: s.Place, At: s.At})
	for u := range g.Unroll {
		v := g.WhereOn(value[u], u, identity, x.t)
		if all == vcode.NoReg {
			all = v
			continue
		}
		both := g.NewVector()
		g.combine(x, both, all, v, g.Width(x.t))
		all = both
	}
	return g.foldLanes(x, all)
}

// sameFolded combines one value for all lanes, by the number of active lanes.
func (g *atomics) sameFolded(s *ir.Atomic, value vcode.Reg) vcode.Reg {
	all, v := g.NewGeneral(), g.NewVector()
	switch s.Op {
	case ir.Add, ir.Sub, ir.Xor:
		g.CountOnes(all, g.ExecBits())
		if s.Op == ir.Xor {
			g.LowestBit(all)
		}
		g.Multiply(all, value)
	default:
		g.Move(all, value)
	}
	g.Normalise(all, s.Place.Type())
	g.BroadcastGeneral(v, all, vector.Container(s.Place.Type()), vcode.W128)
	return v
}

// lockedFold updates one place with the combined values of the active lanes.
func (g *atomics) lockedFold(s *ir.Atomic, x *sum, m vcode.Mem, all vcode.Reg) {
	t, place := s.Place.Type(), vcode.MemArg(m)
	if vector.HasLocked(s) {
		g.UpdateLocked(s, place, g.FirstLane(all, t))
		return
	}
	top, bits, old, next := g.NewLabel(), g.NewGeneral(), g.NewVector(), g.NewVector()
	g.Place(top)
	g.LoadElement(bits, place, t)
	g.BroadcastGeneral(old, bits, vector.Container(t), vcode.W128)
	g.combine(x, next, old, all, vcode.W128)
	r := g.FirstLane(next, t)
	g.ExchangeIf(place, bits, r, t)
	g.retry(top)
}
