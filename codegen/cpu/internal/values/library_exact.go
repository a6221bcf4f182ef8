package values

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/ir"
)

// vecBits evaluates the functions of math/bits that shifts and sums of fields do; ok is false for
// others. Small integers lie in 32 bits, with zeros above them.
//
// Source: Warren, "Hacker's Delight", 2nd edition, sections 5-1 (population count), 5-3, 5-4
// (zeros) and 7-1 (reversal).
func (g *Library) vecBits(dst []vcode.Reg, e *ir.Math) (out []vcode.Reg, ok bool) {
	t := e.Args[0].Type()
	if !t.IsInteger() {
		return nil, false
	}
	s := g.SeriesOf(ir.Uint32Type, g.Width(t))
	if vector.Container(t) == 8 {
		s.Type = ir.Uint64Type
	}
	width := 8 * int64(t.Size)
	f := map[ir.MathFn]func(x vcode.Reg) vcode.Reg{
		ir.OnesCount:     func(x vcode.Reg) vcode.Reg { return s.OnesCount(x, width) },
		ir.BitLen:        func(x vcode.Reg) vcode.Reg { return s.BitLen(x, width) },
		ir.LeadingZeros:  func(x vcode.Reg) vcode.Reg { return s.LeadingZeros(x, width) },
		ir.TrailingZeros: func(x vcode.Reg) vcode.Reg { return s.TrailingZeros(x, width) },
		ir.Reverse:       func(x vcode.Reg) vcode.Reg { return s.ReverseBytes(s.ReverseInBytes(x), width) },
		ir.ReverseBytes:  func(x vcode.Reg) vcode.Reg { return s.ReverseBytes(x, width) },
	}[e.Fn]
	if k, isConst := rotation(e); isConst {
		f = func(x vcode.Reg) vcode.Reg { return s.Rotate(x, k&(width-1), width) }
	}
	if f == nil {
		return nil, false
	}
	x := g.Vector(e.Args[0])
	if vector.Container(e.T) > vector.Container(t) { // counts are of type int
		counts := g.Lift(nil, x, x, func(d, x, _ vcode.Reg) { g.Move(d, f(x)) })
		return g.Widen(dst, counts, ir.Uint32Type, e.T, vcode.VWidenU32U64), true
	}
	return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) { g.Move(d, f(x)) }), true
}

// rotation is the count of a RotateLeft by a constant.
func rotation(e *ir.Math) (k int64, ok bool) {
	if e.Fn != ir.RotateLeft {
		return 0, false
	}
	return ir.ConstInt(e.Args[1])
}

// vecCircular is sin, cos or tan: the argument is reduced to [-pi/4, pi/4] with three words of
// pi/2. Lanes whose argument is too large for that are left to Go.
func (g *Library) vecCircular(e *ir.Math) []vcode.Reg {
	s := g.Series(e.T)
	limit := vecmath.CircularLimit(e.T)
	x := g.Vector(e.Args[0])
	site := g.NewSite(image.Site{Kind: image.SiteLanes, Result: e.T, Args: [2]*ir.Type{e.T}, Eval: protocol.FoldMath(e)})
	out := g.NewVectors(g.Unroll)
	for u := range g.Unroll {
		if u > 0 && vector.AllSame(x) && g.Exec == nil {
			out[u] = out[0]
			continue
		}
		g.Move(out[u], s.Circular(x[u], e.Fn))
		abs := s.And(x[u], s.AtBits(1<<(8*uint(e.T.Size)-1)-1))
		huge := s.CompareTo(abs, s.At(limit), vecmath.CmpGT)
		huge = g.CanonicalMask(huge, int(e.T.Size))
		if g.Exec != nil {
			huge = g.MaskAnd(huge, g.Exec[u])
		}
		g.AnyLane([]vcode.Reg{huge})
		back := g.NewLabel()
		arg, result := x[u], out[u]
		g.Jump(mach.CondNE, g.OutOfLine(func() {
			slow := g.NewVector()
			g.CallLanes(slow, []vcode.Reg{arg}, site, huge, false)
			g.Blend(result, slow, huge, e.T)
			g.Jump(mach.Always, back)
		}))
		g.Place(back)
	}
	return out
}

// Functions of package math whose results are exact, and the length of a vector.

// vecExact evaluates them; ok is false for others.
func (g *Library) vecExact(dst []vcode.Reg, e *ir.Math) (out []vcode.Reg, ok bool) {
	s := g.Series(e.T)
	switch e.Fn {
	case ir.Round:
		x := g.Vector(e.Args[0])
		return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) { g.Move(d, s.RoundAway(x)) }), true
	case ir.Mod:
		return g.vecModulo(e, s.Modulo), true
	case ir.Remainder:
		return g.vecModulo(e, s.Remainder), true
	}
	two := map[ir.MathFn]func(x, y vcode.Reg) vcode.Reg{ir.Copysign: s.CopySign, ir.Dim: s.Excess, ir.Hypot: s.Hypot}[e.Fn]
	if two == nil {
		return nil, false
	}
	if e.Fn == ir.Hypot {
		ulp, _ := vecmath.Bound(e.Fn, e.T)
		g.Note("%s of %s by one square root, at most %g ulp", e.Fn, e.T, ulp)
	}
	return g.Lift(dst, g.Vector(e.Args[0]), g.Vector(e.Args[1]), func(d, x, y vcode.Reg) { g.Move(d, two(x, y)) }), true
}

