package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// vecConvert converts numbers in every lane, as Go on amd64 does.
func (g *gen) vecConvert(dst []x86.Reg, e *ir.Convert) []x86.Reg {
	from, to := e.X.Type(), e.T
	if from.Kind == ir.Bool || to.Kind == ir.Bool {
		g.refuse(e.At, "a conversion of %s to %s is not supported yet in vector code", from, to)
	}
	if g.single && g.shapes == nil && from.IsInteger() && to.IsFloat() && from.Kind != ir.Uint64 {
		return g.oneToFloat(g.gp(e.X), to)
	}
	x := g.vec(e.X)
	if from.IsInteger() && to.IsFloat() && !g.avx512 && (container(from) == 8 || from.Kind == ir.Uint32) {
		return g.toFloatAVX2(dst, x, from, to)
	}
	if ir.Same(from, to) || from.IsInteger() && to.IsInteger() && container(from) == container(to) && to.Size >= 4 && from.Size >= 4 {
		return x
	}
	switch {
	case from.IsFloat() && to.IsFloat():
		return g.widen(dst, x, from, to, map[bool]x86.Op{true: x86.VCVTPS2PD, false: x86.VCVTPD2PS}[to.Size == 8])
	case from.IsInteger() && to.IsFloat() && g.lanes*container(from) > g.bytes:
		return g.convertOnce(dst, x, to, g.intToFloat(from, to))
	case from.IsInteger() && to.IsFloat():
		return g.widen(dst, x, from, to, g.intToFloat(from, to))
	case from.IsFloat():
		return g.floatToInt(dst, x, from, to)
	}
	return g.intToInt(dst, x, from, to)
}

// oneToFloat converts an integer in a general register.
func (g *gen) oneToFloat(x x86.Reg, to *ir.Type) []x86.Reg {
	d := g.NewVector()
	zero := g.ConstVector(0, container(to)) // nothing is waited for
	g.Op(map[bool]x86.Op{true: x86.VCVTSI2SSQ, false: x86.VCVTSI2SDQ}[to.Size == 4], x86.W128, x86.RegArg(d), x86.RegArg(zero), x86.RegArg(x))
	g.broadcastLane(d, x86.RegArg(d), to)
	return g.same(d)
}

// toFloatAVX2 makes floats of the integers that AVX2 cannot convert, rounded once: halves become
// floats without rounding, and their sum is.
func (g *gen) toFloatAVX2(dst, x []x86.Reg, from, to *ir.Type) []x86.Reg {
	if container(from) == 8 {
		return g.longToFloat(dst, x, from, to)
	}
	if to.Size == 4 {
		s := g.seriesOf(to, g.width(from))
		return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
			high, low := s.ToSingle(s.ShiftRight(x, 16)), s.ToSingle(s.And(x, s.AtBits(1<<16-1)))
			s.AddProduct(low, high, s.At(1<<16))
			g.move(d, low)
		})
	}
	s := g.seriesOf(to, g.width(to))
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
		long := g.NewVector()
		g.Op(x86.VPMOVZXDQ, s.Width, x86.RegArg(long), x86.RegArg(x))
		g.move(d, s.Sub(s.Or(long, s.At(1<<52)), s.At(1<<52)))
	})
}

// longToFloat goes by way of float64; where that rounds a number on its way to float32, only one
// bit that says so is left of what would be rounded away: rounded to odd, it may be rounded again.
func (g *gen) longToFloat(dst, x []x86.Reg, from, to *ir.Type) []x86.Reg {
	s := g.seriesOf(ir.Float64Type, g.width(from))
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
		wide := s.FromLong(x, from.IsSigned())
		if to.Size == 8 {
			g.move(d, wide)
			return
		}
		const rest = 1<<11 - 1
		odd := s.Or(x, x86.RegArg(s.AddInts(s.And(x, s.AtBits(rest)), s.ConstBits(rest))))
		large := s.CompareTo(s.And(wide, s.AtBits(1<<63-1)), s.At(1<<53), vecmath.CmpGE)
		s.Choose(wide, s.FromLong(s.And(odd, s.AtBits(^uint64(rest))), from.IsSigned()), large)
		g.Op(x86.VCVTPD2PS, s.Width, x86.RegArg(d), x86.RegArg(wide))
		if g.lanes*8 > g.bytes { // the same in all lanes
			g.broadcastLane(d, x86.RegArg(d), to)
		}
	})
}

// widen applies a conversion whose instruction length is that of the longer side.
func (g *gen) widen(dst, x []x86.Reg, from, to *ir.Type, op x86.Op) []x86.Reg {
	w := max(g.width(from), g.width(to))
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) { g.Op(op, w, x86.RegArg(d), x86.RegArg(x)) })
}

// convertOnce converts a number that is the same in all lanes, of which its vectors hold fewer than
// those of the result.
func (g *gen) convertOnce(dst, x []x86.Reg, to *ir.Type, op x86.Op) []x86.Reg {
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
		g.Op(op, widthOf(g.bytes), x86.RegArg(d), x86.RegArg(x))
		g.broadcastLane(d, x86.RegArg(d), to)
	})
}

func (g *gen) intToFloat(from, to *ir.Type) x86.Op {
	single := to.Size == 4
	if container(from) == 4 {
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

func (g *gen) intToInt(dst, x []x86.Reg, from, to *ir.Type) []x86.Reg {
	switch {
	case container(from) == 4 && container(to) == 8:
		op := x86.VPMOVZXDQ
		if from.IsSigned() {
			op = x86.VPMOVSXDQ
		}
		return g.widen(dst, x, from, to, op)
	case container(from) == 8 && container(to) == 4:
		return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
			if !g.avx512 {
				g.move(d, g.narrowMask(x)) // the lower half of each lane
				g.wrap(d, to)
				return
			}
			g.Op(x86.VPMOVQD, g.width(from), x86.RegArg(d), x86.RegArg(x))
			g.wrap(d, to)
		})
	}
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
		g.move(d, x)
		g.wrap(d, to)
	})
}
