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

// lanesOut calls f with the index of every lane in a general register, where all lanes are on. The lanes do not go through memory: processors
// are slow in handing parts of what was just stored as a long vector on to loads.
func (g *gen) lanesOut(at target, u int, f func(lane int, index Reg)) {
	size := 8
	if at.size4 {
		size = 4
	}
	part := at.index[u] // 16 bytes of it
	for lane := 0; lane < g.lanes; lane += 8 / size {
		offset := lane * size
		if q := offset / 16; q > 0 && offset%16 == 0 {
			x := g.vector()
			part = x
			if g.avx512 {
				g.op(VEXTRACTF32X4, max(W256, widthOf(g.lanes*size)), RegArg(x), RegArg(at.index[u]), ImmArg(int64(q)))
			} else {
				g.op(VEXTRACTF128, W256, RegArg(x), RegArg(at.index[u]), ImmArg(int64(q)))
			}
		}
		x := part
		if offset%16 != 0 {
			x = g.vector()
			g.op(VPSHUFD, W128, RegArg(x), RegArg(part), ImmArg(0x4E))
		}
		r := g.general()
		g.op(VMOVQStore, W128, RegArg(r), RegArg(x))
		if size == 8 {
			f(lane, r)
			continue
		}
		low := g.general()
		g.op(MOVLQSX, W128, RegArg(low), RegArg(r))
		f(lane, low)
		if lane+1 < g.lanes {
			g.op(SARQ, W128, RegArg(r), ImmArg(32))
			f(lane+1, r)
		}
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
	g.each(func(u int) {
		bits := g.spreadIndices(at, u)
		g.op(VMOVUPSStore, widthOf(g.lanes*size), MemArg(At(DI, 8*(wordLanes+8))), RegArg(v[u]))
		g.inLanes(bits, func(lane int) {
			index, value := g.laneIndex(at, lane), g.general()
			load := MOVQ
			if size == 4 {
				load = MOVL
			}
			g.op(load, W128, RegArg(value), MemArg(At(DI, int32(8*(wordLanes+8)+size*lane))))
			g.op(laneStores[int64(t.Size)], W128, MemArg(Indexed(at.mem.Base, index, at.scale, at.mem.Disp)), RegArg(value))
		})
	})
}

// gatherSmall loads elements of one or two bytes from anywhere.
func (g *gen) gatherSmall(at target, t *ir.Type) []Reg {
	out := g.vectors(g.unroll)
	g.each(func(u int) {
		bits := g.spreadIndices(at, u)
		g.op(VMOVUPSStore, widthOf(g.lanes*4), MemArg(At(DI, 8*(wordLanes+8))), RegArg(g.constVector(0, 4)))
		g.inLanes(bits, func(lane int) {
			index, value := g.laneIndex(at, lane), g.general()
			g.op(smallLoad(t), W128, RegArg(value), MemArg(Indexed(at.mem.Base, index, at.scale, at.mem.Disp)))
			g.op(MOVLStore, W128, MemArg(At(DI, int32(8*(wordLanes+8)+4*lane))), RegArg(value))
		})
		g.op(VMOVUPS, widthOf(g.lanes*4), RegArg(out[u]), MemArg(At(DI, 8*(wordLanes+8))))
	})
	return out
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
	g.op(VMOVUPSStore, widthOf(g.lanes*4), MemArg(At(DI, 8*(wordLanes+8))), RegArg(g.constVector(0, 4)))
	bits := g.general()
	g.maskBits(bits, g.exec[u])
	g.inLanes(bits, func(lane int) {
		value := g.general()
		from := m
		from.Disp += int32(lane) * int32(t.Size)
		g.op(smallLoad(t), W128, RegArg(value), MemArg(from))
		g.op(MOVLStore, W128, MemArg(At(DI, int32(8*(wordLanes+8)+4*lane))), RegArg(value))
	})
	g.op(VMOVUPS, widthOf(g.lanes*4), RegArg(d), MemArg(At(DI, 8*(wordLanes+8))))
}
