package bodies

import (
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Blockable reports whether list has only scalar arithmetic, accesses to elements, and loops with
// the same bounds for all rows and columns. own are the variables that differ between iterations.
func Blockable(t *crews.Crew, list []ir.Stmt, own *ir.VarSet) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			if !s.Var.Type.IsScalar() || s.Init != nil && !forms.PlainValue(s.Init) {
				return false
			}
		case *ir.Assign:
			if !s.Value.Type().IsScalar() || !forms.PlainValue(s.Value) || !forms.PlainValue(s.Place) {
				return false
			}
		case *ir.If:
			if !forms.PlainValue(s.Cond) || !Blockable(t, s.Then, own) || !Blockable(t, s.Else, own) || HasLoop(s) {
				return false
			}
		case *ir.For:
			if !runsAlike(t, s, own) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// runsAlike reports whether f has only loads and arithmetic, and the same bounds for all rows and
// columns.
func runsAlike(t *crews.Crew, f *ir.For, own *ir.VarSet) bool {
	for _, e := range []ir.Expr{f.Lo, f.Hi, f.Step} {
		if !query.LoadFree(e) || !forms.PlainValue(e) {
			return false
		}
		for _, v := range ir.ExprVars(e).List() {
			if own.Has(v) || t.IsShared(v) {
				return false
			}
		}
	}
	if _, ok := query.Int64(f.Step); !ok || query.LeavesLoop(f) {
		return false
	}
	for _, s := range query.Flatten(f.Body) {
		switch s := s.(type) {
		case *ir.Decl:
			if !s.Var.Type.IsScalar() || s.Init != nil && !forms.PlainValue(s.Init) {
				return false
			}
		case *ir.Assign:
			if !query.IsRef(s.Place) || !forms.PlainValue(s.Value) {
				return false
			}
		case *ir.If:
			if !forms.PlainValue(s.Cond) || !assignsPlain(s.Then) || !assignsPlain(s.Else) {
				return false
			}
		case *ir.For:
			if !runsAlike(t, s, without(own, f.Var)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// without returns the variables of s except v.
func without(s *ir.VarSet, v *ir.Var) *ir.VarSet {
	out := &ir.VarSet{}
	for _, w := range s.List() {
		if w != v {
			out.Add(w)
		}
	}
	return out
}

// assignsPlain reports whether all statements of list assign plain values to variables.
func assignsPlain(list []ir.Stmt) bool {
	for _, s := range list {
		if a, ok := s.(*ir.Assign); !ok || !query.IsRef(a.Place) || !forms.PlainValue(a.Value) {
			return false
		}
	}
	return true
}
