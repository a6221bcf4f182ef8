// Package exprs makes IR of expressions: values, places, constants, composite literals and
// operators. Calls are for the package above.
package exprs

import (
	"go/ast"
	"go/types"

	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/ir"
)

// A Builder translates the expressions of one body. It appends the statements that must run before
// an expression to the body, in Go's order of evaluation.
type Builder struct {
	*scope.Body
	// Single returns the one value of a call, which it emits.
	Single func(e *ast.CallExpr) ir.Expr
}

// LookInside builds the arguments of a call that is not possible, for the errors in them.
func (b *Builder) LookInside(e *ast.CallExpr) {
	for _, a := range e.Args {
		if tv := b.Program.Info.Types[a]; tv.IsValue() && !scope.IsFunction(tv.Type) && !b.IsNil(a) && !IsTuple(tv.Type) && !IsText(tv.Type) {
			b.Keep(b.Expr(a))
		}
	}
}

// IsText reports whether t is a string: the call that takes it, usually one that prints, is refused
// already.
func IsText(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

func IsTuple(t types.Type) bool {
	_, ok := t.(*types.Tuple)
	return ok
}
