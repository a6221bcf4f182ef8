package values

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// ArgumentError reports an invalid argument of a kernel, before anything is written.
type ArgumentError struct {
	Kernel string
	Pos    ir.Pos
	Param  string // "" when the number of arguments is wrong
	Index  int
	What   string
}

func (e *ArgumentError) Error() string {
	where := fmt.Sprintf("task: kernel %s", e.Kernel)
	if e.Pos.File != "" {
		where += fmt.Sprintf(" (%s:%d)", e.Pos.File, e.Pos.Line)
	}
	if e.Param == "" {
		return where + ": " + e.What
	}
	return fmt.Sprintf("%s: argument %d (%s): %s", where, e.Index+1, e.Param, e.What)
}

// basicTypes are the Go types of the basic types of the dialect by name.
var basicTypes = map[string]reflect.Type{
	"bool": reflect.TypeFor[bool](), "int": reflect.TypeFor[int](), "uint": reflect.TypeFor[uint](),
	"int8": reflect.TypeFor[int8](), "int16": reflect.TypeFor[int16](), "int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](),
	"uint8": reflect.TypeFor[uint8](), "uint16": reflect.TypeFor[uint16](), "uint32": reflect.TypeFor[uint32](), "uint64": reflect.TypeFor[uint64](),
	"float32": reflect.TypeFor[float32](), "float64": reflect.TypeFor[float64](),
	"complex64": reflect.TypeFor[complex64](), "complex128": reflect.TypeFor[complex128](),
}

// GoType returns the Go type that t stands for, or nil where only the shape is known (structs and
// named types).
func GoType(t *ir.Type) reflect.Type {
	if t.Name != "" {
		return basicTypes[t.Name]
	}
	switch t.Kind {
	case ir.Slice:
		if e := GoType(t.Elem); e != nil {
			return reflect.SliceOf(e)
		}
	case ir.Pointer:
		if e := GoType(t.Elem); e != nil {
			return reflect.PointerTo(e)
		}
	case ir.Array:
		if e := GoType(t.Elem); e != nil {
			return reflect.ArrayOf(int(t.Len), e)
		}
	}
	return nil
}

// irKinds are the kinds of the dialect of Go's kinds.
var irKinds = map[reflect.Kind]ir.Kind{
	reflect.Bool: ir.Bool, reflect.Int: ir.Int64, reflect.Uint: ir.Uint64,
	reflect.Int8: ir.Int8, reflect.Int16: ir.Int16, reflect.Int32: ir.Int32, reflect.Int64: ir.Int64,
	reflect.Uint8: ir.Uint8, reflect.Uint16: ir.Uint16, reflect.Uint32: ir.Uint32, reflect.Uint64: ir.Uint64,
	reflect.Float32: ir.Float32, reflect.Float64: ir.Float64,
	reflect.Complex64: ir.Struct, reflect.Complex128: ir.Struct,
	reflect.Array: ir.Array, reflect.Struct: ir.Struct, reflect.Slice: ir.Slice, reflect.Pointer: ir.Pointer,
}

// Fits reports whether values of Go type g are values of t.
func Fits(g reflect.Type, t *ir.Type) bool {
	if want := basicTypes[t.Name]; want != nil {
		return g == want
	}
	if irKinds[g.Kind()] != t.Kind || t.Kind == ir.Invalid {
		return false
	}
	switch t.Kind {
	case ir.Slice, ir.Pointer:
		return Fits(g.Elem(), t.Elem)
	case ir.Array:
		return int64(g.Len()) == t.Len && Fits(g.Elem(), t.Elem)
	case ir.Struct:
		if isComplex := g.Kind() != reflect.Struct; isComplex || t.Complex {
			return isComplex && t.Complex && deps.Bytes(g.Size()) == t.Size && nameFits(g.Name(), t.Name)
		}
		return fieldsFit(g, t)
	}
	return nameFits(g.Name(), t.Name)
}

// packagePath matches the text that reflection writes before the name of a type argument.
var packagePath = regexp.MustCompile(`[^][,*]*\.`)

// nameFits compares the name that reflection gives a type with the one in the source: they differ
// where a generic type has arguments, and where the type is of another package.
func nameFits(of, name string) bool {
	return of == name || packagePath.ReplaceAllString(of, "") == packagePath.ReplaceAllString(strings.ReplaceAll(name, " ", ""), "")
}

