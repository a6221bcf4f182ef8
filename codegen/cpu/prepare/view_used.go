package prepare

import "github.com/gompss/gompss/codegen/ir"

// usedPointers returns the local pointers that a statement behind their declaration dereferences
// whenever the declaration runs: the check of an index may wait for it. Go checks where the address
// is taken, also where nothing uses it.
func usedPointers(body []ir.Stmt) map[*ir.Var]bool {
	out := map[*ir.Var]bool{}
	look := func(list []ir.Stmt) {
		for at, s := range list {
			if d, ok := s.(*ir.Decl); ok && d.Var.Type.Kind == ir.Pointer && dereferences(list[at+1:], d.Var) {
				out[d.Var] = true
			}
		}
	}
	look(body)
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		ir.Lists(s, look)
		return true
	})
	return out
}

// dereferences says that list touches what v points at before any other statement than a plain one.
func dereferences(list []ir.Stmt, v *ir.Var) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			if s.Var.Type.Kind != ir.Pointer && s.Init != nil && surelyTouches(s.Init, v) {
				return true
			}
		case *ir.Assign:
			if surelyTouches(s.Place, v) || surelyTouches(s.Value, v) {
				return true
			}
		case *ir.If:
			return surelyTouches(s.Cond, v)
		default:
			return false
		}
	}
	return false
}

// surelyTouches says that every evaluation of e dereferences v.
func surelyTouches(e ir.Expr, v *ir.Var) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Binary:
			if x.Op == ir.LAnd || x.Op == ir.LOr {
				found = found || surelyTouches(x.X, v)
				return false
			}
		case *ir.Select, *ir.AddrOf, *ir.Reslice, *ir.Len, *ir.Cap:
			return false
		case *ir.Deref:
			if r, ok := x.X.(*ir.Ref); ok && r.Var == v {
				found = true
			}
		}
		return !found
	})
	return found
}
