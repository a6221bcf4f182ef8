package ir

import "github.com/gompss/gompss/deps"

// A Pos is a place in the user's Go source. The zero Pos is unknown.
type Pos struct {
	File      string
	Line, Col int
}

// Bytes is a size in bytes; the same type as deps.Bytes, for back ends, which import nothing but
// this package.
type Bytes = deps.Bytes

// A Kind is the kind of a Type.
type Kind uint8

// The kinds. Go's int and uint are Int64 and Uint64 with the names "int" and "uint".
const (
	Invalid Kind = iota
	Bool
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
	Array
	Struct
	Slice
	Pointer
)

// A Type is a Go type of the dialect, with the sizes and offsets of gc on a 64-bit machine, so that
// host and device read the same bytes. A slice is {address, length, capacity} and a pointer an
// address; neither lives in a buffer.
type Type struct {
	Kind   Kind
	Name   string     // as the Go source says it: "int", "float32", "Particle"; "" for an unnamed composite
	Elem   *Type      // of Array, Slice, Pointer
	Len    int64      // of Array
	Fields []Field    // of Struct
	Size   deps.Bytes // of one value
	Align  deps.Bytes
	// Complex is set of a Struct that is a complex number of Go: its fields are the two parts.
	Complex bool
}

// A Field is one field of a struct type.
type Field struct {
	Name   string
	Type   *Type
	Offset deps.Bytes
}

// The basic types, shared by all kernels.
var (
	BoolType    = basic(Bool, "bool", 1)
	Int8Type    = basic(Int8, "int8", 1)
	Int16Type   = basic(Int16, "int16", 2)
	Int32Type   = basic(Int32, "int32", 4)
	Int64Type   = basic(Int64, "int64", 8)
	IntType     = basic(Int64, "int", 8)
	Uint8Type   = basic(Uint8, "uint8", 1)
	Uint16Type  = basic(Uint16, "uint16", 2)
	Uint32Type  = basic(Uint32, "uint32", 4)
	Uint64Type  = basic(Uint64, "uint64", 8)
	UintType    = basic(Uint64, "uint", 8)
	Float32Type = basic(Float32, "float32", 4)
	Float64Type = basic(Float64, "float64", 8)

	Complex64Type  = complexOf("complex64", Float32Type)
	Complex128Type = complexOf("complex128", Float64Type)
)

func basic(k Kind, name string, size deps.Bytes) *Type {
	return &Type{Kind: k, Name: name, Size: size, Align: size}
}

// complexOf returns the type of complex numbers with parts of a type, laid out as gc does.
func complexOf(name string, part *Type) *Type {
	return &Type{Kind: Struct, Name: name, Complex: true, Size: 2 * part.Size, Align: part.Align,
		Fields: []Field{{Name: "real", Type: part}, {Name: "imag", Type: part, Offset: part.Size}}}
}

// SliceOf returns the type []elem.
func SliceOf(elem *Type) *Type { return &Type{Kind: Slice, Elem: elem, Size: 24, Align: 8} }

// PointerTo returns the type *elem.
func PointerTo(elem *Type) *Type { return &Type{Kind: Pointer, Elem: elem, Size: 8, Align: 8} }

// ArrayOf returns the type [n]elem.
func ArrayOf(elem *Type, n int64) *Type {
	return &Type{Kind: Array, Elem: elem, Len: n, Size: elem.Size * deps.Bytes(n), Align: elem.Align}
}

// IsInteger reports whether t is a signed or unsigned integer.
func (t *Type) IsInteger() bool { return t.Kind >= Int8 && t.Kind <= Uint64 }

// IsSigned reports whether t is a signed integer.
func (t *Type) IsSigned() bool { return t.Kind >= Int8 && t.Kind <= Int64 }

// IsFloat reports whether t is a float.
func (t *Type) IsFloat() bool { return t.Kind == Float32 || t.Kind == Float64 }

// IsScalar reports whether a value of t fits one register: a bool, an integer or a float.
func (t *Type) IsScalar() bool { return t.Kind >= Bool && t.Kind <= Float64 }

// Same reports whether values of a and b have the same representation: names of basic types do not
// matter, so int and int64 are the same here (the front end has already type-checked the Go
// program).
func Same(a, b *Type) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Array:
		return a.Len == b.Len && Same(a.Elem, b.Elem)
	case Slice, Pointer:
		return Same(a.Elem, b.Elem)
	case Struct:
		return sameFields(a.Fields, b.Fields)
	}
	return true
}

func sameFields(a, b []Field) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Offset != b[i].Offset || !Same(a[i].Type, b[i].Type) {
			return false
		}
	}
	return true
}
