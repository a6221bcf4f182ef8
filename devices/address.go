package devices

import (
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
)

// InMemory reports whether a has memory of a buffer: what is neither slice nor pointer, is nil or
// is an empty slice has none, and names no buffer.
func (a *Arg) InMemory() bool {
	return !a.Nil && (a.Type.Kind == ir.Pointer || a.Type.Kind == ir.Slice && a.Cap > 0)
}

// Address returns where the memory of argument i, a slice or a pointer, begins at the place where
// the kernel runs; nil for a nil argument and for a slice of capacity 0.
func (a *Args) Address(i int) unsafe.Pointer {
	arg := &a.List[i]
	if arg.Nil || arg.Cap == 0 && arg.Len == 0 {
		return nil
	}
	// Safe: the buffer was registered with at least Offset + Cap elements, and At gives memory of
	// that size.
	return unsafe.Add(a.At(arg.Buffer), arg.Offset)
}
