//go:build unix

package sim

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const canGuard = true

// reserve returns an address range that cannot be touched when guarded, and can otherwise. release
// gives it back.
func reserve(size int, guarded bool) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	protection := unix.PROT_READ | unix.PROT_WRITE
	if guarded {
		protection = unix.PROT_NONE
	}
	memory, err := unix.Mmap(-1, 0, size, protection, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes: %w", size, err)
	}
	return memory, nil
}

func release(memory []byte) error {
	if len(memory) == 0 {
		return nil
	}
	return unix.Munmap(memory)
}

// open lets part be touched.
func open(part []byte) error {
	return unix.Mprotect(part, unix.PROT_READ|unix.PROT_WRITE)
}

// shut forbids part and gives its memory back.
func shut(part []byte) error {
	if err := unix.Madvise(part, unix.MADV_DONTNEED); err != nil {
		return err
	}
	return unix.Mprotect(part, unix.PROT_NONE)
}
