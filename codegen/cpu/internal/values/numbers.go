package values

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Numbers evaluate numbers in every lane.
type Numbers struct {
	Library
	Spreads       map[string]vcode.Reg // numbers that the loop over lanes does not change, in all lanes
	ParallelLanes *ir.For              // the parallel loop of the stage, where its iterations are the lanes
	ParallelLo    ir.Expr              // where that began before it was cut
}

// vecConvert converts numbers in every lane, as Go on amd64 does.
func (g *Numbers) vecConvert(dst []vcode.Reg, e *ir.Convert) []vcode.Reg {
	from, to := e.X.Type(), e.T
	if from.Kind == ir.Bool || to.Kind == ir.Bool {
		g.Refuse(e.At, "a conversion of %s to %s is not supported yet in vector code", from, to)
	}
	if g.Single && g.Shapes == nil && from.IsInteger() && to.IsFloat() && from.Kind != ir.Uint64 {
		return g.OneToFloat(g.General(e.X), to)
	}
	x := g.Vector(e.X)
	if from.IsInteger() && to.IsFloat() && !g.AVX512 && !g.ISA.Converts() && (vector.Container(from) == 8 || from.Kind == ir.Uint32) {
		return g.ToFloatAVX2(dst, x, from, to)
	}
	if ir.Same(from, to) || from.IsInteger() && to.IsInteger() && vector.Container(from) == vector.Container(to) && to.Size >= 4 && from.Size >= 4 {
		return x
	}
	switch {
	case from.IsFloat() && to.IsFloat():
		return g.Widen(dst, x, from, to, map[bool]vcode.Op{true: vcode.VConvertF32F64, false: vcode.VConvertF64F32}[to.Size == 8])
	case from.IsInteger() && to.IsFloat() && g.Lanes*vector.Container(from) > g.Bytes:
		return g.ConvertOnce(dst, x, to, g.IntToFloat(from, to))
	case from.IsInteger() && to.IsFloat():
		return g.Widen(dst, x, from, to, g.IntToFloat(from, to))
	case from.IsFloat():
		return g.FloatToInt(dst, x, from, to)
	}
	return g.IntToInt(dst, x, from, to)
}

// under evaluates e in the lanes of masks, and steps over it where there are none and e would touch
// memory or fail: what it sets must have a value before.
func (g *Numbers) under(masks []vcode.Reg, e ir.Expr, evaluate func()) {
	exec, split := g.Exec, g.Split
	none, jumps := g.NewLabel(), prepare.MayFail(e)
	g.Narrow(masks)
	if jumps {
		g.AnyLane(g.Exec)
		g.Jump(mach.CondE, none)
	}
	evaluate()
	if jumps {
		g.Place(none)
	}
	g.Exec, g.Split = exec, split
}

// Elements of one and two bytes lie in lanes of 32 bits. They are stored from the lower ends of
// these, and loaded from constant distances, by instructions that move single bytes within 16 of
// them.

// VecLow is vec where only the bits that an element in memory has are needed: sums and products
// need not be cut to them on the way.
func (g *Numbers) VecLow(e ir.Expr) []vcode.Reg {
	t := e.Type()
	if !t.IsInteger() || t.Size >= 4 || g.Shape(e).Kind != analysis.Varying {
		return g.Vector(e)
	}
	w := g.Width(t)
	switch e := e.(type) {
	case *ir.Binary:
		p, ok := vector.IntOps[e.Op]
		if e.Op == ir.Shl {
			if c, constant := ir.ConstInt(e.Y); constant && c >= 0 && c < 8*int64(t.Size) {
				x := g.VecLow(e.X)
				return g.Lift(nil, x, x, func(d, x, _ vcode.Reg) {
					g.Op(vcode.VShiftLeftI32, w, vcode.RegArg(d), vcode.RegArg(x), vcode.ImmArg(c))
				})
			}
		}
		if ok {
			return g.Lift(nil, g.VecLow(e.X), g.VecLow(e.Y), func(d, x, y vcode.Reg) { g.Op(p.Single, w, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y)) })
		}
	case *ir.Convert:
		from := e.X.Type()
		if !from.IsInteger() {
			break
		}
		if from.Size < 4 && from.Size >= t.Size {
			return g.VecLow(e.X)
		}
		if vector.Container(from) == 4 {
			return g.Vector(e.X)
		}
		x := g.Vector(e.X)
		return g.Lift(nil, x, x, func(d, x, _ vcode.Reg) { g.LowHalves(d, x) })
	}
	return g.Vector(e)
}

