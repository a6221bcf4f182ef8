package exprs

import "github.com/gompss/gompss/codegen/ir"

// Fixed reports whether e is a constant, a variable that never changes, or a leaf of one.
func (b *Builder) Fixed(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Member:
		return ir.IsSplit(e.X.Type()) && b.Fixed(e.X)
	case *ir.Const:
		return true
	case *ir.Ref:
		return b.Unit.Fixed[e.Var]
	}
	return false
}

// Frozen returns a place whose operands are evaluated now.
func (b *Builder) Frozen(place ir.Expr) ir.Expr {
	hold := func(e ir.Expr) ir.Expr {
		if b.Fixed(e) {
			return e
		}
		name := "operand"
		if ref, ok := e.(*ir.Ref); ok {
			name = ref.Var.Name // messages show it
		}
		return b.Temp(name, e, e.Pos())
	}
	switch p := place.(type) {
	case *ir.Member:
		return &ir.Member{X: b.Frozen(p.X), Field: p.Field, At: p.At}
	case *ir.Deref:
		return &ir.Deref{X: hold(p.X), Checked: p.Checked, At: p.At}
	case *ir.Index:
		x := p.X
		if x.Type().Kind == ir.Array {
			x = b.Frozen(x)
		} else {
			x = hold(x)
		}
		return &ir.Index{X: x, I: hold(p.I), Checked: p.Checked, At: p.At}
	}
	return place
}
