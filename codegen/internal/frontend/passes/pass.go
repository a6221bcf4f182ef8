// Package passes has the passes over a kernel whose bodies are built, before the analysis of loops:
// its size, escaping variables, package variables, split structs, names of slices.
package passes

import "github.com/gompss/gompss/codegen/internal/frontend/scope"

// A Pass works on one kernel.
type Pass struct{ *scope.Unit }

// Of returns the passes of u.
func Of(u *scope.Unit) *Pass { return &Pass{u} }
