// Package passes checks and changes a kernel whose bodies are built, before anything looks at its
// loops: its size, what escapes, package variables, structs that are split, names of slices.
package passes

import "github.com/gompss/gompss/codegen/internal/frontend/scope"

// A Pass works on one kernel.
type Pass struct{ *scope.Unit }

// Of returns the passes of u.
func Of(u *scope.Unit) *Pass { return &Pass{u} }
