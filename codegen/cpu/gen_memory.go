package cpu

import "github.com/gompss/gompss/codegen/ir"

// load loads an element in every lane, as a value of type t (that of e, or uint8 for a bool).
func (g *gen) load(e ir.Expr, t *ir.Type) []Reg {
	if !t.IsScalar() {
		g.refuse(e.Pos(), "loading a %s as a whole is not supported yet in vector code", t)
	}
	at := g.target(e)
	switch {
	case at.index != nil:
		return g.gather(at, t)
	case at.stride == 0:
		d := g.vector()
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
func (g *gen) loadBroadcast(d Reg, m Mem, t *ir.Type) {
	w := g.width(t)
	switch t.Size {
	case 8:
		g.op(VBROADCASTSD, max(w, W256), RegArg(d), MemArg(m))
	case 4:
		g.op(VBROADCASTSS, w, RegArg(d), MemArg(m))
	default:
		r := g.general()
		g.op(smallLoad(t), W128, RegArg(r), MemArg(m))
		g.broadcastGeneral(d, r, 4, w)
	}
}

func smallLoad(t *ir.Type) Op {
	switch {
	case t.Size == 1 && t.IsSigned():
		return MOVBQSX
	case t.Size == 1:
		return MOVBLZX
	case t.IsSigned():
		return MOVWQSX
	}
	return MOVWLZX
}

// loadVector loads neighbouring elements; lanes that are off are not read.
func (g *gen) loadVector(d Reg, m Mem, t *ir.Type, u int) {
	w := g.width(t)
	if t.Size < 4 {
		g.loadSmall(d, m, t, u)
		return
	}
	if g.exec == nil {
		g.op(pick(t, VMOVUPS, VMOVUPD), w, RegArg(d), MemArg(m))
		return
	}
	if g.avx512 {
		g.emit(I(pick(t, VMOVUPS, VMOVUPD), w, RegArg(d), MemArg(m)).Masked(g.exec[u], true))
		return
	}
	g.op(pick(t, VMASKMOVPSLoad, VMASKMOVPDLoad), w, RegArg(d), RegArg(g.maskFor(g.exec[u], t)), MemArg(m))
}

// loadSmall widens 1- and 2-byte elements to 32 bits a lane.
func (g *gen) loadSmall(d Reg, m Mem, t *ir.Type, u int) {
	in := I(widening(t), g.width(t), RegArg(d), MemArg(m))
	if g.exec != nil {
		if !g.avx512 {
			g.loadSmallLanes(d, m, t, u)
			return
		}
		in = in.Masked(g.exec[u], true)
	}
	g.emit(in)
}

// loadSmallWhole loads all lanes, where lanes that are off may be read, and makes those 0.
func (g *gen) loadSmallWhole(d Reg, m Mem, t *ir.Type, exec Reg) {
	w := g.width(t)
	g.op(widening(t), w, RegArg(d), MemArg(m))
	g.op(VPAND, w, RegArg(d), RegArg(d), RegArg(g.maskFor(exec, t)))
}

// widening makes 32-bit lanes of elements of one or two bytes.
func widening(t *ir.Type) Op {
	if t.Size == 2 {
		return map[bool]Op{true: VPMOVSXWD, false: VPMOVZXWD}[t.IsSigned()]
	}
	return map[bool]Op{true: VPMOVSXBD, false: VPMOVZXBD}[t.IsSigned()]
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
	at.index = make([]Reg, g.unroll)
	base := g.general()
	g.op(LEAQ, W128, RegArg(base), MemArg(at.mem))
	at.mem, at.size4, at.scale = At(base, 0), size == 4, 1
	g.each(func(u int) {
		at.index[u] = iota
		if u > 0 {
			at.index[u] = g.vector()
			add := map[int]Op{4: VPADDD, 8: VPADDQ}[size]
			g.op(add, widthOf(g.lanes*size), RegArg(at.index[u]), RegArg(iota),
				RegArg(g.constVector(uint64(int64(u*g.lanes)*at.stride), size)))
		}
	})
	return at
}

// gatherOp chooses by index and element size.
func gatherOp(size4 bool, t *ir.Type, avx512 bool) Op {
	table := map[[2]bool][2]Op{
		{true, true}:   {VGATHERDPS, VGATHERDPSAVX},
		{true, false}:  {VGATHERDPD, VGATHERDPDAVX},
		{false, true}:  {VGATHERQPS, VGATHERQPSAVX},
		{false, false}: {VGATHERQPD, VGATHERQPDAVX},
	}
	ops := table[[2]bool{size4, t.Size == 4}]
	if avx512 {
		return ops[0]
	}
	return ops[1]
}

// gather loads elements from anywhere; lanes that are off are not read.
func (g *gen) gather(at target, t *ir.Type) []Reg {
	if t.Size < 4 {
		return g.gatherSmall(at, t)
	}
	isize := 8
	if at.size4 {
		isize = 4
	}
	w := widthOf(g.lanes * max(isize, container(t)))
	out := g.vectors(g.unroll)
	one := func(u int) {
		// The mask is consumed, and the destination keeps what lanes that are off held: zero, not garbage from a false dependence.
		m := g.newMask()
		if g.exec != nil {
			g.maskMove(m, g.maskForGather(g.exec[u], t))
		} else {
			g.maskMove(m, g.maskAll())
		}
		g.move(out[u], g.constVector(0, container(t)))
		mem := MemArg(Indexed(at.mem.Base, at.index[u], at.scale, at.mem.Disp))
		if g.avx512 {
			g.emit(I(gatherOp(at.size4, t, true), w, RegArg(out[u]), mem).Masked(m, false))
			return
		}
		g.op(gatherOp(at.size4, t, false), w, RegArg(out[u]), mem, RegArg(m))
	}
	g.each(func(u int) {
		if !g.mayBeEven(at, t) && !g.walksEvenly(at, t) {
			g.checkNow(at, u)
			one(u)
			return
		}
		g.evenly(at, u, func(m Mem) { g.loadVector(out[u], m, t, u) }, func() { one(u) })
	})
	return out
}

// checkNow makes the check of copy u that was left for who knows whether the lanes are neighbours.
func (g *gen) checkNow(at target, u int) {
	if at.check != nil {
		at.check(u)
	}
}

// mayBeEven tells the accesses that are worth a look at whether their elements are neighbours: all lanes are on, and fill a vector.
func (g *gen) mayBeEven(at target, t *ir.Type) bool { return g.exec == nil && g.fillsEvenly(at, t) }

func (g *gen) fillsEvenly(at target, t *ir.Type) bool {
	return at.even && int64(at.scale) == int64(t.Size) && t.Size >= 4 && g.lanes*int(t.Size) == g.width(t).Bytes()
}

// walksEvenly tells such loads in a loop that lanes leave one by one, as a rule together: each walks a row, and the rows begin side by side.
func (g *gen) walksEvenly(at target, t *ir.Type) bool {
	return g.prefix == NoReg && len(g.loops) > 0 && g.loops[len(g.loops)-1].varying && g.fillsEvenly(at, t)
}

func (g *gen) maskForGather(m Reg, t *ir.Type) Reg { return g.maskFor(m, t) }

// store writes a value of every lane that is on.
func (g *gen) store(place ir.Expr, value ir.Expr) {
	t := place.Type()
	if !t.IsScalar() {
		g.refuse(place.Pos(), "storing a %s as a whole is not supported yet in vector code", t)
	}
	s := g.shape(placeIndex(place))
	if s.kind == uniform && !g.laneOwned(place) {
		g.storeUniform(place, value)
		return
	}
	var v []Reg
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
					g.op(pick(t, VMOVNTPSStore, VMOVNTPDStore), g.width(t), MemArg(g.copyMem(at, u)), RegArg(v[u]))
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
	return ok && g.shape(ix.X).kind == varying
}

// placeIndex is an expression that differs between lanes as the place does.
func placeIndex(place ir.Expr) ir.Expr {
	switch p := place.(type) {
	case *ir.Index:
		if p.X.Type().Kind == ir.Slice {
			return p.I
		}
		if _, ok := constInt(p.I); !ok {
			return &ir.Binary{Op: ir.Add, X: toInt(placeIndex(p.X)), Y: toInt(p.I), T: ir.IntType, At: p.At}
		}
		return placeIndex(p.X)
	case *ir.Member:
		return placeIndex(p.X)
	}
	return nil
}

// boolVector makes 0 and 1 of a condition, in 32-bit lanes.
func (g *gen) boolVector(e ir.Expr) []Reg {
	masks := g.masksOf(e)
	one, zero := g.constVector(1, 4), g.constVector(0, 4)
	out := g.vectors(g.unroll)
	g.each(func(u int) {
		g.move(out[u], zero)
		g.blend(out[u], one, masks[u], ir.Int32Type)
	})
	return out
}

// storeUniform writes one element for all lanes: only right where the lanes agree, as outside the lanes loop.
func (g *gen) storeUniform(place, value ir.Expr) {
	if g.shapes != nil {
		g.refuse(place.Pos(), "every iteration writes %s: write a reduction, or make it atomic", ir.Source(place))
	}
	t := place.Type()
	m := g.scalarAddress(place)
	if t.IsFloat() {
		v := g.vec(value)[0]
		g.op(map[bool]Op{true: VMOVSSStore, false: VMOVSDStore}[t.Size == 4], W128, MemArg(m), RegArg(v))
		return
	}
	if g.single && g.updateInPlace(m, place, value) {
		return
	}
	op := map[int64]Op{1: MOVBStore, 2: MOVWStore, 4: MOVLStore, 8: MOVQStore}[int64(t.Size)]
	g.op(op, W128, MemArg(m), RegArg(g.gpLow(value)))
}

func (g *gen) storeVector(m Mem, v Reg, t *ir.Type, u int) {
	w := g.width(t)
	if t.Size < 4 {
		g.storeSmall(m, v, t, u)
		return
	}
	if g.exec == nil {
		g.op(pick(t, VMOVUPSStore, VMOVUPDStore), w, MemArg(m), RegArg(v))
		return
	}
	if g.avx512 {
		g.emit(I(pick(t, VMOVUPSStore, VMOVUPDStore), w, MemArg(m), RegArg(v)).Masked(g.exec[u], false))
		return
	}
	g.op(pick(t, VMASKMOVPSStore, VMASKMOVPDStore), w, MemArg(m), RegArg(g.maskFor(g.exec[u], t)), RegArg(v))
}

func (g *gen) storeSmall(m Mem, v Reg, t *ir.Type, u int) {
	if !g.avx512 && g.exec == nil {
		g.storeSmallTogether(m, v, t)
		return
	}
	if !g.avx512 {
		g.storeSmallLanes(m, v, t, u)
		return
	}
	op := VPMOVDB
	if t.Size == 2 {
		op = VPMOVDW
	}
	in := I(op, g.width(t), MemArg(m), RegArg(v))
	if g.exec != nil {
		in = in.Masked(g.exec[u], false)
	}
	g.emit(in)
}

// scatter writes elements anywhere.
func (g *gen) scatter(at target, v []Reg, t *ir.Type) {
	if g.mayBeEven(at, t) {
		all := g.unroll
		g.each(func(u int) {
			one := at
			one.even, one.index, one.known, one.check = false, at.index[u:u+1], nil, nil
			g.evenly(at, u, func(m Mem) { g.storeVector(m, v[u], t, u) }, func() {
				g.unroll = 1
				g.scatter(one, v[u:u+1], t)
				g.unroll = all
			})
		})
		return
	}
	g.each(func(u int) { g.checkNow(at, u) })
	if !g.avx512 || t.Size < 4 {
		g.scatterLanes(at, v, t)
		return
	}
	isize := 8
	if at.size4 {
		isize = 4
	}
	w := widthOf(g.lanes * max(isize, container(t)))
	op := map[[2]bool]Op{{true, true}: VSCATTERDPS, {true, false}: VSCATTERDPD, {false, true}: VSCATTERQPS, {false, false}: VSCATTERQPD}[[2]bool{at.size4, t.Size == 4}]
	g.each(func(u int) {
		m := g.newMask()
		if g.exec != nil {
			g.maskMove(m, g.exec[u])
		} else {
			g.maskMove(m, g.maskAll())
		}
		g.emit(I(op, w, MemArg(Indexed(at.mem.Base, at.index[u], at.scale, at.mem.Disp)), RegArg(v[u])).Masked(m, false))
	})
}
