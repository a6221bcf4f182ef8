package nested

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// asLongAs reports whether nested loop g comes behind earlier, which has been deferred where it is
// long, and has as many iterations: then it is short wherever an iteration gets to it. Both were in
// list, a part of an iteration. Between the two nothing but variables of the iteration changes.
func asLongAs(list []ir.Stmt, earlier, g *ir.For) bool {
	list = forms.Flat(list)
	own := ir.Declared(list)
	for i, s := range list {
		if branch, ok := s.(*ir.If); ok && (asLongAs(branch.Then, earlier, g) || asLongAs(branch.Else, earlier, g)) {
			return true
		}
		f, ok := s.(*ir.For)
		if !ok || f.Var != earlier.Var {
			continue
		}
		between := &ir.VarSet{}
		if !onlyComputes(f.Body, between) {
			return false
		}
		for _, r := range f.Directive.Reductions {
			between.Add(ir.RootVar(r.Place))
		}
		for _, s := range list[i+1:] {
			if h, ok := s.(*ir.For); ok && h.Var == g.Var {
				return sameTrips(f, h, between)
			}
			if branch, ok := s.(*ir.If); ok && forms.LeavesOnly(branch, own) {
				continue // what it does is behind it for no other iteration
			}
			if !onlyComputes([]ir.Stmt{s}, between) {
				return false
			}
		}
		return false
	}
	return false
}

// onlyComputes reports whether list changes no memory, and adds the variables that it assigns.
func onlyComputes(list []ir.Stmt, assigned *ir.VarSet) bool {
	fine := true
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			fine = fine && query.IsRef(s.Place)
		case *ir.Atomic, *ir.Call:
			fine = false
		}
		return fine
	})
	for _, v := range ir.Assigned(list).List() {
		assigned.Add(v)
	}
	return fine
}

// sameTrips reports whether f and g have the same bounds, which none of changed decides.
func sameTrips(f, g *ir.For, changed *ir.VarSet) bool {
	if !query.Same(f.Lo, g.Lo) || !query.Same(f.Hi, g.Hi) || !query.Same(f.Step, g.Step) || f.Rel != g.Rel {
		return false
	}
	vars := slices.Concat(ir.ExprVars(g.Lo).List(), ir.ExprVars(g.Hi).List(), ir.ExprVars(g.Step).List())
	return !slices.ContainsFunc(vars, changed.Has)
}
