package values

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// vecShift shifts by constants; counts past the width give what Go gives.
func (g *Numbers) vecShift(dst []vcode.Reg, e *ir.Binary) []vcode.Reg {
	c, ok := ir.ConstInt(e.Y)
	if !ok || c < 0 {
		return g.shiftByVector(dst, e)
	}
	w, bits := g.Width(e.T), 8*int64(e.T.Size)
	x := g.Vector(e.X)
	return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
		switch {
		case e.Op == ir.Shr && e.T.IsSigned() && vector.Container(e.T) == 8 && !g.AVX512 && !g.notNegative(e.X):
			c = min(c, bits-1)
			s := g.SeriesOf(e.T, w)
			g.Move(d, s.Extended(s.ShiftRight(x, c), s.ConstBits(1<<(63-c))))
		case e.Op == ir.Shr && e.T.IsSigned() && (vector.Container(e.T) == 4 || g.AVX512):
			c = min(c, bits-1)
			g.Op(vector.Pick(e.T, vcode.VShiftRightI32, vcode.VShiftRightI64), w, vcode.RegArg(d), vcode.RegArg(x), vcode.ImmArg(c))
		case c >= bits:
			g.Move(d, g.ConstVector(0, vector.Container(e.T)))
		case e.Op == ir.Shr:
			g.Op(vector.Pick(e.T, vcode.VShiftRightU32, vcode.VShiftRightU64), w, vcode.RegArg(d), vcode.RegArg(x), vcode.ImmArg(c))
		default:
			g.Op(vector.Pick(e.T, vcode.VShiftLeftI32, vcode.VShiftLeftI64), w, vcode.RegArg(d), vcode.RegArg(x), vcode.ImmArg(c))
			g.Wrap(d, e.T)
		}
	})
}

// shiftByVector shifts every lane by its own count, or all by the same. The instructions give what
// Go gives for counts past the width, as long as the count fits its lane; a negative one in a lane
// that is on ends the launch.
func (g *Numbers) shiftByVector(dst []vcode.Reg, e *ir.Binary) []vcode.Reg {
	x := g.Vector(e.X)
	var by []vcode.Reg
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
	return g.Lift(dst, x, by, func(d, x, n vcode.Reg) {
		switch {
		case e.Op == ir.Shl:
			g.Op(vector.Pick(e.T, vcode.VShiftLeftEachI32, vcode.VShiftLeftEachI64), s.Width, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(n))
			g.Wrap(d, e.T)
		case !signed:
			g.Op(vector.Pick(e.T, vcode.VShiftRightEachU32, vcode.VShiftRightEachU64), s.Width, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(n))
		case vector.Container(e.T) == 4 || g.AVX512:
			g.Op(vector.Pick(e.T, vcode.VShiftRightEachI32, vcode.VShiftRightEachI64), s.Width, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(n))
		default: // AVX2 shifts no signs into these: what is above the sign is shifted in as zeros
			sign, shifted := s.Signs(x), s.NewVector()
			g.Op(vcode.VShiftRightEachU64, s.Width, vcode.RegArg(shifted), vcode.RegArg(s.Xor(x, vcode.RegArg(sign))), vcode.RegArg(n))
			g.Op(vcode.VXorF32, s.Width, vcode.RegArg(d), vcode.RegArg(shifted), vcode.RegArg(sign))
		}
	})
}

// checkCounts ends the launch where a lane that is on shifts by a negative count: one of those of
// all copies, put together, has a sign.
func (g *Numbers) checkCounts(e *ir.Binary, by []vcode.Reg) {
	t := e.Y.Type()
	w, all := g.Width(t), vcode.NoReg
	for u, n := range by {
		if u > 0 && n == by[0] && (g.Exec == nil || g.Exec[u] == g.Exec[0]) {
			continue
		}
		all = g.OrWhereOn(all, n, u, t)
	}
	if g.AVX512 {
		m := g.NewMask()
		g.Op(vector.IntCompareOp(t), w, vcode.RegArg(m), vcode.RegArg(all), vcode.RegArg(g.ConstVector(0, vector.Container(t))), vcode.ImmArg(1))
		g.Op(vcode.MaskTestOr16, vcode.W128, vcode.RegArg(m), vcode.RegArg(m))
	} else {
		g.Op(vector.Pick(t, vcode.VSignsF32, vcode.VSignsF64), w, vcode.RegArg(vcode.Acc), vcode.RegArg(all))
		if g.Fills(t) {
			g.Test(vcode.Acc)
		} else { // no lane is above
			g.AndConst(vcode.Acc, 1<<g.Lanes-1)
		}
	}
	g.FailAlways(mach.CondNE, ir.CountCheck, e)
}

// sameCount is the count of a shift by the same in all lanes, in lanes of the number that is
// shifted; all from mostCount on are alike.
func (g *Numbers) sameCount(e *ir.Binary) []vcode.Reg {
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
