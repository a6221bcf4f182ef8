package memory

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Where the instruction set has no gather or scatter, lanes go one after the other, through the
// block's room for vectors.

// LaneIndex is the index of one lane in a general register; the index vector is in the block.
func (g *Moves) LaneIndex(at Target, lane int) x86.Reg {
	r := g.NewGeneral()
	if at.size4 {
		g.Op(x86.MOVLQSX, x86.W128, x86.RegArg(r), x86.MemArg(protocol.LaneRoom(4*lane)))
	} else {
		g.ReadInt(r, x86.At(x86.DI, int32(8*(image.WordLanes+lane))))
	}
	return r
}

func (g *Moves) SpreadIndices(at Target, u int) (bits x86.Reg) {
	isize := 8
	if at.size4 {
		isize = 4
	}
	g.WriteVector(protocol.LaneRoom(0), at.Index[u], vector.WidthOf(g.Lanes*isize))
	if g.Exec == nil {
		return x86.NoReg
	}
	bits = g.NewGeneral()
	g.MaskBits(bits, g.Exec[u])
	return bits
}

// A laneReader takes the integers out of a vector, lane after lane. They do not go through memory:
// processors are slow in handing parts of what was just stored as a long vector on to loads.
type laneReader struct {
	*Moves
	v    x86.Reg
	size int
	part x86.Reg // 16 bytes of v
	pair x86.Reg // 8 bytes of those
}

func (g *Moves) readLanes(v x86.Reg, size int) *laneReader {
	return &laneReader{Moves: g, v: v, size: size, part: v}
}

// next is the given lane, with its sign, in a general register: lanes are requested in order, and a
// register may change with the next.
func (r *laneReader) next(lane int) x86.Reg {
	offset := lane * r.size
	if q := offset / 16; q > 0 && offset%16 == 0 {
		r.part = r.NewVector()
		if r.AVX512 {
			r.Op(x86.VEXTRACTF32X4, max(x86.W256, vector.WidthOf(r.Lanes*r.size)), x86.RegArg(r.part), x86.RegArg(r.v), x86.ImmArg(int64(q)))
		} else {
			r.Op(x86.VEXTRACTF128, x86.W256, x86.RegArg(r.part), x86.RegArg(r.v), x86.ImmArg(int64(q)))
		}
	}
	if offset%8 == 4 {
		r.Op(x86.SARQ, x86.W128, x86.RegArg(r.pair), x86.ImmArg(32))
		return r.pair
	}
	x := r.part
	if offset%16 != 0 {
		x = r.NewVector()
		r.Op(x86.VPSHUFD, x86.W128, x86.RegArg(x), x86.RegArg(r.part), x86.ImmArg(0x4E))
	}
	r.pair = r.NewGeneral()
	r.Op(x86.VMOVQStore, x86.W128, x86.RegArg(r.pair), x86.RegArg(x))
	if r.size == 8 {
		return r.pair
	}
	low := r.NewGeneral()
	r.Op(x86.MOVLQSX, x86.W128, x86.RegArg(low), x86.RegArg(r.pair))
	return low
}

// LanesOut calls f with the index of every lane in a general register, where all lanes are on.
func (g *Moves) LanesOut(at Target, u int, f func(lane int, index x86.Reg)) {
	r := g.readLanes(at.Index[u], at.indexSize())
	for lane := range g.Lanes {
		f(lane, r.next(lane))
	}
}

// gatherOut loads elements of 4 or 8 bytes from anywhere, where all lanes are on.
func (g *Moves) gatherOut(d x86.Reg, at Target, u int, t *ir.Type) {
	load, low := vector.Pick(t, x86.VMOVSSLoad, x86.VMOVSDLoad), x86.VUNPCKLPS
	parts := make([]x86.Reg, g.Lanes)
	g.LanesOut(at, u, func(lane int, index x86.Reg) {
		parts[lane] = g.NewVector()
		g.Op(load, x86.W128, x86.RegArg(parts[lane]), x86.MemArg(x86.Indexed(at.Mem.Base, index, at.Scale, at.Mem.Disp)))
	})
	for ; len(parts) > 1; parts = parts[:len(parts)/2] {
		if len(parts) == 2 && t.Size == 8 || len(parts) == 2 && g.Lanes == 4 {
			low = x86.VUNPCKLPD
		}
		for i := range len(parts) / 2 {
			x := g.NewVector()
			g.Op(low, x86.W128, x86.RegArg(x), x86.RegArg(parts[2*i]), x86.RegArg(parts[2*i+1]))
			parts[i] = x
		}
	}
	g.Move(d, parts[0])
}

