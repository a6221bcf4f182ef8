package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A pairIndex is the second of the two variables of minloc and maxloc: what belongs to the least or
// largest value.
type pairIndex struct {
	v     *ir.Var
	outer *home
	inner *home
	t     *ir.Type
}

// openPair lets every lane begin with the pair from before the loop: what is not better leaves it
// as it is.
func (g *gen) openPair(x *sum, r ir.Reduction) {
	ref, ok := r.Index.(*ir.Ref)
	if !ok {
		g.refuse(r.At, "the index %s of reduction(%s) is a part of something: use a variable", ir.Source(r.Index), r.Op)
	}
	i := &pairIndex{v: ref.Var, outer: g.home(ref.Var, r.At), t: ref.Var.Type}
	x.inner, i.inner, x.index = g.spreadHome(x.outer, x.t), g.spreadHome(i.outer, i.t), i
	g.homes[i.v] = i.inner
}

// spreadHome makes vectors, or masks, of a value that is one for all.
func (g *gen) spreadHome(from *home, t *ir.Type) *home {
	h := &home{gp: x86.NoReg, length: x86.NoReg}
	if t.Kind == ir.Bool {
		h.masks = make([]x86.Reg, g.unroll)
		all := g.newMask()
		none := g.NewLabel()
		g.maskMove(all, g.maskNone())
		g.Op(x86.TESTQ, x86.W128, x86.RegArg(from.gp), x86.RegArg(from.gp))
		g.Jump(mach.CondE, none)
		g.maskMove(all, g.maskAll())
		g.Place(none)
		for u := range h.masks {
			h.masks[u] = g.newMask()
			g.maskMove(h.masks[u], all)
		}
		return h
	}
	h.vec = g.vectors(g.unroll)
	g.each(func(u int) {
		if from.vec != nil {
			g.move(h.vec[u], from.vec[0])
		} else {
			g.broadcastGeneral(h.vec[u], from.gp, container(t), g.width(t))
		}
	})
	return h
}

// foldPair puts the pairs of copy u into the first where they are better.
func (g *gen) foldPair(x *sum, u int) {
	b := &pair{value: x.inner.vec[u]}
	if x.index.t.Kind == ir.Bool {
		b.mask = x.index.inner.masks[u]
	} else {
		b.index = x.index.inner.vec[u]
	}
	g.takeBetter(x, b)
}

// A pair is one vector of values and what belongs to them.
type pair struct{ value, index, mask x86.Reg }

func (g *gen) takeBetter(x *sum, b *pair) {
	a, i := x.inner.vec[0], x.index
	op := ir.Lt
	if x.op == ir.MaxLoc {
		op = ir.Gt
	}
	m := g.compareCopy(&ir.Binary{Op: op}, x.t, b.value, a)
	if i.t.IsInteger() { // of equals the smallest index
		same := g.compareCopy(&ir.Binary{Op: ir.Eq}, x.t, b.value, a)
		less := g.compareCopy(&ir.Binary{Op: ir.Lt}, i.t, b.index, i.inner.vec[0])
		m = g.maskOr(m, g.maskAnd(same, less))
	}
	g.blend(a, b.value, m, x.t)
	if i.t.Kind == ir.Bool {
		to := i.inner.masks[0]
		g.maskMove(to, g.maskOr(g.maskAnd(m, b.mask), g.maskAndNot(m, to)))
		return
	}
	g.blend(i.inner.vec[0], b.index, m, i.t)
}

// closePair finds the best of all lanes, turning the vectors by halves through the block.
func (g *gen) closePair(x *sum) {
	i := x.index
	g.homes[i.v] = i.outer
	for by := g.lanes / 2; by > 0; by /= 2 {
		b := &pair{value: g.turned(x.inner.vec[0], by, x.t)}
		if i.t.Kind == ir.Bool {
			b.mask = g.vectorMask(g.turned(g.maskVector(i.inner.masks[0]), by, ir.Int32Type))
		} else {
			b.index = g.turned(i.inner.vec[0], by, i.t)
		}
		g.takeBetter(x, b)
	}
	g.setFirst(x.outer, x.inner.vec[0], x.t)
	if i.t.Kind == ir.Bool {
		g.maskBits(x86.AX, i.inner.masks[0])
		g.Op(x86.MOVQStore, x86.W128, x86.RegArg(i.outer.gp), x86.RegArg(x86.AX))
		g.Op(x86.ANDQImm8, x86.W128, x86.RegArg(i.outer.gp), x86.ImmArg(1))
		return
	}
	g.setFirst(i.outer, i.inner.vec[0], i.t)
}

// turned is v with its lanes moved down by some, those that fall out coming in at the top.
func (g *gen) turned(v x86.Reg, by int, t *ir.Type) x86.Reg {
	size := container(t)
	w, d := widthOf(g.lanes*size), g.NewVector()
	g.Op(x86.VMOVUPSStore, w, x86.MemArg(x86.At(x86.DI, 8*image.WordLanes)), x86.RegArg(v))
	g.Op(x86.VMOVUPSStore, w, x86.MemArg(x86.At(x86.DI, int32(8*image.WordLanes+g.lanes*size))), x86.RegArg(v))
	g.Op(x86.VMOVUPS, w, x86.RegArg(d), x86.MemArg(x86.At(x86.DI, int32(8*image.WordLanes+by*size))))
	return d
}

