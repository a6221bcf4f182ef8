package memory

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Where the instruction set has no gather or scatter, lanes go one after the other, through the
// block's room for vectors.

// LaneIndex is the index of one lane in a general register; the index vector is in the block.
func (g *Moves) LaneIndex(at Target, lane int) vcode.Reg {
	r := g.NewGeneral()
	if at.size4 {
		g.Op(vcode.LoadI32, vcode.W128, vcode.RegArg(r), vcode.MemArg(protocol.LaneRoom(4*lane)))
	} else {
		g.ReadInt(r, vcode.At(vcode.Block, int32(8*(image.WordLanes+lane))))
	}
	return r
}

func (g *Moves) SpreadIndices(at Target, u int) (bits vcode.Reg) {
	isize := 8
	if at.size4 {
		isize = 4
	}
	g.WriteVector(protocol.LaneRoom(0), at.Index[u], vector.WidthOf(g.Lanes*isize))
	if g.Exec == nil {
		return vcode.NoReg
	}
	bits = g.NewGeneral()
	g.MaskBits(bits, g.Exec[u])
	return bits
}

// A laneReader takes the integers out of a vector, lane after lane. They do not go through memory:
// processors are slow in handing parts of what was just stored as a long vector on to loads.
type laneReader struct {
	*Moves
	v    vcode.Reg
	size int
	part vcode.Reg // 16 bytes of v
	pair vcode.Reg // 8 bytes of those
}

func (g *Moves) readLanes(v vcode.Reg, size int) *laneReader {
	return &laneReader{Moves: g, v: v, size: size, part: v}
}

// next is the given lane, with its sign, in a general register: lanes are requested in order, and a
// register may change with the next.
func (r *laneReader) next(lane int) vcode.Reg {
	offset := lane * r.size
	if q := offset / 16; q > 0 && offset%16 == 0 {
		r.part = r.NewVector()
		if r.AVX512 {
			r.Op(vcode.VExtract128Of512, max(vcode.W256, vector.WidthOf(r.Lanes*r.size)), vcode.RegArg(r.part), vcode.RegArg(r.v), vcode.ImmArg(int64(q)))
		} else {
			r.Op(vcode.VExtract128Of256, vcode.W256, vcode.RegArg(r.part), vcode.RegArg(r.v), vcode.ImmArg(int64(q)))
		}
	}
	if offset%8 == 4 {
		r.Op(vcode.ShiftRightSignedImm, vcode.W128, vcode.RegArg(r.pair), vcode.ImmArg(32))
		return r.pair
	}
	x := r.part
	if offset%16 != 0 {
		x = r.NewVector()
		r.Op(vcode.VPermuteWithinI32, vcode.W128, vcode.RegArg(x), vcode.RegArg(r.part), vcode.ImmArg(0x4E))
	}
	r.pair = r.NewGeneral()
	r.Op(vcode.VGetI64, vcode.W128, vcode.RegArg(r.pair), vcode.RegArg(x))
	if r.size == 8 {
		return r.pair
	}
	low := r.NewGeneral()
	r.Op(vcode.LoadI32, vcode.W128, vcode.RegArg(low), vcode.RegArg(r.pair))
	return low
}

// LanesOut calls f with the index of every lane in a general register, where all lanes are on.
func (g *Moves) LanesOut(at Target, u int, f func(lane int, index vcode.Reg)) {
	r := g.readLanes(at.Index[u], at.indexSize())
	for lane := range g.Lanes {
		f(lane, r.next(lane))
	}
}

// gatherOut loads elements of 4 or 8 bytes from anywhere, where all lanes are on.
func (g *Moves) gatherOut(d vcode.Reg, at Target, u int, t *ir.Type) {
	load, low := vector.Pick(t, vcode.LoadF32, vcode.LoadF64), vcode.VInterleaveLowF32
	parts := make([]vcode.Reg, g.Lanes)
	g.LanesOut(at, u, func(lane int, index vcode.Reg) {
		parts[lane] = g.NewVector()
		g.Op(load, vcode.W128, vcode.RegArg(parts[lane]), vcode.MemArg(vcode.Indexed(at.Mem.Base, index, at.Scale, at.Mem.Disp)))
	})
	for ; len(parts) > 1; parts = parts[:len(parts)/2] {
		if len(parts) == 2 && t.Size == 8 || len(parts) == 2 && g.Lanes == 4 {
			low = vcode.VInterleaveLowF64
		}
		for i := range len(parts) / 2 {
			x := g.NewVector()
			g.Op(low, vcode.W128, vcode.RegArg(x), vcode.RegArg(parts[2*i]), vcode.RegArg(parts[2*i+1]))
			parts[i] = x
		}
	}
	g.Move(d, parts[0])
}

