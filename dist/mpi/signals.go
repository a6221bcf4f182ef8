//go:build linux && (amd64 || arm64)

package mpi

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An action is the kernel's struct sigaction: handler, flags, restorer (amd64) and mask.
type action [4]uint64

const (
	signals = 64
	onStack = 0x08000000 // SA_ONSTACK
)

// synchronous are the signals that Go turns into panics, or needs for itself: a library that takes
// them breaks recover, preemption and profiles.
var synchronous = map[unix.Signal]bool{
	unix.SIGILL: true, unix.SIGTRAP: true, unix.SIGABRT: true, unix.SIGBUS: true, unix.SIGFPE: true, unix.SIGSEGV: true,
	unix.SIGURG: true, unix.SIGPROF: true, unix.SIGPIPE: true,
}

// keepSignals notes all signal handlers. repair gives Go back what it needs, and lets the library
// keep the others, on the alternate stack that Go demands of handlers. It returns how many had
// changed.
//
// Libraries below MPI replace handlers: UCX takes SIGSEGV and its kin, MPICH takes SIGHUP and
// SIGUSR1.
func keepSignals() (repair func() (int, error)) {
	var kept [signals + 1]action
	var known [signals + 1]bool
	for n := 1; n <= signals; n++ {
		known[n] = actionOf(n, nil, &kept[n]) == nil
	}
	return func() (changed int, err error) {
		var errs []error
		for n := 1; n <= signals; n++ {
			var now action
			if !known[n] || actionOf(n, nil, &now) != nil || now == kept[n] {
				continue
			}
			changed++
			set := &kept[n]
			if !synchronous[unix.Signal(n)] {
				set = &now
				set[1] |= onStack
			}
			if err := actionOf(n, set, nil); err != nil {
				errs = append(errs, fmt.Errorf("signal %d: %w", n, err))
			}
		}
		return changed, errors.Join(errs...)
	}
}

// actionOf sets and gets the action of a signal. Safe: the kernel reads and writes one action at
// each address.
func actionOf(n int, set, get *action) error {
	_, _, code := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 8, 0, 0)
	if code != 0 {
		return code
	}
	return nil
}

// quiet tells the libraries below MPI, before they are loaded, to leave the signals of crashes
// alone: UCX, PSM and PSM2.
func quiet() {
	for name, value := range map[string]string{"UCX_ERROR_SIGNALS": "", "UCX_HANDLE_ERRORS": "none", "IPATH_NO_BACKTRACE": "1", "HFI_NO_BACKTRACE": "1"} {
		if _, set := os.LookupEnv(name); !set {
			os.Setenv(name, value) // an error leaves the library's handlers, which are repaired below
		}
	}
}
