//go:build !unix

package hostmem

import (
	"errors"
	"unsafe"
)

// Map returns size bytes of zeroed memory. Where there is no mmap it is ordinary Go memory,
// which the buffer keeps alive; large allocations of Go are aligned to pages.
func Map(size int) ([]byte, error) {
	const page = 64 << 10
	return make([]byte, max(size, page))[:size], nil
}

// Protect is an error: the memory has no pages of its own.
func Protect([]byte, bool) error { return errors.ErrUnsupported }

func Unmap([]byte) error { return nil }

// Mapped reports whether there is memory at an address: ordinary Go memory always is.
func Mapped(unsafe.Pointer) bool { return true }
