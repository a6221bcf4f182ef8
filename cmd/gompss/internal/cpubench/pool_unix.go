//go:build unix

package cpubench

import "golang.org/x/sys/unix"

// mapPool returns zeroed memory outside the Go heap.
func mapPool(bytes int) ([]byte, error) {
	return unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

func unmapPool(mem []byte) error { return unix.Munmap(mem) }

// clearPool returns the pages of mem to the system, so that the next row gets new pages.
func clearPool(mem []byte) error { return unix.Madvise(mem, unix.MADV_DONTNEED) }
