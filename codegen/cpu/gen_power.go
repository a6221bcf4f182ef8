package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// vecPower is x^y = e^(y*log x), the logarithm in two words: its error counts as often as the
// exponent is large. Lanes with a base that is not a positive normal number, or a result near the
// ends of the range, are left to Go.
func (g *gen) vecPower(e *ir.Math) []x86.Reg {
	s := g.series(e.T)
	tiny := math.Ldexp(1, -126)
	if e.T.Size == 8 {
		tiny = math.Ldexp(1, -1022)
	}
	x, y := g.vec(e.Args[0]), g.vec(e.Args[1])
	n := g.newSite(image.Site{Kind: image.SiteLanes, Result: e.T, Args: [2]*ir.Type{e.T, e.T}, Eval: foldMath(e)})
	out := g.vectors(g.unroll)
	for u := range g.unroll {
		if u > 0 && allSame(x) && allSame(y) && g.exec == nil {
			out[u] = out[0]
			continue
		}
		power, product := s.Power2(x[u], y[u])
		g.move(out[u], power)
		abs := s.And(product, s.AtBits(1<<(8*uint(e.T.Size)-1)-1))
		hard := g.maskOr(s.CompareTo(x[u], s.At(tiny), vecmath.CmpNGE), s.CompareTo(x[u], s.At(math.Inf(1)), vecmath.CmpGE))
		hard = g.maskOr(hard, s.CompareTo(abs, s.At(vecmath.PowerLimit(e.T)), vecmath.CmpNLT))
		hard = g.canonicalMask(hard, int(e.T.Size))
		if g.exec != nil {
			hard = g.maskAnd(hard, g.exec[u])
		}
		g.anyLane([]x86.Reg{hard})
		back := g.NewLabel()
		base, exponent, result := x[u], y[u], out[u]
		g.Jump(mach.CondNE, g.outOfLine(func() {
			slow := g.NewVector()
			g.callLanes(slow, []x86.Reg{base, exponent}, n, hard, false)
			g.blend(result, slow, hard, e.T)
			g.Jump(mach.Always, back)
		}))
		g.Place(back)
	}
	return out
}
