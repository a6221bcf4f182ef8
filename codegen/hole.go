package codegen

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// A kernel with errors is built as far as it goes, so that the checks of its directives and accesses can look at it
// too and all that is wrong is said at once. What could not be built is marked, and the checks say nothing that may
// follow from it alone: a hole stands for statements, a variable of the same name for a value.

// holeName is the name of what stands for code that could not be built; no variable of Go's has it.
const holeName = "?"

// hole emits what stands for statements that could not be built.
func (b *builder) hole(pos token.Pos) { b.emit(holeAt(b.pos(pos))) }

func holeAt(at ir.Pos) ir.Stmt {
	return &ir.Decl{Var: &ir.Var{Name: holeName, Type: badType, Space: ir.Local, At: at}, At: at}
}

// badValue stands for a value of type t that could not be built.
func badValue(t *ir.Type, at ir.Pos) ir.Expr {
	return &ir.Ref{Var: &ir.Var{Name: holeName, Type: t, Space: ir.Local, At: at}, At: at}
}

// keep emits what was built of a value that could not be: what it reads counts for the checks.
func (b *builder) keep(parts ...ir.Expr) {
	for _, e := range parts {
		if e != nil && e.Type().Kind != ir.Invalid && loadsMemory(e) {
			b.emit(&ir.Decl{Var: &ir.Var{Name: "_", Type: e.Type(), Space: ir.Local, At: e.Pos()}, Init: e, At: e.Pos()})
		}
	}
}

// standIn emits a loop of which the head could not be built, for its directive and its body.
func (b *builder) standIn(s ast.Stmt, g governance, before, body []ir.Stmt) {
	at := b.pos(s.Pos())
	unknown := badValue(ir.IntType, at)
	v := &ir.Var{Name: holeName, Type: ir.IntType, Space: ir.Local, At: at}
	b.out = append(b.out, before...)
	b.emit(&ir.For{Label: &ir.Label{}, Var: v, Lo: unknown, Hi: unknown, Step: unknown, Rel: ir.Lt, Directive: g.directive, Body: body, At: at})
}

func isHole(s ir.Stmt) bool {
	d, ok := s.(*ir.Decl)
	return ok && d.Var.Name == holeName
}

// holesIn reports whether something is missing directly in list, or, with deep, in what it holds.
func holesIn(list []ir.Stmt, deep bool) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		found = found || isHole(s)
		_, block := s.(*ir.Block)
		return !found && (deep || block)
	})
	return found
}

// isComplete reports whether all statements of k and of what it calls could be built.
func isComplete(k *ir.Kernel) bool {
	for _, f := range k.Funcs {
		if holesIn(f.Body, true) {
			return false
		}
	}
	return !holesIn(k.Body, true)
}

// hasBadValue reports whether a part of e could not be built.
func hasBadValue(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		ref, ok := x.(*ir.Ref)
		found = found || ok && (ref.Var.Name == holeName || ref.Var.Type.Kind == ir.Invalid)
		return !found
	})
	return found
}

// badIn reports whether a statement of list, or in it, has a value that could not be built.
func badIn(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		found = found || slices.ContainsFunc(directExprs(s), hasBadValue)
		return !found
	})
	return found
}
