package values

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// vecDivide is x / y or x % y in every lane that is on. A divisor of 0 in one of them ends the
// launch.
func (g *Numbers) vecDivide(dst []vcode.Reg, e *ir.Binary) []vcode.Reg {
	t := e.T
	c, constant := ir.ConstInt(e.Y)
	switch {
	case t.Size < 4:
		return g.divideShort(dst, e)
	case constant && c != 0:
		return g.divideByConst(dst, e, c)
	}
	if vector.Container(t) == 4 && g.Lanes*8 > g.Bytes {
		return g.divideHalves(dst, e)
	}
	x, y := g.asLong(e.X), g.asLong(e.Y)
	g.checkDivisors(e, ir.Int64Type, y)
	w := vector.WidthOf(8 * g.Lanes)
	out := g.Into(dst)
	if vector.Touches(out, x, vector.RegArgs(y)) {
		out = g.NewVectors(g.Unroll)
	}
	g.Each(func(u int) {
		q := g.divideLong(e, x[u], y[u], w)
		if vector.Container(t) == 4 {
			q = g.Shorten(q, t)
		}
		g.Move(out[u], q)
	})
	return out
}

// asLong is a value as 64-bit lanes.
func (g *Numbers) asLong(e ir.Expr) []vcode.Reg {
	x, t := g.Vector(e), e.Type()
	if vector.Container(t) == 8 {
		return x
	}
	to := ir.Int64Type
	return g.IntToInt(nil, x, t, to)
}

// divideHalves divides 32-bit lanes that are more than fit as 64 bits: the lower and the upper half
// apart.
func (g *Numbers) divideHalves(dst []vcode.Reg, e *ir.Binary) []vcode.Reg {
	x, y := g.Vector(e.X), g.Vector(e.Y)
	g.checkDivisors(e, ir.Int32Type, y)
	out := g.Into(dst)
	if vector.Touches(out, x, vector.RegArgs(y)) {
		out = g.NewVectors(g.Unroll)
	}
	half := g.Bytes / 2
	op := vcode.VWidenU32U64
	if e.T.IsSigned() {
		op = vcode.VWidenI32I64
	}
	g.Each(func(u int) {
		var parts [2]vcode.Reg
		for i := range parts {
			var ops [2]vcode.Reg
			for k, from := range []vcode.Reg{x[u], y[u]} {
				src := from
				if i == 1 {
					src = g.NewVector()
					g.UpperHalf(src, from, g.Bytes)
				}
				ops[k] = g.NewVector()
				g.Op(op, vector.WidthOf(g.Bytes), vcode.RegArg(ops[k]), vcode.RegArg(src))
			}
			q := g.Quotient(e, ops[0], ops[1], vector.WidthOf(g.Bytes))
			parts[i] = g.NewVector()
			if g.AVX512 {
				g.Op(vcode.VNarrowI64I32, vector.WidthOf(g.Bytes), vcode.RegArg(parts[i]), vcode.RegArg(q))
			} else {
				g.Move(parts[i], g.NarrowMask(q))
			}
		}
		// Through memory: there are two halves to be joined, and only one instruction more than for
		// any other way.
		g.WriteVector(protocol.LaneRoom(0), parts[0], vector.WidthOf(half))
		g.WriteVector(protocol.LaneRoom(half), parts[1], vector.WidthOf(half))
		g.ReadVector(out[u], protocol.LaneRoom(0), vector.WidthOf(g.Bytes))
		g.Wrap(out[u], e.T)
	})
	return out
}

// checkDivisors ends the launch where a lane of e that is on divides by 0, in lanes of t.
func (g *Numbers) checkDivisors(e *ir.Binary, t *ir.Type, y []vcode.Reg) {
	zero := g.ConstVector(0, 8)
	any := vcode.NoReg
	for u := range g.Unroll {
		if u > 0 && y[u] == y[0] && (g.Exec == nil || g.Exec[u] == g.Exec[0]) {
			continue
		}
		m := g.CompareCopy(&ir.Binary{Op: ir.Eq}, t, y[u], zero)
		if g.Exec != nil {
			m = g.MaskAnd(m, g.Exec[u])
		}
		if any != vcode.NoReg {
			m = g.MaskOr(any, m)
		}
		any = m
	}
	g.AnyLane([]vcode.Reg{any})
	g.FailAlways(mach.CondNE, ir.DivisorCheck, e)
}

// divideLong is quotient for lanes of 64 bits, which may be too long for it.
func (g *Numbers) divideLong(e *ir.Binary, x, y vcode.Reg, w vcode.Width) vcode.Reg {
	if vector.Container(e.T) == 4 {
		return g.Quotient(e, x, y, w)
	}
	out, back, slow := g.NewVector(), g.NewLabel(), g.NewLabel()
	g.AnyLong(e.T, x, y, w)
	g.Jump(mach.CondNE, slow)
	g.Move(out, g.Quotient(e, x, y, w))
	g.Place(back)
	g.Later(slow, func() {
		g.divideLanes(e, x, y, out, w)
		g.Jump(mach.Always, back)
	})
	return out
}

