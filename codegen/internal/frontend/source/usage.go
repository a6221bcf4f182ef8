package source

import (
	"go/ast"
	"go/token"
	"go/types"
)

// AssignedPlaces returns the places that statement n assigns, without new variables.
func AssignedPlaces(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Lhs // a variable that := defines has no use, only a definition
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	}
	return nil
}

// RootIdent returns the variable of which place is a part; nil where it lies behind a pointer or in
// a slice.
func RootIdent(info *types.Info, place ast.Expr) *ast.Ident {
	switch e := place.(type) {
	case *ast.Ident:
		return e
	case *ast.ParenExpr:
		return RootIdent(info, e.X)
	case *ast.SelectorExpr:
		if isWhole(info, e.X) {
			return RootIdent(info, e.X)
		}
	case *ast.IndexExpr:
		if isWhole(info, e.X) {
			return RootIdent(info, e.X)
		}
	}
	return nil
}

// isWhole reports whether the parts of e are part of a variable: it is a struct or an array.
func isWhole(info *types.Info, e ast.Expr) bool {
	t := info.TypeOf(e)
	if t == nil {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Struct, *types.Array:
		return true
	}
	return false
}

// A Usage says how a variable is used after its declaration, anywhere in the source.
type Usage struct {
	Assigned     bool // it or a part of it
	AddressTaken bool // its address, or a slice of it
	Pointed      bool // the address of a struct that is split, which it is or has in it: see struct_pointer.go
}

// Usages holds the uses of the variables of a program.
type Usages struct {
	p  *Program
	of map[types.Object]Usage // nil until the first question
	// LeavesLent says that the address of a leaf is taken through a pointer to a struct that is
	// split.
	LeavesLent bool
}

// Of returns the uses of o.
func (v *Usages) Of(o types.Object) Usage {
	if v.of == nil {
		v.of = map[types.Object]Usage{}
		for _, f := range append(v.p.allFiles(), v.p.Library.bodies...) {
			ast.Inspect(f, v.noteUse)
		}
	}
	return v.of[o]
}

func (v *Usages) noteUse(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			v.noteAddress(n.X, v.p.Info.TypeOf(n.X))
		}
	case *ast.SliceExpr:
		if isWhole(v.p.Info, n.X) {
			v.noteAddress(n.X, v.p.Info.TypeOf(n.X))
		}
	case *ast.SelectorExpr:
		if sel := v.p.Info.Selections[n]; sel != nil && sel.Kind() == types.MethodVal && takesAddress(sel) {
			v.noteAddress(n.X, receiverElem(sel))
		}
	}
	for _, place := range AssignedPlaces(n) {
		v.note(place, Usage{Assigned: true})
	}
	return true
}

func (v *Usages) note(place ast.Expr, f Usage) {
	if id := RootIdent(v.p.Info, place); id != nil {
		o := v.p.Info.Uses[id]
		old := v.of[o]
		v.of[o] = Usage{old.Assigned || f.Assigned, old.AddressTaken || f.AddressTaken, old.Pointed || f.Pointed}
	}
}

// receiverElem returns the element type of a method's pointer receiver, nil where that is not
// known.
func receiverElem(sel *types.Selection) types.Type {
	f, ok := sel.Obj().(*types.Func)
	if !ok {
		return nil
	}
	pointer, ok := f.Signature().Recv().Type().Underlying().(*types.Pointer)
	if !ok {
		return nil
	}
	return pointer.Elem()
}

// noteAddress notes that the address of place, or of a part of it, is taken: of a value of type t.
func (v *Usages) noteAddress(place ast.Expr, t types.Type) {
	if t != nil && holdsSlices(t, 0) {
		v.note(place, Usage{Pointed: true})
		return
	}
	v.note(place, Usage{AddressTaken: true})
	v.LeavesLent = v.LeavesLent || RootIdent(v.p.Info, place) == nil && v.behindSplit(place)
}

// behindSplit reports whether place lies in a struct with slices that a pointer points at.
func (v *Usages) behindSplit(place ast.Expr) bool {
	for {
		switch e := ast.Unparen(place).(type) {
		case *ast.SelectorExpr:
			place = e.X
		case *ast.IndexExpr:
			place = e.X
		case *ast.StarExpr:
			place = e.X
		default:
			return false
		}
		t := v.p.Info.TypeOf(place)
		if t == nil {
			return false
		}
		if pointer, ok := t.Underlying().(*types.Pointer); ok && holdsSlices(pointer.Elem(), 0) {
			return true
		}
	}
}

// holdsSlices reports whether t is a struct with slices or pointers in it.
func holdsSlices(t types.Type, depth int) bool {
	s, ok := t.Underlying().(*types.Struct)
	if !ok || depth > MaxTypeDepth {
		return false
	}
	for i := range s.NumFields() {
		switch f := s.Field(i).Type().Underlying().(type) {
		case *types.Slice, *types.Pointer:
			return true
		case *types.Struct:
			if holdsSlices(f, depth+1) {
				return true
			}
		}
	}
	return false
}

// IsPointer reports whether t is a pointer.
func IsPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// takesAddress reports whether the selection of a method takes the address of its operand, or of a
// part of it.
func takesAddress(sel *types.Selection) bool {
	f, ok := sel.Obj().(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return false
	}
	if _, free := sel.Recv().(*types.TypeParam); free {
		return true // the method of the type argument may
	}
	return IsPointer(f.Signature().Recv().Type()) && !IsPointer(sel.Recv())
}

// MaxTypeDepth bounds the nesting of types, so that recursive ones end.
const MaxTypeDepth = 64
