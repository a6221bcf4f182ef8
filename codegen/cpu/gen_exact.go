package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/mach"
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
		return g.lift(dst, x, x, func(d, x, _ x86.Reg) { g.move(d, s.roundAway(x)) }), true
	case ir.Mod:
		return g.vecModulo(e, s.modulo), true
	case ir.Remainder:
		return g.vecModulo(e, s.remainder), true
	}
	two := map[ir.MathFn]func(x, y x86.Reg) x86.Reg{ir.Copysign: s.copySign, ir.Dim: s.excess, ir.Hypot: s.hypot}[e.Fn]
	if two == nil {
		return nil, false
	}
	if e.Fn == ir.Hypot {
		ulp, _ := MathBound(e.Fn, e.T)
		g.note("%s of %s by one square root, at most %g ulp", e.Fn, e.T, ulp)
	}
	return g.lift(dst, g.vec(e.Args[0]), g.vec(e.Args[1]), func(d, x, y x86.Reg) { g.move(d, two(x, y)) }), true
}

func (s series) sign(x x86.Reg) x86.Reg { return s.and(x, s.at(math.Copysign(0, -1))) }

func (s series) magnitude(x x86.Reg) x86.Reg { return s.and(x, s.atBits(1<<(8*uint(s.t.Size)-1)-1)) }

func (s series) copySign(x, y x86.Reg) x86.Reg { return s.or(s.magnitude(x), x86.RegArg(s.sign(y))) }

// truncated cuts a float to an integer.
func (s series) truncated(x x86.Reg) x86.Reg {
	r, op := s.NewVector(), pick(s.t, x86.VROUNDPS, x86.VROUNDPD)
	if s.avx512 {
		op = pick(s.t, x86.VRNDSCALEPS, x86.VRNDSCALEPD)
	}
	s.Op(op, s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(11))
	return r
}

// roundAway is the nearest integer, ties away from 0: what cutting takes off is exact.
func (s series) roundAway(x x86.Reg) x86.Reg {
	r := s.truncated(x)
	half := s.compareTo(s.magnitude(s.sub(x, x86.RegArg(r))), s.at(0.5), cmpGE)
	away := s.add(r, x86.RegArg(s.or(s.sign(x), s.at(1))))
	s.choose(r, away, half)
	return r
}

// excess is x-y, or 0 where that is less.
func (s series) excess(x, y x86.Reg) x86.Reg {
	const cmpLE = 0x12
	r := s.sub(x, x86.RegArg(y))
	s.choose(r, s.c(0), s.compareTo(r, s.at(0), cmpLE))
	return r
}

// hypot is the larger one times the root of 1 and the square of the quotient, as Go has it. The instructions return their second operand where one is
// a NaN: called in both orders, one of them keeps it.
func (s series) hypot(x, y x86.Reg) x86.Reg {
	x, y = s.magnitude(x), s.magnitude(y)
	most, least := s.two(x86.VMAXPS, x86.VMAXPD, x, x86.RegArg(y)), s.two(x86.VMINPS, x86.VMINPD, y, x86.RegArg(x))
	q := s.div(least, x86.RegArg(most))
	square := s.add(s.mul(q, x86.RegArg(q)), s.at(1))
	root := s.NewVector()
	s.Op(pick(s.t, x86.VSQRTPS, x86.VSQRTPD), s.w, x86.RegArg(root), x86.RegArg(square))
	r := s.mul(most, x86.RegArg(root))
	s.choose(r, s.add(most, x86.RegArg(least)), s.compareTo(most, s.at(0), cmpEQ))
	s.choose(r, x, s.compareTo(x, s.at(math.Inf(1)), cmpEQ))
	s.choose(r, y, s.compareTo(y, s.at(math.Inf(1)), cmpEQ))
	return r
}

// vecModulo divides with a whole quotient. Lanes whose quotient does not fit a float, and those that give a NaN, are left to Go.
func (g *gen) vecModulo(e *ir.Math, f func(x, y x86.Reg) (r, quotient x86.Reg)) []x86.Reg {
	s := g.series(e.T)
	x, y := g.vec(e.Args[0]), g.vec(e.Args[1])
	n := g.newSite(site{kind: siteLanes, t: e.T, args: [2]*ir.Type{e.T, e.T}, eval: foldMath(e)})
	out := g.vectors(g.unroll)
	for u := range g.unroll {
		if u > 0 && allSame(x) && allSame(y) && g.exec == nil {
			out[u] = out[0]
			continue
		}
		r, quotient := f(x[u], y[u])
		g.move(out[u], r)
		hard := s.compareTo(quotient, s.at(math.Ldexp(1, int(s.mantissa())+1)), cmpNLT)
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

// modulo is the rest of x / y with the sign of x. The rounded quotient, cut, is right or one too large, and x less its product is exact in both cases.
func (s series) modulo(x, y x86.Reg) (r, quotient x86.Reg) {
	r, quotient = s.rest(s.magnitude(x), s.magnitude(y))
	return s.or(r, x86.RegArg(s.sign(x))), quotient
}

// rest is x % y of numbers without a sign.
func (s series) rest(x, y x86.Reg) (r, quotient x86.Reg) {
	quotient = s.truncated(s.div(x, x86.RegArg(y)))
	r = s.copy(x)
	s.subProduct(r, quotient, x86.RegArg(y))
	s.choose(r, s.add(r, x86.RegArg(y)), s.compareTo(r, s.at(0), cmpLT))
	s.choose(r, x, s.compareTo(quotient, s.at(0), cmpEQ)) // y may be infinite
	return r, quotient
}

// remainder is x less the multiple of y that is nearest, the even one of two: y is taken away from the rest by 2y up to twice.
func (s series) remainder(x, y x86.Reg) (r, quotient x86.Reg) {
	y = s.magnitude(y)
	r, quotient = s.rest(s.magnitude(x), s.add(y, x86.RegArg(y)))
	far := s.compareTo(r, x86.RegArg(s.sub(y, x86.RegArg(r))), cmpGT)
	s.choose(r, s.sub(r, x86.RegArg(y)), far)
	again := s.maskAnd(far, s.compareTo(r, x86.RegArg(s.sub(y, x86.RegArg(r))), cmpGE))
	s.choose(r, s.sub(r, x86.RegArg(y)), again)
	return s.xor(r, x86.RegArg(s.sign(x))), quotient
}
