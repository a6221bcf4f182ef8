//go:build linux && (amd64 || arm64)

package cuda

import (
	"sync"

	"github.com/gompss/gompss/devices"
)

// A stream is a CUstream and the events of what is in flight on it, in order.
type stream struct {
	device *Device
	cu     uintptr
	// kernels says that it is one of those for kernels.
	kernels bool
	moved   int64 // monotonic time when something on it was last seen to be over; the engine's

	mu    sync.Mutex
	queue []*event // from head on
	head  int
}

// push adds an event that has been recorded on s.
func (s *stream) push(e *event) {
	s.mu.Lock()
	s.queue = append(s.queue, e)
	s.mu.Unlock()
}

// first returns the event that happens next, nil when nothing is in flight.
func (s *stream) first() *event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head == len(s.queue) {
		return nil
	}
	return s.queue[s.head]
}

// last returns the event that was pushed last, nil when nothing is in flight.
func (s *stream) last() *event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head == len(s.queue) {
		return nil
	}
	return s.queue[len(s.queue)-1]
}

// length returns the number of events in flight.
func (s *stream) length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) - s.head
}

// at returns event k of those in flight.
func (s *stream) at(k int) *event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue[s.head+k]
}

// pop takes the first event away.
func (s *stream) pop() *event {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.queue[s.head]
	s.queue[s.head] = nil
	if s.head++; s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	}
	return e
}

// An operation is work for a stream.
type operation struct {
	event  *event
	stream *stream // nil for a kernel until it is enqueued
	// host says that the work looks at host memory when it is enqueued, so that all it is behind must have happened.
	host bool
	// start calls the driver for the work itself, on the stream.
	start func(op *operation) error
}

// submit enqueues op behind events: on the engine's goroutine, and there at once when the GPU can do the waiting, else when
// they have happened. It returns at once.
func (d *Device) submit(op *operation, after []devices.Event) devices.Event {
	e := op.event
	e.device = d
	if err := d.alive(); err != nil {
		e.happen(err)
		return e
	}
	for _, a := range after {
		if !a.Done() || a.Err() != nil {
			e.after = append(e.after, a)
		}
	}
	d.engine.flying.Add(1)
	d.engine.submit(op)
	return e
}

// begin enqueues op, or leaves it to whoever makes the event happen, or enqueues the event, that it has to wait for first.
// Requires: the context is current.
func (d *Device) begin(op *operation) {
	d.enqueueing.Lock()
	defer d.enqueueing.Unlock()
	for _, a := range op.event.after {
		if parked := d.park(op, a); parked {
			return
		}
	}
	if op.host {
		d.later.push(op)
		return
	}
	d.place(op)
}

// park leaves op to event a, if op cannot be enqueued before a has happened or been enqueued.
func (d *Device) park(op *operation, a devices.Event) bool {
	ours, ok := a.(*event)
	if !ok || ours.device.platform != d.platform || op.host || ours.alone {
		if a.Done() {
			return false
		}
		a.Then(func(error) { d.engine.push(op) })
		return true
	}
	ours.mu.Lock()
	defer ours.mu.Unlock()
	if ours.done || ours.enqueued {
		return false
	}
	ours.behind = append(ours.behind, op)
	return true
}

// place enqueues op; when that fails its event has failed. Requires: the context is current.
func (d *Device) place(op *operation) {
	e := op.event
	err := firstError(e.after)
	if err == nil {
		err = d.alive()
	}
	if err == nil {
		err = d.enqueue(op)
	}
	if err != nil {
		e.failed = err
		d.engine.over.push(e)
	}
}

// enqueue makes the calls of op: wait, work, record.
func (d *Device) enqueue(op *operation) error {
	e := op.event
	if op.stream == nil {
		op.stream = d.chooseStream(e.after)
	}
	s := op.stream
	for _, a := range e.after {
		if err := d.waitOn(s, a); err != nil {
			return err
		}
	}
	cu, err := d.spare.get()
	if err != nil {
		return d.failAt(e, err)
	}
	if d.clock.on {
		if err := d.recordFirst(e, s); err != nil {
			d.spare.put(cu)
			return d.failAt(e, err)
		}
	}
	if err := op.start(op); err != nil {
		d.spare.put(cu)
		return d.failAt(e, err)
	}
	if err := d.driver.do(cuEventRecord, cu, s.cu); err != nil {
		d.spare.put(cu)
		return d.failAt(e, err)
	}
	e.users.Store(1)
	e.began = monotonic()
	behind := e.enter(cu, s)
	s.push(e) // from here on the engine may look at it, and it may be over
	for _, next := range behind {
		next.event.device.engine.push(next)
	}
	return nil
}

// chooseStream returns the stream for a kernel: that of a kernel which it is behind, if nothing else is behind that one
// there yet, and so needs no event; else the next in turn.
func (d *Device) chooseStream(after []devices.Event) *stream {
	for _, a := range after {
		if ours, ok := a.(*event); ok && ours.device == d {
			if s := ours.on(); s != nil && s.kernels && s.last() == ours {
				return s
			}
		}
	}
	d.turn++
	return d.kernels[int(d.turn)%len(d.kernels)]
}

// waitOn makes a stream wait for an event, unless it comes behind it anyway.
func (d *Device) waitOn(s *stream, a devices.Event) error {
	ours, ok := a.(*event)
	if !ok || ours.on() == s {
		return nil
	}
	cu, ok := ours.hold()
	if !ok {
		return a.Err() // it is over
	}
	err := ours.device.alive()
	if err == nil {
		err = d.driver.do(cuStreamWaitEvent, s.cu, cu, 0)
	}
	ours.letGo()
	if err != nil { // the event's device may have come to its end: this one has not
		return ours.device.failAt(ours, err)
	}
	return nil
}

// failAt makes the error of an operation, with its place in the Go source.
func (d *Device) failAt(e *event, err error) error {
	err = d.fail(e.what(), err)
	if own, ok := err.(*devices.DeviceError); ok && own.Pos.File == "" && !own.Fatal {
		own.Pos = e.pos
	}
	return err
}
