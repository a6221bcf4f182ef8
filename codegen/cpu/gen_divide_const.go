package cpu

import (
	"math"
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Divisions that need no float64: by constants, as the upper half of a product, and of numbers of
// one and two bytes, as float32.

// divideByConst divides lanes of 32 or 64 bits by a constant other than 0. Numbers with a sign are
// divided without it.
//
// Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI
// 1994, figures 4.1 and 5.2; differs: the sign is taken off and put back, as there is no arithmetic
// shift of 64 bits in AVX2.
func (g *gen) divideByConst(dst []x86.Reg, e *ir.Binary, c int64) []x86.Reg {
	s := g.words(e.T)
	x := g.vec(e.X)
	if !e.T.IsSigned() {
		return g.lift(dst, x, x, func(d, x, _ x86.Reg) { g.move(d, s.DivideByConst(e.Op, x, uint64(c), false)) })
	}
	by := uint64(max(c, -c)) // that of the least integer is right without a sign
	if e.T.Size == 4 {
		by &= 1<<32 - 1
	}
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
		sign := s.Signs(x)
		r := s.DivideByConst(e.Op, s.SubInts(s.Xor(x, x86.RegArg(sign)), sign), by, true)
		if e.Op == ir.Div && c < 0 {
			sign = s.Xor(sign, x86.RegArg(g.allOnes(s.Width)))
		}
		g.move(d, s.SubInts(s.Xor(r, x86.RegArg(sign)), sign))
	})
}

// divideShort divides numbers of one or two bytes, in lanes of 32 bits. Rounded to 24 bits, their
// quotient reaches no integer that the exact one does not reach; nor does the product with a
// reciprocal that is rounded up.
func (g *gen) divideShort(dst []x86.Reg, e *ir.Binary) []x86.Reg {
	s := g.seriesOf(ir.Float32Type, g.width(e.T))
	x := g.vec(e.X)
	finish := func(d, q x86.Reg, y func() x86.Reg, x x86.Reg) {
		whole := s.NewVector()
		g.Op(x86.VCVTTPS2DQ, s.Width, x86.RegArg(whole), x86.RegArg(q))
		if e.Op == ir.Rem {
			p := s.NewVector()
			g.Op(x86.VPMULLD, s.Width, x86.RegArg(p), x86.RegArg(whole), x86.RegArg(y()))
			whole = g.seriesOf(ir.Int32Type, s.Width).SubInts(x, p)
		}
		g.move(d, whole)
		g.wrap(d, e.T)
	}
	if c, ok := ir.ConstInt(e.Y); ok && c != 0 {
		return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
			finish(d, s.Mul(s.ToSingle(x), s.At(float64(above32(c)))), func() x86.Reg { return g.ConstVector(uint64(c), 4) }, x)
		})
	}
	y := g.vec(e.Y)
	g.checkDivisors(e, e.T, y)
	return g.lift(dst, x, y, func(d, x, y x86.Reg) {
		finish(d, s.Div(s.ToSingle(x), x86.RegArg(s.ToSingle(y))), func() x86.Reg { return y }, x)
	})
}

// above32 is 1/c, rounded away from 0.
func above32(c int64) float32 {
	r := float32(1 / float64(c))
	if math.Abs(float64(r)) < math.Abs(1/float64(c)) {
		r = math.Nextafter32(r, float32(math.Copysign(2, float64(c))))
	}
	return r
}

// gpDivideConst divides a number, which 64 bits with a sign hold, by a constant other than -1 to 1
// and the least.
//
// Source: as for divideByConst, figure 5.2, and for powers of two figure 5.1.
func (g *gen) gpDivideConst(op ir.Op, x x86.Reg, c int64) x86.Reg {
	by := uint64(max(c, -c))
	log := bits.Len64(by - 1) // rounded up
	q, sign := g.NewGeneral(), g.NewGeneral()
	g.move(sign, x)
	g.Op(x86.SARQ, x86.W128, x86.RegArg(sign), x86.ImmArg(63))
	if by&(by-1) == 0 {
		g.Op(x86.SHRQ, x86.W128, x86.RegArg(sign), x86.ImmArg(int64(64-log))) // what rounds towards 0
		g.move(q, sign)
		g.Op(x86.ADDQ, x86.W128, x86.RegArg(q), x86.RegArg(x))
		g.Op(x86.SARQ, x86.W128, x86.RegArg(q), x86.ImmArg(int64(log)))
	} else {
		m, _ := bits.Div64(1<<(log-1), 0, by)
		g.Op(x86.MOVQStore, x86.W128, x86.RegArg(x86.AX), x86.RegArg(x))
		g.MultiplyHigh(g.constGeneral(int64(m + 1)))
		g.Op(x86.MOVQStore, x86.W128, x86.RegArg(q), x86.RegArg(x86.DX))
		g.Op(x86.ADDQ, x86.W128, x86.RegArg(q), x86.RegArg(x))
		g.Op(x86.SARQ, x86.W128, x86.RegArg(q), x86.ImmArg(int64(log-1)))
		g.Op(x86.SUBQ, x86.W128, x86.RegArg(q), x86.RegArg(sign))
	}
	if op == ir.Rem {
		p := g.constGeneral(int64(by))
		g.Op(x86.IMULQ, x86.W128, x86.RegArg(p), x86.RegArg(q))
		rest := g.NewGeneral()
		g.move(rest, x)
		g.Op(x86.SUBQ, x86.W128, x86.RegArg(rest), x86.RegArg(p))
		return rest
	}
	if c < 0 {
		g.Op(x86.NEGQ, x86.W128, x86.RegArg(q))
	}
	return q
}
