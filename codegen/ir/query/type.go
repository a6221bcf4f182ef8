package query

import "github.com/gompss/gompss/codegen/ir"

// HasAddress reports whether t is or holds a slice or a pointer, which no memory of a device can
// hold.
func HasAddress(t *ir.Type) bool {
	switch t.Kind {
	case ir.Slice, ir.Pointer:
		return true
	case ir.Array:
		return HasAddress(t.Elem)
	case ir.Struct:
		for _, f := range t.Fields {
			if HasAddress(f.Type) {
				return true
			}
		}
	}
	return false
}

// Int64 is ir.ConstInt, under the name that it has outside of package ir.
func Int64(e ir.Expr) (int64, bool) { return ir.ConstInt(e) }
