// Package stmts translates statements to IR: loops, branches, jumps, directives and their bodies.
package stmts

import (
	"github.com/gompss/gompss/codegen/internal/frontend/assigns"
	"github.com/gompss/gompss/codegen/internal/frontend/calls"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
)

// A Builder makes the statements of one body.
type Builder struct{ *assigns.Assigner }

// New returns the builder of the statements of b.
func New(b *scope.Body) *Builder {
	var out *Builder
	calls.New(b, func(c *calls.Caller) {
		s := &Builder{&assigns.Assigner{Caller: c}}
		c.Block = s.Block
		if out == nil {
			out = s
		}
	})
	return out
}
