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

// An event is the end of one operation on a GPU. It happens when the engine has seen a mark that
// stands for it, or when the operation could not be enqueued.
type event struct {
	device *Device
	// What it is the end of: the launch of a kernel with a label, or a copy.
	kernel *devices.Kernel
	label  string
	copy   *devices.Transfer
	// alone says that the operation can fail without ending the device, so that nothing may be
	// enqueued behind it before it has happened.
	alone  bool
	after  []devices.Event // what it was enqueued behind, to take their errors over
	room   [2]devices.Event
	checks []check // where kernels leave faults
	graph  *graph  // whose slots or scratch memory it uses
	began  int64   // monotonic nanoseconds, for the time limit
	// failed is why it fails, from when that is known: what comes behind it must not run, though it
	// may take until all that it has enqueued has finished before it happens.
	failed atomic.Pointer[error]
	// pending is the stream on which it will be enqueued with others; under submitter.mu.
	pending *stream
	timed   *times        // where times are wanted
	sample  *tuner.Sample // of a launch that a race has timed

	completion
}

// completion is what becomes of an event: it is enqueued, and it happens.
type completion struct {
	mu       sync.Mutex
	enqueued bool
	done     bool
	err      error
	then     func(error)   // what is called when it happens: the first,
	more     []func(error) // and the others
	behind   []*operation  // what waits until this is enqueued
	stream   *stream       // once enqueued
	number   uint64        // on the stream; set when it is pushed there
}

// A check is where a kernel leaves a fault, and the program that ran, to name it.
type check struct {
	slot    *slot
	version *version
	kept    bool // by the graph of a sequence
}

// what names the operation.
func (e *event) what() string {
	switch {
	case e.kernel == nil:
		return fmt.Sprintf("copy of %v from %v to %v", e.copy.Region, e.copy.From, e.copy.To)
	case e.label != "" && e.label != e.kernel.Name:
		return "launch " + e.kernel.Name + " as " + e.label
	}
	return "launch " + e.kernel.Name
}

// pos is the place of the operation in the Go source; none for a copy.
func (e *event) pos() ir.Pos {
	if e.kernel == nil {
		return ir.Pos{}
	}
	return e.kernel.Pos
}

// eventsAtOnce is how many events of kernels are allocated together. They are not used again:
// it is not known how long others look at them.
const eventsAtOnce = 8

// A clutch is events that were allocated together; those from next on are unused.
type clutch struct {
	list [eventsAtOnce]event
	next int
}

// take returns the next one. Requires: some are left.
func (c *clutch) take() *event {
	c.next++
	return &c.list[c.next-1]
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

// enter says that e is enqueued, and returns what waited for that.
func (e *event) enter(s *stream) []*operation {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stream, e.enqueued = s, true
	behind := e.behind
	e.behind = nil
	return behind
}

// on returns the stream that e is on, nil when it is not enqueued.
func (e *event) on() *stream {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stream
}

// doom says with what e will fail when it happens. The first reason counts.
func (e *event) doom(err error) {
	p := new(error) // and not the address of err, which would be allocated where nothing fails too
	*p = err
	e.failed.CompareAndSwap(nil, p)
}

// doomed returns with what e has failed, or will fail; nil as far as is known.
func (e *event) doomed() error {
	if err := e.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// happen makes e happen.
func (e *event) happen(err error) {
	if err != nil {
		e.doom(err)
	}
	if e.sample != nil {
		e.sampled(err == nil)
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

// sampled gives the time of a launch to the race that wants it.
func (e *event) sampled(ok bool) {
	s := e.sample
	e.sample = nil
	if e.on() == nil { // it was not enqueued
		s.Finish(0, false)
		return
	}
	pushed, alone := e.device.streams.beside(e.stream)
	_ = e.device.gpu.within(func() error { s.Finish(pushed, ok && alone); return nil })
}

// finish makes an event happen, with the fault of its kernel, the end of the device or what it was
// behind. It reports false when that is deferred: the GPU waited for another device's work, whose
// completion the host has not yet observed. That work may have failed.
func (e *event) finish() bool {
	d := e.device
	for _, a := range e.after {
		if other, ok := a.(*event); ok && other.device != d && !other.Done() {
			other.Then(func(error) {
				d.engine.completions.push(e)
				d.engine.nudge()
			})
			return false
		}
	}
	if e.graph != nil {
		defer e.graph.over()
	}
	err := e.doomed()
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

// mark returns a mark that stands for e, which is enqueued, for as long as the caller waits for it;
// nil when e has finished. It may make the mark, on the stream of e, whose device need not be the
// one whose context is current: that is so again afterwards.
func (e *event) mark() (*mark, error) {
	s := e.on()
	if s == nil {
		return nil, nil
	}
	for {
		m, wanted := s.hold(e.number)
		if m != nil || !wanted {
			return m, nil
		}
		if err := s.device.gpu.within(s.record); err != nil {
			return nil, err
		}
	}
}

// firstError returns the error of the first event that has failed, or that is known to fail.
func firstError(events []devices.Event) error {
	for _, e := range events {
		var err error
		if ours, ok := e.(*event); ok {
			err = ours.doomed()
		} else {
			err = e.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// An eventPool keeps unused CUevents.
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
	flags := uintptr(2) // no timing
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
