package selection

import (
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// A pairIndex is the second variable of minloc and maxloc: the index of the minimum or maximum.
type pairIndex struct {
	v     *ir.Var
	outer *memory.Home
	inner *memory.Home
	t     *ir.Type
}

// openPair initialises every lane with the pair from before the loop; it is replaced only by a
// better one.
func (g *reductions) openPair(x *sum, r ir.Reduction) {
	ref, ok := r.Index.(*ir.Ref)
	if !ok {
		g.Refuse(r.At, "the index %s of reduction(%s) is a part of something: use a variable", ir.Source(r.Index), r.Op)
	}
	i := &pairIndex{v: ref.Var, outer: g.Home(ref.Var, r.At), t: ref.Var.Type}
	x.inner, i.inner, x.index = g.spreadHome(x.outer, x.t), g.spreadHome(i.outer, i.t), i
	g.Homes[i.v] = i.inner
}

// spreadHome broadcasts a uniform value into vectors or masks.
func (g *reductions) spreadHome(from *memory.Home, t *ir.Type) *memory.Home {
	h := &memory.Home{General: vcode.NoReg, Length: vcode.NoReg}
	if t.Kind == ir.Bool {
		h.Masks = make([]vcode.Reg, g.Unroll)
		all := g.NewMaskRegister()
		none := g.NewLabel()
		g.MaskMove(all, g.MaskNone())
		g.Test(from.General)
		g.Jump(mach.CondE, none)
		g.MaskMove(all, g.MaskAll())
		g.Place(none)
		for u := range h.Masks {
			h.Masks[u] = g.NewMaskRegister()
			g.MaskMove(h.Masks[u], all)
		}
		return h
	}
	h.Vectors = g.NewVectors(g.Unroll)
	g.Each(func(u int) {
		if from.Vectors != nil {
			g.Move(h.Vectors[u], from.Vectors[0])
		} else {
			g.BroadcastGeneral(h.Vectors[u], from.General, vector.Container(t), g.Width(t))
		}
	})
	return h
}

// foldPair replaces the first pairs by those of copy u if these are better.
func (g *reductions) foldPair(x *sum, u int) {
	b := &pair{value: x.inner.Vectors[u]}
	if x.index.t.Kind == ir.Bool {
		b.mask = x.index.inner.Masks[u]
	} else {
		b.index = x.index.inner.Vectors[u]
	}
	g.takeBetter(x, b)
}

// A pair is one vector of values and their indices.
type pair struct{ value, index, mask vcode.Reg }

func (g *reductions) takeBetter(x *sum, b *pair) {
	a, i := x.inner.Vectors[0], x.index
	op := ir.Lt
	if x.op == ir.MaxLoc {
		op = ir.Gt
	}
	m := g.CompareCopy(&ir.Binary{Op: op}, x.t, b.value, a)
	if i.t.IsInteger() { // of equal values, the smallest index
		same := g.CompareCopy(&ir.Binary{Op: ir.Eq}, x.t, b.value, a)
		less := g.CompareCopy(&ir.Binary{Op: ir.Lt}, i.t, b.index, i.inner.Vectors[0])
		m = g.MaskOr(m, g.MaskAnd(same, less))
	}
	g.Blend(a, b.value, m, x.t)
	if i.t.Kind == ir.Bool {
		to := i.inner.Masks[0]
		g.MaskMove(to, g.MaskOr(g.MaskAnd(m, b.mask), g.MaskAndNot(m, to)))
		return
	}
	g.Blend(i.inner.Vectors[0], b.index, m, i.t)
}

// closePair finds the best pair of all lanes, rotating the vectors by halves through the block.
func (g *reductions) closePair(x *sum) {
	i := x.index
	g.Homes[i.v] = i.outer
	for by := g.Lanes / 2; by > 0; by /= 2 {
		b := &pair{value: g.turned(x.inner.Vectors[0], by, x.t)}
		if i.t.Kind == ir.Bool {
			b.mask = g.VectorMask(g.turned(g.MaskVector(i.inner.Masks[0]), by, ir.Int32Type))
		} else {
			b.index = g.turned(i.inner.Vectors[0], by, i.t)
		}
		g.takeBetter(x, b)
	}
	g.setFirst(x.outer, x.inner.Vectors[0], x.t)
	if i.t.Kind == ir.Bool {
		g.MaskBits(vector.Scratch, i.inner.Masks[0])
		g.Copy(i.outer.General, vector.Scratch)
		g.LowestBit(i.outer.General)
		return
	}
	g.setFirst(i.outer, i.inner.Vectors[0], i.t)
}

// turned returns v with its lanes rotated down by some positions.
func (g *reductions) turned(v vcode.Reg, by int, t *ir.Type) vcode.Reg {
	size := vector.Container(t)
	w, d := vector.WidthOf(g.Lanes*size), g.NewVector()
	g.WriteVector(protocol.LaneRoom(0), v, w)
	g.WriteVector(protocol.LaneRoom(g.Lanes*size), v, w)
	g.ReadVector(d, protocol.LaneRoom(by*size), w)
	return d
}

// setFirst moves the first lane of a to the location of a variable.
func (g *reductions) setFirst(h *memory.Home, a vcode.Reg, t *ir.Type) {
	if h.Vectors == nil {
		g.Move(h.General, g.FirstLane(a, t))
		return
	}
	for _, d := range h.Vectors {
		g.BroadcastLane(d, vcode.RegArg(a), t)
	}
}
