package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A sum is one reduction over the lanes loop: private accumulators while it runs, one value after.
type sum struct {
	op    ir.Op
	v     *ir.Var
	outer *home // the variable outside the loop
	inner *home // the accumulators
	t     *ir.Type
	index *pairIndex // of minloc and maxloc
	n     int64      // elements of an array; 0: it is none
}

// openReductions gives every reduction variable accumulators, one vector a copy, set to the
// identity.
func (g *gen) openReductions(s *ir.For) []*sum {
	var out []*sum
	for _, r := range analysis.ReductionsOf(s) {
		ref, ok := r.Place.(*ir.Ref)
		if !ok {
			g.refuse(r.At, "a reduction of %s, a part of something, has no form for lanes: reduce a variable and store it behind the loop", ir.Source(r.Place))
		}
		x := &sum{op: r.Op, v: ref.Var, outer: g.home(ref.Var, r.At), t: ref.Var.Type, n: g.arrays[ref.Var]}
		switch {
		case x.n > 0:
			g.openArray(x, r)
		case r.Index != nil:
			g.openPair(x, r)
		case x.t.Kind == ir.Bool:
			x.inner = &home{gp: x86.NoReg, length: x86.NoReg, masks: make([]x86.Reg, g.unroll)}
			for u := range x.inner.masks {
				x.inner.masks[u] = g.newMask()
				if r.Op == ir.LAnd {
					g.maskMove(x.inner.masks[u], g.maskAll())
				} else {
					g.maskMove(x.inner.masks[u], g.maskNone())
				}
			}
		default:
			x.inner = &home{gp: x86.NoReg, length: x86.NoReg, vec: g.vectors(g.unroll)}
			identity := g.ConstVector(uint64(image.GeneralIdentity(g.identity(r), x.t)), container(x.t))
			for _, a := range x.inner.vec {
				g.move(a, identity)
			}
		}
		g.homes[ref.Var] = x.inner
		out = append(out, x)
	}
	return out
}

// identity is the value that changes nothing under the operator.
func (g *gen) identity(r ir.Reduction) uint64 {
	bits, ok := analysis.Identity(r)
	if !ok {
		g.refuse(r.At, "reduction(%s) of %s has no form for lanes", r.Op, ir.Source(r.Place))
	}
	return bits
}

// combine is d = x op y on vectors of width w.
func (g *gen) combine(x *sum, d, a, b x86.Reg, w x86.Width) {
	switch x.op {
	case ir.Min, ir.Max:
		g.minMax(d, a, b, x.op == ir.Min, x.t, w)
		return
	}
	table := intOps
	if x.t.IsFloat() {
		table = floatOps
	}
	p, ok := table[x.op]
	if !ok {
		g.refuse(x.v.At, "reduction(%s) of %s has no form for lanes", x.op, x.v.Name)
	}
	op := p.of(x.t)
	if op == x86.VPMULLQ && !g.avx512 {
		g.seriesOf(ir.Int64Type, w).MulLong(d, a, b)
		return
	}
	g.Op(op, w, x86.RegArg(d), x86.RegArg(a), x86.RegArg(b))
	if x.t.Size < 4 && (x.op == ir.Add || x.op == ir.Mul) {
		g.wrapWidth(d, x.t, w)
	}
}

// foldSums adds the accumulators of all copies into the first, as a tree.
func (g *gen) foldSums(sums []*sum) {
	for _, x := range sums {
		switch {
		case x.n > 0:
			continue
		case x.index != nil:
			for u := 1; u < len(x.inner.vec); u++ {
				g.foldPair(x, u)
			}
			continue
		case x.inner.masks != nil:
			for _, m := range x.inner.masks[1:] {
				g.maskMove(x.inner.masks[0], g.combineMasks(x.op, x.inner.masks[0], m))
			}
			continue
		}
		acc := x.inner.vec
		for n := 1; n < len(acc); n *= 2 {
			for i := 0; i+n < len(acc); i += 2 * n {
				g.combine(x, acc[i], acc[i], acc[i+n], g.width(x.t))
			}
		}
	}
}

// closeReductions adds up the lanes and the value from before the loop.
func (g *gen) closeReductions(sums []*sum) {
	for _, x := range sums {
		g.homes[x.v] = x.outer
		switch {
		case x.n > 0:
			g.closeArray(x)
		case x.index != nil:
			g.closePair(x)
		case x.inner.masks != nil:
			g.finishBool(x)
		default:
			g.finish(x, g.foldLanes(x, x.inner.vec[0]))
		}
	}
}

// foldLanes combines the lanes of a into the first, as a tree.
func (g *gen) foldLanes(x *sum, a x86.Reg) x86.Reg {
	for bytes := g.lanes * container(x.t); bytes > container(x.t); bytes /= 2 {
		h, d := g.NewVector(), g.NewVector()
		g.upperHalf(h, a, bytes)
		g.combine(x, d, a, h, widthOf(bytes/2))
		a = d
	}
	return a
}

// upperHalf moves the upper half of the first bytes of a to the front.
func (g *gen) upperHalf(h, a x86.Reg, bytes int) {
	switch {
	case bytes == 64:
		g.Op(x86.VEXTRACTF64X4, x86.W512, x86.RegArg(h), x86.RegArg(a), x86.ImmArg(1))
	case bytes == 32 && g.avx512:
		g.Op(x86.VEXTRACTF32X4, x86.W256, x86.RegArg(h), x86.RegArg(a), x86.ImmArg(1))
	case bytes == 32:
		g.Op(x86.VEXTRACTF128, x86.W256, x86.RegArg(h), x86.RegArg(a), x86.ImmArg(1))
	case bytes == 16:
		g.Op(x86.VPSHUFD, x86.W128, x86.RegArg(h), x86.RegArg(a), x86.ImmArg(0x4E))
	default:
		g.Op(x86.VPSHUFD, x86.W128, x86.RegArg(h), x86.RegArg(a), x86.ImmArg(0xB1))
	}
}

// finish combines lane 0 with the value from before and puts it where the variable lives.
func (g *gen) finish(x *sum, a x86.Reg) {
	w := g.width(x.t)
	if x.outer.vec != nil {
		all := g.NewVector()
		if x.t.Size == 8 {
			g.Op(x86.VBROADCASTSD, max(w, x86.W256), x86.RegArg(all), x86.RegArg(a))
		} else {
			g.Op(x86.VBROADCASTSS, w, x86.RegArg(all), x86.RegArg(a))
		}
		for _, o := range x.outer.vec {
			g.combine(x, o, o, all, w)
		}
		return
	}
	v := g.NewVector()
	g.broadcastGeneral(v, x.outer.gp, container(x.t), x86.W128)
	g.combine(x, v, v, a, x86.W128)
	if x.t.Size == 8 {
		g.Op(x86.VMOVQStore, x86.W128, x86.RegArg(x.outer.gp), x86.RegArg(v))
	} else {
		g.Op(x86.VMOVDStore, x86.W128, x86.RegArg(x.outer.gp), x86.RegArg(v))
		g.normalise(x.outer.gp, x.t)
	}
}
