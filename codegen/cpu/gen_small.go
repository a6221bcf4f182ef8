package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Elements of one and two bytes lie in lanes of 32 bits. They are stored from the lower ends of
// these, and loaded from constant distances, by instructions that move single bytes within 16 of
// them.

// vecLow is vec where only the bits that an element in memory has are asked for: sums and products
// need not be cut to them on the way.
func (g *gen) vecLow(e ir.Expr) []x86.Reg {
	t := e.Type()
	if !t.IsInteger() || t.Size >= 4 || g.shape(e).Kind != analysis.Varying {
		return g.vec(e)
	}
	w := g.width(t)
	switch e := e.(type) {
	case *ir.Binary:
		p, ok := intOps[e.Op]
		if e.Op == ir.Shl {
			if c, constant := ir.ConstInt(e.Y); constant && c >= 0 && c < 8*int64(t.Size) {
				x := g.vecLow(e.X)
				return g.lift(nil, x, x, func(d, x, _ x86.Reg) { g.Op(x86.VPSLLD, w, x86.RegArg(d), x86.RegArg(x), x86.ImmArg(c)) })
			}
		}
		if ok {
			return g.lift(nil, g.vecLow(e.X), g.vecLow(e.Y), func(d, x, y x86.Reg) { g.Op(p.single, w, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y)) })
		}
	case *ir.Convert:
		from := e.X.Type()
		if !from.IsInteger() {
			break
		}
		if from.Size < 4 && from.Size >= t.Size {
			return g.vecLow(e.X)
		}
		if container(from) == 4 {
			return g.vec(e.X)
		}
		x := g.vec(e.X)
		return g.lift(nil, x, x, func(d, x, _ x86.Reg) { g.lowHalves(d, x) })
	}
	return g.vec(e)
}

// lowHalves takes the lower 32 bits of lanes of 64.
func (g *gen) lowHalves(d, x x86.Reg) {
	if !g.avx512 {
		g.move(d, g.narrowMask(x))
		return
	}
	g.Op(x86.VPMOVQD, widthOf(g.lanes*8), x86.RegArg(d), x86.RegArg(x))
}

// storeSmallTogether writes neighbouring elements of one or two bytes without AVX-512, all of them.
func (g *gen) storeSmallTogether(m x86.Mem, v x86.Reg, t *ir.Type) {
	size, w := int64(t.Size), g.width(t)
	x := g.NewVector()
	g.Op(x86.VPSHUFB, w, x86.RegArg(x), x86.RegArg(v), x86.RegArg(g.Pattern(lowBytes(w.Bytes(), size), 1)))
	if w == x86.W256 {
		high, both := g.NewVector(), g.NewVector()
		g.Op(x86.VEXTRACTF128, x86.W256, x86.RegArg(high), x86.RegArg(x), x86.ImmArg(1))
		g.Op(map[int64]x86.Op{1: x86.VUNPCKLPS, 2: x86.VUNPCKLPD}[size], x86.W128, x86.RegArg(both), x86.RegArg(x), x86.RegArg(high))
		x = both
	}
	store := map[int64]x86.Op{4: x86.VMOVSSStore, 8: x86.VMOVSDStore, 16: x86.VMOVUPSStore}[int64(g.lanes)*size]
	g.Op(store, x86.W128, x86.MemArg(m), x86.RegArg(x))
}

// lowBytes brings the lower size bytes of each 4 together, within 16.
func lowBytes(n int, size int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		at := int64(i % 16)
		out[i] = 0x80
		if at < 4*size {
			out[i] = at/size*4 + at%size
		}
	}
	return out
}

// A smallApart is an access to elements of one or two bytes at a constant distance, four of which
// lie in 16 bytes.
type smallApart struct {
	apart
	span int64 // bytes from the first that a vector has to the last
}

