package ir

import (
	"fmt"
	"strings"
)

// TypeKey tells types apart that need different types in C or C++: structs by name and layout.
func TypeKey(t *Type) string {
	switch t.Kind {
	case Array:
		return fmt.Sprintf("[%d]%s", t.Len, TypeKey(t.Elem))
	case Slice:
		return "[]" + TypeKey(t.Elem)
	case Pointer:
		return "*" + TypeKey(t.Elem)
	case Struct:
		return structKey(t)
	}
	return t.Kind.String()
}

// structKey tells structs apart by name and layout. Types behind a pointer are named only: a struct
// may point at its own kind.
func structKey(t *Type) string {
	var b strings.Builder
	b.WriteString("struct " + t.Name + "{")
	for _, f := range t.Fields {
		key := f.Type.String()
		if f.Type.Kind != Pointer && f.Type.Kind != Slice {
			key = TypeKey(f.Type)
		}
		fmt.Fprintf(&b, "%s %s@%d;", f.Name, key, f.Offset)
	}
	return b.String() + "}"
}

// ArrayValues returns the array types that p uses as values: copied, passed, compared, pointed at
// or held by slices.
func ArrayValues(prog *Program) map[string]bool {
	w := wrapping{keys: map[string]bool{}}
	for _, v := range prog.Params {
		w.value(v.Type)
	}
	for _, s := range prog.Scratch {
		w.value(s.Var.Type)
	}
	for _, f := range prog.Funcs {
		for _, v := range f.Params {
			w.value(v.Type)
		}
		for _, r := range f.Results {
			w.value(r)
		}
		w.body(f.Body)
	}
	for _, l := range prog.Launches {
		for _, v := range l.Team {
			w.held(v.Type)
		}
		w.body(l.Body)
	}
	return w.keys
}

type wrapping struct{ keys map[string]bool }

// value notes that t is the type of a value.
func (w *wrapping) value(t *Type) {
	if t.Kind == Array {
		if w.keys[TypeKey(t)] {
			return
		}
		w.keys[TypeKey(t)] = true
		w.value(t.Elem)
		return
	}
	w.held(t)
}

// held notes what follows from a variable of type t: elements behind a slice or pointer are values.
func (w *wrapping) held(t *Type) {
	switch t.Kind {
	case Slice, Pointer:
		if t.Elem.Kind != Struct { // its fields are seen where they are used; it may point at itself
			w.value(t.Elem)
		}
	case Array:
		w.held(t.Elem)
	}
}

func (w *wrapping) body(list []Stmt) {
	WalkStmts(list, func(s Stmt) bool {
		if d, ok := s.(*Decl); ok {
			w.decl(d)
			return true
		}
		StmtExprs(s, w.expr)
		return true
	})
}

func (w *wrapping) decl(d *Decl) {
	w.held(d.Var.Type)
	if c, ok := d.Init.(*Composite); ok {
		w.literal(c)
		return
	}
	if d.Init != nil {
		w.expr(d.Init)
	}
}

// literal looks into a literal that initialises a variable: an array in it is no copy.
func (w *wrapping) literal(c *Composite) {
	for _, e := range c.Elems {
		if inner, ok := e.(*Composite); ok {
			w.literal(inner)
			continue
		}
		w.expr(e)
	}
}

// expr notes e as a value and what is in it; the base of an element or a part is no value.
func (w *wrapping) expr(e Expr) {
	w.value(e.Type())
	w.inside(e)
}

func (w *wrapping) inside(e Expr) {
	base := Expr(nil)
	switch e := e.(type) {
	case *Index:
		base = e.X
	case *Member:
		base = e.X
	case *Reslice:
		base = e.X
	case *AddrOf:
		base = e.X
		w.value(e.X.Type())
	}
	Operands(e, func(x Expr) {
		if x == base && IsPlace(x) {
			w.held(x.Type())
			w.inside(x)
			return
		}
		w.expr(x)
	})
}
