package exec

import "unsafe"

// call runs machine code at address code with the argument block in R0.
//
//go:noescape
func call(code uintptr, block unsafe.Pointer)

// ownStack returns the bounds of the calling goroutine's stack, its guard and its pointer, as they
// lie in the runtime's record of a goroutine.
func ownStack() (lo, hi, guard, pointer uintptr)

// tidy has nothing to do: Go code is as fast after vectors as before.
func tidy() {}

// movePages copies four pages quads times. Stores past the caches are no more than a hint here.
func movePages(dst, src unsafe.Pointer, quads int64) {
	copy(unsafe.Slice((*byte)(dst), quads*quad), unsafe.Slice((*byte)(src), quads*quad))
}