// smallApartOf tells whether an affine access is one.
func (g *gen) smallApartOf(at target, t *ir.Type) (smallApart, bool) {
	size, gap := int64(t.Size), max(at.stride, -at.stride)
	if size >= 4 || 3*gap+size > 16 {
		return smallApart{}, false
	}
	a := smallApart{apart: apart{at: at, t: t, w: g.width(t), gap: gap, turned: at.stride < 0}, span: gap*int64(g.lanes-1) + size}
	far := (gap + 8) * int64(g.lanes*(g.unroll+g.first+1))
	disp := int64(at.mem.Disp)
	return a, a.span >= 8 && at.whole && disp+far == int64(int32(disp+far)) && disp-far == int64(int32(disp-far))
}

// first is the number of the lowest element of the q-th four lanes.
func (g *gen) firstOf(a smallApart, q int) int64 {
	if a.turned {
		q = g.lanes/4 - 1 - q
	}
	return int64(4 * q)
}

// loadSmallApart loads 16 bytes for every four lanes, none of them outside of what the vector has,
// and takes its elements from these.
func (g *gen) loadSmallApart(a smallApart) []x86.Reg {
	out := g.vectors(g.unroll)
	pattern := g.Pattern(g.smallBytes(a), 1)
	g.each(func(u int) {
		g.Op(x86.VPSHUFB, a.w, x86.RegArg(out[u]), x86.RegArg(g.loadSixteens(a, u)), x86.RegArg(pattern))
		if a.t.IsSigned() {
			g.Op(x86.VPSRAD, a.w, x86.RegArg(out[u]), x86.RegArg(out[u]), x86.ImmArg(32-8*int64(a.t.Size)))
		}
		if g.exec != nil {
			g.clearOff(out[u], g.exec[u], a.apart)
		}
	})
	return out
}

// startOf is where the 16 bytes of the q-th four lanes begin; those of fewer bytes begin with their
// first 8, behind which the last 8 lie.
func (g *gen) startOf(a smallApart, q int) int64 {
	return max(0, min(g.firstOf(a, q)*a.gap, a.span-16))
}

// smallBytes says which of 16 bytes goes where in the lanes: to their lower ends, or their upper
// ones, from which a shift fills them with the sign.
func (g *gen) smallBytes(a smallApart) []int64 {
	size := int64(a.t.Size)
	var from []int64
	for lane := range g.lanes {
		first := int64(g.laneOf(a.apart, lane)) * a.gap
		for b := range int64(4) {
			k := b
			if a.t.IsSigned() {
				k -= 4 - size
			}
			at := first + k - g.startOf(a, lane/4)
			switch {
			case k < 0 || k >= size:
				at = 0x80
			case a.span < 16 && at >= 8:
				at += 16 - a.span
			}
			from = append(from, at)
		}
	}
	return from
}

// loadSixteens loads them.
func (g *gen) loadSixteens(a smallApart, u int) x86.Reg {
	m, x := g.lowest(a.apart, u), g.NewVector()
	if a.span < 16 {
		high := g.NewVector()
		g.Op(x86.VMOVSDLoad, x86.W128, x86.RegArg(x), x86.MemArg(m))
		g.Op(x86.VMOVSDLoad, x86.W128, x86.RegArg(high), x86.MemArg(m.Plus(a.span-8)))
		g.Op(x86.VUNPCKLPD, x86.W128, x86.RegArg(x), x86.RegArg(x), x86.RegArg(high))
	} else {
		g.Op(x86.VMOVUPS, x86.W128, x86.RegArg(x), x86.MemArg(m.Plus(g.startOf(a, 0))))
	}
	for q := 1; q < g.lanes/4; q++ {
		from := x86.RegArg(x)
		if a.span >= 16 {
			from = x86.MemArg(m.Plus(g.startOf(a, q)))
		}
		insert := x86.VINSERTF128
		if g.avx512 {
			insert = x86.VINSERTF32X4
		}
		y := g.NewVector()
		g.Op(insert, a.w, x86.RegArg(y), x86.RegArg(x), from, x86.ImmArg(int64(q)))
		x = y
	}
	return x
}
