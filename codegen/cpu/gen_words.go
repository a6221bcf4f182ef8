package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Functions of math/bits on two numbers.

// vecWords evaluates RotateLeft by any count and the upper half of a product; ok is false for other functions.
func (g *gen) vecWords(dst []x86.Reg, e *ir.Math) (out []x86.Reg, ok bool) {
	s := g.words(e.T)
	switch e.Fn {
	case ir.RotateLeft:
		x, by := g.vec(e.Args[0]), g.rotateCounts(e)
		return g.lift(dst, x, by, func(d, x, n x86.Reg) { g.move(d, s.rotateBy(x, n, 8*int64(e.T.Size))) }), true
	case ir.MulHi:
		if e.T.Size < 4 {
			return nil, false
		}
		high := s.highProduct64
		if e.T.Size == 4 {
			high = s.highProduct32
		}
		return g.lift(dst, g.vec(e.Args[0]), g.vec(e.Args[1]), func(d, x, y x86.Reg) { g.move(d, high(x, y)) }), true
	}
	return nil, false
}

// words is a series of numbers without a sign in lanes of t.
func (g *gen) words(t *ir.Type) series {
	if container(t) == 8 {
		return series{g, ir.Uint64Type, g.width(t)}
	}
	return series{g, ir.Uint32Type, g.width(t)}
}

// rotateCounts are the counts in lanes of the number that is rotated: of those that do not fit, the lower bits.
func (g *gen) rotateCounts(e *ir.Math) []x86.Reg {
	k, t := e.Args[1], e.T
	if g.shape(k).kind == uniform {
		by := g.NewVector()
		g.broadcastGeneral(by, g.gp(k), container(t), g.width(t))
		return g.same(by)
	}
	by := g.vec(k)
	switch {
	case container(k.Type()) == container(t):
		return by
	case container(t) == 8:
		return g.widen(nil, by, ir.Uint32Type, ir.Uint64Type, x86.VPMOVZXDQ)
	}
	return g.lift(nil, by, by, func(d, n, _ x86.Reg) { g.lowHalves(d, n) })
}

// rotateBy turns the lower width bits of every lane. A shift by all of them leaves nothing.
func (s series) rotateBy(x, n x86.Reg, width int64) x86.Reg {
	n = s.and(n, s.atBits(uint64(width-1)))
	left, right := s.NewVector(), s.NewVector()
	s.Op(pick(s.t, x86.VPSLLVD, x86.VPSLLVQ), s.w, x86.RegArg(left), x86.RegArg(x), x86.RegArg(n))
	s.Op(pick(s.t, x86.VPSRLVD, x86.VPSRLVQ), s.w, x86.RegArg(right), x86.RegArg(x), x86.RegArg(s.subInts(s.cBits(uint64(width)), n)))
	y := s.or(left, x86.RegArg(right))
	if width < 8*int64(s.t.Size) {
		y = s.and(y, s.atBits(1<<width-1))
	}
	return y
}

// product32 multiplies the lower halves of 64-bit lanes.
func (s series) product32(x, y x86.Reg) x86.Reg {
	r := s.NewVector()
	s.Op(x86.VPMULUDQ, s.w, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
	return r
}

// highProduct32 is the upper half of the products of 32-bit lanes: those of the even and of the odd lanes apart.
func (s series) highProduct32(x, y x86.Reg) x86.Reg {
	l := series{s.gen, ir.Uint64Type, s.w}
	even := l.shiftRight(l.product32(x, y), 32)
	odd := l.product32(l.shiftRight(x, 32), l.shiftRight(y, 32))
	return l.or(even, x86.RegArg(l.and(odd, l.atBits(0xFFFFFFFF<<32))))
}

// highProduct64 is the upper half of the products of 64-bit lanes.
//
// Source: Warren, "Hacker's Delight", 2nd edition, section 8-2.
func (s series) highProduct64(x, y x86.Reg) x86.Reg {
	xh, yh := s.shiftRight(x, 32), s.shiftRight(y, 32)
	first := s.addInts(s.product32(xh, y), s.shiftRight(s.product32(x, y), 32))
	second := s.addInts(s.product32(x, yh), s.and(first, s.atBits(1<<32-1)))
	high := s.addInts(s.product32(xh, yh), s.shiftRight(first, 32))
	return s.addInts(high, s.shiftRight(second, 32))
}
