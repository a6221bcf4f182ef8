package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Functions of math/bits on two numbers.

// vecWords evaluates RotateLeft by any count and the upper half of a product; ok is false for other
// functions.
func (g *gen) vecWords(dst []x86.Reg, e *ir.Math) (out []x86.Reg, ok bool) {
	s := g.words(e.T)
	switch e.Fn {
	case ir.RotateLeft:
		x, by := g.vec(e.Args[0]), g.rotateCounts(e)
		return g.lift(dst, x, by, func(d, x, n x86.Reg) { g.move(d, s.RotateBy(x, n, 8*int64(e.T.Size))) }), true
	case ir.MulHi:
		if e.T.Size < 4 {
			return nil, false
		}
		high := s.HighProduct64
		if e.T.Size == 4 {
			high = s.HighProduct32
		}
		return g.lift(dst, g.vec(e.Args[0]), g.vec(e.Args[1]), func(d, x, y x86.Reg) { g.move(d, high(x, y)) }), true
	}
	return nil, false
}

// words is a series of numbers without a sign in lanes of t.
func (g *gen) words(t *ir.Type) vecmath.Series {
	if container(t) == 8 {
		return g.seriesOf(ir.Uint64Type, g.width(t))
	}
	return g.seriesOf(ir.Uint32Type, g.width(t))
}

// rotateCounts are the counts in lanes of the number that is rotated: of those that do not fit, the
// lower bits.
func (g *gen) rotateCounts(e *ir.Math) []x86.Reg {
	k, t := e.Args[1], e.T
	if g.shape(k).Kind == analysis.Uniform {
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
