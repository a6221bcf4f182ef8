package selection

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// atomics are atomic updates.
type atomics struct {
	laneByLane
	locked   bool  // other workers update what this stage updates by atomics
	straight int64 // about how many instructions of the body came since the last pause point
}

// atomic updates a place, lane by lane: in a few instructions where that is all, else as plain
// code. Where one goroutine runs the loop, or each has copies of what is updated, updates need no
// lock; the form for several goroutines is in locked.go.
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

// Atomic updates of neighbouring places, or of one place, need not run lane by lane. In a stage
// that has its data to itself they are plain vector instructions. In a locked stage
// other workers update the same data, and only an update of one place of integers is made for all
// lanes at once.

// atomicTogether selects an update of places that differ in all lanes, or that is one place of
// integers, for all lanes at once; false where the places are others.
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

// plainUpdate is an update of places that no other lane has: a read, an operation and a write.
func (g *atomics) plainUpdate(s *ir.Atomic) {
	steps := analysis.InSteps(s, -1000-len(g.Homes))
	for _, st := range steps {
		if d, ok := st.(*ir.Decl); ok {
			g.Shapes.Of[d.Var], g.Shapes.Inside[d.Var] = analysis.Shape{Kind: analysis.Varying}, true
		}
	}
	g.list(steps)
}

// foldedUpdate puts the values of the lanes that are on together, and updates the place once, where
// there is one.
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

// lanesFolded is what the lanes that are on make of their values together, in lane 0.
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

// sameFolded is that of one value for all lanes, by how many are on.
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

// lockedFold updates one place by what the lanes that are on make together.
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
