package task

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"

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
}

// goType returns the Go type that t stands for, or nil where only the shape is known (structs and
// named types).
func goType(t *ir.Type) reflect.Type {
	switch t.Kind {
	case ir.Slice:
		if e := goType(t.Elem); e != nil {
			return reflect.SliceOf(e)
		}
	case ir.Pointer:
		if e := goType(t.Elem); e != nil {
			return reflect.PointerTo(e)
		}
	case ir.Array:
		if e := goType(t.Elem); e != nil && t.Name == "" {
			return reflect.ArrayOf(int(t.Len), e)
		}
	case ir.Struct:
	default:
		return basicTypes[t.Name]
	}
	return nil
}

// irKinds are the kinds of the dialect of Go's kinds.
var irKinds = map[reflect.Kind]ir.Kind{
	reflect.Bool: ir.Bool, reflect.Int: ir.Int64, reflect.Uint: ir.Uint64,
	reflect.Int8: ir.Int8, reflect.Int16: ir.Int16, reflect.Int32: ir.Int32, reflect.Int64: ir.Int64,
	reflect.Uint8: ir.Uint8, reflect.Uint16: ir.Uint16, reflect.Uint32: ir.Uint32, reflect.Uint64: ir.Uint64,
	reflect.Float32: ir.Float32, reflect.Float64: ir.Float64,
	reflect.Array: ir.Array, reflect.Struct: ir.Struct, reflect.Slice: ir.Slice, reflect.Pointer: ir.Pointer,
}

// fits reports whether values of Go type g are values of t.
func fits(g reflect.Type, t *ir.Type) bool {
	if want := basicTypes[t.Name]; want != nil {
		return g == want
	}
	if irKinds[g.Kind()] != t.Kind || t.Kind == ir.Invalid {
		return false
	}
	switch t.Kind {
	case ir.Slice, ir.Pointer:
		return fits(g.Elem(), t.Elem)
	case ir.Array:
		return int64(g.Len()) == t.Len && fits(g.Elem(), t.Elem)
	case ir.Struct:
		return fieldsFit(g, t)
	}
	return nameFits(g.Name(), t.Name)
}

// packagePath is what reflection writes before the name of a type argument.
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
		if deps.Bytes(g.Field(i).Offset) != f.Offset || !fits(g.Field(i).Type, f.Type) {
			return false
		}
	}
	return true
}

// typeText returns t as Go writes it.
func typeText(t *ir.Type) string {
	switch {
	case t.Name != "":
		return t.Name
	case t.Kind == ir.Slice:
		return "[]" + typeText(t.Elem)
	case t.Kind == ir.Pointer:
		return "*" + typeText(t.Elem)
	case t.Kind == ir.Array:
		return fmt.Sprintf("[%d]%s", t.Len, typeText(t.Elem))
	}
	return "struct"
}

// scalarBits returns the bits of a scalar as ir.Const has them: signed integers extended to 64
// bits.
func scalarBits(v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case reflect.Float32:
		return uint64(math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		return math.Float64bits(v.Float())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint()
	}
	return uint64(v.Int())
}

// argument makes an Arg of a Go value; where is the memory of a slice or pointer, empty otherwise.
func argument(x any, t *ir.Type) (a devices.Arg, where memory) {
	a.Type = t
	switch x := x.(type) { // the common ones without reflection
	case int:
		a.Bits = uint64(x)
	case int32:
		a.Bits = uint64(x)
	case float32:
		a.Bits = uint64(math.Float32bits(x))
	case float64:
		a.Bits = math.Float64bits(x)
	case []float32:
		where = memoryOf(x)
	case []float64:
		where = memoryOf(x)
	case []int32:
		where = memoryOf(x)
	case []int:
		where = memoryOf(x)
	default:
		return reflectedArgument(reflect.ValueOf(x), a)
	}
	return a, where
}

func reflectedArgument(v reflect.Value, a devices.Arg) (devices.Arg, memory) {
	switch v.Kind() {
	case reflect.Slice, reflect.Pointer:
		return a, memoryOfValue(v)
	case reflect.Struct, reflect.Array:
		a.Blob = bytesOf(v)
	default:
		a.Bits = scalarBits(v)
	}
	return a, memory{}
}

// comparedWithNil reports whether k, or a function that it calls, compares a pointer with nil: then
// v, if it is one, may be nil.
func comparedWithNil(k *ir.Kernel, v *ir.Var) bool {
	found := false
	look := func(s ir.Stmt) bool {
		ir.StmtExprs(s, func(e ir.Expr) {
			ir.WalkExpr(e, func(x ir.Expr) bool {
				b, ok := x.(*ir.Binary)
				found = found || ok && b.X.Type().Kind == ir.Pointer && (b.Op == ir.Eq || b.Op == ir.Ne)
				return !found
			})
		})
		return !found
	}
	if v.Type.Kind == ir.Pointer {
		ir.WalkStmts(k.Body, look)
		for _, f := range k.Funcs {
			ir.WalkStmts(f.Body, look)
		}
	}
	return found
}
