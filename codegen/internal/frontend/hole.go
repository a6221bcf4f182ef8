package frontend

import (
	"go/ast"
	"go/token"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A kernel with errors is built as far as it goes, so that the checks of its directives and
// accesses can look at it too and all that is wrong is said at once. What could not be built is
// marked, and the checks say nothing that may follow from it alone: a hole stands for statements, a
// variable of the same name for a value.

// hole emits what stands for statements that could not be built.
func (b *builder) hole(pos token.Pos) { b.emit(query.HoleAt(b.pos(pos))) }

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
	unknown := query.BadValue(ir.IntType, at)
	v := &ir.Var{Name: query.HoleName, Type: ir.IntType, Space: ir.Local, At: at}
	b.out = append(b.out, before...)
	b.emit(&ir.For{Label: &ir.Label{}, Var: v, Lo: unknown, Hi: unknown, Step: unknown, Rel: ir.Lt, Directive: g.directive, Body: body, At: at})
}
