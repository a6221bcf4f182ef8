package exec

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Two functions of the system's library, which is linked to every Go program: called as package
// golang.org/x/sys/unix calls its own, without cgo.

//go:cgo_import_dynamic libc_jit pthread_jit_write_protect_np "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_icache sys_icache_invalidate "/usr/lib/libSystem.B.dylib"

// The addresses of trampolines to them.
var jitWriteProtectAddr, icacheInvalidateAddr uintptr

//go:linkname syscall_syscall syscall.syscall
func syscall_syscall(fn, a1, a2, a3 uintptr) (r1, r2 uintptr, err syscall.Errno)

// jitWriteProtect makes all pages for code executable, or writable, for the calling thread.
func jitWriteProtect(on uintptr) { _, _, _ = syscall_syscall(jitWriteProtectAddr, on, 0, 0) }

// flush makes size bytes of code visible to what runs them.
func flush(_, exec unsafe.Pointer, size uintptr) {
	_, _, _ = syscall_syscall(icacheInvalidateAddr, uintptr(exec), size, 0)
}

// systemArena is pages for code, which one thread at a time may write and not run.
//
// Errors: what mmap says, as in a program with the hardened runtime that has no entitlement
// com.apple.security.cs.allow-jit.
func (m Memory) systemArena() (*Arena, error) {
	mem, err := unix.Mmap(-1, 0, arenaSize, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_JIT)
	if err != nil {
		return nil, fmt.Errorf("mmap for code: %w", err)
	}
	return &Arena{write: mem, exec: mem, how: "MAP_JIT", writing: writeCode}, nil
}

// writeCode runs write on a thread that may write to pages for code meanwhile.
func writeCode(write func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	jitWriteProtect(0)
	defer jitWriteProtect(1)
	write()
}
