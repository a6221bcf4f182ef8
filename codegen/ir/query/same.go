package query

import "github.com/gompss/gompss/codegen/ir"

// Same reports whether a and b are the same expression over the same variables.
func Same(a, b ir.Expr) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if a == b {
		return true
	}
	if !sameNode(a, b) {
		return false
	}
	var xs, ys []ir.Expr
	ir.Operands(a, func(x ir.Expr) { xs = append(xs, x) })
	ir.Operands(b, func(y ir.Expr) { ys = append(ys, y) })
	if len(xs) != len(ys) {
		return false
	}
	for i := range xs {
		if !Same(xs[i], ys[i]) {
			return false
		}
	}
	return true
}

// sameNode compares all properties of a and b except their operands.
func sameNode(a, b ir.Expr) bool {
	if !ir.Same(a.Type(), b.Type()) {
		return false
	}
	switch a := a.(type) {
	case *ir.Const:
		y, ok := b.(*ir.Const)
		return ok && a.Bits == y.Bits
	case *ir.Ref:
		y, ok := b.(*ir.Ref)
		return ok && a.Var == y.Var
	case *ir.Query:
		y, ok := b.(*ir.Query)
		return ok && a.What == y.What
	case *ir.Unary:
		y, ok := b.(*ir.Unary)
		return ok && a.Op == y.Op
	case *ir.Binary:
		y, ok := b.(*ir.Binary)
		return ok && a.Op == y.Op
	case *ir.Math:
		y, ok := b.(*ir.Math)
		return ok && a.Fn == y.Fn
	case *ir.Member:
		y, ok := b.(*ir.Member)
		return ok && a.Field == y.Field
	}
	return sameShape(a, b)
}

func sameShape(a, b ir.Expr) bool {
	var ok bool
	switch a := a.(type) {
	case *ir.Convert:
		_, ok = b.(*ir.Convert)
	case *ir.Select:
		_, ok = b.(*ir.Select)
	case *ir.Index:
		_, ok = b.(*ir.Index)
	case *ir.Deref:
		_, ok = b.(*ir.Deref)
	case *ir.AddrOf:
		_, ok = b.(*ir.AddrOf)
	case *ir.Apart:
		_, ok = b.(*ir.Apart)
	case *ir.Len:
		_, ok = b.(*ir.Len)
	case *ir.Cap:
		_, ok = b.(*ir.Cap)
	case *ir.Composite:
		_, ok = b.(*ir.Composite)
	case *ir.Reslice:
		var y *ir.Reslice
		y, ok = b.(*ir.Reslice)
		ok = ok && (a.Lo == nil) == (y.Lo == nil) && (a.Hi == nil) == (y.Hi == nil) && (a.Max == nil) == (y.Max == nil)
	}
	return ok
}