// Integers that a loop over lanes does not change are brought into all lanes once, before it, where
// vectors are combined with them.

func SpreadKey(e ir.Expr) string { return fmt.Sprint(vector.Container(e.Type()), ir.ExprKey(e)) }

// CountKey names counts of shifts, in lanes of the number that is shifted.
func CountKey(e *ir.Binary) string { return fmt.Sprint("<<", vector.Container(e.T), ir.ExprKey(e.Y)) }

// notNegative tells the integers that are known to have no sign: the counter of the loop over lanes
// where it rises from 0 or more.
func (g *Numbers) notNegative(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Const:
		return int64(e.Bits) >= 0
	case *ir.Ref:
		if g.Shapes == nil || e.Var != g.Shapes.Lane || g.Shapes.Step <= 0 || g.ParallelLanes == nil || g.ParallelLanes.Var != e.Var {
			return false
		}
		lo, ok := ir.ConstInt(g.ParallelLo)
		return ok && lo >= 0 && ir.IsWide(e.Var.Type)
	case *ir.Binary:
		return e.Op == ir.And && (g.notNegative(e.X) || g.notNegative(e.Y))
	case *ir.Convert:
		return ir.IsWide(e.T) && analysis.Below32(e)
	}
	return false
}

// Vector evaluates a number in every lane: one register for each unrolled copy. Results are not to
// be changed: they may be variables.
func (g *Numbers) Vector(e ir.Expr) []vcode.Reg { return g.VecTo(nil, e) }

// VecTo is vec with the wish that the result be put into dst. The caller looks where it is: copies
// and variables are not moved.
func (g *Numbers) VecTo(dst []vcode.Reg, e ir.Expr) []vcode.Reg {
	g.fits(e)
	t := e.Type()
	switch e := e.(type) {
	case *ir.Const:
		return g.Same(g.ConstVector(constBits(e), vector.Container(t)))
	case *ir.Ref:
		return g.vecRef(e)
	}
	if s := g.Shape(e); t.IsInteger() && s.Kind != analysis.Varying {
		return g.spread(e, s)
	}
	switch e := e.(type) {
	case *ir.Unary:
		return g.vecUnary(dst, e)
	case *ir.Binary:
		return g.vecBinary(dst, e)
	case *ir.Convert:
		return g.vecConvert(dst, e)
	case *ir.Index, *ir.Member:
		return g.Load(e, t)
	case *ir.Math:
		return g.vecMath(dst, e)
	case *ir.Select:
		return g.vecSelect(e)
	}
	g.Refuse(e.Pos(), "%s is not supported yet in vector code", ir.Source(e))
	return nil
}

// fits panics where a number that differs between lanes does not fit into a vector in all of them,
// since analysis.LaneBytes missed it: lanes beyond the vector would be wrong without a word.
func (g *Numbers) fits(e ir.Expr) {
	if g.Shapes != nil && g.Lanes*vector.Container(e.Type()) > g.Bytes && g.Shape(e).Kind != analysis.Uniform {
		panic(fmt.Sprintf("gompss: bug: cpu: %s differs between %d lanes of %d bytes, of which a vector holds %d bytes", ir.Source(e), g.Lanes, e.Type().Size, g.Bytes))
	}
}

// constBits is a constant as its container holds it.
func constBits(e *ir.Const) uint64 { return e.Bits }

func (g *Numbers) vecRef(e *ir.Ref) []vcode.Reg {
	h := g.Home(e.Var, e.At)
	if h.Vectors != nil {
		if h.Alike {
			return g.Same(h.Vectors[0])
		}
		return h.Vectors
	}
	return g.spread(e, g.Shape(e))
}

// spread makes vectors of a uniform or affine integer that lives in a general register.
func (g *Numbers) spread(e ir.Expr, s analysis.Shape) []vcode.Reg {
	t := e.Type()
	size, w := vector.Container(t), g.Width(t)
	if r, ok := g.Spreads[SpreadKey(e)]; ok && s.Kind == analysis.Uniform {
		return g.Same(r)
	}
	base := g.NewVector()
	g.BroadcastGeneral(base, g.General(e), size, w)
	if s.Kind == analysis.Uniform {
		return g.Same(base)
	}
	add := vcode.VAddI32
	if size == 8 {
		add = vcode.VAddI64
	}
	out := g.NewVectors(g.Unroll)
	g.Each(func(u int) {
		from := base
		if u > 0 {
			from = out[u]
			g.Op(add, w, vcode.RegArg(from), vcode.RegArg(base), vcode.RegArg(g.ConstVector(uint64(int64(u)*int64(g.Lanes)*s.Stride), size)))
		}
		g.Op(add, w, vcode.RegArg(out[u]), vcode.RegArg(from), vcode.RegArg(g.IotaVector(s.Stride, size)))
	})
	return out
}

