package frontend

import (
	"go/ast"
	"go/types"

	"github.com/gompss/gompss/codegen/ir"
)

// A pointer to a struct that is split is no value of a kernel: it is another name for the struct.
// It may be the receiver or a parameter of a helper, which is inlined, or a local that keeps its
// value.

// splitPlace returns the struct that is split whose address v is, nil where it is not one.
func splitPlace(v ir.Expr) ir.Expr {
	if a, ok := v.(*ir.AddrOf); ok && ir.IsSplit(a.X.Type()) {
		return a.X
	}
	return nil
}

// pointsToSplit reports whether t is a pointer to a struct that is split.
func (b *builder) pointsToSplit(t types.Type) bool {
	if t == nil {
		return false
	}
	p, ok := b.env.types.Closed(t).Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	elem, err := b.env.types.Convert(p.Elem())
	return err == nil && ir.IsSplit(elem)
}

// splitPointer returns the address that e is, of type t, where that points to a struct that is
// split; else nil.
func (b *builder) splitPointer(e ast.Expr, t types.Type) ir.Expr {
	if b.isNil(e) || !b.pointsToSplit(t) {
		return nil
	}
	if v := b.expr(e); splitPlace(v) != nil {
		return v
	}
	return nil
}

// pointTo lets o, a pointer variable that keeps its value, stand for the struct whose address value
// is. It reports whether that is one that is split.
func (b *builder) pointTo(o types.Object, value ir.Expr) bool {
	x := splitPlace(value)
	if x == nil {
		return false
	}
	if b.u.p.Fates.Fate(o).Assigned {
		b.fail(o.Pos(), "pointer "+o.Name(), "it is assigned again, and a struct that holds slices has no address on a device", "copy the struct: the copy refers to the same memory")
	}
	b.env.places[o] = x
	return true
}

// bindPointer takes p := &m of a struct m that is split. It reports whether value is such an
// address.
func (b *builder) bindPointer(id *ast.Ident, value ast.Expr) bool {
	o := b.u.p.Info.Defs[id]
	if o == nil || !b.pointsToSplit(o.Type()) {
		return false
	}
	v := b.splitPointer(value, o.Type())
	return v != nil && b.pointTo(o, v)
}

// Pointed returns the struct that the pointer o points at, nil where o is none to a struct that is
// split.
func (b *builder) pointed(o types.Object) ir.Expr {
	for f := b.env; f != nil; f = f.outer {
		if x := f.places[o]; x != nil {
			return x
		}
	}
	return nil
}