// vecModulo divides with a whole quotient. Lanes whose quotient does not fit a float, and those
// that give a NaN, are left to Go.
func (g *Library) vecModulo(e *ir.Math, f func(x, y vcode.Reg) (r, quotient vcode.Reg)) []vcode.Reg {
	s := g.Series(e.T)
	x, y := g.Vector(e.Args[0]), g.Vector(e.Args[1])
	n := g.NewSite(image.Site{Kind: image.SiteLanes, Result: e.T, Args: [2]*ir.Type{e.T, e.T}, Eval: protocol.FoldMath(e)})
	out := g.NewVectors(g.Unroll)
	for u := range g.Unroll {
		if u > 0 && vector.AllSame(x) && vector.AllSame(y) && g.Exec == nil {
			out[u] = out[0]
			continue
		}
		r, quotient := f(x[u], y[u])
		g.Move(out[u], r)
		hard := s.CompareTo(quotient, s.At(math.Ldexp(1, int(s.Mantissa())+1)), vecmath.CmpNLT)
		g.InGoWhere(hard, out[u], []vcode.Reg{x[u], y[u]}, n, u, e.T)
	}
	return out
}

// vecPower is x^y = e^(y*log x), the logarithm in two words: its error counts as often as the
// exponent is large. Lanes with a base that is not a positive normal number, or a result near the
// ends of the range, are left to Go.
func (g *Library) vecPower(e *ir.Math) []vcode.Reg {
	s := g.Series(e.T)
	tiny := math.Ldexp(1, -126)
	if e.T.Size == 8 {
		tiny = math.Ldexp(1, -1022)
	}
	x, y := g.Vector(e.Args[0]), g.Vector(e.Args[1])
	n := g.NewSite(image.Site{Kind: image.SiteLanes, Result: e.T, Args: [2]*ir.Type{e.T, e.T}, Eval: protocol.FoldMath(e)})
	out := g.NewVectors(g.Unroll)
	for u := range g.Unroll {
		if u > 0 && vector.AllSame(x) && vector.AllSame(y) && g.Exec == nil {
			out[u] = out[0]
			continue
		}
		power, product := s.Power2(x[u], y[u])
		g.Move(out[u], power)
		abs := s.And(product, s.AtBits(1<<(8*uint(e.T.Size)-1)-1))
		hard := g.MaskOr(s.CompareTo(x[u], s.At(tiny), vecmath.CmpNGE), s.CompareTo(x[u], s.At(math.Inf(1)), vecmath.CmpGE))
		hard = g.MaskOr(hard, s.CompareTo(abs, s.At(vecmath.PowerLimit(e.T)), vecmath.CmpNLT))
		hard = g.CanonicalMask(hard, int(e.T.Size))
		if g.Exec != nil {
			hard = g.MaskAnd(hard, g.Exec[u])
		}
		g.AnyLane([]vcode.Reg{hard})
		back := g.NewLabel()
		base, exponent, result := x[u], y[u], out[u]
		g.Jump(mach.CondNE, g.OutOfLine(func() {
			slow := g.NewVector()
			g.CallLanes(slow, []vcode.Reg{base, exponent}, n, hard, false)
			g.Blend(result, slow, hard, e.T)
			g.Jump(mach.Always, back)
		}))
		g.Place(back)
	}
	return out
}

// Functions of math/bits on two numbers.

// vecWords evaluates RotateLeft by any count and the upper half of a product; ok is false for other
// functions.
func (g *Library) vecWords(dst []vcode.Reg, e *ir.Math) (out []vcode.Reg, ok bool) {
	s := g.Words(e.T)
	switch e.Fn {
	case ir.RotateLeft:
		x, by := g.Vector(e.Args[0]), g.rotateCounts(e)
		return g.Lift(dst, x, by, func(d, x, n vcode.Reg) { g.Move(d, s.RotateBy(x, n, 8*int64(e.T.Size))) }), true
	case ir.MulHi:
		if e.T.Size < 4 {
			return nil, false
		}
		high := s.HighProduct64
		if e.T.Size == 4 {
			high = s.HighProduct32
		}
		return g.Lift(dst, g.Vector(e.Args[0]), g.Vector(e.Args[1]), func(d, x, y vcode.Reg) { g.Move(d, high(x, y)) }), true
	}
	return nil, false
}

// rotateCounts are the counts in lanes of the number that is rotated: of those that do not fit, the
// lower bits.
func (g *Library) rotateCounts(e *ir.Math) []vcode.Reg {
	k, t := e.Args[1], e.T
	if g.Shape(k).Kind == analysis.Uniform {
		by := g.NewVector()
		g.BroadcastGeneral(by, g.General(k), vector.Container(t), g.Width(t))
		return g.Same(by)
	}
	by := g.Vector(k)
	switch {
	case vector.Container(k.Type()) == vector.Container(t):
		return by
	case vector.Container(t) == 8:
		return g.Widen(nil, by, ir.Uint32Type, ir.Uint64Type, vcode.VWidenU32U64)
	}
	return g.Lift(nil, by, by, func(d, n, _ vcode.Reg) { g.LowHalves(d, n) })
}
