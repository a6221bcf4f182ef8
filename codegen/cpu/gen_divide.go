package cpu

import (
	"math"
	"math/bits"

	"github.com/gompss/gompss/codegen/ir"
)

// Integers are divided as float64 where both fit 51 bits: the quotient, rounded, is never taken past an integer that the exact one does not
// reach, so that cut it is exact. Lanes with longer ones are divided one after the other, out of line.

// magic turns an integer of up to 51 bits into a float64 by adding it to the bits, and back: 3 * 2^51.
const magic = 0x4338000000000000

// vecDivide is x / y or x % y in every lane that is on. A divisor of 0 in one of them ends the launch.
func (g *gen) vecDivide(dst []Reg, e *ir.Binary) []Reg {
	t := e.T
	if c, ok := constInt(e.Y); ok && !t.IsSigned() && c > 0 && c&(c-1) == 0 {
		return g.byPowerOfTwo(dst, e, c)
	}
	if container(t) == 4 && g.lanes*8 > g.bytes {
		return g.divideHalves(dst, e)
	}
	x, y := g.asLong(e.X), g.asLong(e.Y)
	if c, ok := constInt(e.Y); !ok || c == 0 {
		g.checkDivisors(y)
	}
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

// byPowerOfTwo divides numbers without a sign.
func (g *gen) byPowerOfTwo(dst []Reg, e *ir.Binary, c int64) []Reg {
	x, w := g.vec(e.X), g.width(e.T)
	return g.lift(dst, x, x, func(d, x, _ Reg) {
		if e.Op == ir.Rem {
			g.op(VANDPS, w, RegArg(d), RegArg(x), RegArg(g.constVector(uint64(c-1), container(e.T))))
			return
		}
		g.op(pick(e.T, VPSRLD, VPSRLQ), w, RegArg(d), RegArg(x), ImmArg(int64(bits.TrailingZeros64(uint64(c)))))
	})
}

// asLong is a value as 64-bit lanes.
func (g *gen) asLong(e ir.Expr) []Reg {
	x, t := g.vec(e), e.Type()
	if container(t) == 8 {
		return x
	}
	to := ir.Int64Type
	return g.intToInt(nil, x, t, to)
}

// shorten is the lower half of each lane.
func (g *gen) shorten(q Reg, t *ir.Type) Reg {
	d := g.vector()
	if !g.avx512 {
		g.move(d, g.narrowMask(q))
	} else {
		g.op(VPMOVQD, widthOf(8*g.lanes), RegArg(d), RegArg(q))
	}
	g.wrap(d, t)
	return d
}

// divideHalves divides 32-bit lanes that are more than fit as 64 bits: the lower and the upper half apart.
func (g *gen) divideHalves(dst []Reg, e *ir.Binary) []Reg {
	x, y := g.vec(e.X), g.vec(e.Y)
	if c, ok := constInt(e.Y); !ok || c == 0 {
		g.checkDivisors(y)
	}
	out := g.into(dst)
	if touches(out, x, regArgs(y)) {
		out = g.vectors(g.unroll)
	}
	half := g.bytes / 2
	op := VPMOVZXDQ
	if e.T.IsSigned() {
		op = VPMOVSXDQ
	}
	g.each(func(u int) {
		var parts [2]Reg
		for i := range parts {
			var ops [2]Reg
			for k, from := range []Reg{x[u], y[u]} {
				src := from
				if i == 1 {
					src = g.vector()
					g.upperHalf(src, from, g.bytes)
				}
				ops[k] = g.vector()
				g.op(op, widthOf(g.bytes), RegArg(ops[k]), RegArg(src))
			}
			q := g.quotient(e, ops[0], ops[1], widthOf(g.bytes))
			parts[i] = g.vector()
			if g.avx512 {
				g.op(VPMOVQD, widthOf(g.bytes), RegArg(parts[i]), RegArg(q))
			} else {
				g.move(parts[i], g.narrowMask(q))
			}
		}
		// Through memory: there are two halves to be joined, and only one instruction more than for any other way.
		g.op(VMOVUPSStore, widthOf(half), MemArg(At(DI, 8*wordLanes)), RegArg(parts[0]))
		g.op(VMOVUPSStore, widthOf(half), MemArg(At(DI, int32(8*wordLanes+half))), RegArg(parts[1]))
		g.op(VMOVUPS, widthOf(g.bytes), RegArg(out[u]), MemArg(At(DI, 8*wordLanes)))
		g.wrap(out[u], e.T)
	})
	return out
}

// checkDivisors ends the launch where a lane that is on divides by 0.
func (g *gen) checkDivisors(y []Reg) {
	n := g.newSite(site{kind: siteArith, err: ir.ErrDivide})
	t := ir.Int64Type
	if g.lanes*8 > g.bytes {
		t = ir.Int32Type
	}
	zero := g.constVector(0, 8)
	for u := range g.unroll {
		if u > 0 && y[u] == y[0] && (g.exec == nil || g.exec[u] == g.exec[0]) {
			continue
		}
		m := g.compareCopy(&ir.Binary{Op: ir.Eq}, t, y[u], zero)
		if g.exec != nil {
			m = g.maskAnd(m, g.exec[u])
		}
		g.maskBits(AX, m)
		g.op(TESTQ, W128, RegArg(AX), RegArg(AX))
		g.jump(condNE, g.outOfLine(func() {
			g.op(MOVQImm, W128, RegArg(CX), ImmArg(int64(n)))
			g.op(MOVQStore, W128, blockWord(wordStatus), RegArg(CX))
			g.ret()
		}))
	}
}

// divideLong is quotient for lanes of 64 bits, which may be too long for it.
func (g *gen) divideLong(e *ir.Binary, x, y Reg, w Width) Reg {
	if container(e.T) == 4 {
		return g.quotient(e, x, y, w)
	}
	out, back, slow := g.vector(), g.newLabel(), g.newLabel()
	g.anyLong(e.T, x, y, w)
	g.jump(condNE, slow)
	g.move(out, g.quotient(e, x, y, w))
	g.place(back)
	exec := g.exec
	g.later(slow, func() {
		g.exec = exec
		g.divideLanes(e, x, y, out, w)
		g.jump(always, back)
	})
	return out
}

// anyLong clears the zero flag where a value of some lane is too long: at or above 2^50, or below -2^50.
func (g *gen) anyLong(t *ir.Type, x, y Reg, w Width) {
	part := func(v Reg) (d Reg, high uint64) {
		if !t.IsSigned() {
			return v, ^uint64(1<<50 - 1)
		}
		d = g.vector()
		g.op(VPADDQ, w, RegArg(d), RegArg(v), RegArg(g.constVector(1<<50, 8)))
		return d, ^uint64(1<<51 - 1)
	}
	both := g.vector()
	a, high := part(x)
	b, _ := part(y)
	g.op(VORPS, w, RegArg(both), RegArg(a), RegArg(b))
	g.op(VANDPS, w, RegArg(both), RegArg(both), RegArg(g.constVector(high, 8)))
	g.testVector(both, w)
}

// testVector sets the zero flag when v is 0.
func (g *gen) testVector(v Reg, w Width) {
	if !g.avx512 {
		g.op(VPTEST, w, RegArg(v), RegArg(v))
		return
	}
	m := g.mask()
	g.op(VPCMPQ, w, RegArg(m), RegArg(v), RegArg(g.constVector(0, 8)), ImmArg(4))
	g.op(KORTESTW, W128, RegArg(m), RegArg(m))
}

// quotient divides lanes of 64 bits that hold numbers of up to 51. Lanes that divide by 0 are off, and get anything.
func (g *gen) quotient(e *ir.Binary, x, y Reg, w Width) Reg {
	m := g.constVector(magic, 8)
	float := func(v Reg) Reg {
		d := g.vector()
		g.op(VPADDQ, w, RegArg(d), RegArg(v), RegArg(m))
		g.op(VSUBPD, w, RegArg(d), RegArg(d), RegArg(g.constVector(math.Float64bits(3<<51), 8)))
		return d
	}
	q := g.vector()
	g.op(VDIVPD, w, RegArg(q), RegArg(float(x)), RegArg(float(y)))
	round := VROUNDPD
	if g.avx512 {
		round = VRNDSCALEPD
	}
	g.op(round, w, RegArg(q), RegArg(q), ImmArg(11))
	g.op(VADDPD, w, RegArg(q), RegArg(q), RegArg(g.constVector(math.Float64bits(3<<51), 8)))
	g.op(VPSUBQ, w, RegArg(q), RegArg(q), RegArg(m))
	if e.Op == ir.Div {
		return q
	}
	p, r := g.vector(), g.vector()
	if g.avx512 {
		g.op(VPMULLQ, w, RegArg(p), RegArg(q), RegArg(y))
	} else {
		g.mulLong(p, q, y, w)
	}
	g.op(VPSUBQ, w, RegArg(r), RegArg(x), RegArg(p))
	return r
}

// divideLanes divides lane by lane, through the block.
func (g *gen) divideLanes(e *ir.Binary, x, y, out Reg, w Width) {
	g.op(VMOVUPSStore, w, MemArg(At(DI, 8*wordLanes)), RegArg(x))
	g.op(VMOVUPSStore, w, MemArg(At(DI, 8*(wordLanes+8))), RegArg(y))
	i := g.constGeneral(0)
	top, next := g.newLabel(), g.newLabel()
	a, b, r := g.general(), g.general(), g.general()
	g.place(top)
	g.op(MOVQ, W128, RegArg(a), MemArg(Indexed(DI, i, 8, 8*wordLanes)))
	g.op(MOVQ, W128, RegArg(b), MemArg(Indexed(DI, i, 8, 8*(wordLanes+8))))
	g.setGeneral(r, 0)
	g.op(TESTQ, W128, RegArg(b), RegArg(b))
	g.jump(condE, next)
	if e.T.IsSigned() {
		plain := g.newLabel()
		g.op(CMPQImm8, W128, RegArg(b), ImmArg(-1))
		g.jump(condNE, plain)
		if e.Op == ir.Div {
			g.op(SUBQ, W128, RegArg(r), RegArg(a))
		}
		g.jump(always, next)
		g.place(plain)
	}
	g.divide(e, a, b, r)
	g.place(next)
	g.op(MOVQStore, W128, MemArg(Indexed(DI, i, 8, 8*wordLanes)), RegArg(r))
	g.addConst(i, 1)
	g.op(CMPQImm, W128, RegArg(i), ImmArg(int64(g.lanes)))
	g.again(condL, top)
	g.op(VMOVUPS, w, RegArg(out), MemArg(At(DI, 8*wordLanes)))
}
