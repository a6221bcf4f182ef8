package query

import "github.com/gompss/gompss/codegen/ir"

// ReadsMemory returns a part of e that the host cannot evaluate from the arguments alone.
func ReadsMemory(e ir.Expr) (bad ir.Expr) {
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Deref, *ir.AddrOf, *ir.Reslice, *ir.Composite, *ir.Query:
			bad = x
		case *ir.Index:
			if x.X.Type().Kind == ir.Slice {
				bad = x
			}
		}
		return bad == nil
	})
	return bad
}

// IsWhole reports whether r is all of its slice, in every launch.
func IsWhole(r ir.Region) bool { return len(r.Dims) == 0 && r.When == nil }
