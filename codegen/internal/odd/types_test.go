// Package odd has random programs of odd but legal Go: typed from the leaves up, over all widths of
// integers, both floats, arrays in arrays, structs in structs, named and generic types, pointers to
// elements, slices of locals, functions with several results, methods, literals. The Go compiler
// compiles each of them into the test: what a program means does not pass through our front end.
//
// Programs of three kinds: those of kernel_test.go hold every directive and clause, around iterations that are
// independent; those of serial_test.go are functions as one writes them for one processor, with arguments
// that may overlap; those of moved_test.go exchange and reslice slices between their loops.
package odd

import (
	"fmt"
	"strings"
)

type kind uint8

const (
	boolean kind = iota
	integer
	float
	array
	structure
	slice
	pointer
)

// A typ is a type of the language, with the text that names it.
type typ struct {
	name   string
	kind   kind
	bits   int
	signed bool
	elem   *typ
	n      int // elements of an array
	fields []field
	method string // of a named type or struct, "" without: func(t) int64
	change string // of a struct, "" without: func(*t, int64)
}

type field struct {
	name string
	t    *typ
}

var (
	typeBool = &typ{name: "bool", kind: boolean}
	typeInt  = &typ{name: "int", kind: integer, bits: 64, signed: true}
	typeI64  = &typ{name: "int64", kind: integer, bits: 64, signed: true}
	typeI32  = &typ{name: "int32", kind: integer, bits: 32, signed: true}
	typeF64  = &typ{name: "float64", kind: float, bits: 64}
	typeF32  = &typ{name: "float32", kind: float, bits: 32}
	whole    = []*typ{typeInt, typeI64, typeI32,
		{name: "int8", kind: integer, bits: 8, signed: true}, {name: "int16", kind: integer, bits: 16, signed: true},
		{name: "uint8", kind: integer, bits: 8}, {name: "uint16", kind: integer, bits: 16}, {name: "uint32", kind: integer, bits: 32},
		{name: "uint64", kind: integer, bits: 64}, {name: "uint", kind: integer, bits: 64}}
	basic = append([]*typ{typeBool, typeF32, typeF64, typeF32, typeF64}, whole...)
)

func (t *typ) scalar() bool { return t.kind <= float }

func (t *typ) number() bool { return t.kind == integer || t.kind == float }

// arrayOf is the type [n]t.
func arrayOf(n int, t *typ) *typ {
	return &typ{name: fmt.Sprintf("[%d]%s", n, t.name), kind: array, elem: t, n: n}
}

func sliceOf(t *typ) *typ { return &typ{name: "[]" + t.name, kind: slice, elem: t} }

func pointerTo(t *typ) *typ { return &typ{name: "*" + t.name, kind: pointer, elem: t} }

// makeTypes declares the types of a program.
func (g *gen) makeTypes() {
	g.types = append([]*typ{}, basic...)
	for range g.IntN(3) {
		base := basic[1+g.IntN(len(basic)-1)]
		t := *base
		t.name = g.global("t")
		g.line("type %s %s", t.name, base.name)
		g.line("")
		g.types = append(g.types, &t)
	}
	for range g.IntN(3) {
		g.makeStruct()
	}
}

// makeStruct declares a struct of scalars, arrays and earlier structs.
func (g *gen) makeStruct() {
	t := &typ{name: g.global("s"), kind: structure}
	g.line("type %s struct {", t.name)
	for i := range 1 + g.IntN(5) {
		f := field{string(rune('a' + i)), g.anyType(2)}
		t.fields = append(t.fields, f)
		g.line("\t%s %s", f.name, f.t.name)
	}
	g.line("}")
	g.line("")
	g.types = append(g.types, t)
	g.structs = append(g.structs, t)
}

// scalarType is one of a scalar.
func (g *gen) scalarType() *typ {
	for {
		if t := g.types[g.IntN(len(g.types))]; t.scalar() {
			return t
		}
	}
}

func (g *gen) intType() *typ {
	for {
		if t := g.types[g.IntN(len(g.types))]; t.kind == integer {
			return t
		}
	}
}

// anyType is a scalar, a struct or an array of such.
func (g *gen) anyType(depth int) *typ {
	switch {
	case depth > 0 && g.chance(25):
		return arrayOf(1+g.IntN(4), g.anyType(depth-1))
	case depth > 0 && len(g.structs) > 0 && g.chance(35):
		return g.structs[g.IntN(len(g.structs))]
	}
	return g.scalarType()
}

// size bounds the scalars in a value.
func (t *typ) size() int {
	switch t.kind {
	case array:
		return t.n * t.elem.size()
	case structure:
		n := 0
		for _, f := range t.fields {
			n += f.t.size()
		}
		return n
	}
	return 1
}

// comparable says that == is written of values of t: floats are left out, for NaN.
func (t *typ) comparable() bool {
	switch t.kind {
	case array:
		return t.elem.comparable()
	case structure:
		for _, f := range t.fields {
			if !f.t.comparable() {
				return false
			}
		}
		return true
	}
	return t.kind == integer || t.kind == boolean
}

func quoted(list []string) string { return strings.Join(list, ", ") }
