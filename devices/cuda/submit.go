//go:build linux && (amd64 || arm64)

package cuda

import (
	"sync"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// An operation is a kernel launch or a copy that will be enqueued on a stream.
type operation struct {
	event  *event
	stream *stream // for a kernel, nil until it is enqueued
	// host is true if the operation accesses host memory when it is enqueued, so that all its
	// predecessors must have happened.
	host bool
	work starter
	part *launchOp // the launchOp that contains it, for a launch
}

// A starter makes the driver calls of an operation on its stream.
type starter interface {
	start(op *operation) error
}

// A submitter enqueues operations on the streams of one device. It alone decides their order: the
// batches, the streams, and the waits for predecessors.
type submitter struct {
	gpu      *gpu
	platform *platform
	streams  *streamSet
	health   *health
	clock    *clock
	engine   *engine         // enqueues parked operations and reports failures
	pageable *pageableThread // enqueues copies of host memory that is not pinned

	mu        sync.Mutex // held while one operation or batch is enqueued, also during driver calls
	turn      uint32     // of the streams of kernels, round robin
	launchOps launchOps
}

// owns reports whether e is an event of an operation of this device.
func (u *submitter) owns(e *event) bool { return &e.device.submitter == u }

// begin enqueues op, or parks it at a predecessor for which it has to wait. With batching, op may
// stay pending until flushAll.
// Requires: the context is current.
//
// It returns the stream on which it has enqueued an operation, or nil. After begin, op may have
// been recycled.
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

// park appends op to the waiters of event a, if op cannot be enqueued before a has happened or has
// been enqueued, and reports whether it did so.
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
	if ours.done || ours.failure() == nil && (ours.enqueued || u.owns(ours) && ours.pending != nil) {
		return false
	}
	ours.behind = append(ours.behind, op)
	return true
}

// place enqueues op, and returns its stream. If that fails, the event of op fails.
// Requires: the context is current.
func (u *submitter) place(op *operation) *stream {
	e := op.event
	if op.stream == nil {
		op.stream = u.chooseStream(e.after)
	}
	s := op.stream
	if s.kernels {
		u.flush(s) // a failure of the flush may be that of a predecessor
		s.tail = e
	}
	if err := u.waitForPredecessors(op); err != nil {
		e.failWith(err)
		u.engine.completions.push(e)
		op.recycle()
		return s
	}
	u.launchOn(op)
	op.recycle()
	if e.alone || u.clock.on || s.unmarked() >= s.maxUnmarked() {
		_ = s.record() // an error is also the error of e
	}
	for _, next := range e.enter(s) { // from here on other operations may wait for e
		next.event.device.engine.push(next)
	}
	return s
}

// waitForPredecessors makes the stream of op wait for the predecessors of op. It returns an error
// if one of them has failed.
func (u *submitter) waitForPredecessors(op *operation) error {
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

// launchOn makes the driver calls of op. After an error, earlier calls may have enqueued work on
// the stream, so the event of op fails when that work has finished.
func (u *submitter) launchOn(op *operation) {
	e := op.event
	if err := u.start(op); err != nil {
		e.failWith(u.health.failAt(e, err))
	}
	e.began = monotonic()
	op.stream.push(e)
}

// start makes the driver calls of op. If an NVTX tool is attached, a kernel gets a range with its
// name.
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

// chooseStream returns the stream for a kernel: the stream of a predecessor if no event is needed
// there (see shouldContinue), otherwise the next one, round robin.
func (u *submitter) chooseStream(after []devices.Event) *stream {
	for _, a := range after {
		if ours, ok := a.(*event); ok && u.owns(ours) {
			if s := ours.on(); s != nil && s.kernels && s.shouldContinue(ours) {
				return s
			}
		}
	}
	u.turn++
	return u.streams.kernels[int(u.turn)%len(u.streams.kernels)]
}

// waitOn makes a stream wait for an event, unless stream order already ensures it.
func (u *submitter) waitOn(s *stream, a devices.Event) error {
	ours, ok := a.(*event)
	if !ok {
		return nil
	}
	if err := ours.failure(); err != nil || ours.on() == s {
		return err
	}
	m, err := ours.mark()
	if m == nil && err == nil {
		return ours.failure() // it has finished, or could not be enqueued
	}
	if err == nil {
		err = ours.device.gpu.alive()
	}
	if err == nil {
		err = u.gpu.driver.Do(driver.CuStreamWaitEvent, s.cu, m.cu, 0)
	}
	if m != nil {
		m.unref()
	}
	if err != nil { // the device of the event may have failed, but not this one
		return ours.device.health.failAt(ours, err)
	}
	return nil
}
