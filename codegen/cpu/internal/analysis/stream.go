package analysis

import "github.com/gompss/gompss/codegen/ir"

// Streams reports whether a parallel loop does nothing but move and combine elements.
func Streams(f *ir.For) bool {
	plain := true
	ir.Inspect(f.Body, func(s ir.Stmt) {
		switch s.(type) {
		case *ir.Assign, *ir.Decl, *ir.If:
		default:
			plain = false
		}
	}, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Math:
			plain = plain && e.Fn == ir.FMA
		case *ir.Binary:
			plain = plain && e.Op != ir.Div && e.Op != ir.Rem
		}
	})
	return plain
}

// StreamsRows tells the same of a nest of two parallel loops.
func StreamsRows(f *ir.For) bool {
	if len(f.Body) != 1 {
		return false
	}
	inner, ok := f.Body[0].(*ir.For)
	return ok && ir.RunsTogether(inner) && Streams(inner)
}

// ReadFrom reports whether the kernel reads elements of v.
func ReadFrom(k *ir.Kernel, v *ir.Var) bool {
	writes, uses := 0, 0
	ir.Inspect(k.Body, func(s ir.Stmt) {
		if a, ok := s.(*ir.Assign); ok {
			if ix, ok := a.Place.(*ir.Index); ok && ir.IsRef(ix.X, v) {
				writes++
			}
		}
	}, func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok && ir.IsRef(ix.X, v) {
			uses++
		}
	})
	return uses > writes
}
