package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Integers are divided as float64 where both fit 51 bits: the quotient, rounded, is never taken
// past an integer that the exact one does not reach, so that cut it is exact. Lanes with longer
// ones are divided one after the other, out of line.

// magic turns an integer of up to 51 bits into a float64 by adding it to the bits, and back: 3 *
// 2^51.
const magic = 0x4338000000000000

// vecDivide is x / y or x % y in every lane that is on. A divisor of 0 in one of them ends the
// launch.
func (g *gen) vecDivide(dst []x86.Reg, e *ir.Binary) []x86.Reg {
	t := e.T
	c, constant := ir.ConstInt(e.Y)
	switch {
	case t.Size < 4:
		return g.divideShort(dst, e)
	case constant && c != 0:
		return g.divideByConst(dst, e, c)
	}
	if container(t) == 4 && g.lanes*8 > g.bytes {
		return g.divideHalves(dst, e)
	}
	x, y := g.asLong(e.X), g.asLong(e.Y)
	g.checkDivisors(e, ir.Int64Type, y)
	w := widthOf(8 * g.lanes)
	out := g.into(dst)
	if touches(out, x, regArgs(y)) {
		out = g.vectors(g.unroll)
	}
	g.each(func(u int) {
		q := g.divideLong(e, x[u], y[u], w)
		if container(t) == 4 {
			q = g.shorten(q, t)
		}
		g.move(out[u], q)
	})
	return out
}

// asLong is a value as 64-bit lanes.
func (g *gen) asLong(e ir.Expr) []x86.Reg {
	x, t := g.vec(e), e.Type()
	if container(t) == 8 {
		return x
	}
	to := ir.Int64Type
	return g.intToInt(nil, x, t, to)
}

// shorten is the lower half of each lane.
func (g *gen) shorten(q x86.Reg, t *ir.Type) x86.Reg {
	d := g.NewVector()
	if !g.avx512 {
		g.move(d, g.narrowMask(q))
	} else {
		g.Op(x86.VPMOVQD, widthOf(8*g.lanes), x86.RegArg(d), x86.RegArg(q))
	}
	g.wrap(d, t)
	return d
}

// divideHalves divides 32-bit lanes that are more than fit as 64 bits: the lower and the upper half
// apart.
func (g *gen) divideHalves(dst []x86.Reg, e *ir.Binary) []x86.Reg {
	x, y := g.vec(e.X), g.vec(e.Y)
	g.checkDivisors(e, ir.Int32Type, y)
	out := g.into(dst)
	if touches(out, x, regArgs(y)) {
		out = g.vectors(g.unroll)
	}
	half := g.bytes / 2
	op := x86.VPMOVZXDQ
	if e.T.IsSigned() {
		op = x86.VPMOVSXDQ
	}
	g.each(func(u int) {
		var parts [2]x86.Reg
		for i := range parts {
			var ops [2]x86.Reg
			for k, from := range []x86.Reg{x[u], y[u]} {
				src := from
				if i == 1 {
					src = g.NewVector()
					g.upperHalf(src, from, g.bytes)
				}
				ops[k] = g.NewVector()
				g.Op(op, widthOf(g.bytes), x86.RegArg(ops[k]), x86.RegArg(src))
			}
			q := g.quotient(e, ops[0], ops[1], widthOf(g.bytes))
			parts[i] = g.NewVector()
			if g.avx512 {
				g.Op(x86.VPMOVQD, widthOf(g.bytes), x86.RegArg(parts[i]), x86.RegArg(q))
			} else {
				g.move(parts[i], g.narrowMask(q))
			}
		}
		// Through memory: there are two halves to be joined, and only one instruction more than for
		// any other way.
		g.Op(x86.VMOVUPSStore, widthOf(half), x86.MemArg(x86.At(x86.DI, 8*image.WordLanes)), x86.RegArg(parts[0]))
		g.Op(x86.VMOVUPSStore, widthOf(half), x86.MemArg(x86.At(x86.DI, int32(8*image.WordLanes+half))), x86.RegArg(parts[1]))
		g.Op(x86.VMOVUPS, widthOf(g.bytes), x86.RegArg(out[u]), x86.MemArg(x86.At(x86.DI, 8*image.WordLanes)))
		g.wrap(out[u], e.T)
	})
	return out
}

// checkDivisors ends the launch where a lane of e that is on divides by 0, in lanes of t.
func (g *gen) checkDivisors(e *ir.Binary, t *ir.Type, y []x86.Reg) {
	zero := g.ConstVector(0, 8)
	any := x86.NoReg
	for u := range g.unroll {
		if u > 0 && y[u] == y[0] && (g.exec == nil || g.exec[u] == g.exec[0]) {
			continue
		}
		m := g.compareCopy(&ir.Binary{Op: ir.Eq}, t, y[u], zero)
		if g.exec != nil {
			m = g.maskAnd(m, g.exec[u])
		}
		if any != x86.NoReg {
			m = g.maskOr(any, m)
		}
		any = m
	}
	g.anyLane([]x86.Reg{any})
	g.failAlways(mach.CondNE, ir.DivisorCheck, e)
}

// divideLong is quotient for lanes of 64 bits, which may be too long for it.
func (g *gen) divideLong(e *ir.Binary, x, y x86.Reg, w x86.Width) x86.Reg {
	if container(e.T) == 4 {
		return g.quotient(e, x, y, w)
	}
	out, back, slow := g.NewVector(), g.NewLabel(), g.NewLabel()
	g.anyLong(e.T, x, y, w)
	g.Jump(mach.CondNE, slow)
	g.move(out, g.quotient(e, x, y, w))
	g.Place(back)
	g.later(slow, func() {
		g.divideLanes(e, x, y, out, w)
		g.Jump(mach.Always, back)
	})
	return out
}

