package vector

import (
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/ir"
)

// OneToFloat converts an integer in a general register.
func (g *Arithmetic) OneToFloat(x vcode.Reg, to *ir.Type) []vcode.Reg {
	d := g.NewVector()
	zero := g.ConstVector(0, Container(to)) // nothing is waited for
	g.Op(map[bool]vcode.Op{true: vcode.ConvertI64F32, false: vcode.ConvertI64F64}[to.Size == 4], vcode.W128, vcode.RegArg(d), vcode.RegArg(zero), vcode.RegArg(x))
	g.BroadcastLane(d, vcode.RegArg(d), to)
	return g.Same(d)
}

// ToFloatAVX2 makes floats of the integers that AVX2 cannot convert, rounded once: halves become
// floats without rounding, and their sum is.
func (g *Arithmetic) ToFloatAVX2(dst, x []vcode.Reg, from, to *ir.Type) []vcode.Reg {
	if Container(from) == 8 {
		return g.longToFloat(dst, x, from, to)
	}
	if to.Size == 4 {
		s := g.SeriesOf(to, g.Width(from))
		return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
			high, low := s.ToSingle(s.ShiftRight(x, 16)), s.ToSingle(s.And(x, s.AtBits(1<<16-1)))
			s.AddProduct(low, high, s.At(1<<16))
			g.Move(d, low)
		})
	}
	s := g.SeriesOf(to, g.Width(to))
	return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
		long := g.NewVector()
		g.Op(vcode.VWidenU32U64, s.Width, vcode.RegArg(long), vcode.RegArg(x))
		g.Move(d, s.Sub(s.Or(long, s.At(1<<52)), s.At(1<<52)))
	})
}

// longToFloat goes by way of float64; where that rounds a number on its way to float32, a sticky
// bit replaces the bits that would be rounded away: a value that is rounded to odd may be rounded
// again.
func (g *Arithmetic) longToFloat(dst, x []vcode.Reg, from, to *ir.Type) []vcode.Reg {
	s := g.SeriesOf(ir.Float64Type, g.Width(from))
	return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
		wide := s.FromLong(x, from.IsSigned())
		if to.Size == 8 {
			g.Move(d, wide)
			return
		}
		const rest = 1<<11 - 1
		odd := s.Or(x, vcode.RegArg(s.AddInts(s.And(x, s.AtBits(rest)), s.ConstBits(rest))))
		large := s.CompareTo(s.And(wide, s.AtBits(1<<63-1)), s.At(1<<53), vecmath.CmpGE)
		s.Choose(wide, s.FromLong(s.And(odd, s.AtBits(^uint64(rest))), from.IsSigned()), large)
		g.Op(vcode.VConvertF64F32, s.Width, vcode.RegArg(d), vcode.RegArg(wide))
		if g.Lanes*8 > g.Bytes { // the same in all lanes
			g.BroadcastLane(d, vcode.RegArg(d), to)
		}
	})
}

// Widen applies a conversion whose instruction length is that of the longer side.
func (g *Arithmetic) Widen(dst, x []vcode.Reg, from, to *ir.Type, op vcode.Op) []vcode.Reg {
	w := max(g.Width(from), g.Width(to))
	return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) { g.Op(op, w, vcode.RegArg(d), vcode.RegArg(x)) })
}

// ConvertOnce converts a number that is the same in all lanes, of which its vectors hold fewer than
// those of the result.
func (g *Arithmetic) ConvertOnce(dst, x []vcode.Reg, to *ir.Type, op vcode.Op) []vcode.Reg {
	return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
		g.Op(op, WidthOf(g.Bytes), vcode.RegArg(d), vcode.RegArg(x))
		g.BroadcastLane(d, vcode.RegArg(d), to)
	})
}

func (g *Arithmetic) IntToFloat(from, to *ir.Type) vcode.Op {
	single := to.Size == 4
	if Container(from) == 4 {
		switch {
		case from.IsSigned() || from.Size < 4:
			return map[bool]vcode.Op{true: vcode.VConvertI32F32, false: vcode.VConvertI32F64}[single]
		default:
			return map[bool]vcode.Op{true: vcode.VConvertU32F32, false: vcode.VConvertU32F64}[single]
		}
	}
	if from.IsSigned() {
		return map[bool]vcode.Op{true: vcode.VConvertI64F32, false: vcode.VConvertI64F64}[single]
	}
	return map[bool]vcode.Op{true: vcode.VConvertU64F32, false: vcode.VConvertU64F64}[single]
}

func (g *Arithmetic) IntToInt(dst, x []vcode.Reg, from, to *ir.Type) []vcode.Reg {
	switch {
	case Container(from) == 4 && Container(to) == 8:
		op := vcode.VWidenU32U64
		if from.IsSigned() {
			op = vcode.VWidenI32I64
		}
		return g.Widen(dst, x, from, to, op)
	case Container(from) == 8 && Container(to) == 4:
		return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
			if !g.AVX512 {
				g.Move(d, g.NarrowMask(x)) // the lower half of each lane
				g.Wrap(d, to)
				return
			}
			g.Op(vcode.VNarrowI64I32, g.Width(from), vcode.RegArg(d), vcode.RegArg(x))
			g.Wrap(d, to)
		})
	}
	return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
		g.Move(d, x)
		g.Wrap(d, to)
	})
}

// Floats are cut to integers as Go's compiler has it on amd64: to int32, and cut from that for
// smaller types; to int64 for the longer ones, of which uint32 is the lower half. A uint64 from
// 2^63 on is what lies above that, with the upper bit. What does not fit gives the integer with the
// upper bit alone.

// FloatToInt truncates.
func (g *Arithmetic) FloatToInt(dst, x []vcode.Reg, from, to *ir.Type) []vcode.Reg {
	switch {
	case to.Kind == ir.Int32 || to.Size < 4:
		out := g.Widen(dst, x, from, to, map[bool]vcode.Op{true: vcode.VTruncateF32I32, false: vcode.VTruncateF64I32}[from.Size == 4])
		if to.Size < 4 {
			return g.Lift(nil, out, out, func(d, x, _ vcode.Reg) { g.Move(d, x); g.Wrap(d, to) })
		}
		return out
	case to.Kind == ir.Int64 && (g.AVX512 || g.ISA.Converts()):
		return g.Widen(dst, x, from, to, map[bool]vcode.Op{true: vcode.VTruncateF32I64, false: vcode.VTruncateF64I64}[from.Size == 4])
	case to.Kind == ir.Uint32 && from.Size == 4:
		s := g.SeriesOf(ir.Uint32Type, g.Width(to))
		return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) { v, _, _ := s.Whole(x); g.Move(d, v) })
	}
	if from.Size == 4 {
		x = g.Widen(nil, x, from, ir.Float64Type, vcode.VConvertF32F64)
	}
	s := g.SeriesOf(ir.Float64Type, WidthOf(8*min(g.Lanes, g.Bytes/8)))
	return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
		long := s.ToLong(x, to)
		if to.Size < 8 {
			halves := g.NewVector()
			g.LowHalves(halves, long)
			long = halves
		}
		g.Move(d, long)
	})
}
