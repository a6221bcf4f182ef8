//go:build unix

package hostmem

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Map returns size bytes of zeroed memory outside the Go heap, aligned to pages.
func Map(size int) ([]byte, error) {
	pages, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|noReserve)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	adviseHugePages(pages)
	return pages, nil
}

// Protect forbids all access to pages, or permits it again.
func Protect(pages []byte, open bool) error {
	if open {
		return unix.Mprotect(pages, unix.PROT_READ|unix.PROT_WRITE)
	}
	return unix.Mprotect(pages, unix.PROT_NONE)
}

func Unmap(pages []byte) error { return unix.Munmap(pages) }

// Mapped reports whether there is memory at an address. It does not touch it.
func Mapped(at unsafe.Pointer) bool {
	size := uintptr(unix.Getpagesize())
	return !errors.Is(unix.Msync(PageAt(at, size), unix.MS_ASYNC), unix.ENOMEM)
}
