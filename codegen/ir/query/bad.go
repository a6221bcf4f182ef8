package query

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// BadName names the variable of bad statements and values; no variable of Go has this name.
const BadName = "?"

// BadStmt returns the statement that stands for one whose errors have been reported.
func BadStmt(at ir.Pos) ir.Stmt {
	return &ir.Decl{Var: &ir.Var{Name: BadName, Type: BadType, Space: ir.Local, At: at}, At: at}
}

// BadValue stands for a value of type t that could not be built.
func BadValue(t *ir.Type, at ir.Pos) ir.Expr {
	return &ir.Ref{Var: &ir.Var{Name: BadName, Type: t, Space: ir.Local, At: at}, At: at}
}

// IsBadStmt reports whether s is a result of BadStmt.
func IsBadStmt(s ir.Stmt) bool {
	d, ok := s.(*ir.Decl)
	return ok && d.Var.Name == BadName
}

// HasBadStmt reports whether list holds a bad statement, or, with deep, any statement in it does.
func HasBadStmt(list []ir.Stmt, deep bool) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		found = found || IsBadStmt(s)
		_, block := s.(*ir.Block)
		return !found && (deep || block)
	})
	return found
}

// IsComplete reports whether all statements of k, and of the functions that it calls, could be
// built.
func IsComplete(k *ir.Kernel) bool {
	for _, f := range k.Funcs {
		if HasBadStmt(f.Body, true) {
			return false
		}
	}
	return !HasBadStmt(k.Body, true)
}

// HasBadValue reports whether a part of e could not be built.
func HasBadValue(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		ref, ok := x.(*ir.Ref)
		found = found || ok && (ref.Var.Name == BadName || ref.Var.Type.Kind == ir.Invalid)
		return !found
	})
	return found
}

// BadIn reports whether a statement of list, or in it, has a value that could not be built.
func BadIn(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		found = found || slices.ContainsFunc(DirectExprs(s), HasBadValue)
		return !found
	})
	return found
}

// BadType is the type of an expression for which an error was reported. It occurs in the front end
// only.
var BadType = &ir.Type{Kind: ir.Invalid, Name: "?", Size: 1, Align: 1}
