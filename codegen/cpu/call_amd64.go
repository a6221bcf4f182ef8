package cpu

import "unsafe"

// call runs machine code at address code with the argument block in DI.
//
//go:noescape
func call(code uintptr, block unsafe.Pointer)
