package memory

import (
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// storeSmallTogether writes neighbouring elements of one or two bytes without AVX-512, all of them.
func (g *Strided) storeSmallTogether(m vcode.Mem, v vcode.Reg, t *ir.Type) {
	size, w := int64(t.Size), g.Width(t)
	x := g.NewVector()
	g.Op(vcode.VPermuteWithinI8, w, vcode.RegArg(x), vcode.RegArg(v), vcode.RegArg(g.Pattern(lowBytes(w.Bytes(), size), 1)))
	if w == vcode.W256 {
		high, both := g.NewVector(), g.NewVector()
		g.Op(vcode.VExtract128Of256, vcode.W256, vcode.RegArg(high), vcode.RegArg(x), vcode.ImmArg(1))
		g.Op(map[int64]vcode.Op{1: vcode.VInterleaveLowF32, 2: vcode.VInterleaveLowF64}[size], vcode.W128, vcode.RegArg(both), vcode.RegArg(x), vcode.RegArg(high))
		x = both
	}
	if int64(g.Lanes)*size == 2 {
		r := g.NewGeneral()
		g.Op(vcode.VGetI32, vcode.W128, vcode.RegArg(r), vcode.RegArg(x))
		g.Op(vcode.Store16, vcode.W128, vcode.MemArg(m), vcode.RegArg(r))
		return
	}
	store := map[int64]vcode.Op{4: vcode.StoreF32, 8: vcode.StoreF64, 16: vcode.VStoreF32}[int64(g.Lanes)*size]
	g.Op(store, vcode.W128, vcode.MemArg(m), vcode.RegArg(x))
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
	Apart
	span int64 // bytes from the first that a vector has to the last
}

// smallApartOf reports whether an affine access is one.
func (g *Strided) smallApartOf(at Target, t *ir.Type) (smallApart, bool) {
	size, gap := int64(t.Size), max(at.Stride, -at.Stride)
	if size >= 4 || 3*gap+size > 16 || g.Lanes < 4 {
		return smallApart{}, false
	}
	a := smallApart{Apart: Apart{At: at, T: t, W: g.Width(t), gap: gap, turned: at.Stride < 0}, span: gap*int64(g.Lanes-1) + size}
	far := (gap + 8) * int64(g.Lanes*(g.Unroll+g.First+1))
	disp := int64(at.Mem.Disp)
	return a, a.span >= 8 && at.whole && disp+far == int64(int32(disp+far)) && disp-far == int64(int32(disp-far))
}

// firstOf is the number of the lowest element of the q-th four lanes.
func (g *Strided) firstOf(a smallApart, q int) int64 {
	if a.turned {
		q = g.Lanes/4 - 1 - q
	}
	return int64(4 * q)
}

// loadSmallApart loads 16 bytes for every four lanes, none of them outside of what the vector has,
// and takes its elements from these.
func (g *Strided) loadSmallApart(a smallApart) []vcode.Reg {
	out := g.NewVectors(g.Unroll)
	pattern := g.Pattern(g.smallBytes(a), 1)
	g.Each(func(u int) {
		g.Op(vcode.VPermuteWithinI8, a.W, vcode.RegArg(out[u]), vcode.RegArg(g.loadSixteens(a, u)), vcode.RegArg(pattern))
		if a.T.IsSigned() {
			g.Op(vcode.VShiftRightI32, a.W, vcode.RegArg(out[u]), vcode.RegArg(out[u]), vcode.ImmArg(32-8*int64(a.T.Size)))
		}
		if g.Exec != nil {
			g.clearOff(out[u], g.Exec[u], a.Apart)
		}
	})
	return out
}

// startOf is where the 16 bytes of the q-th four lanes begin; those of fewer bytes begin with their
// first 8, behind which the last 8 lie.
func (g *Strided) startOf(a smallApart, q int) int64 {
	return max(0, min(g.firstOf(a, q)*a.gap, a.span-16))
}

// smallBytes says which of 16 bytes goes where in the lanes: to their lower ends, or their upper
// ones, from which a shift fills them with the sign.
func (g *Strided) smallBytes(a smallApart) []int64 {
	size := int64(a.T.Size)
	var from []int64
	for lane := range g.Lanes {
		first := int64(g.laneOf(a.Apart, lane)) * a.gap
		for b := range int64(4) {
			k := b
			if a.T.IsSigned() {
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
func (g *Strided) loadSixteens(a smallApart, u int) vcode.Reg {
	m, x := g.lowest(a.Apart, u), g.NewVector()
	if a.span < 16 {
		high := g.NewVector()
		g.Op(vcode.LoadF64, vcode.W128, vcode.RegArg(x), vcode.MemArg(m))
		g.Op(vcode.LoadF64, vcode.W128, vcode.RegArg(high), vcode.MemArg(m.Plus(a.span-8)))
		g.Op(vcode.VInterleaveLowF64, vcode.W128, vcode.RegArg(x), vcode.RegArg(x), vcode.RegArg(high))
	} else {
		g.ReadVector(x, m.Plus(g.startOf(a, 0)), vcode.W128)
	}
	for q := 1; q < g.Lanes/4; q++ {
		from := vcode.RegArg(x)
		if a.span >= 16 {
			from = vcode.MemArg(m.Plus(g.startOf(a, q)))
		}
		insert := vcode.VInsert128Of256
		if g.AVX512 {
			insert = vcode.VInsert128Of512
		}
		y := g.NewVector()
		g.Op(insert, a.W, vcode.RegArg(y), vcode.RegArg(x), from, vcode.ImmArg(int64(q)))
		x = y
	}
	return x
}
