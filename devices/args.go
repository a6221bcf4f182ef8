package devices

import (
	"fmt"
	"unsafe"

	"github.com/gompss/gompss/deps"
)

// ScalarArg returns argument i, a scalar, or a struct or array by value, as a T of the same size.
//
// It panics when the argument is not a value of T's size: generated wrappers pass what the kernel's signature says.
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

// SliceArg returns argument i as a slice over the memory of the place where the kernel runs, with the length and
// capacity that the caller's slice has. A nil slice stays nil.
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
	// Safe: the buffer was registered with at least Offset + Cap elements, and At gives memory of that size.
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

func badArg(i int, arg *Arg, want string) {
	panic(fmt.Sprintf("gompss: bug: devices: argument %d: a %s of %d bytes was passed where %s is wanted",
		i, arg.Type.Name, arg.Type.Size, want))
}
