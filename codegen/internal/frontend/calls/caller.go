// Package calls translates calls to IR: calls of functions, methods and function literals, some of
// which are inlined, of Go's built-in functions, and of the library of kernels.
package calls

import (
	"go/ast"

	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/ir"
)

// A Caller makes the calls of one body, and the functions of the kernel at their first call.
type Caller struct {
	*exprs.Builder
	// Block returns the statements of a block of this body.
	Block func(s *ast.BlockStmt) []ir.Stmt
	// another returns the Caller of another body.
	another func(b *scope.Body) *Caller
}

// New returns the Caller of b. statements completes it, and the Caller of each called function,
// with a builder of statements.
func New(b *scope.Body, statements func(c *Caller)) *Caller {
	c := &Caller{Builder: &exprs.Builder{Body: b}}
	c.Builder.Single = c.Single
	c.another = func(b *scope.Body) *Caller { return New(b, statements) }
	statements(c)
	return c
}
