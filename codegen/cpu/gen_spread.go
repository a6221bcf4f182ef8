package cpu

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Integers that a loop over lanes does not change are brought into all lanes once, before it, where
// vectors are combined with them.

func spreadKey(e ir.Expr) string { return fmt.Sprint(container(e.Type()), ir.ExprKey(e)) }

// countKey names counts of shifts, in lanes of the number that is shifted.
func countKey(e *ir.Binary) string { return fmt.Sprint("<<", container(e.T), ir.ExprKey(e.Y)) }

// spreadAhead makes these vectors. Nothing that may fail is computed here: a count of a shift is
// checked where the shift is.
func (g *gen) spreadAhead(f *loopFrame, body []ir.Stmt) {
	g.spreads = map[string]x86.Reg{}
	ir.Inspect(body, nil, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Binary:
			g.spreadOperands(f, e)
		case *ir.Math:
			if (e.Fn == ir.IMin || e.Fn == ir.IMax) && g.shape(e).Kind == analysis.Varying {
				for _, x := range e.Args {
					g.spreadOne(f, x)
				}
			}
		}
	})
}

func (g *gen) spreadOperands(f *loopFrame, e *ir.Binary) {
	x, y := g.shape(e.X).Kind, g.shape(e.Y).Kind
	switch {
	case !e.X.Type().IsInteger() || !e.Y.Type().IsInteger() || x == analysis.Uniform && y == analysis.Uniform || e.T.IsInteger() && g.shape(e).Kind != analysis.Varying || e.Op == prepare.Within:
	case e.Op == ir.Shl || e.Op == ir.Shr:
		if _, constant := ir.ConstInt(e.Y); y == analysis.Uniform && !constant && g.invariant(f, e.Y) {
			if key := countKey(e); g.spreads[key] == 0 {
				g.spreads[key] = g.SpillFirst(g.countVector(e, g.gp(e.Y)))
			}
		}
	case e.Op == ir.Div || e.Op == ir.Rem:
	default:
		g.spreadOne(f, e.X)
		g.spreadOne(f, e.Y)
	}
}

func (g *gen) spreadOne(f *loopFrame, e ir.Expr) {
	if _, constant := e.(*ir.Const); constant || g.shape(e).Kind != analysis.Uniform || !e.Type().IsInteger() || !g.invariant(f, e) {
		return
	}
	key := spreadKey(e)
	if _, ok := g.spreads[key]; ok {
		return
	}
	r := g.NewVector()
	g.broadcastGeneral(r, g.gp(e), container(e.Type()), g.width(e.Type()))
	g.spreads[key] = g.SpillFirst(r)
}

// invariant tells the integers that can be computed before the loop.
func (g *gen) invariant(f *loopFrame, e ir.Expr) bool {
	simple := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Const, *ir.Ref, *ir.Len, *ir.Unary:
		case *ir.Convert:
			simple = simple && x.X.Type().IsInteger()
		case *ir.Binary:
			simple = simple && (x.Op == ir.Add || x.Op == ir.Sub || x.Op == ir.Mul || x.Op == ir.And || x.Op == ir.Or || x.Op == ir.Xor)
		default:
			simple = false
		}
		return simple
	})
	return simple && f.fixed(e) && g.known([]analysis.Term{{Expr: e}})
}

// notNegative tells the integers that are known to have no sign: the counter of the loop over lanes
// where it rises from 0 or more.
func (g *gen) notNegative(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Const:
		return int64(e.Bits) >= 0
	case *ir.Ref:
		if g.shapes == nil || e.Var != g.shapes.Lane || g.shapes.Step <= 0 || g.parallelLanes == nil || g.parallelLanes.Var != e.Var {
			return false
		}
		lo, ok := ir.ConstInt(g.parallelLo)
		return ok && lo >= 0 && ir.IsWide(e.Var.Type)
	case *ir.Binary:
		return e.Op == ir.And && (g.notNegative(e.X) || g.notNegative(e.Y))
	case *ir.Convert:
		return ir.IsWide(e.T) && analysis.Below32(e)
	}
	return false
}
