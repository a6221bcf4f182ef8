//go:build linux && (amd64 || arm64)

package cuda

import (
	"sync"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// An operation is work for a stream.
type operation struct {
	event  *event
	stream *stream // nil for a kernel until it is enqueued
	// host says that the work looks at host memory when it is enqueued, so that all it is behind
	// must have happened.
	host bool
	work starter
	part *launching // that it is part of, if it is a launch
}

// A starter calls the driver for the work of an operation, on its stream.
type starter interface {
	start(op *operation) error
}

// A submitter puts operations on the streams of one device. It alone decides about their order
// there: what is enqueued together, on which stream, and behind what.
type submitter struct {
	gpu      *gpu
	platform *platform
	streams  *streamSet
	health   *health
	clock    *clock
	engine   *engine         // enqueues what is parked, and reports what has failed
	pageable *pageableThread // enqueues copies of host memory that is not pinned

	mu         sync.Mutex // held while enqueueing one operation or batch, over the driver's calls for it
	turn       uint32     // of kernels
	launchings launchings
}

// owns reports whether e is the end of an operation of this device.
func (u *submitter) owns(e *event) bool { return &e.device.submitter == u }

// begin enqueues op, or leaves it to the goroutine that makes the event happen, or enqueues the
// event, that it has to wait for first. With batching it may stay pending until flushAll. Requires:
// the context is current.
//
// It returns the stream that something was put on. From then on op may be another one.
func (u *submitter) begin(op *operation, batching bool) *stream {
	u.mu.Lock()
	defer u.mu.Unlock()
	if batching {
		_, batching = op.lone()
	}
	batching = batching && !u.clock.on && u.platform.nvtx == nil
	home := u.pendingBehind(op, batching)
	for _, a := range op.event.after {
		if parked := u.park(op, a); parked {
			return nil
		}
	}
	switch {
	case op.host:
		u.pageable.push(op)
	case batching:
		u.enlist(op, home)
	default:
		return u.place(op)
	}
	return nil
}

// park leaves op to event a, if op cannot be enqueued before a has happened or been enqueued.
func (u *submitter) park(op *operation, a devices.Event) bool {
	ours, ok := a.(*event)
	if !ok || ours.device.platform != u.platform || op.host || ours.alone {
		if a.Done() {
			return false
		}
		a.Then(func(error) { u.engine.push(op) })
		return true
	}
	ours.mu.Lock()
	defer ours.mu.Unlock()
	if ours.done || ours.doomed() == nil && (ours.enqueued || u.owns(ours) && ours.pending != nil) {
		return false
	}
	ours.behind = append(ours.behind, op)
	return true
}

// place enqueues op, and returns its stream; when that fails its event has failed. Requires: the
// context is current.
func (u *submitter) place(op *operation) *stream {
	e := op.event
	if op.stream == nil {
		op.stream = u.chooseStream(e.after)
	}
	s := op.stream
	if s.kernels {
		u.flush(s) // what e is behind may fail by that
		s.tail = e
	}
	if err := u.lead(op); err != nil {
		e.doom(err)
		u.engine.completions.push(e)
		op.spent()
		return s
	}
	u.launchOn(op)
	op.spent()
	if e.alone || u.clock.on || s.unmarked() >= s.patience() {
		_ = s.record() // e fails with it
	}
	for _, next := range e.enter(s) { // from here on others may wait for it
		next.event.device.engine.push(next)
	}
	return s
}

// lead makes the stream of op wait for what op is behind, which has not failed.
func (u *submitter) lead(op *operation) error {
	e := op.event
	err := firstError(e.after)
	if err == nil {
		err = u.gpu.alive()
	}
	for i := 0; err == nil && i < len(e.after); i++ {
		err = u.waitOn(op.stream, e.after[i])
	}
	if err == nil && u.clock.on {
		if err = u.clock.recordFirst(e, op.stream); err != nil {
			err = u.health.failAt(e, err)
		}
	}
	return err
}

// launchOn makes the calls of the work of op. If one fails, others may have put something on the
// stream: it fails when that has finished.
func (u *submitter) launchOn(op *operation) {
	e := op.event
	if err := u.start(op); err != nil {
		e.doom(u.health.failAt(e, err))
	}
	e.began = monotonic()
	op.stream.push(e)
}

// start makes the calls of the work of op, for kernels in a range of their name where a tool wants
// that.
func (u *submitter) start(op *operation) error {
	if n := u.platform.nvtx; n != nil && op.event.kernel != nil {
		name := op.event.label
		if name == "" {
			name = op.event.kernel.Name
		}
		n.Push(name)
		defer n.Pop()
	}
	return op.work.start(op)
}

// chooseStream returns the stream for a kernel: that of a kernel which it is behind, if nothing
// else is behind that one there yet or all is brief, and so needs no event; else the next in turn.
func (u *submitter) chooseStream(after []devices.Event) *stream {
	for _, a := range after {
		if ours, ok := a.(*event); ok && u.owns(ours) {
			if s := ours.on(); s != nil && s.kernels && s.leadsTo(ours) {
				return s
			}
		}
	}
	u.turn++
	return u.streams.kernels[int(u.turn)%len(u.streams.kernels)]
}

// waitOn makes a stream wait for an event, unless it comes behind it anyway.
func (u *submitter) waitOn(s *stream, a devices.Event) error {
	ours, ok := a.(*event)
	if !ok {
		return nil
	}
	if err := ours.doomed(); err != nil || ours.on() == s {
		return err
	}
	m, err := ours.mark()
	if m == nil && err == nil {
		return ours.doomed() // it has finished, or could not be enqueued
	}
	if err == nil {
		err = ours.device.gpu.alive()
	}
	if err == nil {
		err = u.gpu.driver.Do(driver.CuStreamWaitEvent, s.cu, m.cu, 0)
	}
	if m != nil {
		m.letGo()
	}
	if err != nil { // the event's device may have come to its end: this one has not
		return ours.device.health.failAt(ours, err)
	}
	return nil
}
