//go:build linux && (amd64 || arm64)

// Package tuner runs the races of package tune on one GPU: it times launches by events of the
// driver, makes candidates on goroutines of its own, and keeps outcomes beside the compiled
// programs on disk.
//
// No launch waits for it: the first candidate runs until another one is there.
package tuner

import (
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/tune"
)

// A Tuner has the races of all kernels of one GPU. The zero Tuner is not for use.
type Tuner struct {
	driver *driver.Driver
	cache  *driver.Cache // nil: outcomes are forgotten
	mode   tune.Mode
	device string // what stored outcomes are valid for: architecture and multiprocessors

	jobs    sync.WaitGroup
	working sync.Mutex // jobs run one after the other
	closing atomic.Bool

	mu    sync.Mutex
	spare []uintptr // CUevents
}

// New returns a tuner. device names what decides about times, and not one GPU of that kind.
func New(d *driver.Driver, cache *driver.Cache, mode tune.Mode, device string) *Tuner {
	return &Tuner{driver: d, cache: cache, mode: mode, device: device}
}

// IsOff reports whether nothing is tried.
func (t *Tuner) IsOff() bool { return t.mode == tune.Off }

// Close waits for the goroutines. The launches that were timed have finished.
func (t *Tuner) Close() {
	t.closing.Store(true)
	t.jobs.Wait()
}

// Free gives the events back. Requires: the context is current, the tuner is closed.
func (t *Tuner) Free() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var failed error
	for _, cu := range t.spare {
		if err := t.driver.Do(driver.CuEventDestroy, cu); failed == nil {
			failed = err
		}
	}
	t.spare = nil
	return failed
}

// job runs f on a goroutine that Close waits for, after the others, unless the tuner is closed
// before. Calls do not race with Close: launches have ended then.
func (t *Tuner) job(f func()) {
	t.jobs.Go(func() {
		t.working.Lock()
		defer t.working.Unlock()
		if !t.closing.Load() {
			f()
		}
	})
}

// event returns a CUevent that takes the time. Requires: the context is current.
func (t *Tuner) event() (uintptr, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.spare); n > 0 {
		cu := t.spare[n-1]
		t.spare = t.spare[:n-1]
		return cu, nil
	}
	b := driver.NewBlock()
	defer b.Free()
	err := t.driver.Do(driver.CuEventCreate, b.At(0), 0)
	return uintptr(b.Words[0]), err
}

func (t *Tuner) put(list ...uintptr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, cu := range list {
		if cu != 0 {
			t.spare = append(t.spare, cu)
		}
	}
}
