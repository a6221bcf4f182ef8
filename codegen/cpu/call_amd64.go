package cpu

import "unsafe"

// call runs machine code at address code with the argument block in DI.
//
//go:noescape
func call(code uintptr, block unsafe.Pointer)

// tidy cleans the upper halves of the vectors, as generated code does before it returns: Go code is slow while they are in use.
func tidy()
