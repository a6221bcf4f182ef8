//go:build (linux && (amd64 || arm64)) || (darwin && arm64)

package exec

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/codegen/cpu/image"
)

// arenaSize is the address space of one arena; pages are backed as code is written.
const arenaSize = 16 << 20

// An Arena is executable memory, of which no part is writable and executable at once. On Linux one
// file in memory is mapped twice, writable for us and executable for the processor; on macOS pages
// for code (MAP_JIT) are writable for one thread at a time. Where the system refuses that, pages
// are made executable by mprotect, in whole pages.
type Arena struct {
	mu    sync.Mutex
	write []byte // writable view
	exec  []byte // executable view; the same memory
	used  int
	how   string

	protect func(b []byte, prot int) error // of pages that are writable before; nil: it needs none
	writing func(write func())             // runs what writes; nil: it needs nothing
}

// NewArena maps an arena and runs code in it, or says why there is no executable memory.
func (m Memory) NewArena() (*Arena, error) {
	if m.Protect == nil {
		m.Protect = unix.Mprotect
	}
	if err := stoppable(ownStack()); err != nil {
		return nil, err
	}
	a, err := m.systemArena()
	if err == nil {
		err = a.tried()
	}
	if err == nil {
		return a, nil
	}
	a, err2 := m.protectedArena()
	if err2 == nil {
		err2 = a.tried()
	}
	if err2 != nil {
		return nil, fmt.Errorf("cpu: executable memory: %w", errors.Join(err, err2))
	}
	return a, nil
}

// tried runs code in the arena, where that may fail though the memory was given, and closes it
// then.
func (a *Arena) tried() error {
	err := probe(a)
	if err != nil {
		err = errors.Join(err, a.Close())
	}
	return err
}

// protectedArena is one whose pages become executable by mprotect.
func (m Memory) protectedArena() (*Arena, error) {
	mem, err := unix.Mmap(-1, 0, arenaSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	if err := m.probeProtect(mem); err != nil {
		return nil, errors.Join(err, unix.Munmap(mem))
	}
	return &Arena{write: mem, exec: mem, how: "mprotect", protect: m.Protect}, nil
}

// mostGuard bounds how far the guard lies above the end of the stack.
const mostGuard = 4 << 10

// stoppable finds out whether the runtime's record of a goroutine begins with the bounds of its
// stack and the guard, which generated code looks at to see whether the goroutine is to stop.
func stoppable(lo, hi, guard, pointer uintptr) error {
	within := lo < pointer && pointer <= hi
	asked := int64(guard) == image.StopAsked
	if !within || !asked && (guard < lo || guard > lo+mostGuard) {
		return fmt.Errorf("cpu: vector code: a goroutine of %s could not be stopped in it: its record has %#x, %#x, %#x where the bounds of the stack and the guard are expected, with the stack at %#x", runtime.Version(), lo, hi, guard, pointer)
	}
	return nil
}

// How names how the arena got its memory.
func (a *Arena) How() string {
	return a.how
}

// probeProtect finds out on the last page whether writable memory may become executable.
func (m Memory) probeProtect(mem []byte) error {
	last := mem[len(mem)-unix.Getpagesize():]
	if err := m.Protect(last, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		return fmt.Errorf("mprotect: %w", err)
	}
	return m.Protect(last, unix.PROT_READ|unix.PROT_WRITE)
}

// Add copies machine code into the arena and returns its address. It stays until Close.
func (a *Arena) Add(code []byte) (uintptr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	align := 64
	if a.protect != nil {
		align = unix.Getpagesize()
	}
	at := (a.used + align - 1) &^ (align - 1)
	if at+len(code) > len(a.write) {
		return 0, fmt.Errorf("cpu: executable memory: arena full: need %d bytes, free %d of %d", len(code), len(a.write)-at, len(a.write))
	}
	if a.writing != nil {
		a.writing(func() { copy(a.write[at:], code) })
	} else {
		copy(a.write[at:], code)
	}
	a.used = at + len(code)
	if a.protect != nil {
		if err := a.protect(a.write[at:(a.used+align-1)&^(align-1)], unix.PROT_READ|unix.PROT_EXEC); err != nil {
			return 0, fmt.Errorf("cpu: executable memory: mprotect: %w", err)
		}
	}
	flush(unsafe.Pointer(&a.write[at]), unsafe.Pointer(&a.exec[at]), uintptr(len(code)))
	// Safe: the mapping lives outside the Go heap until Close and is never moved.
	return uintptr(unsafe.Pointer(&a.exec[at])), nil
}

// Close unmaps the arena; code in it must not run any more.
func (a *Arena) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.write == nil {
		return nil
	}
	err := unix.Munmap(a.write)
	if &a.write[0] != &a.exec[0] {
		err = errors.Join(err, unix.Munmap(a.exec))
	}
	a.write, a.exec = nil, nil
	return err
}