func (g *Numbers) vecUnary(dst []vcode.Reg, e *ir.Unary) []vcode.Reg {
	x := g.Vector(e.X)
	t := e.Type()
	w := g.Width(t)
	return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
		switch {
		case e.Op == ir.Neg && t.IsFloat():
			sign := g.ConstVector(1<<(8*uint(t.Size)-1), int(t.Size))
			g.Op(vcode.VXorF32, w, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(sign))
		case e.Op == ir.Neg:
			g.Op(vector.Pick(t, vcode.VSubI32, vcode.VSubI64), w, vcode.RegArg(d), vcode.RegArg(g.ConstVector(0, vector.Container(t))), vcode.RegArg(x))
			g.Wrap(d, t)
		case e.Op == ir.Com:
			g.Op(vcode.VXorF32, w, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(g.AllOnes(w)))
			g.Wrap(d, t)
		default:
			g.Refuse(e.At, "operator %s is not supported yet in vector code", e.Op)
		}
	})
}

func (g *Numbers) vecBinary(dst []vcode.Reg, e *ir.Binary) []vcode.Reg {
	if e.T.IsFloat() {
		if g.Kernel.Target.FastMath {
			if r := g.fused(dst, e); r != nil {
				return r
			}
		}
		p, ok := vector.FloatOps[e.Op]
		if !ok {
			g.Refuse(e.At, "operator %s on floats is not supported yet in vector code", e.Op)
		}
		op, w := p.Of(e.T), g.Width(e.T)
		if e.Op == ir.Add || e.Op == ir.Mul || e.Op == ir.Sub || e.Op == ir.Div {
			if mem := g.foldable(e.Y); mem != nil {
				x := g.Vector(e.X)
				y := mem()
				dst = g.Into(dst)
				g.Each(func(u int) { g.Op(op, w, vcode.RegArg(dst[u]), vcode.RegArg(x[u]), y[u]) })
				return dst
			}
		}
		return g.Lift(dst, g.Vector(e.X), g.Vector(e.Y), func(d, x, y vcode.Reg) { g.Op(op, w, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y)) })
	}
	return g.vecInteger(dst, e)
}

func (g *Numbers) vecInteger(dst []vcode.Reg, e *ir.Binary) []vcode.Reg {
	if e.Op == prepare.Within {
		x := g.Vector(e.X)
		g.CheckVectors(g.WithinAccess(e), x, g.Vector(e.Y))
		return x
	}
	w := g.Width(e.T)
	if p, ok := vector.IntOps[e.Op]; ok {
		op := p.Of(e.T)
		return g.Lift(dst, g.Vector(e.X), g.Vector(e.Y), func(d, x, y vcode.Reg) {
			if op == vcode.VMulI64 && g.MulShort(e, d, x, y) {
				return
			}
			if op == vcode.VMulI64 && !g.AVX512 {
				g.SeriesOf(ir.Int64Type, w).MulLong(d, x, y)
				return
			}
			g.Op(op, w, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y))
			g.Wrap(d, e.T)
		})
	}
	switch e.Op {
	case ir.AndNot:
		return g.Lift(dst, g.Vector(e.X), g.Vector(e.Y), func(d, x, y vcode.Reg) { g.Op(vcode.VAndNotF32, w, vcode.RegArg(d), vcode.RegArg(y), vcode.RegArg(x)) })
	case ir.Shl, ir.Shr:
		return g.vecShift(dst, e)
	case ir.Div, ir.Rem:
		return g.vecDivide(dst, e)
	}
	g.Refuse(e.At, "operator %s on integers is not supported yet", e.Op)
	return nil
}

// vecSelect evaluates each side only in the lanes that take it.
func (g *Numbers) vecSelect(e *ir.Select) []vcode.Reg {
	m := g.Masks(e.Cond)
	out, zero := g.NewVectors(g.Unroll), g.ConstVector(0, 8)
	g.Each(func(u int) { g.Move(out[u], zero) })
	g.under(g.NotMasks(m), e.Y, func() {
		y := g.Vector(e.Y)
		g.Each(func(u int) { g.Move(out[u], y[u]) })
	})
	g.under(m, e.X, func() {
		x := g.Vector(e.X)
		g.Each(func(u int) { g.Blend(out[u], x[u], m[u], e.Type()) })
	})
	return out
}
