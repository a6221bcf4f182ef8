//go:build !amd64 && !arm64

package exec

import "unsafe"

// call cannot be reached: NewArena fails where there is no code to run.
func call(uintptr, unsafe.Pointer) {
	panic("gompss: bug: generated x86-64 code called on another processor")
}

// tidy has nothing to do where no generated code runs.
func tidy() {}

// movePages cannot be reached either.
func movePages(_, _ unsafe.Pointer, _ int64) {
	panic("gompss: bug: generated x86-64 code called on another processor")
}
