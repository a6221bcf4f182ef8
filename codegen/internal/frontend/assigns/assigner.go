// Package assigns makes IR of assignments, in Go's order of evaluation.
package assigns

import "github.com/gompss/gompss/codegen/internal/frontend/calls"

// An Assigner makes the assignments of one body.
type Assigner struct{ *calls.Caller }
