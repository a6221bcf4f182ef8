package vector

import (
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// OneToFloat converts an integer in a general register.
func (g *Arithmetic) OneToFloat(x x86.Reg, to *ir.Type) []x86.Reg {
	d := g.NewVector()
	zero := g.ConstVector(0, Container(to)) // nothing is waited for
	g.Op(map[bool]x86.Op{true: x86.VCVTSI2SSQ, false: x86.VCVTSI2SDQ}[to.Size == 4], x86.W128, x86.RegArg(d), x86.RegArg(zero), x86.RegArg(x))
	g.BroadcastLane(d, x86.RegArg(d), to)
	return g.Same(d)
}

// ToFloatAVX2 makes floats of the integers that AVX2 cannot convert, rounded once: halves become
// floats without rounding, and their sum is.
func (g *Arithmetic) ToFloatAVX2(dst, x []x86.Reg, from, to *ir.Type) []x86.Reg {
	if Container(from) == 8 {
		return g.longToFloat(dst, x, from, to)
	}
	if to.Size == 4 {
		s := g.SeriesOf(to, g.Width(from))
		return g.Lift(dst, x, x, func(d, x, _ x86.Reg) {
			high, low := s.ToSingle(s.ShiftRight(x, 16)), s.ToSingle(s.And(x, s.AtBits(1<<16-1)))
			s.AddProduct(low, high, s.At(1<<16))
			g.Move(d, low)
		})
	}
	s := g.SeriesOf(to, g.Width(to))
	return g.Lift(dst, x, x, func(d, x, _ x86.Reg) {
		long := g.NewVector()
		g.Op(x86.VPMOVZXDQ, s.Width, x86.RegArg(long), x86.RegArg(x))
		g.Move(d, s.Sub(s.Or(long, s.At(1<<52)), s.At(1<<52)))
	})
}

// longToFloat goes by way of float64; where that rounds a number on its way to float32, a sticky
// bit replaces the bits that would be rounded away: a value that is rounded to odd may be rounded
// again.
func (g *Arithmetic) longToFloat(dst, x []x86.Reg, from, to *ir.Type) []x86.Reg {
	s := g.SeriesOf(ir.Float64Type, g.Width(from))
	return g.Lift(dst, x, x, func(d, x, _ x86.Reg) {
		wide := s.FromLong(x, from.IsSigned())
		if to.Size == 8 {
			g.Move(d, wide)
			return
		}
		const rest = 1<<11 - 1
		odd := s.Or(x, x86.RegArg(s.AddInts(s.And(x, s.AtBits(rest)), s.ConstBits(rest))))
		large := s.CompareTo(s.And(wide, s.AtBits(1<<63-1)), s.At(1<<53), vecmath.CmpGE)
		s.Choose(wide, s.FromLong(s.And(odd, s.AtBits(^uint64(rest))), from.IsSigned()), large)
		g.Op(x86.VCVTPD2PS, s.Width, x86.RegArg(d), x86.RegArg(wide))
		if g.Lanes*8 > g.Bytes { // the same in all lanes
			g.BroadcastLane(d, x86.RegArg(d), to)
		}
	})
}

// Widen applies a conversion whose instruction length is that of the longer side.
func (g *Arithmetic) Widen(dst, x []x86.Reg, from, to *ir.Type, op x86.Op) []x86.Reg {
	w := max(g.Width(from), g.Width(to))
	return g.Lift(dst, x, x, func(d, x, _ x86.Reg) { g.Op(op, w, x86.RegArg(d), x86.RegArg(x)) })
}

// ConvertOnce converts a number that is the same in all lanes, of which its vectors hold fewer than
// those of the result.
func (g *Arithmetic) ConvertOnce(dst, x []x86.Reg, to *ir.Type, op x86.Op) []x86.Reg {
	return g.Lift(dst, x, x, func(d, x, _ x86.Reg) {
		g.Op(op, WidthOf(g.Bytes), x86.RegArg(d), x86.RegArg(x))
		g.BroadcastLane(d, x86.RegArg(d), to)
	})
}

func (g *Arithmetic) IntToFloat(from, to *ir.Type) x86.Op {
	single := to.Size == 4
	if Container(from) == 4 {
		switch {
		case from.IsSigned() || from.Size < 4:
			return map[bool]x86.Op{true: x86.VCVTDQ2PS, false: x86.VCVTDQ2PD}[single]
		default:
			return map[bool]x86.Op{true: x86.VCVTUDQ2PS, false: x86.VCVTUDQ2PD}[single]
		}
	}
	if from.IsSigned() {
		return map[bool]x86.Op{true: x86.VCVTQQ2PS, false: x86.VCVTQQ2PD}[single]
	}
	return map[bool]x86.Op{true: x86.VCVTUQQ2PS, false: x86.VCVTUQQ2PD}[single]
}

func (g *Arithmetic) IntToInt(dst, x []x86.Reg, from, to *ir.Type) []x86.Reg {
	switch {
	case Container(from) == 4 && Container(to) == 8:
		op := x86.VPMOVZXDQ
		if from.IsSigned() {
			op = x86.VPMOVSXDQ
		}
		return g.Widen(dst, x, from, to, op)
	case Container(from) == 8 && Container(to) == 4:
		return g.Lift(dst, x, x, func(d, x, _ x86.Reg) {
			if !g.AVX512 {
				g.Move(d, g.NarrowMask(x)) // the lower half of each lane
				g.Wrap(d, to)
				return
			}
			g.Op(x86.VPMOVQD, g.Width(from), x86.RegArg(d), x86.RegArg(x))
			g.Wrap(d, to)
		})
	}
	return g.Lift(dst, x, x, func(d, x, _ x86.Reg) {
		g.Move(d, x)
		g.Wrap(d, to)
	})
}

// Floats are cut to integers as Go's compiler has it on amd64: to int32, and cut from that for
// smaller types; to int64 for the longer ones, of which uint32 is the lower half. A uint64 from
// 2^63 on is what lies above that, with the upper bit. What does not fit gives the integer with the
// upper bit alone.

// FloatToInt truncates.
func (g *Arithmetic) FloatToInt(dst, x []x86.Reg, from, to *ir.Type) []x86.Reg {
	switch {
	case to.Kind == ir.Int32 || to.Size < 4:
		out := g.Widen(dst, x, from, to, map[bool]x86.Op{true: x86.VCVTTPS2DQ, false: x86.VCVTTPD2DQ}[from.Size == 4])
		if to.Size < 4 {
			return g.Lift(nil, out, out, func(d, x, _ x86.Reg) { g.Move(d, x); g.Wrap(d, to) })
		}
		return out
	case to.Kind == ir.Int64 && g.AVX512:
		return g.Widen(dst, x, from, to, map[bool]x86.Op{true: x86.VCVTTPS2QQ, false: x86.VCVTTPD2QQ}[from.Size == 4])
	case to.Kind == ir.Uint32 && from.Size == 4:
		s := g.SeriesOf(ir.Uint32Type, g.Width(to))
		return g.Lift(dst, x, x, func(d, x, _ x86.Reg) { v, _, _ := s.Whole(x); g.Move(d, v) })
	}
	if from.Size == 4 {
		x = g.Widen(nil, x, from, ir.Float64Type, x86.VCVTPS2PD)
	}
	s := g.SeriesOf(ir.Float64Type, WidthOf(8*min(g.Lanes, g.Bytes/8)))
	return g.Lift(dst, x, x, func(d, x, _ x86.Reg) {
		long := s.ToLong(x, to)
		if to.Size < 8 {
			halves := g.NewVector()
			g.LowHalves(halves, long)
			long = halves
		}
		g.Move(d, long)
	})
}
