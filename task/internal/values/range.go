// Package values is how the engine sees Go values: the memory of slices and variables, the
// arguments of kernels, and the package variables that kernels read.
//
// Its unsafe code turns slices into addresses, and reads values of types that were checked before.
// It does not write through an address of the program.
package values

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A Range is part of the program's memory: the bytes of a slice or a variable. Addresses are
// compared, never dereferenced; the buffer keeps their memory alive while tasks use it.
type Range struct {
	Base unsafe.Pointer
	Len  int64 // elements
	Cap  int64 // elements
	Elem deps.Bytes
}

// A Pointer is the part of an Option that points at something.
type Pointer = unsafe.Pointer

// String says which elements of the program it is.
func (m Range) String() string {
	return fmt.Sprintf("%d elements of %d bytes at %#x", m.Len, m.Elem, uintptr(m.Base))
}

func (m Range) Size() deps.Bytes { return deps.Bytes(m.Len) * m.Elem }

// MemoryOf returns the memory that x covers.
func MemoryOf[T any](x []T) Range {
	var zero T
	return Range{unsafe.Pointer(unsafe.SliceData(x)), int64(len(x)), int64(cap(x)), deps.Bytes(unsafe.Sizeof(zero))}
}

// CheckNoPointers returns an error when values of type t hold Go pointers, which must not lie
// outside the Go heap or move to a device.
func CheckNoPointers(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return nil
	case reflect.Array:
		return CheckNoPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if err := CheckNoPointers(t.Field(i).Type); err != nil {
				return fmt.Errorf("field %s: %w", t.Field(i).Name, err)
			}
		}
		return nil
	}
	return fmt.Errorf("type %s holds Go pointers", t)
}

// HoldsPointers is CheckNoPointers in a nanosecond, for every access: the second word of a Go type
// descriptor is the number of leading bytes that may hold pointers. TestHoldsPointers compares the
// two; the type lives as long as the program.
func HoldsPointers[T any]() bool {
	t := reflect.TypeFor[T]()
	words := (*[2]*[2]uintptr)(unsafe.Pointer(&t)) // of the interface: its table, and the type
	return words[1][1] != 0
}

// SliceOfPages returns the pages as n elements of T. It is safe because T holds no pointers, pages
// are aligned for every type and n*sizeof(T) <= len(pages).
func SliceOfPages[T any](pages []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(pages))), n)
}

// variableBytes returns the memory of a variable, which must not be written.
func variableBytes(at Pointer, size deps.Bytes) []byte { return unsafe.Slice((*byte)(at), size) }

// scalarAt returns the value of a variable as ir.Const has it.
func scalarAt(at Pointer, t *ir.Type) uint64 {
	switch t.Kind {
	case ir.Bool, ir.Uint8:
		return uint64(*(*uint8)(at))
	case ir.Int8:
		return uint64(*(*int8)(at))
	case ir.Int16:
		return uint64(*(*int16)(at))
	case ir.Uint16:
		return uint64(*(*uint16)(at))
	case ir.Int32:
		return uint64(*(*int32)(at))
	case ir.Uint32, ir.Float32:
		return uint64(*(*uint32)(at))
	}
	return *(*uint64)(at)
}

// MemoryAt returns the memory that a variable that is a slice or a pointer covers.
func MemoryAt(at Pointer, t *ir.Type) Range {
	m := Range{Elem: t.Elem.Size}
	if t.Kind == ir.Slice {
		s := *(*[]byte)(at) // its lengths count elements of any type
		m.Base, m.Len, m.Cap = unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)), int64(cap(s))
	} else if m.Base = *(*unsafe.Pointer)(at); m.Base != nil {
		m.Len, m.Cap = 1, 1
	}
	return m
}

// BlobAddress returns where the bytes of an array or struct are, for vector code, which only reads
// them while the task runs.
func BlobAddress(blob []byte) Pointer { return unsafe.Pointer(unsafe.SliceData(blob)) }

// valueAt returns where the value of type t is that x holds. An interface has a pointer itself, and
// the address of any other value: t has no other type of one pointer, since structs with pointers
// are split.
func valueAt(x *any, t *ir.Type) Pointer {
	words := (*[2]unsafe.Pointer)(unsafe.Pointer(x))
	if t.Kind == ir.Pointer {
		return unsafe.Pointer(&words[1])
	}
	return words[1]
}

// NameOfFunction returns the full name of a function value.
func NameOfFunction(v reflect.Value) string { return runtime.FuncForPC(v.Pointer()).Name() }

// LeavesAt returns where the leaves of x, a struct, are: in a copy of it.
func LeavesAt(x any, leaves []ir.Leaf) []Pointer {
	v := reflect.ValueOf(x)
	own := reflect.New(v.Type())
	own.Elem().Set(v)
	out := make([]Pointer, len(leaves))
	for i, l := range leaves {
		out[i] = unsafe.Add(own.UnsafePointer(), l.Offset)
	}
	return out
}

// ArgumentAt makes an Arg of the value of type t at a place; where is the memory of a slice or
// pointer, empty otherwise.
func ArgumentAt(at Pointer, t *ir.Type) (a devices.Arg, where Range) {
	a.Type = t
	switch {
	case IsMemory(t):
		where = MemoryAt(at, t)
	case t.IsScalar():
		a.Bits = scalarAt(at, t)
	default:
		a.Blob = bytes.Clone(variableBytes(at, t.Size))
	}
	return a, where
}

// ValueOfArg returns the argument that begins at i as a Go value of type t, and where the next one
// begins. It is safe for the reasons of devices.SliceArg: the memory stays while the kernel runs
// and has room for Cap elements.
func ValueOfArg(a *devices.Args, i int, t reflect.Type) (v reflect.Value, next int) {
	if t.Kind() == reflect.Struct {
		return devices.StructValue(a, i, t)
	}
	arg := &a.List[i]
	v = reflect.New(t).Elem()
	switch {
	case arg.Nil:
	case t.Kind() == reflect.Slice && arg.Cap == 0:
		v.Set(reflect.MakeSlice(t, 0, 0))
	case t.Kind() == reflect.Slice:
		at := unsafe.Add(a.At(arg.Buffer), arg.Offset)
		v.Set(reflect.SliceAt(t.Elem(), at, int(arg.Cap)).Slice(0, int(arg.Len)))
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.NewAt(t.Elem(), unsafe.Add(a.At(arg.Buffer), arg.Offset)))
	case len(arg.Blob) > 0:
		copy(unsafe.Slice((*byte)(v.Addr().UnsafePointer()), t.Size()), arg.Blob)
	default:
		copy(unsafe.Slice((*byte)(v.Addr().UnsafePointer()), t.Size()), unsafe.Slice((*byte)(unsafe.Pointer(&arg.Bits)), t.Size()))
	}
	return v, i + 1
}

func IsMemory(t *ir.Type) bool { return t.Kind == ir.Slice || t.Kind == ir.Pointer }
