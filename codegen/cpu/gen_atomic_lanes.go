package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Atomic updates of neighbouring places, or of one place, need not run lane by lane. In a stage
// that has its data to itself they are plain vector instructions. In a locked stage (locks.go)
// other workers update the same data, and only an update of one place of integers is made for all
// lanes at once.

// atomicTogether selects an update of places that differ in all lanes, or that is one place of
// integers, for all lanes at once; false where the places are others.
func (g *gen) atomicTogether(s *ir.Atomic) bool {
	ix, ok := s.Place.(*ir.Index)
	if !ok || s.Kind != ir.AtomicUpdate || s.Old != nil || ix.X.Type().Kind != ir.Slice || g.shape(ix.X).Kind != analysis.Uniform || g.laneOwned(s.Place) {
		return false
	}
	switch sh := g.shape(ix.I); {
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
func (g *gen) plainUpdate(s *ir.Atomic) {
	steps := analysis.InSteps(s, -1000-len(g.homes))
	for _, st := range steps {
		if d, ok := st.(*ir.Decl); ok {
			g.shapes.Of[d.Var], g.shapes.Inside[d.Var] = analysis.Shape{Kind: analysis.Varying}, true
		}
	}
	g.list(steps)
}

// foldedUpdate puts the values of the lanes that are on together, and updates the place once, where
// there is one.
func (g *gen) foldedUpdate(s *ir.Atomic) {
	t, x := s.Place.Type(), &sum{op: analysis.Combined(s.Op), t: s.Place.Type()}
	value := func() x86.Reg { return g.sameFolded(s, g.gp(s.Value)) }
	if g.shape(s.Value).Kind != analysis.Uniform {
		lanes := g.vec(s.Value)
		value = func() x86.Reg { return g.lanesFolded(x, s, lanes) }
	}
	at := g.target(s.Place)
	skip := g.NewLabel()
	if g.exec != nil {
		g.anyLane(g.exec)
		g.Jump(mach.CondE, skip)
	}
	all := value()
	x.op = s.Op
	if g.locked {
		g.lockedFold(s, x, at.mem, all)
		g.Place(skip)
		return
	}
	r, old := g.NewGeneral(), g.NewVector()
	g.Op(elementLoad(t), x86.W128, x86.RegArg(r), x86.MemArg(at.mem))
	g.broadcastGeneral(old, r, container(t), x86.W128)
	g.combine(x, old, old, all, x86.W128)
	g.Op(laneStores[int64(t.Size)], x86.W128, x86.MemArg(at.mem), x86.RegArg(g.firstLane(old, t)))
	g.Place(skip)
}

// lanesFolded is what the lanes that are on make of their values together, in lane 0.
func (g *gen) lanesFolded(x *sum, s *ir.Atomic, value []x86.Reg) x86.Reg {
	all, identity := x86.NoReg, g.identity(ir.Reduction{Op: x.op, Place: s.Place, At: s.At})
	for u := range g.unroll {
		v := g.whereOn(value[u], u, identity, x.t)
		if all == x86.NoReg {
			all = v
			continue
		}
		both := g.NewVector()
		g.combine(x, both, all, v, g.width(x.t))
		all = both
	}
	return g.foldLanes(x, all)
}

// sameFolded is that of one value for all lanes, by how many are on.
func (g *gen) sameFolded(s *ir.Atomic, value x86.Reg) x86.Reg {
	all, v := g.NewGeneral(), g.NewVector()
	switch s.Op {
	case ir.Add, ir.Sub, ir.Xor:
		g.Op(x86.POPCNTQ, x86.W128, x86.RegArg(all), x86.RegArg(g.execBits()))
		if s.Op == ir.Xor {
			g.Op(x86.ANDQImm8, x86.W128, x86.RegArg(all), x86.ImmArg(1))
		}
		g.Op(x86.IMULQ, x86.W128, x86.RegArg(all), x86.RegArg(value))
	default:
		g.move(all, value)
	}
	g.normalise(all, s.Place.Type())
	g.broadcastGeneral(v, all, container(s.Place.Type()), x86.W128)
	return v
}

// whereOn is v, with the given bits in the lanes that are off.
func (g *gen) whereOn(v x86.Reg, u int, off uint64, t *ir.Type) x86.Reg {
	if g.exec == nil {
		return v
	}
	d := g.NewVector()
	g.move(d, g.ConstVector(off, container(t)))
	g.blend(d, v, g.exec[u], t)
	return d
}

// elementLoad brings an integer into a general register.
func elementLoad(t *ir.Type) x86.Op {
	switch {
	case t.Size == 8:
		return x86.MOVQ
	case t.Size == 4:
		return x86.MOVL
	}
	return smallLoad(t)
}
