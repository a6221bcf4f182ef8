package calls

import (
	"go/ast"
	"go/types"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
)

// BindLiteral takes f := func..., or f := g of a function g. It reports whether value is a
// function.
func (b *Caller) BindLiteral(id *ast.Ident, value ast.Expr) bool {
	if t := b.Program.Info.TypeOf(value); !scope.IsFunction(t) {
		return false
	}
	in := b.bodyOf(value)
	if in == nil {
		in = &scope.Function{}
	}
	if o := b.Program.Info.Defs[id]; o != nil {
		if in.Name == "func" {
			in.Name = id.Name
		}
		b.Env.Bodies[o] = in
	}
	return true
}

// captures reports assignments to captured variables of lit after lit in the source. The literal is
// inlined at its calls and would see them, as in Go; the dialect refuses them, so that analyses may
// assume that captured variables do not change.
func (b *Caller) captures(lit *ast.FuncLit) {
	captured := b.capturedBy(lit)
	d := b.Program.DeclAt(lit.Pos())
	if len(captured) == 0 || d == nil {
		return
	}
	ast.Inspect(d.Node, func(n ast.Node) bool {
		for _, place := range source.AssignedPlaces(n) {
			id := source.RootIdent(b.Program.Info, place)
			if id == nil || id.Pos() < lit.End() || !captured[b.Program.Info.Uses[id]] {
				continue
			}
			b.Fail(id.Pos(), "captured variable "+id.Name, "the function literal of line "+strconv.Itoa(b.Pos(lit.Pos()).Line)+
				" captures it, so it cannot be assigned afterwards", "pass it to the literal as a parameter, or assign before the literal")
		}
		return true
	})
}

// capturedBy returns the local variables from outside of lit that it uses.
func (b *Caller) capturedBy(lit *ast.FuncLit) map[types.Object]bool {
	out := map[types.Object]bool{}
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			v, isVar := b.Program.Info.Uses[id].(*types.Var)
			if isVar && !v.IsField() && !scope.IsGlobal(v) && (v.Pos() < lit.Pos() || v.Pos() >= lit.End()) {
				out[v] = true
			}
		}
		return true
	})
	return out
}

// RefuseFunction reports an assignment to a variable that is a function.
func (b *Caller) RefuseFunction(e ast.Expr) {
	b.Fail(e.Pos(), "assignment of a function", "which function it is must be known when the kernel is compiled",
		"assign a function literal to a local once (f := func...)")
}