func fieldsFit(g reflect.Type, t *ir.Type) bool {
	if g.NumField() != len(t.Fields) || t.Name != "" && !nameFits(g.Name(), t.Name) {
		return false
	}
	for i, f := range t.Fields {
		if deps.Bytes(g.Field(i).Offset) != f.Offset || !Fits(g.Field(i).Type, f.Type) {
			return false
		}
	}
	return true
}

// TypeText returns t as Go writes it.
func TypeText(t *ir.Type) string {
	switch {
	case t.Name != "":
		return t.Name
	case t.Kind == ir.Slice:
		return "[]" + TypeText(t.Elem)
	case t.Kind == ir.Pointer:
		return "*" + TypeText(t.Elem)
	case t.Kind == ir.Array:
		return fmt.Sprintf("[%d]%s", t.Len, TypeText(t.Elem))
	}
	return "struct"
}

// Argument makes an Arg of a Go value of type t; where is the memory of a slice or pointer, empty
// otherwise.
func Argument(x any, t *ir.Type) (a devices.Arg, where Range) { return ArgumentAt(valueAt(&x, t), t) }

// Word returns the bits of a scalar argument, or the memory of a slice or pointer; ok is false for
// another type.
func Word(x any, t *ir.Type) (bits uint64, where Range, ok bool) {
	switch {
	case IsMemory(t):
		return 0, MemoryAt(valueAt(&x, t), t), true
	case t.IsScalar():
		return scalarAt(valueAt(&x, t), t), Range{}, true
	}
	return 0, Range{}, false
}

// Arguments is the arguments of a task as an environment for the expressions of its kernel's
// clauses.
type Arguments struct {
	Params []*ir.Var
	List   []devices.Arg
}

func (e *Arguments) Of(v *ir.Var) *devices.Arg {
	for i, p := range e.Params {
		if p == v {
			return &e.List[i]
		}
	}
	return nil
}

// Scalar implements ir.Env.
func (e *Arguments) Scalar(v *ir.Var) (ir.Bits, bool) {
	a := e.Of(v)
	if a == nil || !v.Type.IsScalar() {
		return 0, false
	}
	return ir.Bits(a.Bits), true
}

// Bytes implements ir.Env.
func (e *Arguments) Bytes(v *ir.Var) ([]byte, bool) {
	a := e.Of(v)
	if a == nil || a.Blob == nil {
		return nil, false
	}
	return a.Blob, true
}

// Slice implements ir.Env.
func (e *Arguments) Slice(v *ir.Var) (length, capacity int64, ok bool) {
	a := e.Of(v)
	if a == nil || v.Type.Kind != ir.Slice {
		return 0, 0, false
	}
	return a.Len, a.Cap, true
}

// Apart implements ir.AddressEnv. Buffers have no byte in common.
func (e *Arguments) Apart(x, y *ir.Var) (apart, ok bool) {
	a, b := e.Of(x), e.Of(y)
	if a == nil || b == nil {
		return false, false
	}
	return a.Buffer != b.Buffer || EndOf(a, x) <= a.Offset || EndOf(b, y) <= b.Offset || EndOf(a, x) <= b.Offset || EndOf(b, y) <= a.Offset, true
}

// EndOf is where the memory of a, argument of v, ends in its buffer.
func EndOf(a *devices.Arg, v *ir.Var) deps.Bytes {
	switch {
	case a.Nil:
		return a.Offset
	case v.Type.Kind == ir.Pointer:
		return a.Offset + v.Type.Elem.Size
	}
	return a.Offset + deps.Bytes(a.Len)*v.Type.Elem.Size
}

// Set reports whether a pointer is not nil.
func (e *Arguments) Set(v *ir.Var) (set, ok bool) {
	a := e.Of(v)
	return a != nil && !a.Nil, a != nil
}

// Query implements ir.Env: on the host there is no grid.
func (e *Arguments) Query(ir.QueryKind) (int64, bool) { return 0, false }

// RegionOf returns a box of the memory of argument a as a region of its buffer.
func RegionOf(a *devices.Arg, elem *ir.Type, b *codegen.Box) (deps.Region, error) {
	first := int64(a.Offset / elem.Size)
	if lo, hi, ok := b.Interval(); ok {
		return deps.Interval(a.Buffer, first+lo, first+hi), nil
	}
	return deps.Box(a.Buffer, first, b.Shape, b.Lo, b.Hi)
}

// Plural returns one where n is 1, else many.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count returns n and the noun, with an s where they are many.
func Count(n int, noun string) string { return fmt.Sprintf("%d %s", n, Plural(n, noun, noun+"s")) }
