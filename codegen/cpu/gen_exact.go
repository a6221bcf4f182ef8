package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Functions of package math whose results are exact, and the length of a vector.

// vecExact evaluates them; ok is false for others.
func (g *gen) vecExact(dst []x86.Reg, e *ir.Math) (out []x86.Reg, ok bool) {
	s := g.series(e.T)
	switch e.Fn {
	case ir.Round:
		x := g.vec(e.Args[0])
		return g.lift(dst, x, x, func(d, x, _ x86.Reg) { g.move(d, s.RoundAway(x)) }), true
	case ir.Mod:
		return g.vecModulo(e, s.Modulo), true
	case ir.Remainder:
		return g.vecModulo(e, s.Remainder), true
	}
	two := map[ir.MathFn]func(x, y x86.Reg) x86.Reg{ir.Copysign: s.CopySign, ir.Dim: s.Excess, ir.Hypot: s.Hypot}[e.Fn]
	if two == nil {
		return nil, false
	}
	if e.Fn == ir.Hypot {
		ulp, _ := vecmath.Bound(e.Fn, e.T)
		g.note("%s of %s by one square root, at most %g ulp", e.Fn, e.T, ulp)
	}
	return g.lift(dst, g.vec(e.Args[0]), g.vec(e.Args[1]), func(d, x, y x86.Reg) { g.move(d, two(x, y)) }), true
}

// vecModulo divides with a whole quotient. Lanes whose quotient does not fit a float, and those
// that give a NaN, are left to Go.
func (g *gen) vecModulo(e *ir.Math, f func(x, y x86.Reg) (r, quotient x86.Reg)) []x86.Reg {
	s := g.series(e.T)
	x, y := g.vec(e.Args[0]), g.vec(e.Args[1])
	n := g.newSite(image.Site{Kind: image.SiteLanes, Result: e.T, Args: [2]*ir.Type{e.T, e.T}, Eval: foldMath(e)})
	out := g.vectors(g.unroll)
	for u := range g.unroll {
		if u > 0 && allSame(x) && allSame(y) && g.exec == nil {
			out[u] = out[0]
			continue
		}
		r, quotient := f(x[u], y[u])
		g.move(out[u], r)
		hard := s.CompareTo(quotient, s.At(math.Ldexp(1, int(s.Mantissa())+1)), vecmath.CmpNLT)
		g.inGoWhere(hard, out[u], []x86.Reg{x[u], y[u]}, n, u, e.T)
	}
	return out
}

// inGoWhere lets Go compute what has no vector code, out of line, in the lanes of hard that are on.
func (g *gen) inGoWhere(hard, result x86.Reg, args []x86.Reg, n, u int, t *ir.Type) {
	hard = g.canonicalMask(hard, int(t.Size))
	if g.exec != nil {
		hard = g.maskAnd(hard, g.exec[u])
	}
	g.anyLane([]x86.Reg{hard})
	back := g.NewLabel()
	g.Jump(mach.CondNE, g.outOfLine(func() {
		slow := g.NewVector()
		g.callLanes(slow, args, n, hard, false)
		g.blend(result, slow, hard, t)
		g.Jump(mach.Always, back)
	}))
	g.Place(back)
}