// divideLanes divides lane by lane, through the block.
func (g *Numbers) divideLanes(e *ir.Binary, x, y, out vcode.Reg, w vcode.Width) {
	g.WriteVector(protocol.LaneRoom(0), x, w)
	g.WriteVector(protocol.LaneRoom(64), y, w)
	i := g.ConstGeneral(0)
	top, next := g.NewLabel(), g.NewLabel()
	a, b, r := g.NewGeneral(), g.NewGeneral(), g.NewGeneral()
	g.Place(top)
	g.ReadInt(a, vcode.Indexed(vcode.Block, i, 8, 8*image.WordLanes))
	g.ReadInt(b, vcode.Indexed(vcode.Block, i, 8, 8*(image.WordLanes+8)))
	g.SetGeneral(r, 0)
	g.Test(b)
	g.Jump(mach.CondE, next)
	if e.T.IsSigned() {
		plain := g.NewLabel()
		g.Op(vcode.CompareImm8, vcode.W128, vcode.RegArg(b), vcode.ImmArg(-1))
		g.Jump(mach.CondNE, plain)
		if e.Op == ir.Div {
			g.Subtract(r, a)
		}
		g.Jump(mach.Always, next)
		g.Place(plain)
	}
	g.Divide(e, a, b, r)
	g.Place(next)
	g.WriteInt(vcode.Indexed(vcode.Block, i, 8, 8*image.WordLanes), r)
	g.AddConst(i, 1)
	g.CompareConst(i, int64(g.Lanes))
	g.JumpBack(mach.CondL, top)
	g.ReadVector(out, protocol.LaneRoom(0), w)
}

// Divisions that need no float64: by constants, as the upper half of a product, and of numbers of
// one and two bytes, as float32.

// divideByConst divides lanes of 32 or 64 bits by a constant other than 0. Numbers with a sign are
// divided without it.
//
// Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI
// 1994, figures 4.1 and 5.2; differs: the sign is taken off and put back, as there is no arithmetic
// shift of 64 bits in AVX2.
func (g *Numbers) divideByConst(dst []vcode.Reg, e *ir.Binary, c int64) []vcode.Reg {
	s := g.Words(e.T)
	x := g.Vector(e.X)
	if !e.T.IsSigned() {
		return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) { g.Move(d, s.DivideByConst(e.Op, x, uint64(c), false)) })
	}
	by := uint64(max(c, -c)) // that of the least integer is right without a sign
	if e.T.Size == 4 {
		by &= 1<<32 - 1
	}
	return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
		sign := s.Signs(x)
		r := s.DivideByConst(e.Op, s.SubInts(s.Xor(x, vcode.RegArg(sign)), sign), by, true)
		if e.Op == ir.Div && c < 0 {
			sign = s.Xor(sign, vcode.RegArg(g.AllOnes(s.Width)))
		}
		g.Move(d, s.SubInts(s.Xor(r, vcode.RegArg(sign)), sign))
	})
}

// divideShort divides numbers of one or two bytes, in lanes of 32 bits. Rounded to 24 bits, their
// quotient reaches no integer that the exact one does not reach; nor does the product with a
// reciprocal that is rounded up.
func (g *Numbers) divideShort(dst []vcode.Reg, e *ir.Binary) []vcode.Reg {
	s := g.SeriesOf(ir.Float32Type, g.Width(e.T))
	x := g.Vector(e.X)
	finish := func(d, q vcode.Reg, y func() vcode.Reg, x vcode.Reg) {
		whole := s.NewVector()
		g.Op(vcode.VTruncateF32I32, s.Width, vcode.RegArg(whole), vcode.RegArg(q))
		if e.Op == ir.Rem {
			p := s.NewVector()
			g.Op(vcode.VMulI32, s.Width, vcode.RegArg(p), vcode.RegArg(whole), vcode.RegArg(y()))
			whole = g.SeriesOf(ir.Int32Type, s.Width).SubInts(x, p)
		}
		g.Move(d, whole)
		g.Wrap(d, e.T)
	}
	if c, ok := ir.ConstInt(e.Y); ok && c != 0 {
		return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
			finish(d, s.Mul(s.ToSingle(x), s.At(float64(vector.Above32(c)))), func() vcode.Reg { return g.ConstVector(uint64(c), 4) }, x)
		})
	}
	y := g.Vector(e.Y)
	g.checkDivisors(e, e.T, y)
	return g.Lift(dst, x, y, func(d, x, y vcode.Reg) {
		finish(d, s.Div(s.ToSingle(x), vcode.RegArg(s.ToSingle(y))), func() vcode.Reg { return y }, x)
	})
}
