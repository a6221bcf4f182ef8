//go:build !unix

package task

import "errors"

// mapPages returns size bytes of zeroed memory. Where there is no mmap it is ordinary Go memory,
// which the buffer keeps alive; large allocations of Go are aligned to pages.
func mapPages(size int) ([]byte, error) {
	const page = 64 << 10
	return make([]byte, max(size, page))[:size], nil
}

// protectPages cannot: there are no pages of our own.
func protectPages([]byte, bool) error { return errors.ErrUnsupported }

func unmapPages([]byte) error { return nil }

// mapped reports whether there is memory at an address: ordinary Go memory always is.
func mapped(pointer) bool { return true }
