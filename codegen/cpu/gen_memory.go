package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// load loads an element in every lane, as a value of type t (that of e, or uint8 for a bool).
func (g *gen) load(e ir.Expr, t *ir.Type) []x86.Reg {
	if !t.IsScalar() {
		g.refuse(e.Pos(), "loading a %s as a whole is not supported yet in vector code", t)
	}
	at := g.target(e)
	switch {
	case at.index != nil:
		return g.gather(at, t)
	case at.stride == 0:
		d := g.NewVector()
		g.loadBroadcast(d, at.mem, t)
		return g.same(d)
	case at.stride == int64(t.Size):
		out := g.vectors(g.unroll)
		g.each(func(u int) {
			if t.Size < 4 && !g.avx512 && g.exec != nil && at.whole {
				g.loadSmallWhole(out[u], g.copyMem(at, u), t, g.exec[u])
				return
			}
			g.loadVector(out[u], g.copyMem(at, u), t, u)
		})
		return out
	}
	if a, ok := g.smallApartOf(at, t); ok {
		return g.loadSmallApart(a)
	}
	if a, ok := g.apartOf(at, t); ok && at.whole {
		return g.loadApart(a)
	}
	return g.gather(g.strided(at, t, e), t)
}

// loadBroadcast fills a vector with one element.
func (g *gen) loadBroadcast(d x86.Reg, m x86.Mem, t *ir.Type) {
	w := g.width(t)
	switch t.Size {
	case 8:
		g.Op(x86.VBROADCASTSD, max(w, x86.W256), x86.RegArg(d), x86.MemArg(m))
	case 4:
		g.Op(x86.VBROADCASTSS, w, x86.RegArg(d), x86.MemArg(m))
	default:
		r := g.NewGeneral()
		g.Op(smallLoad(t), x86.W128, x86.RegArg(r), x86.MemArg(m))
		g.broadcastGeneral(d, r, 4, w)
	}
}

func smallLoad(t *ir.Type) x86.Op {
	switch {
	case t.Size == 1 && t.IsSigned():
		return x86.MOVBQSX
	case t.Size == 1:
		return x86.MOVBLZX
	case t.IsSigned():
		return x86.MOVWQSX
	}
	return x86.MOVWLZX
}

// loadVector loads neighbouring elements; lanes that are off are not read.
func (g *gen) loadVector(d x86.Reg, m x86.Mem, t *ir.Type, u int) {
	w := g.width(t)
	if t.Size < 4 {
		g.loadSmall(d, m, t, u)
		return
	}
	if g.exec == nil {
		g.Op(pick(t, x86.VMOVUPS, x86.VMOVUPD), w, x86.RegArg(d), x86.MemArg(m))
		return
	}
	if g.avx512 {
		g.Emit(x86.I(pick(t, x86.VMOVUPS, x86.VMOVUPD), w, x86.RegArg(d), x86.MemArg(m)).Masked(g.exec[u], true))
		return
	}
	g.Op(pick(t, x86.VMASKMOVPSLoad, x86.VMASKMOVPDLoad), w, x86.RegArg(d), x86.RegArg(g.maskFor(g.exec[u], t)), x86.MemArg(m))
}

// loadSmall widens 1- and 2-byte elements to 32 bits a lane.
func (g *gen) loadSmall(d x86.Reg, m x86.Mem, t *ir.Type, u int) {
	in := x86.I(widening(t), g.width(t), x86.RegArg(d), x86.MemArg(m))
	if g.exec != nil {
		if !g.avx512 {
			g.loadSmallLanes(d, m, t, u)
			return
		}
		in = in.Masked(g.exec[u], true)
	}
	g.Emit(in)
}

// loadSmallWhole loads all lanes, where lanes that are off may be read, and makes those 0.
func (g *gen) loadSmallWhole(d x86.Reg, m x86.Mem, t *ir.Type, exec x86.Reg) {
	w := g.width(t)
	g.Op(widening(t), w, x86.RegArg(d), x86.MemArg(m))
	g.Op(x86.VPAND, w, x86.RegArg(d), x86.RegArg(d), x86.RegArg(g.maskFor(exec, t)))
}

