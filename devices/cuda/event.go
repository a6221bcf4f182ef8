//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
)

// An event is the end of one operation on a GPU. It happens when the poller has seen its CUevent, or at once when the
// operation could not be enqueued.
type event struct {
	device *Device
	what   string // "copy of ...", "launch Forces"
	pos    ir.Pos
	// alone says that the operation can fail without ending the device, so that nothing may be enqueued behind it
	// before it has happened.
	alone bool
	after []devices.Event // what it was enqueued behind, to take their errors over
	slot  *slot           // where a kernel leaves a fault; nil when it cannot
	entry *version        // the program that ran, to name the fault
	cu    uintptr         // the CUevent, once enqueued
	users atomic.Int32    // of cu: the poller, and those who are about to wait for it
	began int64           // monotonic nanoseconds, for the time limit

	mu       sync.Mutex
	enqueued bool
	done     bool
	err      error
	then     []func(error)
}

// Done reports whether e has happened.
func (e *event) Done() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.done
}

// Err returns what went wrong, nil before e has happened.
func (e *event) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Then calls f when e has happened, on the goroutine that saw it.
func (e *event) Then(f func(error)) {
	e.mu.Lock()
	if !e.done {
		e.then = append(e.then, f)
		e.mu.Unlock()
		return
	}
	err := e.err
	e.mu.Unlock()
	f(err)
}

// happen makes e happen.
func (e *event) happen(err error) {
	e.mu.Lock()
	e.done, e.err = true, err
	then := e.then
	e.then, e.after = nil, nil
	e.mu.Unlock()
	for _, f := range then {
		f(err)
	}
}

// hold returns the CUevent of e for as long as the caller waits for it, until letGo; not ok when e has happened or is
// not enqueued yet.
func (e *event) hold() (cu uintptr, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done || !e.enqueued {
		return 0, false
	}
	for n := e.users.Load(); n > 0; n = e.users.Load() {
		if e.users.CompareAndSwap(n, n+1) {
			return e.cu, true
		}
	}
	return 0, false
}

// letGo gives the CUevent back when nobody uses it any more.
func (e *event) letGo() {
	if e.users.Add(-1) == 0 {
		e.device.spare.put(e.cu)
	}
}

// late reports whether what waits for e must be enqueued only when e has happened.
func late(e devices.Event, p *platform) bool {
	ours, ok := e.(*event)
	if !ok {
		return !e.Done()
	}
	ours.mu.Lock()
	defer ours.mu.Unlock()
	return !ours.done && (ours.alone || !ours.enqueued || ours.device.platform != p)
}

// firstError returns the error of the first event that has failed.
func firstError(events []devices.Event) error {
	for _, e := range events {
		if err := e.Err(); err != nil {
			return err
		}
	}
	return nil
}

// An eventPool keeps CUevents that nobody uses.
type eventPool struct {
	device *Device
	mu     sync.Mutex
	free   []uintptr
}

// get returns a CUevent. Requires: the context is current.
func (p *eventPool) get() (uintptr, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		cu := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return cu, nil
	}
	p.mu.Unlock()
	const disableTiming = 2
	b := newBlock()
	defer b.free()
	err := p.device.driver.do(cuEventCreate, b.at(0), disableTiming)
	return uintptr(b.words[0]), err
}

func (p *eventPool) put(cu uintptr) {
	p.mu.Lock()
	p.free = append(p.free, cu)
	p.mu.Unlock()
}

func (p *eventPool) freeAll() error {
	var errs []error
	for _, cu := range p.free {
		errs = append(errs, p.device.driver.do(cuEventDestroy, cu))
	}
	p.free = nil
	return errors.Join(errs...)
}
