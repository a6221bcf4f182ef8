package query

import "github.com/gompss/gompss/codegen/ir"

func IsAddress(t *ir.Type) bool { return t.Kind == ir.Slice || t.Kind == ir.Pointer }
