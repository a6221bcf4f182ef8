//go:build linux && (amd64 || arm64)

package cuda

import (
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/devices"
)

// A stream is a CUstream and the events of what is in flight on it, in order.
type stream struct {
	device *Device
	cu     uintptr

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

// pop takes the first event away.
func (s *stream) pop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue[s.head] = nil
	if s.head++; s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	}
}

// An operation is work for a stream.
type operation struct {
	event  *event
	stream *stream
	// host says that the work looks at host memory when it is enqueued, so that all it is behind must have happened.
	host bool
	// start calls the driver for the work itself, on the stream.
	start func() error
}

// submit enqueues op behind events, at once when the GPU can do the waiting, and else when they have happened. It
// returns at once.
func (d *Device) submit(op *operation, after []devices.Event) devices.Event {
	e := op.event
	e.device = d
	if err := d.alive(); err != nil {
		e.happen(err)
		return e
	}
	var wait []devices.Event
	for _, a := range after {
		if late(a, d.platform) || op.host && !a.Done() {
			wait = append(wait, a)
		}
	}
	for _, a := range after {
		if !a.Done() || a.Err() != nil {
			e.after = append(e.after, a)
		}
	}
	d.poller.expect(1)
	if len(wait) == 0 {
		d.start(op)
		return e
	}
	pending := new(atomic.Int32)
	pending.Store(int32(len(wait)))
	for _, a := range wait {
		a.Then(func(error) {
			if pending.Add(-1) == 0 {
				d.later.push(func() { d.start(op) })
			}
		})
	}
	return e
}

// start enqueues op; when that fails its event has happened.
func (d *Device) start(op *operation) {
	e := op.event
	err := firstError(e.after)
	if err == nil {
		err = d.alive()
	}
	if err == nil {
		err = d.enqueue(op)
	}
	if err != nil {
		d.poller.expect(-1)
		e.happen(err)
	}
}

// enqueue makes the calls of op: wait, work, record.
func (d *Device) enqueue(op *operation) error {
	e, s := op.event, op.stream
	d.enter()
	defer d.leave()
	for _, a := range e.after {
		ours, ok := a.(*event)
		if !ok {
			continue
		}
		if cu, ok := ours.hold(); ok {
			err := ours.device.alive()
			if err == nil {
				err = d.driver.do(cuStreamWaitEvent, s.cu, cu, 0)
			}
			ours.letGo()
			if err != nil { // the event's device may have come to its end: this one has not
				return ours.device.failAt(ours, err)
			}
		} else if err := a.Err(); err != nil { // it is over: the poller has seen it meanwhile
			return err
		}
	}
	cu, err := d.spare.get()
	if err != nil {
		return d.failAt(e, err)
	}
	if err := op.start(); err != nil {
		d.spare.put(cu)
		return d.failAt(e, err)
	}
	if err := d.driver.do(cuEventRecord, cu, s.cu); err != nil {
		d.spare.put(cu)
		return d.failAt(e, err)
	}
	e.users.Store(1)
	e.mu.Lock()
	e.cu, e.enqueued, e.began = cu, true, monotonic()
	e.mu.Unlock()
	s.push(e)
	d.poller.wakeUp()
	return nil
}

// failAt makes the error of an operation, with its place in the Go source.
func (d *Device) failAt(e *event, err error) error {
	err = d.fail(e.what, err)
	if own, ok := err.(*devices.DeviceError); ok && own.Pos.File == "" && !own.Fatal {
		own.Pos = e.pos
	}
	return err
}
