package ir

import (
	"fmt"
	"strings"
)

// TypeKey returns a key that distinguishes types that need different types in C or C++. Structs
// differ by name and layout.
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

// structKey returns a key of the name and the layout of a struct. Of the types behind a pointer or
// slice it only has the names, because a struct may point to its own type.
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

// ArrayValues returns the keys of the array types that prog uses as values: arrays that are copied,
// passed, compared, pointed to or elements of slices. C has no such values, so that the printers
// wrap these arrays in structs.
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

// value records that t is the type of a value.
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

// held records the types of the values that a variable of type t refers to: the elements behind a
// slice or pointer are values.
func (w *wrapping) held(t *Type) {
	switch t.Kind {
	case Slice, Pointer:
		if t.Elem.Kind != Struct { // uses of its fields record them; the type may be recursive
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

// literal records the values in a literal that initialises a variable. An array in the literal is
// not copied, and so not a value.
func (w *wrapping) literal(c *Composite) {
	for _, e := range c.Elems {
		if inner, ok := e.(*Composite); ok {
			w.literal(inner)
			continue
		}
		w.expr(e)
	}
}

// expr records e and its operands as values. The base of an index, field or slice expression is not
// a value.
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
