package frontend

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
)

// bindLiteral takes f := func..., or f := g of a function g. It reports whether value is a
// function.
func (b *builder) bindLiteral(id *ast.Ident, value ast.Expr) bool {
	if t := b.u.p.info.TypeOf(value); !isFunction(t) {
		return false
	}
	in := b.bodyOf(value)
	if in == nil {
		in = &inlinable{}
	}
	if o := b.u.p.info.Defs[id]; o != nil {
		if in.name == "func" {
			in.name = id.Name
		}
		b.env.bodies[o] = in
	}
	return true
}

// captures reports assignments to variables that lit captures which come after it in the source.
// Inlined where it is called, the literal would see them, as in Go; but a reader, and every
// analysis, may take what it captures for fixed.
func (b *builder) captures(lit *ast.FuncLit) {
	captured := b.capturedBy(lit)
	d := b.u.p.declAt(lit.Pos())
	if len(captured) == 0 || d == nil {
		return
	}
	ast.Inspect(d.node, func(n ast.Node) bool {
		for _, place := range assignedPlaces(n) {
			id := b.u.p.rootIdent(place)
			if id == nil || id.Pos() < lit.End() || !captured[b.u.p.info.Uses[id]] {
				continue
			}
			b.fail(id.Pos(), "captured variable "+id.Name, "the function literal of line "+strconv.Itoa(b.pos(lit.Pos()).Line)+
				" captures it, so it cannot be assigned afterwards", "pass it to the literal as a parameter, or assign before the literal")
		}
		return true
	})
}

// capturedBy returns the local variables from outside of lit that it uses.
func (b *builder) capturedBy(lit *ast.FuncLit) map[types.Object]bool {
	out := map[types.Object]bool{}
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			v, isVar := b.u.p.info.Uses[id].(*types.Var)
			if isVar && !v.IsField() && !isGlobal(v) && (v.Pos() < lit.Pos() || v.Pos() >= lit.End()) {
				out[v] = true
			}
		}
		return true
	})
	return out
}

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
func (p *Package) rootIdent(place ast.Expr) *ast.Ident {
	switch e := place.(type) {
	case *ast.Ident:
		return e
	case *ast.ParenExpr:
		return p.rootIdent(e.X)
	case *ast.SelectorExpr:
		if p.isWhole(e.X) {
			return p.rootIdent(e.X)
		}
	case *ast.IndexExpr:
		if p.isWhole(e.X) {
			return p.rootIdent(e.X)
		}
	}
	return nil
}

// isWhole reports whether the parts of e are part of a variable: it is a struct or an array.
func (p *Package) isWhole(e ast.Expr) bool {
	t := p.info.TypeOf(e)
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

// fate returns what happens to o.
func (p *Package) fate(o types.Object) fate {
	if p.fates == nil {
		p.fates = map[types.Object]fate{}
		for _, f := range p.allFiles() {
			ast.Inspect(f, p.noteFate)
		}
	}
	return p.fates[o]
}

func (p *Package) noteFate(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			p.noteAddress(n.X, p.info.TypeOf(n.X))
		}
	case *ast.SliceExpr:
		if p.isWhole(n.X) {
			p.noteAddress(n.X, p.info.TypeOf(n.X))
		}
	case *ast.SelectorExpr:
		if sel := p.info.Selections[n]; sel != nil && sel.Kind() == types.MethodVal && takesAddress(sel) {
			p.noteAddress(n.X, receiverElem(sel))
		}
	}
	for _, place := range assignedPlaces(n) {
		p.note(place, fate{assigned: true})
	}
	return true
}

func (p *Package) note(place ast.Expr, f fate) {
	if id := p.rootIdent(place); id != nil {
		o := p.info.Uses[id]
		old := p.fates[o]
		p.fates[o] = fate{old.assigned || f.assigned, old.taken || f.taken, old.pointed || f.pointed}
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
func (p *Package) noteAddress(place ast.Expr, t types.Type) {
	if t != nil && holdsSlices(t, 0) {
		p.note(place, fate{pointed: true})
		return
	}
	p.note(place, fate{taken: true})
	p.leavesLent = p.leavesLent || p.rootIdent(place) == nil && p.behindSplit(place)
}

// behindSplit reports whether place lies in a struct with slices that a pointer points at.
func (p *Package) behindSplit(place ast.Expr) bool {
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
		t := p.info.TypeOf(place)
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

// refuseFunction reports an assignment to a variable that is a function.
func (b *builder) refuseFunction(e ast.Expr) {
	b.fail(e.Pos(), "assignment of a function", "which function it is must be known when the kernel is compiled",
		"assign a function literal to a local once (f := func...)")
}
