// Package hostmem manages pages of host memory outside the Go heap, and has a tree that finds the
// object at an address.
//
// A Tree is never changed: readers take no lock. Pages belong to the caller of Map until Unmap.
package hostmem

import "unsafe"

// PageAt returns the page of an address, which need not be mapped: it is only passed to system
// calls. size is a power of 2.
func PageAt(at unsafe.Pointer, size uintptr) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(at, -int(uintptr(at)&(size-1)))), size)
}

// BytesOf returns the memory of x and the bytes of an element. Elements with pointers are not for
// writing through it.
func BytesOf[T any](x []T) (data []byte, elem int) {
	var zero T
	elem = int(unsafe.Sizeof(zero))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*elem), elem
}
