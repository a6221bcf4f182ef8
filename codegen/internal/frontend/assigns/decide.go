package assigns

import (
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// decides writes p = p || e, whose e needs statements of its own, as if !p { ...; p = e }, and p =
// p && e as if p { ...; p = e }: reductions know these forms. It reports whether the assignment is
// of this kind. Place p is a variable, or an element or field that the statements do not move.
func (b *Assigner) decides(place, value ir.Expr, at ir.Pos) bool {
	n := len(b.Out)
	cond := query.RefVar(value)
	if cond == nil || n < 2 {
		return false
	}
	first, ok := b.Out[n-2].(*ir.Decl)
	test, is := b.Out[n-1].(*ir.If)
	if !ok || !is || first.Var != cond || !query.Same(first.Init, place) || len(test.Else) > 0 {
		return false
	}
	last := len(test.Then) - 1
	set, ok := test.Then[last].(*ir.Assign)
	if !ok || query.RefVar(set.Place) != cond || !stays(place, test.Then[:last]) {
		return false
	}
	if v := query.RefVar(place); v != nil && (ir.Used(test.Then[:last]).Has(v) || ir.ExprVars(set.Value).Has(v)) {
		return false
	}
	op := build.Copy(place)
	if _, not := test.Cond.(*ir.Unary); not {
		op = &ir.Unary{Op: ir.Not, X: op, At: at}
	}
	set.Place, test.Cond = place, op
	b.Out = append(b.Out[:n-2], test)
	return true
}

// stays reports whether place is the same place in front of list and behind it.
func stays(place ir.Expr, list []ir.Stmt) bool {
	changed, fixed := ir.Assigned(list), true
	for _, v := range ir.ExprVars(place).List() {
		fixed = fixed && !changed.Has(v)
	}
	loads := false
	query.OperandsOf(place, func(e ir.Expr) { loads = loads || !query.LoadFree(e) })
	return fixed && (!loads || !stores(list))
}

// stores reports whether list, or a function that it calls, changes anything but variables.
func stores(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			found = found || query.RefVar(s.Place) == nil
		case *ir.Call:
			found = found || stores(s.Fn.Body)
		case *ir.Atomic, *ir.Construct:
			found = true
		}
		return !found
	})
	return found
}
