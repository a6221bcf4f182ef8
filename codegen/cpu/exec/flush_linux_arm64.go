package exec

import "unsafe"

// flush makes size bytes of code that were written at write visible to what runs them at exec: the
// two are views of the same memory.
//
//go:noescape
func flush(write, exec unsafe.Pointer, size uintptr)
