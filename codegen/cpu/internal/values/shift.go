package values

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// vecShift shifts by constants; counts past the width give what Go gives.
func (g *Numbers) vecShift(dst []x86.Reg, e *ir.Binary) []x86.Reg {
	c, ok := ir.ConstInt(e.Y)
	if !ok || c < 0 {
		return g.shiftByVector(dst, e)
	}
	w, bits := g.Width(e.T), 8*int64(e.T.Size)
	x := g.Vector(e.X)
	return g.Lift(dst, x, x, func(d, x, _ x86.Reg) {
		switch {
		case e.Op == ir.Shr && e.T.IsSigned() && vector.Container(e.T) == 8 && !g.AVX512 && !g.notNegative(e.X):
			c = min(c, bits-1)
			s := g.SeriesOf(e.T, w)
			g.Move(d, s.Extended(s.ShiftRight(x, c), s.ConstBits(1<<(63-c))))
		case e.Op == ir.Shr && e.T.IsSigned() && (vector.Container(e.T) == 4 || g.AVX512):
			c = min(c, bits-1)
			g.Op(vector.Pick(e.T, x86.VPSRAD, x86.VPSRAQ), w, x86.RegArg(d), x86.RegArg(x), x86.ImmArg(c))
		case c >= bits:
			g.Move(d, g.ConstVector(0, vector.Container(e.T)))
		case e.Op == ir.Shr:
			g.Op(vector.Pick(e.T, x86.VPSRLD, x86.VPSRLQ), w, x86.RegArg(d), x86.RegArg(x), x86.ImmArg(c))
		default:
			g.Op(vector.Pick(e.T, x86.VPSLLD, x86.VPSLLQ), w, x86.RegArg(d), x86.RegArg(x), x86.ImmArg(c))
			g.Wrap(d, e.T)
		}
	})
}

// shiftByVector shifts every lane by its own count, or all by the same. The instructions give what
// Go gives for counts past the width, as long as the count fits its lane; a negative one in a lane
// that is on ends the launch.
func (g *Numbers) shiftByVector(dst []x86.Reg, e *ir.Binary) []x86.Reg {
	x := g.Vector(e.X)
	var by []x86.Reg
	if g.Shape(e.Y).Kind == analysis.Uniform {
		by = g.sameCount(e)
	} else {
		by = g.Vector(e.Y)
		if e.Y.Type().IsSigned() && e.Checked {
			g.checkCounts(e, by)
		}
		by = g.CountsFor(by, e.Y.Type(), e.T)
	}
	s := g.SeriesOf(e.T, g.Width(e.T))
	signed := e.Op == ir.Shr && e.T.IsSigned() && !g.notNegative(e.X)
	return g.Lift(dst, x, by, func(d, x, n x86.Reg) {
		switch {
		case e.Op == ir.Shl:
			g.Op(vector.Pick(e.T, x86.VPSLLVD, x86.VPSLLVQ), s.Width, x86.RegArg(d), x86.RegArg(x), x86.RegArg(n))
			g.Wrap(d, e.T)
		case !signed:
			g.Op(vector.Pick(e.T, x86.VPSRLVD, x86.VPSRLVQ), s.Width, x86.RegArg(d), x86.RegArg(x), x86.RegArg(n))
		case vector.Container(e.T) == 4 || g.AVX512:
			g.Op(vector.Pick(e.T, x86.VPSRAVD, x86.VPSRAVQ), s.Width, x86.RegArg(d), x86.RegArg(x), x86.RegArg(n))
		default: // AVX2 shifts no signs into these: what is above the sign is shifted in as zeros
			sign, shifted := s.Signs(x), s.NewVector()
			g.Op(x86.VPSRLVQ, s.Width, x86.RegArg(shifted), x86.RegArg(s.Xor(x, x86.RegArg(sign))), x86.RegArg(n))
			g.Op(x86.VXORPS, s.Width, x86.RegArg(d), x86.RegArg(shifted), x86.RegArg(sign))
		}
	})
}

// checkCounts ends the launch where a lane that is on shifts by a negative count: one of those of
// all copies, put together, has a sign.
func (g *Numbers) checkCounts(e *ir.Binary, by []x86.Reg) {
	t := e.Y.Type()
	w, all := g.Width(t), x86.NoReg
	for u, n := range by {
		if u > 0 && n == by[0] && (g.Exec == nil || g.Exec[u] == g.Exec[0]) {
			continue
		}
		all = g.OrWhereOn(all, n, u, t)
	}
	if g.AVX512 {
		m := g.NewMask()
		g.Op(vector.IntCompareOp(t), w, x86.RegArg(m), x86.RegArg(all), x86.RegArg(g.ConstVector(0, vector.Container(t))), x86.ImmArg(1))
		g.Op(x86.KORTESTW, x86.W128, x86.RegArg(m), x86.RegArg(m))
	} else {
		g.Op(vector.Pick(t, x86.VMOVMSKPS, x86.VMOVMSKPD), w, x86.RegArg(x86.AX), x86.RegArg(all))
		if g.Fills(t) {
			g.Test(x86.AX)
		} else { // no lane is above
			g.AndConst(x86.AX, 1<<g.Lanes-1)
		}
	}
	g.FailAlways(mach.CondNE, ir.CountCheck, e)
}

// sameCount is the count of a shift by the same in all lanes, in lanes of the number that is
// shifted; all from mostCount on are alike.
func (g *Numbers) sameCount(e *ir.Binary) []x86.Reg {
	n := g.General(e.Y)
	if e.Y.Type().IsSigned() && e.Checked {
		g.Test(n)
		g.FailIf(mach.CondL, ir.CountCheck, e)
	}
	if r, ok := g.Spreads[CountKey(e)]; ok {
		return g.Same(r)
	}
	return g.Same(g.CountVector(e, n))
}
