package assigns

import (
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// decides writes v = v || e, whose e needs statements of its own, as if !v { ...; v = e }, and v =
// v && e as if v { ...; v = e }: reductions know these forms. It reports whether the assignment is
// of this kind.
func (b *Assigner) decides(place, value ir.Expr, at ir.Pos) bool {
	n := len(b.Out)
	v, cond := query.RefVar(place), query.RefVar(value)
	if v == nil || cond == nil || n < 2 {
		return false
	}
	first, ok := b.Out[n-2].(*ir.Decl)
	test, is := b.Out[n-1].(*ir.If)
	if !ok || !is || first.Var != cond || query.RefVar(first.Init) != v || len(test.Else) > 0 {
		return false
	}
	last := len(test.Then) - 1
	set, ok := test.Then[last].(*ir.Assign)
	if !ok || query.RefVar(set.Place) != cond || mentions(test.Then[:last], v) || ir.ExprVars(set.Value).Has(v) {
		return false
	}
	op := ir.Expr(&ir.Ref{Var: v, At: at})
	if _, not := test.Cond.(*ir.Unary); not {
		op = &ir.Unary{Op: ir.Not, X: op, At: at}
	}
	set.Place, test.Cond = place, op
	b.Out = append(b.Out[:n-2], test)
	return true
}

func mentions(list []ir.Stmt, v *ir.Var) bool {
	return ir.Used(list).Has(v) || ir.Assigned(list).Has(v)
}
