package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// series is selection for the vectors that hold a t in each lane.
func (g *gen) series(t *ir.Type) vecmath.Series { return g.seriesOf(t, g.width(t)) }

// seriesOf is that for vectors of width w.
func (g *gen) seriesOf(t *ir.Type, w x86.Width) vecmath.Series {
	return vecmath.New(g, vecmath.Features{AVX512: g.avx512, FastMath: g.kernel.Target.FastMath}, t, w)
}

// PoolOnce puts n copies of a constant into the pool, and does so once.
func (g *gen) PoolOnce(bits uint64, size, n int) int {
	key := constKey{bits: bits, size: size, iota: -int64(n)}
	if at, ok := g.pooled[key]; ok {
		return at
	}
	at := g.PoolWord(bits, size)
	for range n - 1 {
		g.PoolWord(bits, size)
	}
	g.pooled[key] = at
	return at
}

// vecPolynomial selects a function by polynomial; ok is false where it has none.
func (g *gen) vecPolynomial(dst []x86.Reg, e *ir.Math) (out []x86.Reg, ok bool) {
	s := g.series(e.T)
	f := map[ir.MathFn]func(x x86.Reg) x86.Reg{
		ir.Exp:   func(x x86.Reg) x86.Reg { return s.Exp(x) },
		ir.Exp2:  func(x x86.Reg) x86.Reg { return s.Exp2(x) },
		ir.Log:   func(x x86.Reg) x86.Reg { return s.Log(x, math.Ln2, 1) },
		ir.Log2:  func(x x86.Reg) x86.Reg { return s.Log(x, 1, math.Log2E) },
		ir.Log10: func(x x86.Reg) x86.Reg { return s.Log(x, math.Log10E*math.Ln2, math.Log10E) },
		ir.Tanh:  s.Tanh,
		ir.Erf:   s.Erf,
	}[e.Fn]
	if f != nil || e.Fn == ir.Sin || e.Fn == ir.Cos || e.Fn == ir.Tan || e.Fn == ir.Pow {
		ulp, _ := vecmath.Bound(e.Fn, e.T)
		g.note("%s of %s by polynomial, at most %g ulp", e.Fn, e.T, ulp)
	}
	if e.Fn == ir.Sin || e.Fn == ir.Cos || e.Fn == ir.Tan {
		return g.vecCircular(e), true
	}
	if e.Fn == ir.Pow {
		return g.vecPower(e), true
	}
	if f == nil {
		return nil, false
	}
	x := g.vec(e.Args[0])
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) { g.move(d, f(x)) }), true
}
