package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// vecCircular is sin, cos or tan: the argument is reduced to [-pi/4, pi/4] with three words of
// pi/2. Lanes whose argument is too large for that are left to Go.
func (g *gen) vecCircular(e *ir.Math) []x86.Reg {
	s := g.series(e.T)
	limit := vecmath.CircularLimit(e.T)
	x := g.vec(e.Args[0])
	site := g.newSite(image.Site{Kind: image.SiteLanes, Result: e.T, Args: [2]*ir.Type{e.T}, Eval: foldMath(e)})
	out := g.vectors(g.unroll)
	for u := range g.unroll {
		if u > 0 && allSame(x) && g.exec == nil {
			out[u] = out[0]
			continue
		}
		g.move(out[u], s.Circular(x[u], e.Fn))
		abs := s.And(x[u], s.AtBits(1<<(8*uint(e.T.Size)-1)-1))
		huge := s.CompareTo(abs, s.At(limit), vecmath.CmpGT)
		huge = g.canonicalMask(huge, int(e.T.Size))
		if g.exec != nil {
			huge = g.maskAnd(huge, g.exec[u])
		}
		g.anyLane([]x86.Reg{huge})
		back := g.NewLabel()
		arg, result := x[u], out[u]
		g.Jump(mach.CondNE, g.outOfLine(func() {
			slow := g.NewVector()
			g.callLanes(slow, []x86.Reg{arg}, site, huge, false)
			g.blend(result, slow, huge, e.T)
			g.Jump(mach.Always, back)
		}))
		g.Place(back)
	}
	return out
}