// anyLong clears the zero flag where a value of some lane is too long: at or above 2^50, or below
// -2^50.
func (g *gen) anyLong(t *ir.Type, x, y x86.Reg, w x86.Width) {
	part := func(v x86.Reg) (d x86.Reg, high uint64) {
		if !t.IsSigned() {
			return v, ^uint64(1<<50 - 1)
		}
		d = g.NewVector()
		g.Op(x86.VPADDQ, w, x86.RegArg(d), x86.RegArg(v), x86.RegArg(g.ConstVector(1<<50, 8)))
		return d, ^uint64(1<<51 - 1)
	}
	both := g.NewVector()
	a, high := part(x)
	b, _ := part(y)
	g.Op(x86.VORPS, w, x86.RegArg(both), x86.RegArg(a), x86.RegArg(b))
	g.Op(x86.VANDPS, w, x86.RegArg(both), x86.RegArg(both), x86.RegArg(g.ConstVector(high, 8)))
	g.testVector(both, w)
}

// testVector sets the zero flag when v is 0.
func (g *gen) testVector(v x86.Reg, w x86.Width) {
	if !g.avx512 {
		g.Op(x86.VPTEST, w, x86.RegArg(v), x86.RegArg(v))
		return
	}
	m := g.NewMask()
	g.Op(x86.VPCMPQ, w, x86.RegArg(m), x86.RegArg(v), x86.RegArg(g.ConstVector(0, 8)), x86.ImmArg(4))
	g.Op(x86.KORTESTW, x86.W128, x86.RegArg(m), x86.RegArg(m))
}

// quotient divides lanes of 64 bits that hold numbers of up to 51. Lanes that divide by 0 are off,
// and get anything.
func (g *gen) quotient(e *ir.Binary, x, y x86.Reg, w x86.Width) x86.Reg {
	m := g.ConstVector(magic, 8)
	float := func(v x86.Reg) x86.Reg {
		d := g.NewVector()
		g.Op(x86.VPADDQ, w, x86.RegArg(d), x86.RegArg(v), x86.RegArg(m))
		g.Op(x86.VSUBPD, w, x86.RegArg(d), x86.RegArg(d), x86.RegArg(g.ConstVector(math.Float64bits(3<<51), 8)))
		return d
	}
	q := g.NewVector()
	g.Op(x86.VDIVPD, w, x86.RegArg(q), x86.RegArg(float(x)), x86.RegArg(float(y)))
	round := x86.VROUNDPD
	if g.avx512 {
		round = x86.VRNDSCALEPD
	}
	g.Op(round, w, x86.RegArg(q), x86.RegArg(q), x86.ImmArg(11))
	g.Op(x86.VADDPD, w, x86.RegArg(q), x86.RegArg(q), x86.RegArg(g.ConstVector(math.Float64bits(3<<51), 8)))
	g.Op(x86.VPSUBQ, w, x86.RegArg(q), x86.RegArg(q), x86.RegArg(m))
	if e.Op == ir.Div {
		return q
	}
	p, r := g.NewVector(), g.NewVector()
	if g.avx512 {
		g.Op(x86.VPMULLQ, w, x86.RegArg(p), x86.RegArg(q), x86.RegArg(y))
	} else {
		g.seriesOf(ir.Int64Type, w).MulLong(p, q, y)
	}
	g.Op(x86.VPSUBQ, w, x86.RegArg(r), x86.RegArg(x), x86.RegArg(p))
	return r
}

// divideLanes divides lane by lane, through the block.
func (g *gen) divideLanes(e *ir.Binary, x, y, out x86.Reg, w x86.Width) {
	g.Op(x86.VMOVUPSStore, w, x86.MemArg(x86.At(x86.DI, 8*image.WordLanes)), x86.RegArg(x))
	g.Op(x86.VMOVUPSStore, w, x86.MemArg(x86.At(x86.DI, 8*(image.WordLanes+8))), x86.RegArg(y))
	i := g.constGeneral(0)
	top, next := g.NewLabel(), g.NewLabel()
	a, b, r := g.NewGeneral(), g.NewGeneral(), g.NewGeneral()
	g.Place(top)
	g.Op(x86.MOVQ, x86.W128, x86.RegArg(a), x86.MemArg(x86.Indexed(x86.DI, i, 8, 8*image.WordLanes)))
	g.Op(x86.MOVQ, x86.W128, x86.RegArg(b), x86.MemArg(x86.Indexed(x86.DI, i, 8, 8*(image.WordLanes+8))))
	g.setGeneral(r, 0)
	g.Op(x86.TESTQ, x86.W128, x86.RegArg(b), x86.RegArg(b))
	g.Jump(mach.CondE, next)
	if e.T.IsSigned() {
		plain := g.NewLabel()
		g.Op(x86.CMPQImm8, x86.W128, x86.RegArg(b), x86.ImmArg(-1))
		g.Jump(mach.CondNE, plain)
		if e.Op == ir.Div {
			g.Op(x86.SUBQ, x86.W128, x86.RegArg(r), x86.RegArg(a))
		}
		g.Jump(mach.Always, next)
		g.Place(plain)
	}
	g.divide(e, a, b, r)
	g.Place(next)
	g.Op(x86.MOVQStore, x86.W128, x86.MemArg(x86.Indexed(x86.DI, i, 8, 8*image.WordLanes)), x86.RegArg(r))
	g.addConst(i, 1)
	g.Op(x86.CMPQImm, x86.W128, x86.RegArg(i), x86.ImmArg(int64(g.lanes)))
	g.JumpBack(mach.CondL, top)
	g.Op(x86.VMOVUPS, w, x86.RegArg(out), x86.MemArg(x86.At(x86.DI, 8*image.WordLanes)))
}