// scatterLanes writes elements anywhere, the lanes in order.
func (g *Moves) scatterLanes(at Target, v []x86.Reg, t *ir.Type) {
	size := vector.Container(t)
	store := func(index, value x86.Reg) {
		g.Op(vector.LaneStores[int64(t.Size)], x86.W128, x86.MemArg(x86.Indexed(at.Mem.Base, index, at.Scale, at.Mem.Disp)), x86.RegArg(value))
	}
	g.Each(func(u int) {
		if g.Exec == nil {
			values := g.readLanes(v[u], size)
			g.LanesOut(at, u, func(lane int, index x86.Reg) { store(index, values.next(lane)) })
			return
		}
		bits := g.SpreadIndices(at, u)
		g.WriteVector(protocol.LaneRoom(64), v[u], vector.WidthOf(g.Lanes*size))
		g.InLanes(bits, func(lane int) {
			index, value := g.LaneIndex(at, lane), g.NewGeneral()
			load := x86.MOVQ
			if size == 4 {
				load = x86.MOVL
			}
			g.Op(load, x86.W128, x86.RegArg(value), x86.MemArg(protocol.LaneRoom(64+size*lane)))
			store(index, value)
		})
	})
}

// gatherSmall loads elements of one or two bytes from anywhere, each to the upper end of its lane
// where it has a sign.
func (g *Moves) gatherSmall(at Target, t *ir.Type) []x86.Reg {
	out := make([]x86.Reg, g.Unroll)
	g.Each(func(u int) {
		at.CheckNow(u)
		l := g.insertLanes(t)
		one := func(lane int, index x86.Reg) { l.insert(lane, x86.Indexed(at.Mem.Base, index, at.Scale, at.Mem.Disp)) }
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
	parts []x86.Reg // 16 bytes each
}

// insertLanes begins with lanes that are 0.
func (g *Moves) insertLanes(t *ir.Type) *laneInserter {
	l := &laneInserter{Moves: g, t: t, parts: make([]x86.Reg, max(1, g.Lanes/4))}
	zero := g.ConstVector(0, 4)
	for q := range l.parts {
		l.parts[q] = g.Code.NewVector()
		g.Op(x86.VMOVUPSStore, x86.W128, x86.RegArg(l.parts[q]), x86.RegArg(zero))
	}
	return l
}

func (l *laneInserter) insert(lane int, m x86.Mem) {
	size, x := int64(l.t.Size), l.parts[lane/4]
	at := int64(lane%4) * 4 / size
	if l.t.IsSigned() {
		at += 4/size - 1
	}
	l.Op(map[int64]x86.Op{1: x86.VPINSRB, 2: x86.VPINSRW}[size], x86.W128, x86.RegArg(x), x86.RegArg(x), x86.MemArg(m), x86.ImmArg(at))
}

// vector is what the lanes hold.
func (l *laneInserter) vector() x86.Reg {
	x, w := l.parts[0], l.Width(l.t)
	for q, part := range l.parts[1:] {
		y, insert := l.Code.NewVector(), x86.VINSERTF128
		if l.AVX512 {
			insert = x86.VINSERTF32X4
		}
		l.Op(insert, w, x86.RegArg(y), x86.RegArg(x), x86.RegArg(part), x86.ImmArg(int64(q+1)))
		x = y
	}
	if l.t.IsSigned() {
		l.Op(x86.VPSRAD, w, x86.RegArg(x), x86.RegArg(x), x86.ImmArg(32-8*int64(l.t.Size)))
	}
	return x
}

// storeSmallLanes writes neighbouring elements of one or two bytes without AVX-512.
func (g *Moves) storeSmallLanes(m x86.Mem, v x86.Reg, t *ir.Type, u int) {
	g.WriteVector(protocol.LaneRoom(64), v, vector.WidthOf(g.Lanes*4))
	bits := x86.NoReg
	if g.Exec != nil {
		bits = g.NewGeneral()
		g.MaskBits(bits, g.Exec[u])
	}
	g.InLanes(bits, func(lane int) {
		value := g.NewGeneral()
		g.Op(x86.MOVL, x86.W128, x86.RegArg(value), x86.MemArg(protocol.LaneRoom(64+4*lane)))
		to := m
		to.Disp += int32(lane) * int32(t.Size)
		g.Op(vector.LaneStores[int64(t.Size)], x86.W128, x86.MemArg(to), x86.RegArg(value))
	})
}

// loadSmallLanes loads neighbouring elements of one or two bytes under a mask without AVX-512.
func (g *Moves) loadSmallLanes(d x86.Reg, m x86.Mem, t *ir.Type, u int) {
	bits := g.NewGeneral()
	g.MaskBits(bits, g.Exec[u])
	l := g.insertLanes(t)
	g.InLanes(bits, func(lane int) { l.insert(lane, m.Plus(int64(lane)*int64(t.Size))) })
	g.Move(d, l.vector())
}
