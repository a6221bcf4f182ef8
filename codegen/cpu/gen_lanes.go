package cpu

import "github.com/gompss/gompss/codegen/ir"

// Where the instruction set has no gather or scatter, lanes go one after the other, through the block's room for vectors.

// laneIndex is the index of one lane in a general register; the index vector is in the block.
func (g *gen) laneIndex(at target, lane int) Reg {
	r := g.general()
	if at.size4 {
		g.op(MOVLQSX, W128, RegArg(r), MemArg(At(DI, int32(8*wordLanes+4*lane))))
	} else {
		g.op(MOVQ, W128, RegArg(r), MemArg(At(DI, int32(8*(wordLanes+lane)))))
	}
	return r
}

func (g *gen) spreadIndices(at target, u int) (bits Reg) {
	isize := 8
	if at.size4 {
		isize = 4
	}
	g.op(VMOVUPSStore, widthOf(g.lanes*isize), MemArg(At(DI, 8*wordLanes)), RegArg(at.index[u]))
	if g.exec == nil {
		return NoReg
	}
	bits = g.general()
	g.maskBits(bits, g.exec[u])
	return bits
}

// A laneReader takes the integers out of a vector, lane after lane. They do not go through memory: processors are slow in handing parts of what was
// just stored as a long vector on to loads.
type laneReader struct {
	*gen
	v    Reg
	size int
	part Reg // 16 bytes of v
	pair Reg // 8 bytes of those
}

func (g *gen) readLanes(v Reg, size int) *laneReader {
	return &laneReader{gen: g, v: v, size: size, part: v}
}

// next is the given lane, with its sign, in a general register: lanes are asked for in order, and a register may change with the next.
func (r *laneReader) next(lane int) Reg {
	offset := lane * r.size
	if q := offset / 16; q > 0 && offset%16 == 0 {
		r.part = r.vector()
		if r.avx512 {
			r.op(VEXTRACTF32X4, max(W256, widthOf(r.lanes*r.size)), RegArg(r.part), RegArg(r.v), ImmArg(int64(q)))
		} else {
			r.op(VEXTRACTF128, W256, RegArg(r.part), RegArg(r.v), ImmArg(int64(q)))
		}
	}
	if offset%8 == 4 {
		r.op(SARQ, W128, RegArg(r.pair), ImmArg(32))
		return r.pair
	}
	x := r.part
	if offset%16 != 0 {
		x = r.vector()
		r.op(VPSHUFD, W128, RegArg(x), RegArg(r.part), ImmArg(0x4E))
	}
	r.pair = r.general()
	r.op(VMOVQStore, W128, RegArg(r.pair), RegArg(x))
	if r.size == 8 {
		return r.pair
	}
	low := r.general()
	r.op(MOVLQSX, W128, RegArg(low), RegArg(r.pair))
	return low
}

func (t target) indexSize() int {
	if t.size4 {
		return 4
	}
	return 8
}

// lanesOut calls f with the index of every lane in a general register, where all lanes are on.
func (g *gen) lanesOut(at target, u int, f func(lane int, index Reg)) {
	r := g.readLanes(at.index[u], at.indexSize())
	for lane := range g.lanes {
		f(lane, r.next(lane))
	}
}

// inLanes calls f for every lane, which is stepped over where it is off.
func (g *gen) inLanes(bits Reg, f func(lane int)) {
	for lane := range g.lanes {
		skip := g.newLabel()
		if bits != NoReg {
			g.op(MOVQStore, W128, RegArg(CX), RegArg(bits))
			g.op(ANDQImm, W128, RegArg(CX), ImmArg(1<<lane))
			g.jump(condE, skip)
		}
		f(lane)
		g.place(skip)
	}
}

var laneStores = map[int64]Op{1: MOVBStore, 2: MOVWStore, 4: MOVLStore, 8: MOVQStore}

