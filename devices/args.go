package devices

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/gompss/gompss/deps"
)

// ScalarArg returns argument i, a scalar, or a struct or array by value, as a T of the same size.
//
// It panics when the argument is not a value of T's size: generated wrappers pass what the kernel's
// signature says.
func ScalarArg[T any](a *Args, i int) T {
	arg := &a.List[i]
	var v T
	size := unsafe.Sizeof(v)
	if arg.Type.Size != deps.Bytes(size) {
		badArg(i, arg, fmt.Sprintf("%T", v))
	}
	// Safe: v has size bytes, and so has what it is read from, by the test above and those below.
	switch {
	case arg.Type.IsScalar():
		return *(*T)(unsafe.Pointer(&arg.Bits)) // little-endian, as every machine Go's gc port of ours runs on
	case len(arg.Blob) == int(size):
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), size), arg.Blob)
		return v
	}
	badArg(i, arg, fmt.Sprintf("%T", v))
	return v
}

// SliceArg returns argument i as a slice over the memory of the place where the kernel runs, with
// the length and capacity that the caller's slice has. A nil slice stays nil.
//
// The result is valid while the kernel runs, and only its declared regions are.
func SliceArg[T any](a *Args, i int) []T {
	arg := &a.List[i]
	if arg.Nil {
		return nil
	}
	if arg.Cap == 0 {
		return []T{}
	}
	// Safe: the buffer was registered with at least Offset + Cap elements, and At gives memory of
	// that size.
	p := (*T)(unsafe.Add(a.At(arg.Buffer), arg.Offset))
	return unsafe.Slice(p, arg.Cap)[:arg.Len]
}

// PointerArg returns argument i as a pointer into the memory of the place where the kernel runs.
func PointerArg[T any](a *Args, i int) *T {
	arg := &a.List[i]
	if arg.Nil {
		return nil
	}
	// Safe: as in SliceArg.
	return (*T)(unsafe.Add(a.At(arg.Buffer), arg.Offset))
}

// StructArg returns the arguments from i on as a T, a struct that holds slices or pointers: a
// kernel has a parameter for each of its leaves (ir.Leaves). They are valid as those of SliceArg
// and PointerArg are.
func StructArg[T any](a *Args, i int) T {
	v, _ := StructValue(a, i, reflect.TypeFor[T]())
	return *(*T)(v.Addr().UnsafePointer())
}

// StructValue returns what StructArg does, or a struct by value, for a type that is known when the
// program runs, and the number of the argument behind its last one.
func StructValue(a *Args, i int, t reflect.Type) (v reflect.Value, next int) {
	v = reflect.New(t).Elem()
	leaves := leavesOf(t)
	for n, l := range leaves {
		a.store(i+n, unsafe.Add(v.Addr().UnsafePointer(), l.offset), l)
	}
	return v, i + len(leaves)
}

// A leaf is a part of a struct that is one argument: see ir.Leaf.
type leaf struct {
	kind         reflect.Kind
	offset, size uintptr
}

// leavesByType holds what leavesOf has returned, []leaf by reflect.Type.
var leavesByType sync.Map

func leavesOf(t reflect.Type) []leaf {
	if known, ok := leavesByType.Load(t); ok {
		return known.([]leaf)
	}
	out := appendLeaves(nil, t, 0)
	leavesByType.Store(t, out)
	return out
}

func appendLeaves(out []leaf, t reflect.Type, offset uintptr) []leaf {
	if t.Kind() != reflect.Struct || !HoldsAddress(t) {
		return append(out, leaf{t.Kind(), offset, t.Size()})
	}
	for i := range t.NumField() {
		f := t.Field(i)
		out = appendLeaves(out, f.Type, offset+f.Offset)
	}
	return out
}

// HoldsAddress reports whether a value of t has slices or pointers in it, or is one:
// ir.HoldsAddress of Go's types.
func HoldsAddress(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return true
	case reflect.Array:
		return HoldsAddress(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if HoldsAddress(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// store writes argument i to where a value of its type is wanted.
func (a *Args) store(i int, to unsafe.Pointer, l leaf) {
	arg := &a.List[i]
	// Safe: the argument is of the type of the leaf, by the tests of submission, and its memory is
	// valid as that of SliceArg is.
	switch {
	case l.kind == reflect.Slice && arg.Nil, l.kind == reflect.Pointer && arg.Nil:
	case l.kind == reflect.Slice:
		base := unsafe.Pointer(unsafe.SliceData([]byte{}))
		if arg.Cap > 0 {
			base = unsafe.Add(a.At(arg.Buffer), arg.Offset)
		}
		*(*[]byte)(to) = unsafe.Slice((*byte)(base), arg.Cap)[:arg.Len] // its lengths count elements of any type
	case l.kind == reflect.Pointer:
		*(*unsafe.Pointer)(to) = unsafe.Add(a.At(arg.Buffer), arg.Offset)
	case arg.Type.IsScalar():
		copy(unsafe.Slice((*byte)(to), l.size), unsafe.Slice((*byte)(unsafe.Pointer(&arg.Bits)), l.size))
	default:
		copy(unsafe.Slice((*byte)(to), l.size), arg.Blob)
	}
}

func badArg(i int, arg *Arg, want string) {
	panic(fmt.Sprintf("gompss: bug: devices: argument %d: a %s of %d bytes was passed where %s is wanted",
		i, arg.Type.Name, arg.Type.Size, want))
}
