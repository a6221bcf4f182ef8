package selection

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/values"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// spreadAhead computes these vectors. It computes nothing that may fail: a shift count is checked
// at the shift.
func (g *preheader) spreadAhead(f *memory.LoopFrame, body []ir.Stmt) {
	g.Spreads = map[string]vcode.Reg{}
	ir.Inspect(body, nil, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Binary:
			g.spreadOperands(f, e)
		case *ir.Math:
			if (e.Fn == ir.IMin || e.Fn == ir.IMax) && g.Shape(e).Kind == analysis.Varying {
				for _, x := range e.Args {
					g.spreadOne(f, x)
				}
			}
		}
	})
}

func (g *preheader) spreadOperands(f *memory.LoopFrame, e *ir.Binary) {
	x, y := g.Shape(e.X).Kind, g.Shape(e.Y).Kind
	switch {
	case !e.X.Type().IsInteger() || !e.Y.Type().IsInteger() || x == analysis.Uniform && y == analysis.Uniform || e.T.IsInteger() && g.Shape(e).Kind != analysis.Varying || e.Op == prepare.Within:
	case e.Op == ir.Shl || e.Op == ir.Shr:
		if _, constant := ir.ConstInt(e.Y); y == analysis.Uniform && !constant && g.invariant(f, e.Y) {
			if key := values.CountKey(e); g.Spreads[key] == 0 {
				g.Spreads[key] = g.SpillFirst(g.CountVector(e, g.General(e.Y)))
			}
		}
	case e.Op == ir.Div || e.Op == ir.Rem:
	default:
		g.spreadOne(f, e.X)
		g.spreadOne(f, e.Y)
	}
}

func (g *preheader) spreadOne(f *memory.LoopFrame, e ir.Expr) {
	if _, constant := e.(*ir.Const); constant || g.Shape(e).Kind != analysis.Uniform || !e.Type().IsInteger() || !g.invariant(f, e) {
		return
	}
	key := values.SpreadKey(e)
	if _, ok := g.Spreads[key]; ok {
		return
	}
	r := g.NewVector()
	g.BroadcastGeneral(r, g.General(e), vector.Container(e.Type()), g.Width(e.Type()))
	g.Spreads[key] = g.SpillFirst(r)
}

// invariant reports whether integer e can be computed before the loop.
func (g *preheader) invariant(f *memory.LoopFrame, e ir.Expr) bool {
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
	return simple && f.Fixed(e) && g.Known([]analysis.Term{{Expr: e}})
}
