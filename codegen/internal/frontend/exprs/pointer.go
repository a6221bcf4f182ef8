package exprs

import (
	"go/ast"
	"go/types"

	"github.com/gompss/gompss/codegen/ir"
)

// A pointer to a struct that is split is no value of a kernel: it is another name for the struct.
// It may be the receiver or a parameter of a helper, which is inlined, or a local that keeps its
// value.

// SplitPlace returns the struct that is split whose address v is, nil where it is not one.
func SplitPlace(v ir.Expr) ir.Expr {
	if a, ok := v.(*ir.AddrOf); ok && ir.IsSplit(a.X.Type()) {
		return a.X
	}
	return nil
}

// pointsToSplit reports whether t is a pointer to a struct that is split.
func (b *Builder) pointsToSplit(t types.Type) bool {
	if t == nil {
		return false
	}
	p, ok := b.Env.Types.Closed(t).Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	elem, err := b.Env.Types.Convert(p.Elem())
	return err == nil && ir.IsSplit(elem)
}

// SplitPointer returns the address that e is, of type t, where that points to a struct that is
// split; else nil.
func (b *Builder) SplitPointer(e ast.Expr, t types.Type) ir.Expr {
	if b.IsNil(e) || !b.pointsToSplit(t) {
		return nil
	}
	if v := b.Expr(e); SplitPlace(v) != nil {
		return v
	}
	return nil
}

// PointTo lets o, a pointer variable that keeps its value, stand for the struct whose address value
// is. It reports whether that is one that is split.
func (b *Builder) PointTo(o types.Object, value ir.Expr) bool {
	x := SplitPlace(value)
	if x == nil {
		return false
	}
	if b.Program.Usages.Of(o).Assigned {
		b.Fail(o.Pos(), "pointer "+o.Name(), "it is assigned again, and a struct that holds slices has no address on a device", "copy the struct: the copy refers to the same memory")
	}
	b.Env.Places[o] = x
	return true
}

// BindPointer takes p := &m of a struct m that is split. It reports whether value is such an
// address.
func (b *Builder) BindPointer(id *ast.Ident, value ast.Expr) bool {
	o := b.Program.Info.Defs[id]
	if o == nil || !b.pointsToSplit(o.Type()) {
		return false
	}
	v := b.SplitPointer(value, o.Type())
	return v != nil && b.PointTo(o, v)
}

// Pointed returns the struct that the pointer o points at, nil where o is none to a struct that is
// split.
func (b *Builder) pointed(o types.Object) ir.Expr {
	for f := b.Env; f != nil; f = f.Outer {
		if x := f.Places[o]; x != nil {
			return x
		}
	}
	return nil
}
