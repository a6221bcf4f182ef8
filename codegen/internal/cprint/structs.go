package cprint

import (
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// Structs are the struct types of a file, with the names of their fields, and the arrays that are a
// struct because the program copies them.
type Structs struct {
	Text    strings.Builder   // of their definitions
	Names   map[string]string // by ir.TypeKey
	Equal   map[string]bool   // those that have a comparison
	wrapped map[string]bool
	fields  map[*ir.Type][]string
	keys    map[*ir.Type]string
}

// NewStructs begins the types of p.
func NewStructs(p *ir.Program) Structs {
	return Structs{Names: map[string]string{}, Equal: map[string]bool{}, wrapped: ir.ArrayValues(p), fields: map[*ir.Type][]string{},
		keys: map[*ir.Type]string{}}
}

// IsWrapped reports whether arrays of type t are a struct, because somewhere the program copies
// one.
func (s *Structs) IsWrapped(t *ir.Type) bool { return s.wrapped[ir.TypeKey(t)] }

// Key returns ir.TypeKey of a type.
func (s *Structs) Key(t *ir.Type) string {
	key, ok := s.keys[t]
	if !ok {
		key = ir.TypeKey(t)
		s.keys[t] = key
	}
	return key
}

// FieldName returns the name of field i: Go's, but for blanks and reserved words.
func (s *Structs) FieldName(t *ir.Type, i int, reserved map[string]bool) string {
	if s.fields[t] == nil {
		s.fields[t] = FieldNames(t, reserved)
	}
	return s.fields[t][i]
}

// WantedName returns the name of a struct in Go, without its package.
func WantedName(t *ir.Type) string {
	want := t.Name
	if i := strings.LastIndexByte(want, '.'); i >= 0 && !strings.ContainsRune(want, '[') {
		want = want[i+1:]
	}
	if want == "" {
		return "Struct"
	}
	return want
}
