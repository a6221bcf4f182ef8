//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/tuner"
)

// An event is the completion of one operation on a GPU. It happens when the engine has seen a
// completed mark that covers it, or when the operation could not be enqueued.
type event struct {
	device *Device
	// The operation: the launch of a kernel, with a label, or a copy.
	kernel *devices.Kernel
	label  string
	copy   *devices.Transfer
	// alone is true for an operation that can fail without ending the device. No operation may be
	// enqueued after it before it has happened.
	alone  bool
	after  []devices.Event // the predecessors, whose errors it takes over
	room   [2]devices.Event
	checks []check // the slots of kernels that record faults
	graph  *graph  // the graph whose slots or scratch memory it uses
	began  int64   // the monotonic time of the enqueueing in nanoseconds, for the time limit
	// failed is the error of the operation as soon as it is known. Its successors must not run,
	// although the event may happen later, after the operations that it has enqueued have finished.
	failed atomic.Pointer[error]
	// pending is the stream on which it will be enqueued as part of a batch; guarded by
	// submitter.mu.
	pending *stream
	timed   *times        // set if times are measured
	sample  *tuner.Sample // of a launch that a tuning race measures
	counted *rowCount     // of a launch whose lengths are counted

	completion
}

// completion is the state of an event: enqueued, then completed.
type completion struct {
	mu       sync.Mutex
	enqueued bool
	done     bool
	err      error
	then     func(error)   // the callbacks: the first
	more     []func(error) // and the others
	behind   []*operation  // operations that wait until this one is enqueued
	stream   *stream       // set when the operation is enqueued
	number   uint64        // the number on the stream, set by push
}

// A check is a slot in which a kernel records a fault, and the program version, for error messages.
type check struct {
	slot    *slot
	version *version
	kept    bool // owned by the graph of a sequence
}

// what describes the operation in errors.
func (e *event) what() string {
	switch {
	case e.kernel == nil:
		return fmt.Sprintf("copy of %v from %v to %v", e.copy.Region, e.copy.From, e.copy.To)
	case e.label != "" && e.label != e.kernel.Name:
		return "launch " + e.kernel.Name + " as " + e.label
	}
	return "launch " + e.kernel.Name
}

// pos is the source position of the kernel; zero for a copy.
func (e *event) pos() ir.Pos {
	if e.kernel == nil {
		return ir.Pos{}
	}
	return e.kernel.Pos
}

// eventsPerBlock is the number of events of kernels that are allocated together. Events are not
// recycled, because other goroutines may hold them.
const eventsPerBlock = 8

// An eventBlock is a block of events, of which those from next on are unused.
type eventBlock struct {
	list [eventsPerBlock]event
	next int
}

// take returns the next unused event.
// Requires: there is one.
func (c *eventBlock) take() *event {
	c.next++
	return &c.list[c.next-1]
}

// Done reports whether e has happened.
func (e *event) Done() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.done
}

// Err returns the error of e, nil before e has happened.
func (e *event) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Then calls f when e has happened, on the goroutine that observed it.
func (e *event) Then(f func(error)) {
	e.mu.Lock()
	if !e.done {
		if e.then == nil {
			e.then = f
		} else {
			e.more = append(e.more, f)
		}
		e.mu.Unlock()
		return
	}
	err := e.err
	e.mu.Unlock()
	f(err)
}

// enter records that e is enqueued on s, and returns the operations that waited for that.
func (e *event) enter(s *stream) []*operation {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stream, e.enqueued = s, true
	behind := e.behind
	e.behind = nil
	return behind
}

// on returns the stream on which e is enqueued, nil if it is not.
func (e *event) on() *stream {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stream
}

// failWith sets the error with which e will happen. Later calls have no effect.
func (e *event) failWith(err error) {
	p := new(error) // the address of err would force an allocation in calls without a failure too
	*p = err
	e.failed.CompareAndSwap(nil, p)
}

