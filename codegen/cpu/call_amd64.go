package cpu

import "unsafe"

// spillBytes is what generated code may use of the trampoline's frame, above its return address.
const spillBytes = 4096 - 64

// call runs machine code at address code with the argument block in DI.
//
//go:noescape
func call(code uintptr, block unsafe.Pointer)
