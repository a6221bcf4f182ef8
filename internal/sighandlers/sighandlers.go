//go:build linux && (amd64 || arm64)

package sighandlers

import (
	"errors"
	"fmt"
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
