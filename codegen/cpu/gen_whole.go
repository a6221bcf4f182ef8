package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Floats are cut to integers as Go's compiler has it on amd64: to int32, and cut from that for
// smaller types; to int64 for the longer ones, of which uint32 is the lower half. A uint64 from
// 2^63 on is what lies above that, with the upper bit. What does not fit gives the integer with the
// upper bit alone.

// floatToInt truncates.
func (g *gen) floatToInt(dst, x []x86.Reg, from, to *ir.Type) []x86.Reg {
	switch {
	case to.Kind == ir.Int32 || to.Size < 4:
		out := g.widen(dst, x, from, to, map[bool]x86.Op{true: x86.VCVTTPS2DQ, false: x86.VCVTTPD2DQ}[from.Size == 4])
		if to.Size < 4 {
			return g.lift(nil, out, out, func(d, x, _ x86.Reg) { g.move(d, x); g.wrap(d, to) })
		}
		return out
	case to.Kind == ir.Int64 && g.avx512:
		return g.widen(dst, x, from, to, map[bool]x86.Op{true: x86.VCVTTPS2QQ, false: x86.VCVTTPD2QQ}[from.Size == 4])
	case to.Kind == ir.Uint32 && from.Size == 4:
		s := g.seriesOf(ir.Uint32Type, g.width(to))
		return g.lift(dst, x, x, func(d, x, _ x86.Reg) { v, _, _ := s.Whole(x); g.move(d, v) })
	}
	if from.Size == 4 {
		x = g.widen(nil, x, from, ir.Float64Type, x86.VCVTPS2PD)
	}
	s := g.seriesOf(ir.Float64Type, widthOf(8*min(g.lanes, g.bytes/8)))
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
		long := s.ToLong(x, to)
		if to.Size < 8 {
			halves := g.NewVector()
			g.lowHalves(halves, long)
			long = halves
		}
		g.move(d, long)
	})
}