// maskVector holds 0 and 1 in 32-bit lanes, vectorMask what is not 0.
func (g *gen) maskVector(m x86.Reg) x86.Reg {
	d := g.NewVector()
	g.move(d, g.ConstVector(0, 4))
	g.blend(d, g.ConstVector(1, 4), m, ir.Int32Type)
	return d
}

func (g *gen) vectorMask(v x86.Reg) x86.Reg {
	return g.compareCopy(&ir.Binary{Op: ir.Ne}, ir.Int32Type, v, g.ConstVector(0, 4))
}

// setFirst puts the first lane of a where a variable lives.
func (g *gen) setFirst(h *home, a x86.Reg, t *ir.Type) {
	if h.vec == nil {
		g.move(h.gp, g.firstLane(a, t))
		return
	}
	for _, d := range h.vec {
		if t.Size == 8 {
			g.Op(x86.VBROADCASTSD, max(g.width(t), x86.W256), x86.RegArg(d), x86.RegArg(a))
		} else {
			g.Op(x86.VBROADCASTSS, g.width(t), x86.RegArg(d), x86.RegArg(a))
		}
	}
}

func (g *gen) combineMasks(op ir.Op, x, y x86.Reg) x86.Reg {
	if op == ir.LAnd {
		return g.maskAnd(x, y)
	}
	return g.maskOr(x, y)
}

// finishBool combines all lanes with the value from before.
func (g *gen) finishBool(x *sum) {
	bits, end := x.inner.masks[0], g.NewLabel()
	if x.op == ir.LAnd {
		bits = g.maskXor(bits, g.maskAll())
	}
	g.anyLane([]x86.Reg{bits})
	g.Jump(mach.CondE, end)
	g.setGeneral(x.outer.gp, map[bool]int64{true: 0, false: 1}[x.op == ir.LAnd])
	g.Place(end)
}

// repeated is the identity as 32 or 64 bits full of elements.
func (g *gen) repeated(r ir.Reduction, t *ir.Type) uint64 {
	v := g.identity(r)
	switch t.Size {
	case 1:
		return v & 0xFF * 0x01010101
	case 2:
		return v & 0xFFFF * 0x00010001
	}
	return v
}

// openArray gives every lane an array of its own.
func (g *gen) openArray(x *sum, r ir.Reduction) {
	x.t = x.t.Elem
	if x.t.Kind == ir.Bool {
		g.refuse(r.At, "a reduction(%s) of an array of bools has no form for lanes: use numbers and & or |", r.Op)
	}
	x.inner = g.arrayHome(x.v, x.n)
	g.fillArray(x.inner, x.t, x.n, g.ConstVector(g.repeated(r, x.t), max(4, int(x.t.Size))))
}

// closeArray adds the arrays of all lanes to that from before, element by element.
func (g *gen) closeArray(x *sum) {
	size := int64(x.t.Size)
	from, to, left := g.NewGeneral(), g.NewGeneral(), g.NewGeneral()
	g.move(from, x.inner.gp)
	g.move(to, x.outer.gp)
	g.setGeneral(left, x.n)
	top := g.NewLabel()
	g.Place(top)
	a := g.NewVector()
	g.loadVector(a, x86.At(from, 0), x.t, 0)
	for u := int64(1); u < x.inner.per/int64(g.lanes); u++ {
		b := g.NewVector()
		g.loadVector(b, x86.At(from, int32(u*int64(g.lanes)*size)), x.t, 0)
		g.combine(x, a, a, b, g.width(x.t))
	}
	a = g.foldLanes(x, a)
	b := g.NewVector()
	g.loadOne(b, x86.At(to, 0), x.t)
	g.combine(x, b, b, a, x86.W128)
	g.storeOne(x86.At(to, 0), b, x.t)
	g.pausePoint()
	g.addConst(from, size*x.inner.per)
	g.addConst(to, size)
	g.Op(x86.ADDQImm8, x86.W128, x86.RegArg(left), x86.ImmArg(-1))
	g.JumpBack(mach.CondNE, top)
}

// loadOne and storeOne move one element between memory and the first lane.
func (g *gen) loadOne(d x86.Reg, m x86.Mem, t *ir.Type) {
	switch {
	case t.Size == 8:
		g.Op(x86.VMOVSDLoad, x86.W128, x86.RegArg(d), x86.MemArg(m))
	case t.Size == 4:
		g.Op(x86.VMOVSSLoad, x86.W128, x86.RegArg(d), x86.MemArg(m))
	default:
		r := g.NewGeneral()
		g.Op(smallLoad(t), x86.W128, x86.RegArg(r), x86.MemArg(m))
		g.Op(x86.VMOVD, x86.W128, x86.RegArg(d), x86.RegArg(r))
	}
}

func (g *gen) storeOne(m x86.Mem, v x86.Reg, t *ir.Type) {
	switch {
	case t.Size == 8:
		g.Op(x86.VMOVSDStore, x86.W128, x86.MemArg(m), x86.RegArg(v))
	case t.Size == 4:
		g.Op(x86.VMOVSSStore, x86.W128, x86.MemArg(m), x86.RegArg(v))
	default:
		r := g.NewGeneral()
		g.Op(x86.VMOVDStore, x86.W128, x86.RegArg(r), x86.RegArg(v))
		g.Op(laneStores[int64(t.Size)], x86.W128, x86.MemArg(m), x86.RegArg(r))
	}
}