// scatterLanes writes elements anywhere, the lanes in order.
func (g *gen) scatterLanes(at target, v []Reg, t *ir.Type) {
	size := container(t)
	store := func(index, value Reg) {
		g.op(laneStores[int64(t.Size)], W128, MemArg(Indexed(at.mem.Base, index, at.scale, at.mem.Disp)), RegArg(value))
	}
	g.each(func(u int) {
		if g.exec == nil {
			values := g.readLanes(v[u], size)
			g.lanesOut(at, u, func(lane int, index Reg) { store(index, values.next(lane)) })
			return
		}
		bits := g.spreadIndices(at, u)
		g.op(VMOVUPSStore, widthOf(g.lanes*size), MemArg(At(DI, 8*(wordLanes+8))), RegArg(v[u]))
		g.inLanes(bits, func(lane int) {
			index, value := g.laneIndex(at, lane), g.general()
			load := MOVQ
			if size == 4 {
				load = MOVL
			}
			g.op(load, W128, RegArg(value), MemArg(At(DI, int32(8*(wordLanes+8)+size*lane))))
			store(index, value)
		})
	})
}

// gatherSmall loads elements of one or two bytes from anywhere, each to the upper end of its lane where it has a sign.
func (g *gen) gatherSmall(at target, t *ir.Type) []Reg {
	out := make([]Reg, g.unroll)
	g.each(func(u int) {
		g.checkNow(at, u)
		l := g.insertLanes(t)
		one := func(lane int, index Reg) { l.insert(lane, Indexed(at.mem.Base, index, at.scale, at.mem.Disp)) }
		if g.exec == nil {
			g.lanesOut(at, u, one)
		} else {
			bits := g.spreadIndices(at, u)
			g.inLanes(bits, func(lane int) { one(lane, g.laneIndex(at, lane)) })
		}
		out[u] = l.vector()
	})
	return out
}

// A laneInserter puts elements of one or two bytes into lanes of 32 bits, in registers: what is stored in pieces is not there for a while for who
// loads it as a whole.
type laneInserter struct {
	*gen
	t     *ir.Type
	parts []Reg // 16 bytes each
}

// insertLanes begins with lanes that are 0.
func (g *gen) insertLanes(t *ir.Type) *laneInserter {
	l := &laneInserter{gen: g, t: t, parts: make([]Reg, max(1, g.lanes/4))}
	zero := g.constVector(0, 4)
	for q := range l.parts {
		l.parts[q] = g.vcode.vector()
		g.op(VMOVUPSStore, W128, RegArg(l.parts[q]), RegArg(zero))
	}
	return l
}

func (l *laneInserter) insert(lane int, m Mem) {
	size, x := int64(l.t.Size), l.parts[lane/4]
	at := int64(lane%4) * 4 / size
	if l.t.IsSigned() {
		at += 4/size - 1
	}
	l.op(map[int64]Op{1: VPINSRB, 2: VPINSRW}[size], W128, RegArg(x), RegArg(x), MemArg(m), ImmArg(at))
}

// vector is what the lanes hold.
func (l *laneInserter) vector() Reg {
	x, w := l.parts[0], l.width(l.t)
	for q, part := range l.parts[1:] {
		y, insert := l.vcode.vector(), VINSERTF128
		if l.avx512 {
			insert = VINSERTF32X4
		}
		l.op(insert, w, RegArg(y), RegArg(x), RegArg(part), ImmArg(int64(q+1)))
		x = y
	}
	if l.t.IsSigned() {
		l.op(VPSRAD, w, RegArg(x), RegArg(x), ImmArg(32-8*int64(l.t.Size)))
	}
	return x
}

// storeSmallLanes writes neighbouring elements of one or two bytes without AVX-512.
func (g *gen) storeSmallLanes(m Mem, v Reg, t *ir.Type, u int) {
	g.op(VMOVUPSStore, widthOf(g.lanes*4), MemArg(At(DI, 8*(wordLanes+8))), RegArg(v))
	bits := NoReg
	if g.exec != nil {
		bits = g.general()
		g.maskBits(bits, g.exec[u])
	}
	g.inLanes(bits, func(lane int) {
		value := g.general()
		g.op(MOVL, W128, RegArg(value), MemArg(At(DI, int32(8*(wordLanes+8)+4*lane))))
		to := m
		to.Disp += int32(lane) * int32(t.Size)
		g.op(laneStores[int64(t.Size)], W128, MemArg(to), RegArg(value))
	})
}

// loadSmallLanes loads neighbouring elements of one or two bytes under a mask without AVX-512.
func (g *gen) loadSmallLanes(d Reg, m Mem, t *ir.Type, u int) {
	bits := g.general()
	g.maskBits(bits, g.exec[u])
	l := g.insertLanes(t)
	g.inLanes(bits, func(lane int) { l.insert(lane, m.plus(int64(lane)*int64(t.Size))) })
	g.move(d, l.vector())
}
