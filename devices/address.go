package devices

import "unsafe"

// Address returns where the memory of argument i, a slice or a pointer, begins at the place where the kernel runs; nil for a
// nil argument and for a slice of capacity 0.
func (a *Args) Address(i int) unsafe.Pointer {
	arg := &a.List[i]
	if arg.Nil || arg.Cap == 0 && arg.Len == 0 {
		return nil
	}
	// Safe: the buffer was registered with at least Offset + Cap elements, and At gives memory of that size.
	return unsafe.Add(a.At(arg.Buffer), arg.Offset)
}
