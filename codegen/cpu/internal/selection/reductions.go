package selection

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/values"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/order"
)

// reductions selects the reductions of loops over lanes, and of the parallel loop of a stage.
type reductions struct{ values.Scalars }

// finishBool combines all lanes with the previous value.
func (g *reductions) finishBool(x *sum) {
	bits, end := x.inner.Masks[0], g.NewLabel()
	if x.op == ir.LAnd {
		bits = g.MaskXor(bits, g.MaskAll())
	}
	g.AnyLane([]vcode.Reg{bits})
	g.Jump(mach.CondE, end)
	g.SetGeneral(x.outer.General, map[bool]int64{true: 0, false: 1}[x.op == ir.LAnd])
	g.Place(end)
}

// repeated returns the identity as 32 or 64 bits filled with elements.
func (g *reductions) repeated(r ir.Reduction, t *ir.Type) uint64 {
	v := g.identity(r)
	switch t.Size {
	case 1:
		return v & 0xFF * 0x01010101
	case 2:
		return v & 0xFFFF * 0x00010001
	}
	return v
}

// openArray allocates a private array for every lane.
func (g *reductions) openArray(x *sum, r ir.Reduction) {
	x.t = x.t.Elem
	if x.t.Kind == ir.Bool {
		g.Refuse(r.At, "a reduction(%s) of an array of bools has no form for lanes: use numbers and & or |", r.Op)
	}
	x.inner = g.ArrayHome(x.v, x.n)
	g.FillArray(x.inner, x.t, x.n, g.ConstVector(g.repeated(r, x.t), max(4, int(x.t.Size))))
}

// closeArray adds the arrays of all lanes to the previous one, element by element.
func (g *reductions) closeArray(x *sum) {
	size := int64(x.t.Size)
	from, to, left := g.NewGeneral(), g.NewGeneral(), g.NewGeneral()
	g.Move(from, x.inner.General)
	g.Move(to, x.outer.General)
	g.SetGeneral(left, x.n)
	top := g.NewLabel()
	g.Place(top)
	a := g.NewVector()
	g.LoadVector(a, vcode.At(from, 0), x.t, 0)
	for u := int64(1); u < x.inner.Per/int64(g.Lanes); u++ {
		b := g.NewVector()
		g.LoadVector(b, vcode.At(from, int32(u*int64(g.Lanes)*size)), x.t, 0)
		g.combine(x, a, a, b, g.Width(x.t))
	}
	a = g.foldLanes(x, a)
	b := g.NewVector()
	g.LoadOne(b, vcode.At(to, 0), x.t)
	g.combine(x, b, b, a, vcode.W128)
	g.StoreOne(vcode.At(to, 0), b, x.t)
	g.PausePoint()
	g.AddConst(from, size*x.inner.Per)
	g.AddConst(to, size)
	g.Decrement(left)
	g.JumpBack(mach.CondNE, top)
}

// A sum is one reduction over the lanes loop: private accumulators while it runs, one value
// afterwards.
type sum struct {
	op    ir.Op
	v     *ir.Var
	outer *memory.Home // the location of the variable outside the loop
	inner *memory.Home // the accumulators
	t     *ir.Type
	index *pairIndex // of minloc and maxloc
	n     int64      // the number of elements of an array; 0 for a scalar
	// For an ordered sum: accumulators of order.Lanes lanes, of which inner has those in use; the
	// sums of the earlier blocks of the group; and the minimum number of iterations of a block.
	all, total []vcode.Reg
	identity   vcode.Reg
	block      int64
	stored     bool // the values of groups are in memory
}

