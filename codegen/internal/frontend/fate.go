package frontend

import (
	"go/ast"
	"go/token"
	"go/types"
)

// assignedPlaces returns what statement n assigns to, new variables left out.
func assignedPlaces(n ast.Node) []ast.Expr {
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

// rootIdent returns the variable of which place is a part; nil where it lies behind a pointer or in
// a slice.
func rootIdent(info *types.Info, place ast.Expr) *ast.Ident {
	switch e := place.(type) {
	case *ast.Ident:
		return e
	case *ast.ParenExpr:
		return rootIdent(info, e.X)
	case *ast.SelectorExpr:
		if isWhole(info, e.X) {
			return rootIdent(info, e.X)
		}
	case *ast.IndexExpr:
		if isWhole(info, e.X) {
			return rootIdent(info, e.X)
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

// A fate is what happens to a variable after its declaration, anywhere in the source.
type fate struct {
	assigned bool // it or a part of it
	taken    bool // its address, or a slice of it
	pointed  bool // the address of a struct that is split, which it is or has in it: see struct_pointer.go
}

// fates holds what happens to the variables of a program.
type fates struct {
	p  *program
	of map[types.Object]fate // nil until the first question
	// leavesLent says that the address of a leaf is taken through a pointer to a struct that is
	// split.
	leavesLent bool
}

// fate returns what happens to o.
func (v *fates) fate(o types.Object) fate {
	if v.of == nil {
		v.of = map[types.Object]fate{}
		for _, f := range v.p.allFiles() {
			ast.Inspect(f, v.noteFate)
		}
	}
	return v.of[o]
}

func (v *fates) noteFate(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			v.noteAddress(n.X, v.p.info.TypeOf(n.X))
		}
	case *ast.SliceExpr:
		if isWhole(v.p.info, n.X) {
			v.noteAddress(n.X, v.p.info.TypeOf(n.X))
		}
	case *ast.SelectorExpr:
		if sel := v.p.info.Selections[n]; sel != nil && sel.Kind() == types.MethodVal && takesAddress(sel) {
			v.noteAddress(n.X, receiverElem(sel))
		}
	}
	for _, place := range assignedPlaces(n) {
		v.note(place, fate{assigned: true})
	}
	return true
}

func (v *fates) note(place ast.Expr, f fate) {
	if id := rootIdent(v.p.info, place); id != nil {
		o := v.p.info.Uses[id]
		old := v.of[o]
		v.of[o] = fate{old.assigned || f.assigned, old.taken || f.taken, old.pointed || f.pointed}
	}
}

// receiverElem returns what the pointer that a method has as its receiver points at, nil where that
// is not known.
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
func (v *fates) noteAddress(place ast.Expr, t types.Type) {
	if t != nil && holdsSlices(t, 0) {
		v.note(place, fate{pointed: true})
		return
	}
	v.note(place, fate{taken: true})
	v.leavesLent = v.leavesLent || rootIdent(v.p.info, place) == nil && v.behindSplit(place)
}

// behindSplit reports whether place lies in a struct with slices that a pointer points at.
func (v *fates) behindSplit(place ast.Expr) bool {
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
		t := v.p.info.TypeOf(place)
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
	if !ok || depth > maxTypeDepth {
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
