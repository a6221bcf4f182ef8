// Package hostmem is memory of the host outside of the Go heap, in pages, and a tree that finds
// what lies at an address.
//
// A Tree is never changed: readers take no lock. Pages belong to the caller of Map until Unmap.
package hostmem

import "unsafe"

// PageAt returns the page of an address, which need not be there: it is only named to the system.
// size is a power of 2.
func PageAt(at unsafe.Pointer, size uintptr) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(at, -int(uintptr(at)&(size-1)))), size)
}
