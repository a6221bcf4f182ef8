//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// systemArena is a file in memory that is mapped twice.
func (m Memory) systemArena() (*Arena, error) {
	if m.File == nil {
		m.File = unix.MemfdCreate
	}
	fd, err := m.File("gompss-code", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	defer unix.Close(fd) // the mappings keep the memory
	if err := unix.Ftruncate(fd, arenaSize); err != nil {
		return nil, fmt.Errorf("ftruncate: %w", err)
	}
	write, err := unix.Mmap(fd, 0, arenaSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap writable: %w", err)
	}
	exec, err := unix.Mmap(fd, 0, arenaSize, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mmap executable: %w", err), unix.Munmap(write))
	}
	return &Arena{write: write, exec: exec, how: "a file in memory"}, nil
}
