package query

import "github.com/gompss/gompss/codegen/ir"

// IsAddress reports whether values of t refer to memory: slices and pointers.
func IsAddress(t *ir.Type) bool { return t.Kind == ir.Slice || t.Kind == ir.Pointer }