// widening makes 32-bit lanes of elements of one or two bytes.
func widening(t *ir.Type) x86.Op {
	if t.Size == 2 {
		return map[bool]x86.Op{true: x86.VPMOVSXWD, false: x86.VPMOVZXWD}[t.IsSigned()]
	}
	return map[bool]x86.Op{true: x86.VPMOVSXBD, false: x86.VPMOVZXBD}[t.IsSigned()]
}

// strided turns an affine access with gaps into a gather with computed indices.
func (g *gen) strided(at target, t *ir.Type, e ir.Expr) target {
	size := 8
	if g.lanes*8 > g.bytes {
		size = 4
		if at.stride*int64(g.lanes) != int64(int32(at.stride*int64(g.lanes))) {
			g.refuse(e.Pos(), "the stride is too large")
		}
	}
	iota := g.iotaVector(at.stride, size)
	at.index = make([]x86.Reg, g.unroll)
	base := g.NewGeneral()
	g.Op(x86.LEAQ, x86.W128, x86.RegArg(base), x86.MemArg(at.mem))
	at.mem, at.size4, at.scale = x86.At(base, 0), size == 4, 1
	g.each(func(u int) {
		at.index[u] = iota
		if u > 0 {
			at.index[u] = g.NewVector()
			add := map[int]x86.Op{4: x86.VPADDD, 8: x86.VPADDQ}[size]
			g.Op(add, widthOf(g.lanes*size), x86.RegArg(at.index[u]), x86.RegArg(iota),
				x86.RegArg(g.ConstVector(uint64(int64(u*g.lanes)*at.stride), size)))
		}
	})
	return at
}

// gatherOp chooses by index and element size.
func gatherOp(size4 bool, t *ir.Type, avx512 bool) x86.Op {
	table := map[[2]bool][2]x86.Op{
		{true, true}:   {x86.VGATHERDPS, x86.VGATHERDPSAVX},
		{true, false}:  {x86.VGATHERDPD, x86.VGATHERDPDAVX},
		{false, true}:  {x86.VGATHERQPS, x86.VGATHERQPSAVX},
		{false, false}: {x86.VGATHERQPD, x86.VGATHERQPDAVX},
	}
	ops := table[[2]bool{size4, t.Size == 4}]
	if avx512 {
		return ops[0]
	}
	return ops[1]
}

// gather loads elements from anywhere; lanes that are off are not read.
func (g *gen) gather(at target, t *ir.Type) []x86.Reg {
	if t.Size < 4 {
		return g.gatherSmall(at, t)
	}
	isize := 8
	if at.size4 {
		isize = 4
	}
	w := widthOf(g.lanes * max(isize, container(t)))
	out := g.vectors(g.unroll)
	g.walksRows = g.walksRows || g.inLoopOfLanes()
	one := func(u int) {
		// The mask is consumed, and the destination keeps what lanes that are off held: zero, not
		// garbage from a false dependence.
		m := g.newMask()
		if g.exec != nil {
			g.maskMove(m, g.maskFor(g.exec[u], t))
		} else {
			g.maskMove(m, g.maskAll())
		}
		g.move(out[u], g.ConstVector(0, container(t)))
		mem := x86.MemArg(x86.Indexed(at.mem.Base, at.index[u], at.scale, at.mem.Disp))
		if g.avx512 {
			g.Emit(x86.I(gatherOp(at.size4, t, true), w, x86.RegArg(out[u]), mem).Masked(m, false))
			return
		}
		g.Op(gatherOp(at.size4, t, false), w, x86.RegArg(out[u]), mem, x86.RegArg(m))
	}
	g.each(func(u int) {
		if !g.mayBeEven(at, t) && !g.walksEvenly(at, t) {
			at.checkNow(u)
			one(u)
			return
		}
		g.evenly(at, u, func(m x86.Mem) { g.loadVector(out[u], m, t, u) }, func() { one(u) })
	})
	return out
}

