package exprs

import (
	"go/ast"
	"go/constant"

	"github.com/gompss/gompss/codegen/internal/frontend/typing"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// composites makes the composite literals of a body.
type composites struct{ *Builder }

// maxFilled bounds the length of arrays whose missing elements a literal is filled up with.
const maxFilled = 64

// composite returns the value of a struct, array or slice literal. A slice literal gets an array of
// its own.
func (b composites) composite(e *ast.CompositeLit) ir.Expr {
	if b.Blame(e.Type) {
		return b.Bad(e)
	}
	t, at := b.TypeOf(e), b.Pos(e.Pos())
	switch t.Kind {
	case ir.Struct, ir.Array:
		b.Splits = b.Splits || ir.IsSplit(t)
		values, ok := b.elements(e, t)
		if !ok {
			return b.Bad(e)
		}
		return b.filled(t, values, at)
	case ir.Slice:
		return b.sliceLiteral(e, t)
	}
	return b.Bad(e)
}

func (b composites) sliceLiteral(e *ast.CompositeLit, t *ir.Type) ir.Expr {
	n := int64(0)
	next := int64(0)
	for _, x := range e.Elts {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			next, _ = b.constantKey(kv.Key)
		}
		next++
		n = max(n, next)
	}
	at := b.Pos(e.Pos())
	if n <= 0 {
		return &ir.Const{T: t, At: at}
	}
	if n > typing.MaxTypeSize/int64(t.Elem.Size) {
		b.Fail(e.Pos(), "slice literal", "it is larger than 1 TiB", "make it smaller")
		return b.Bad(e)
	}
	array := ir.ArrayOf(t.Elem, n)
	values, ok := b.elements(e, array)
	if !ok {
		return b.Bad(e)
	}
	x := b.filled(array, values, at)
	if _, isVar := x.(*ir.Ref); !isVar {
		x = b.Temp("lit", x, at)
	}
	return &ir.Reslice{X: x, At: at}
}

// An element is one given element of a literal.
type element struct {
	at    int // field or index
	value ir.Expr
}

// elements returns the elements that the literal e of type t gives, in the order as written.
func (b composites) elements(e *ast.CompositeLit, t *ir.Type) ([]element, bool) {
	var out []element
	next, ok := int64(0), true
	for _, x := range e.Elts {
		if kv, isPair := x.(*ast.KeyValueExpr); isPair {
			i, found := b.keyOf(kv.Key, t)
			if !found {
				b.Unknown(kv.Pos())
				return nil, false
			}
			next, x = i, kv.Value
		}
		elem := elementAt(t, next)
		if elem == nil {
			b.Unknown(x.Pos())
			return nil, false
		}
		v := b.ExprAs(x, elem)
		ok = ok && ir.Same(v.Type(), elem)
		out = append(out, element{int(next), v})
		next++
	}
	return out, ok
}

func elementAt(t *ir.Type, i int64) *ir.Type {
	switch {
	case i < 0:
	case t.Kind == ir.Array && i < t.Len:
		return t.Elem
	case t.Kind == ir.Struct && i < int64(len(t.Fields)):
		return t.Fields[i].Type
	}
	return nil
}

// keyOf returns the field or index that a key names.
func (b composites) keyOf(key ast.Expr, t *ir.Type) (int64, bool) {
	if t.Kind == ir.Array {
		return b.constantKey(key)
	}
	if id, ok := key.(*ast.Ident); ok {
		for i, f := range t.Fields {
			if f.Name == id.Name {
				return int64(i), true
			}
		}
	}
	return 0, false
}

func (b composites) constantKey(key ast.Expr) (int64, bool) {
	v := b.Program.Info.Types[key].Value
	if v == nil {
		return 0, false
	}
	return constant.Int64Val(constant.ToInt(v))
}

// filled returns a value of type t with the given elements and zeros. Where zeros do not go into an
// expression it is a variable that starts as zero and gets the elements one by one.
func (b composites) filled(t *ir.Type, given []element, at ir.Pos) ir.Expr {
	if all := allElements(t, given, at); all != nil {
		return &ir.Composite{T: t, Elems: all, At: at}
	}
	place := b.ZeroVar("lit", t, at)
	for _, g := range given {
		to := ir.Expr(&ir.Member{X: place, Field: g.at, At: at})
		if t.Kind == ir.Array {
			to = &ir.Index{X: place, I: build.Int(int64(g.at), at), At: at}
		}
		b.Emit(&ir.Assign{Place: to, Value: g.value, At: g.value.Pos()})
	}
	return place
}

// allElements returns all elements of a literal, nil where that takes too many or a missing one is
// no scalar.
func allElements(t *ir.Type, given []element, at ir.Pos) []ir.Expr {
	n := int64(len(t.Fields))
	if t.Kind == ir.Array {
		n = t.Len
	}
	if n > maxFilled && n != int64(len(given)) {
		return nil
	}
	out := make([]ir.Expr, n)
	for _, g := range given {
		out[g.at] = g.value
	}
	for i := range out {
		if out[i] == nil {
			if out[i] = ZeroOf(elementAt(t, int64(i)), at); out[i] == nil {
				return nil
			}
		}
	}
	return out
}
