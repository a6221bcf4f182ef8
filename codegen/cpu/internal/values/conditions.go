package values

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Conditions evaluate conditions, as masks and as jumps.
type Conditions struct{ Numbers }

// Masks evaluates a condition in every lane. A uniform condition gives masks that are all or
// none.
func (g *Conditions) Masks(e ir.Expr) []vcode.Reg {
	if g.Shape(e).Kind == analysis.Uniform {
		return g.uniformMask(e)
	}
	switch e := e.(type) {
	case *ir.Ref:
		return g.Home(e.Var, e.At).Masks
	case *ir.Unary:
		return g.NotMasks(g.Masks(e.X))
	case *ir.Binary:
		switch e.Op {
		case ir.LAnd:
			return g.shortCircuit(e, true)
		case ir.LOr:
			return g.shortCircuit(e, false)
		case ir.Eq, ir.Ne:
			if e.X.Type().Kind == ir.Bool {
				return g.equalMasks(e)
			}
		}
		return g.compare(e)
	case *ir.Index, *ir.Member:
		return g.boolLoad(e)
	case *ir.Math:
		return g.boolMath(e)
	case *ir.Convert:
		return g.Masks(e.X)
	case *ir.Select:
		return g.selectMasks(e)
	}
	g.Refuse(e.Pos(), "the condition %s has no form for lanes", ir.Source(e))
	return nil
}

// selectMasks evaluates each side only in the lanes that take it.
func (g *Conditions) selectMasks(e *ir.Select) []vcode.Reg {
	c := g.Masks(e.Cond)
	out := make([]vcode.Reg, g.Unroll)
	g.Each(func(u int) { out[u] = g.MaskNone() })
	g.under(c, e.X, func() {
		x := g.Masks(e.X)
		g.Each(func(u int) { g.MaskMove(out[u], g.MaskAnd(c[u], x[u])) })
	})
	g.under(g.NotMasks(c), e.Y, func() {
		y := g.Masks(e.Y)
		g.Each(func(u int) { g.MaskMove(out[u], g.MaskOr(out[u], g.MaskAndNot(c[u], y[u]))) })
	})
	return out
}

// boolMath asks of what kind a float is.
func (g *Conditions) boolMath(e *ir.Math) []vcode.Reg {
	x, t := e.Args[0], e.Args[0].Type()
	bits := func(v float64) uint64 {
		if t.Size == 4 {
			return uint64(math.Float32bits(float32(v)))
		}
		return math.Float64bits(v)
	}
	compare := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, T: ir.BoolType, At: e.At} }
	infinite := func(sign int) ir.Expr {
		return compare(ir.Eq, x, &ir.Const{T: t, Bits: bits(math.Inf(sign)), At: e.At})
	}
	sign := func(op ir.Op) ir.Expr { return compare(op, e.Args[1], ir.IntConst(0, e.At)) }
	logic := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, T: ir.BoolType, At: e.At} }
	switch e.Fn {
	case ir.IsNaN:
		return g.Masks(compare(ir.Ne, x, x))
	case ir.IsInf:
		return g.Masks(logic(ir.LOr, logic(ir.LAnd, infinite(1), sign(ir.Ge)), logic(ir.LAnd, infinite(-1), sign(ir.Le))))
	case ir.Signbit:
		as, of := ir.Float64Bits, ir.Uint64Type
		if t.Size == 4 {
			as, of = ir.Float32Bits, ir.Uint32Type
		}
		word := &ir.Math{Fn: as, Args: []ir.Expr{x}, T: of, At: e.At}
		return g.Masks(compare(ir.Ge, word, &ir.Const{T: of, Bits: 1 << (8*uint(t.Size) - 1), At: e.At}))
	}
	g.Refuse(e.At, "the condition %s has no form for lanes", ir.Source(e))
	return nil
}

func (g *Conditions) equalMasks(e *ir.Binary) []vcode.Reg {
	x, y := g.Masks(e.X), g.Masks(e.Y)
	out := make([]vcode.Reg, g.Unroll)
	g.Each(func(u int) {
		out[u] = g.MaskXor(x[u], y[u])
		if e.Op == ir.Eq {
			out[u] = g.MaskXor(out[u], g.MaskAll())
		}
	})
	return out
}

// shortCircuit evaluates the right side only in the lanes where the left does not decide.
func (g *Conditions) shortCircuit(e *ir.Binary, and bool) []vcode.Reg {
	x := g.Masks(e.X)
	out, undecided := make([]vcode.Reg, g.Unroll), x
	if !and {
		undecided = g.NotMasks(x)
	}
	g.Each(func(u int) { out[u] = g.CopyMask(x[u]) })
	g.under(undecided, e.Y, func() {
		y := g.Masks(e.Y)
		g.Each(func(u int) {
			if and {
				g.MaskMove(out[u], g.MaskAnd(x[u], y[u]))
			} else {
				g.MaskMove(out[u], g.MaskOr(x[u], y[u]))
			}
		})
	})
	return out
}

func (g *Conditions) uniformMask(e ir.Expr) []vcode.Reg {
	r := g.NewMaskRegister()
	none := g.NewLabel()
	g.MaskMove(r, g.MaskNone())
	g.Branch(e, false, none)
	g.MaskMove(r, g.MaskAll())
	g.Place(none)
	return g.Same(r)
}

// compare compares two numbers in every lane.
func (g *Conditions) compare(e *ir.Binary) []vcode.Reg {
	t := e.X.Type()
	x, y := g.Vector(e.X), g.Vector(e.Y)
	out := make([]vcode.Reg, g.Unroll)
	g.Each(func(u int) {
		if u > 0 && x[u] == x[0] && y[u] == y[0] {
			out[u] = out[0]
			return
		}
		out[u] = g.CompareCopy(e, t, x[u], y[u])
	})
	return out
}

// boolLoad loads a []bool in every lane.
func (g *Conditions) boolLoad(e ir.Expr) []vcode.Reg {
	bytes := g.Load(e, ir.Uint8Type)
	zero := g.ConstVector(0, 4)
	out := make([]vcode.Reg, g.Unroll)
	w := vector.WidthOf(g.Lanes * 4)
	g.Each(func(u int) {
		if g.AVX512 {
			out[u] = g.NewMask()
			g.Op(vcode.VCompareI32, w, vcode.RegArg(out[u]), vcode.RegArg(bytes[u]), vcode.RegArg(zero), vcode.ImmArg(4))
			return
		}
		out[u] = g.CanonicalMask(g.CompareAVX2(ir.Ne, ir.Int32Type, bytes[u], zero, w), 4)
	})
	return out
}

// BoolVector makes 0 and 1 of a condition, in 32-bit lanes.
func (g *Conditions) BoolVector(e ir.Expr) []vcode.Reg {
	masks := g.Masks(e)
	one, zero := g.ConstVector(1, 4), g.ConstVector(0, 4)
	out := g.NewVectors(g.Unroll)
	g.Each(func(u int) {
		g.Move(out[u], zero)
		g.Blend(out[u], one, masks[u], ir.Int32Type)
	})
	return out
}
