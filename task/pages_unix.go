//go:build unix

package task

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// mapPages returns size bytes of zeroed memory outside the Go heap, aligned to pages.
func mapPages(size int) ([]byte, error) {
	pages, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	adviseHugePages(pages)
	return pages, nil
}

// protectPages forbids all access to pages, or permits it again.
func protectPages(pages []byte, open bool) error {
	if open {
		return unix.Mprotect(pages, unix.PROT_READ|unix.PROT_WRITE)
	}
	return unix.Mprotect(pages, unix.PROT_NONE)
}

func unmapPages(pages []byte) error { return unix.Munmap(pages) }

// mapped reports whether there is memory at an address. It does not touch it.
func mapped(at pointer) bool {
	size := uintptr(unix.Getpagesize())
	return !errors.Is(unix.Msync(pageAt(at, size), unix.MS_ASYNC), unix.ENOMEM)
}