// failure returns the error with which e has happened or will happen, nil if none is known.
func (e *event) failure() error {
	if err := e.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// happen completes e and runs its callbacks.
func (e *event) happen(err error) {
	if err != nil {
		e.failWith(err)
	}
	if e.sample != nil {
		e.sampled(err == nil)
	}
	if c := e.counted; c != nil {
		e.counted = nil
		c.finish(err == nil)
	}
	e.mu.Lock()
	e.done, e.err = true, err
	then, more, behind := e.then, e.more, e.behind
	e.then, e.more, e.behind, e.after = nil, nil, nil, nil
	clear(e.room[:])
	e.mu.Unlock()
	if then != nil {
		then(err)
	}
	for _, f := range more {
		f(err)
	}
	for _, op := range behind {
		op.event.device.engine.push(op)
	}
}

// sampled reports the time of a launch to the tuning race.
func (e *event) sampled(ok bool) {
	s := e.sample
	e.sample = nil
	if e.on() == nil { // it was not enqueued
		s.Finish(0, false)
		return
	}
	pushed, alone := e.device.streams.others(e.stream)
	_ = e.device.gpu.within(func() error { s.Finish(pushed, ok && alone); return nil })
}

// finish completes an event with the fault of its kernel, the failure of the device, or the error
// of a predecessor. It returns false if the completion is deferred: the GPU has waited for an
// operation of another device that the host has not observed yet and that may have failed.
func (e *event) finish() bool {
	d := e.device
	for _, a := range e.after {
		if other, ok := a.(*event); ok && other.device != d && !other.Done() {
			other.Then(func(error) {
				d.engine.completions.push(e)
				d.engine.notify()
			})
			return false
		}
	}
	if e.graph != nil {
		defer e.graph.finished()
	}
	err := e.failure()
	if err == nil {
		err = d.gpu.alive()
	}
	if err == nil {
		err = firstError(e.after)
	}
	for _, c := range e.checks {
		if fault := c.slot.fault(c.version); fault != nil && err == nil {
			err = &devices.DeviceError{Device: d.gpu.name, What: e.what(), Pos: e.pos(), Err: fault}
		}
		if !c.kept {
			d.slots.put(c.slot)
		}
	}
	e.happen(err)
	return true
}

// mark returns a mark that covers e, which is enqueued, with a reference for the caller; nil if e
// has finished. It may record the mark on the stream of e, which may belong to another device. It
// restores the current context.
func (e *event) mark() (*mark, error) {
	s := e.on()
	if s == nil {
		return nil, nil
	}
	for {
		m, wanted := s.acquireMark(e.number)
		if m != nil || !wanted {
			return m, nil
		}
		if err := s.device.gpu.within(s.record); err != nil {
			return nil, err
		}
	}
}

// firstError returns the error of the first event that has failed or is known to fail.
func firstError(events []devices.Event) error {
	for _, e := range events {
		var err error
		if ours, ok := e.(*event); ok {
			err = ours.failure()
		} else {
			err = e.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// An eventPool is a free list of CUevents.
type eventPool struct {
	device *Device
	mu     sync.Mutex
	free   []uintptr
}

// get returns a CUevent.
// Requires: the context is current.
func (p *eventPool) get() (uintptr, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		cu := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return cu, nil
	}
	p.mu.Unlock()
	flags := uintptr(2) // CU_EVENT_DISABLE_TIMING
	if p.device.clock.on {
		flags = 0
	}
	b := driver.NewBlock()
	defer b.Free()
	err := p.device.gpu.driver.Do(driver.CuEventCreate, b.At(0), flags)
	return uintptr(b.Words[0]), err
}

func (p *eventPool) put(cu uintptr) {
	p.mu.Lock()
	p.free = append(p.free, cu)
	p.mu.Unlock()
}

func (p *eventPool) freeAll() error {
	var errs []error
	for _, cu := range p.free {
		errs = append(errs, p.device.gpu.driver.Do(driver.CuEventDestroy, cu))
	}
	p.free = nil
	return errors.Join(errs...)
}