// inLoopOfLanes tells whether a loop inside that over lanes is selected.
func (g *gen) inLoopOfLanes() bool {
	for i := len(g.loops) - 1; i >= 0 && g.shapes != nil && g.loops[i].counter != g.shapes.Lane; i-- {
		if g.loops[i].kind != labelledBlock {
			return true
		}
	}
	return false
}

// checkNow makes the check of copy u that was left for who knows whether the lanes are neighbours.
func (at target) checkNow(u int) {
	if at.check != nil {
		at.check(u)
	}
}

// mayBeEven tells the accesses that are worth a look at whether their elements are neighbours: all
// lanes are on, and fill a vector.
func (g *gen) mayBeEven(at target, t *ir.Type) bool { return g.exec == nil && g.fillsEvenly(at, t) }

func (g *gen) fillsEvenly(at target, t *ir.Type) bool {
	return at.even && int64(at.scale) == int64(t.Size) && t.Size >= 4 && g.lanes*int(t.Size) == g.width(t).Bytes()
}

// walksEvenly tells such loads in a loop that lanes leave one by one, as a rule together: each
// walks a row, and the rows begin side by side.
func (g *gen) walksEvenly(at target, t *ir.Type) bool {
	return g.prefix == x86.NoReg && len(g.loops) > 0 && g.loops[len(g.loops)-1].varying && g.fillsEvenly(at, t)
}

// store writes a value of every lane that is on.
func (g *gen) store(place ir.Expr, value ir.Expr) {
	t := place.Type()
	if !t.IsScalar() {
		g.refuse(place.Pos(), "storing a %s as a whole is not supported yet in vector code", t)
	}
	s := g.shape(analysis.PlaceIndex(place))
	if s.Kind == analysis.Uniform && !g.laneOwned(place) {
		g.storeUniform(place, value)
		return
	}
	var v []x86.Reg
	if t.Kind == ir.Bool {
		v = g.boolVector(value)
		t = ir.Uint8Type
	} else {
		v = g.vecLow(value)
	}
	at := g.target(place)
	switch {
	case at.index == nil && at.stride == int64(t.Size):
		if ix, ok := place.(*ir.Index); ok {
			if p, ok := g.goesPast(ix); ok && g.width(t) == widthOf(g.bytes) {
				g.pastStores = append(g.pastStores, p)
				g.each(func(u int) {
					g.Op(pick(t, x86.VMOVNTPSStore, x86.VMOVNTPDStore), g.width(t), x86.MemArg(g.copyMem(at, u)), x86.RegArg(v[u]))
				})
				return
			}
		}
		g.each(func(u int) { g.storeVector(g.copyMem(at, u), v[u], t, u) })
		return
	case at.index == nil:
		if a, ok := g.apartOf(at, t); ok && g.storeApart(a, v) {
			return
		}
		at = g.strided(at, t, place)
	}
	g.scatter(at, v, t)
}

// laneOwned tells the elements of arrays that every lane has for itself.
func (g *gen) laneOwned(place ir.Expr) bool {
	ix, ok := place.(*ir.Index)
	return ok && g.shape(ix.X).Kind == analysis.Varying
}

// boolVector makes 0 and 1 of a condition, in 32-bit lanes.
func (g *gen) boolVector(e ir.Expr) []x86.Reg {
	masks := g.masksOf(e)
	one, zero := g.ConstVector(1, 4), g.ConstVector(0, 4)
	out := g.vectors(g.unroll)
	g.each(func(u int) {
		g.move(out[u], zero)
		g.blend(out[u], one, masks[u], ir.Int32Type)
	})
	return out
}

