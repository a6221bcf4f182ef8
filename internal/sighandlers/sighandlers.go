//go:build linux && (amd64 || arm64)

package sighandlers

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A sigaction is the kernel's struct of that name: handler, flags, restorer (amd64) and mask.
type sigaction [4]uint64

const (
	signals = 64
	setSize = 8 // bytes of a signal mask
)

// Keep notes all signal handlers and returns what sets them again: libraries that are opened,
// and the first calls into them, may replace Go's own.
func Keep() (restore func() error) {
	var kept [signals + 1]sigaction
	var known [signals + 1]bool
	for n := 1; n <= signals; n++ {
		known[n] = sigactionOf(n, nil, &kept[n]) == nil
	}
	return func() error {
		var errs []error
		for n := 1; n <= signals; n++ {
			if !known[n] || n == int(unix.SIGKILL) || n == int(unix.SIGSTOP) {
				continue
			}
			var now sigaction
			if err := sigactionOf(n, nil, &now); err == nil && now == kept[n] {
				continue
			}
			if err := sigactionOf(n, &kept[n], nil); err != nil {
				errs = append(errs, fmt.Errorf("signal %d: %w", n, err))
			}
		}
		return errors.Join(errs...)
	}
}

// onStack is the flag SA_ONSTACK, which the Go runtime needs: it ends the process when one of its
// handlers runs on another stack.
const onStack = 0x08000000

// usable reports whether Go can live with an action: default, ignored, or on the signal stack.
func (a *sigaction) usable() bool { return a[0] <= 1 || a[1]&onStack != 0 }

// A Guard mends signal handlers around calls of compilers. NVRTC and others set handlers of their
// own for a while, and put Go's back without the flag that these need, so that Ctrl-C would end the
// program with a fatal error. The zero Guard is ready; calls may overlap. A signal that comes while
// a foreign handler is set is the foreign one's.
type Guard struct {
	mu     sync.Mutex
	usable [signals + 1]sigaction // the last ones that were
	known  [signals + 1]bool
}

// Do runs call and mends the handlers that it has changed. Errors: the kernel's.
func (g *Guard) Do(call func()) error {
	g.note()
	call()
	return g.mend()
}

func (g *Guard) note() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for n := 1; n <= signals; n++ {
		var now sigaction
		if sigactionOf(n, nil, &now) == nil && now.usable() {
			g.usable[n], g.known[n] = now, true
		}
	}
}

func (g *Guard) mend() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for n := 1; n <= signals; n++ {
		var now sigaction
		if !g.known[n] || sigactionOf(n, nil, &now) != nil || now.usable() {
			continue
		}
		if err := sigactionOf(n, &g.usable[n], nil); err != nil {
			errs = append(errs, fmt.Errorf("signal %d: %w", n, err))
		}
	}
	return errors.Join(errs...)
}

// sigactionOf sets and gets the action of a signal. Safe: the kernel reads and writes one sigaction
// at each address.
func sigactionOf(n int, set, get *sigaction) error {
	_, _, code := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(set)),
		uintptr(unsafe.Pointer(get)), setSize, 0, 0)
	if code != 0 {
		return code
	}
	return nil
}
