package cuda

import "github.com/gompss/gompss/codegen/ir"

// Slices of different element types do not overlap. A slice of a type that a kernel writes nowhere
// does not change while it runs, and may be read through the cache for what does not change, which
// const and __restrict__ say.

// readOnly returns the slice parameters that nothing in list, a kernel's body, can change, and of
// which it uses elements alone.
func readOnly(list []ir.Stmt, params []*ir.Var, funcs []*ir.Func) map[*ir.Var]bool {
	var written uint32
	bodies := [][]ir.Stmt{list}
	for _, f := range funcs {
		bodies = append(bodies, f.Body)
	}
	whole := map[*ir.Var]bool{}
	for _, body := range bodies {
		ir.WalkStmts(body, func(s ir.Stmt) bool {
			switch s := s.(type) {
			case *ir.Assign:
				written |= storedKinds(s.Place)
			case *ir.Atomic:
				written |= storedKinds(s.Place)
				if s.Old != nil {
					written |= storedKinds(s.Old)
				}
			}
			return true
		})
		ir.WalkExprs(body, func(e ir.Expr) bool {
			cut, ok := e.(*ir.Reslice)
			ofArray := ok && cut.X.Type().Kind == ir.Array // a slice of an array has its address
			if _, ok := e.(*ir.AddrOf); ok || ofArray {
				for _, v := range ir.ExprVars(e).List() {
					whole[v] = true
				}
			}
			return true
		})
	}
	out := map[*ir.Var]bool{}
	for _, v := range params {
		if v.Type.Kind == ir.Slice && !whole[v] && scalarKinds(v.Type.Elem)&written == 0 {
			out[v] = true
		}
	}
	return out
}

// storedKinds returns the kinds of scalars in a place of memory that slices and pointers reach; 0
// for a variable.
func storedKinds(place ir.Expr) uint32 {
	if ir.RootVar(place) != nil {
		return 0
	}
	return scalarKinds(place.Type())
}

func scalarKinds(t *ir.Type) uint32 {
	switch t.Kind {
	case ir.Array:
		return scalarKinds(t.Elem)
	case ir.Struct:
		var k uint32
		for _, f := range t.Fields {
			k |= scalarKinds(f.Type)
		}
		return k
	}
	return 1 << t.Kind
}
