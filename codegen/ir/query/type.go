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

// Int64 returns the value of an integer constant that an int64 holds.
func Int64(e ir.Expr) (int64, bool) {
	c, ok := e.(*ir.Const)
	if !ok || !c.T.IsInteger() || c.T.Kind == ir.Uint64 && c.Bits >= 1<<63 {
		return 0, false
	}
	return int64(c.Bits), true
}