// scatterLanes writes elements anywhere, the lanes in order.
func (g *Moves) scatterLanes(at Target, v []vcode.Reg, t *ir.Type) {
	size := vector.Container(t)
	store := func(index, value vcode.Reg) {
		g.Op(vector.LaneStores[int64(t.Size)], vcode.W128, vcode.MemArg(vcode.Indexed(at.Mem.Base, index, at.Scale, at.Mem.Disp)), vcode.RegArg(value))
	}
	g.Each(func(u int) {
		if g.Exec == nil {
			values := g.readLanes(v[u], size)
			g.LanesOut(at, u, func(lane int, index vcode.Reg) { store(index, values.next(lane)) })
			return
		}
		bits := g.SpreadIndices(at, u)
		g.WriteVector(protocol.LaneRoom(64), v[u], vector.WidthOf(g.Lanes*size))
		g.InLanes(bits, func(lane int) {
			index, value := g.LaneIndex(at, lane), g.NewGeneral()
			load := vcode.Load64
			if size == 4 {
				load = vcode.LoadU32
			}
			g.Op(load, vcode.W128, vcode.RegArg(value), vcode.MemArg(protocol.LaneRoom(64+size*lane)))
			store(index, value)
		})
	})
}

// gatherSmall loads elements of one or two bytes from anywhere, each to the upper end of its lane
// where it has a sign.
func (g *Moves) gatherSmall(at Target, t *ir.Type) []vcode.Reg {
	out := make([]vcode.Reg, g.Unroll)
	g.Each(func(u int) {
		at.CheckNow(u)
		l := g.insertLanes(t)
		one := func(lane int, index vcode.Reg) {
			l.insert(lane, vcode.Indexed(at.Mem.Base, index, at.Scale, at.Mem.Disp))
		}
		if g.Exec == nil {
			g.LanesOut(at, u, one)
		} else {
			bits := g.SpreadIndices(at, u)
			g.InLanes(bits, func(lane int) { one(lane, g.LaneIndex(at, lane)) })
		}
		out[u] = l.vector()
	})
	return out
}

// A laneInserter puts elements of one or two bytes into lanes of 32 bits, in registers: what is
// stored in pieces cannot be loaded as a whole for some cycles.
type laneInserter struct {
	*Moves
	t     *ir.Type
	parts []vcode.Reg // 16 bytes each
}

// insertLanes begins with lanes that are 0.
func (g *Moves) insertLanes(t *ir.Type) *laneInserter {
	l := &laneInserter{Moves: g, t: t, parts: make([]vcode.Reg, max(1, g.Lanes/4))}
	zero := g.ConstVector(0, 4)
	for q := range l.parts {
		l.parts[q] = g.Code.NewVector()
		g.Op(vcode.VStoreF32, vcode.W128, vcode.RegArg(l.parts[q]), vcode.RegArg(zero))
	}
	return l
}

func (l *laneInserter) insert(lane int, m vcode.Mem) {
	size, x := int64(l.t.Size), l.parts[lane/4]
	at := int64(lane%4) * 4 / size
	if l.t.IsSigned() {
		at += 4/size - 1
	}
	l.Op(map[int64]vcode.Op{1: vcode.VInsertI8, 2: vcode.VInsertI16}[size], vcode.W128, vcode.RegArg(x), vcode.RegArg(x), vcode.MemArg(m), vcode.ImmArg(at))
}

// vector is what the lanes hold.
func (l *laneInserter) vector() vcode.Reg {
	x, w := l.parts[0], l.Width(l.t)
	for q, part := range l.parts[1:] {
		y, insert := l.Code.NewVector(), vcode.VInsert128Of256
		if l.AVX512 {
			insert = vcode.VInsert128Of512
		}
		l.Op(insert, w, vcode.RegArg(y), vcode.RegArg(x), vcode.RegArg(part), vcode.ImmArg(int64(q+1)))
		x = y
	}
	if l.t.IsSigned() {
		l.Op(vcode.VShiftRightI32, w, vcode.RegArg(x), vcode.RegArg(x), vcode.ImmArg(32-8*int64(l.t.Size)))
	}
	return x
}

// storeSmallLanes writes neighbouring elements of one or two bytes without AVX-512.
func (g *Moves) storeSmallLanes(m vcode.Mem, v vcode.Reg, t *ir.Type, u int) {
	g.WriteVector(protocol.LaneRoom(64), v, vector.WidthOf(g.Lanes*4))
	bits := vcode.NoReg
	if g.Exec != nil {
		bits = g.NewGeneral()
		g.MaskBits(bits, g.Exec[u])
	}
	g.InLanes(bits, func(lane int) {
		value := g.NewGeneral()
		g.Op(vcode.LoadU32, vcode.W128, vcode.RegArg(value), vcode.MemArg(protocol.LaneRoom(64+4*lane)))
		to := m
		to.Disp += int32(lane) * int32(t.Size)
		g.Op(vector.LaneStores[int64(t.Size)], vcode.W128, vcode.MemArg(to), vcode.RegArg(value))
	})
}

// loadSmallLanes loads neighbouring elements of one or two bytes under a mask without AVX-512.
func (g *Moves) loadSmallLanes(d vcode.Reg, m vcode.Mem, t *ir.Type, u int) {
	bits := g.NewGeneral()
	g.MaskBits(bits, g.Exec[u])
	l := g.insertLanes(t)
	g.InLanes(bits, func(lane int) { l.insert(lane, m.Plus(int64(lane)*int64(t.Size))) })
	g.Move(d, l.vector())
}