// openReductions allocates the accumulators of every reduction variable, one vector for each
// unrolled copy, and initialises them with the identity.
func (g *reductions) openReductions(s *ir.For) []*sum {
	var out []*sum
	for _, r := range analysis.ReductionsOf(s) {
		ref, ok := r.Place.(*ir.Ref)
		if !ok {
			g.Refuse(r.At, "a reduction of %s, a part of something, has no form for lanes: reduce a variable and store it behind the loop", ir.Source(r.Place))
		}
		x := &sum{op: r.Op, v: ref.Var, outer: g.Home(ref.Var, r.At), t: ref.Var.Type, n: g.Arrays[ref.Var]}
		switch {
		case x.n > 0:
			g.openArray(x, r)
		case r.Index != nil:
			g.openPair(x, r)
		case x.t.Kind == ir.Bool:
			x.inner = &memory.Home{General: vcode.NoReg, Length: vcode.NoReg, Masks: make([]vcode.Reg, g.Unroll)}
			for u := range x.inner.Masks {
				x.inner.Masks[u] = g.NewMaskRegister()
				if r.Op == ir.LAnd {
					g.MaskMove(x.inner.Masks[u], g.MaskAll())
				} else {
					g.MaskMove(x.inner.Masks[u], g.MaskNone())
				}
			}
		default:
			vectors := g.NewVectors(g.Unroll)
			if order.Rounds(r.Op, x.t) {
				vectors = g.NewVectors(order.Lanes / g.Lanes)
				x.all, x.total = vectors, g.NewVectors(len(vectors))
			}
			x.inner = &memory.Home{General: vcode.NoReg, Length: vcode.NoReg, Vectors: vectors}
			identity := g.ConstVector(uint64(image.GeneralIdentity(g.identity(r), x.t)), vector.Container(x.t))
			x.identity, x.block = identity, order.CutOf(r).Block
			for _, a := range vectors {
				g.Move(a, identity)
			}
		}
		g.Homes[ref.Var] = x.inner
		out = append(out, x)
	}
	return out
}

// identity returns the neutral element of the operator.
func (g *reductions) identity(r ir.Reduction) uint64 {
	bits, ok := analysis.Identity(r)
	if !ok {
		g.Refuse(r.At, "reduction(%s) of %s has no form for lanes", r.Op, ir.Source(r.Place))
	}
	return bits
}

// combine selects d = x op y on vectors of width w.
func (g *reductions) combine(x *sum, d, a, b vcode.Reg, w vcode.Width) {
	if !g.Combine(x.op, x.t, d, a, b, w) {
		g.Refuse(x.v.At, "reduction(%s) of %s has no form for lanes", x.op, x.v.Name)
	}
}

// foldSums adds the accumulators of all copies to the first one, as a tree, except those of ordered
// sums.
func (g *reductions) foldSums(sums []*sum) {
	for _, x := range sums {
		switch {
		case x.n > 0 || x.all != nil:
			continue
		case x.index != nil:
			for u := 1; u < len(x.inner.Vectors); u++ {
				g.foldPair(x, u)
			}
			continue
		case x.inner.Masks != nil:
			for _, m := range x.inner.Masks[1:] {
				g.MaskMove(x.inner.Masks[0], g.CombineMasks(x.op, x.inner.Masks[0], m))
			}
			continue
		}
		acc := x.inner.Vectors
		for n := 1; n < len(acc); n *= 2 {
			for i := 0; i+n < len(acc); i += 2 * n {
				g.combine(x, acc[i], acc[i], acc[i+n], g.Width(x.t))
			}
		}
	}
}

// closeReductions combines the lanes and the value from before the loop.
func (g *reductions) closeReductions(sums []*sum) {
	for _, x := range sums {
		g.Homes[x.v] = x.outer
		switch {
		case x.n > 0:
			g.closeArray(x)
		case x.index != nil:
			g.closePair(x)
		case x.inner.Masks != nil:
			g.finishBool(x)
		case x.stored:
		case x.all != nil:
			g.finish(x, g.foldHalves(x, x.all))
		default:
			g.finish(x, g.foldLanes(x, x.inner.Vectors[0]))
		}
	}
}

// foldLanes combines the lanes of a into the first, as a tree.
func (g *reductions) foldLanes(x *sum, a vcode.Reg) vcode.Reg {
	for bytes := g.Lanes * vector.Container(x.t); bytes > vector.Container(x.t); bytes /= 2 {
		h, d := g.NewVector(), g.NewVector()
		g.UpperHalf(h, a, bytes)
		g.combine(x, d, a, h, vector.WidthOf(bytes/2))
		a = d
	}
	return a
}

// finish combines lane 0 with the previous value and stores the result in the variable's location.
func (g *reductions) finish(x *sum, a vcode.Reg) {
	w := g.Width(x.t)
	if x.outer.Vectors != nil {
		all := g.NewVector()
		g.BroadcastLane(all, vcode.RegArg(a), x.t)
		for _, o := range x.outer.Vectors {
			g.combine(x, o, o, all, w)
		}
		return
	}
	v := g.NewVector()
	g.BroadcastGeneral(v, x.outer.General, vector.Container(x.t), vcode.W128)
	g.combine(x, v, v, a, vcode.W128)
	g.FirstLaneTo(x.outer.General, v, x.t)
}
