package exec

import "unsafe"

// call runs machine code at address code with the argument block in DI.
//
//go:noescape
func call(code uintptr, block unsafe.Pointer)

// flush has nothing to do: the instruction caches of x86-64 see what is written.
func flush(write, exec unsafe.Pointer, size uintptr) {}

// ownStack returns the bounds of the calling goroutine's stack, its guard and its pointer, as they
// lie in the runtime's record of a goroutine.
func ownStack() (lo, hi, guard, pointer uintptr)

// tidy cleans the upper halves of the vectors, as generated code does before it returns: Go code is
// slow while they are in use.
func tidy()

// movePages copies four pages quads times, past the caches. dst is at a multiple of 32 bytes; the
// two do not overlap.
//
//go:noescape
func movePages(dst, src unsafe.Pointer, quads int64)