// storeUniform writes one element for all lanes: only right where the lanes agree, as outside the
// lanes loop.
func (g *gen) storeUniform(place, value ir.Expr) {
	if g.shapes != nil {
		g.refuse(place.Pos(), "every iteration writes %s: write a reduction, or make it atomic", ir.Source(place))
	}
	t := place.Type()
	m := g.scalarAddress(place)
	if t.IsFloat() {
		v := g.vec(value)[0]
		g.Op(map[bool]x86.Op{true: x86.VMOVSSStore, false: x86.VMOVSDStore}[t.Size == 4], x86.W128, x86.MemArg(m), x86.RegArg(v))
		return
	}
	if g.single && g.updateInPlace(m, place, value) {
		return
	}
	op := map[int64]x86.Op{1: x86.MOVBStore, 2: x86.MOVWStore, 4: x86.MOVLStore, 8: x86.MOVQStore}[int64(t.Size)]
	g.Op(op, x86.W128, x86.MemArg(m), x86.RegArg(g.gpLow(value)))
}

func (g *gen) storeVector(m x86.Mem, v x86.Reg, t *ir.Type, u int) {
	w := g.width(t)
	if t.Size < 4 {
		g.storeSmall(m, v, t, u)
		return
	}
	if g.exec == nil {
		g.Op(pick(t, x86.VMOVUPSStore, x86.VMOVUPDStore), w, x86.MemArg(m), x86.RegArg(v))
		return
	}
	if g.avx512 {
		g.Emit(x86.I(pick(t, x86.VMOVUPSStore, x86.VMOVUPDStore), w, x86.MemArg(m), x86.RegArg(v)).Masked(g.exec[u], false))
		return
	}
	g.Op(pick(t, x86.VMASKMOVPSStore, x86.VMASKMOVPDStore), w, x86.MemArg(m), x86.RegArg(g.maskFor(g.exec[u], t)), x86.RegArg(v))
}

func (g *gen) storeSmall(m x86.Mem, v x86.Reg, t *ir.Type, u int) {
	if !g.avx512 && g.exec == nil {
		g.storeSmallTogether(m, v, t)
		return
	}
	if !g.avx512 {
		g.storeSmallLanes(m, v, t, u)
		return
	}
	op := x86.VPMOVDB
	if t.Size == 2 {
		op = x86.VPMOVDW
	}
	in := x86.I(op, g.width(t), x86.MemArg(m), x86.RegArg(v))
	if g.exec != nil {
		in = in.Masked(g.exec[u], false)
	}
	g.Emit(in)
}

// scatter writes elements anywhere.
func (g *gen) scatter(at target, v []x86.Reg, t *ir.Type) {
	if g.mayBeEven(at, t) {
		all := g.unroll
		g.each(func(u int) {
			one := at
			one.even, one.index, one.known, one.check = false, at.index[u:u+1], nil, nil
			g.evenly(at, u, func(m x86.Mem) { g.storeVector(m, v[u], t, u) }, func() {
				g.unroll = 1
				g.scatter(one, v[u:u+1], t)
				g.unroll = all
			})
		})
		return
	}
	g.each(func(u int) { at.checkNow(u) })
	if !g.avx512 || t.Size < 4 {
		g.scatterLanes(at, v, t)
		return
	}
	isize := 8
	if at.size4 {
		isize = 4
	}
	w := widthOf(g.lanes * max(isize, container(t)))
	op := map[[2]bool]x86.Op{{true, true}: x86.VSCATTERDPS, {true, false}: x86.VSCATTERDPD, {false, true}: x86.VSCATTERQPS, {false, false}: x86.VSCATTERQPD}[[2]bool{at.size4, t.Size == 4}]
	g.each(func(u int) {
		m := g.newMask()
		if g.exec != nil {
			g.maskMove(m, g.exec[u])
		} else {
			g.maskMove(m, g.maskAll())
		}
		g.Emit(x86.I(op, w, x86.MemArg(x86.Indexed(at.mem.Base, at.index[u], at.scale, at.mem.Disp)), x86.RegArg(v[u])).Masked(m, false))
	})
}
