//go:build linux && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
)

// ErrTimeLimit is the cause when something on a device took longer than Options.TimeLimit.
var ErrTimeLimit = errors.New("beyond the time limit")

// An operation is one copy or launch.
type operation struct {
	what  string
	pos   ir.Pos
	after []devices.Event
	event *event
	// start enqueues the commands behind a list of the driver's events, and returns the driver's
	// event of the last one.
	start func(waits []uintptr) (uintptr, error)
	// finish looks at what the commands have left, when they are done; nil for nothing.
	finish func() error
	// drop gives back what start took, when the operation has finished; nil for nothing.
	drop  func()
	since time.Time
}

// A queue is an in-order queue of a device, with a goroutine that enqueues and one that waits.
type queue struct {
	device *Device
	cl     uintptr
	done   sync.WaitGroup
	stuck  atomic.Bool // something on it never ends
	latest int64       // the operation that was enqueued last; only the goroutine that enqueues looks at it
	behind int         // commands since the last flush; only the goroutine that enqueues looks at it
	// flushed is the number of the last operation that the driver has to begin: nothing of another
	// queue may wait for a later one.
	flushed atomic.Int64

	mu        sync.Mutex
	wake      sync.Cond
	jobs      []*operation // submitted
	flying    []*operation // enqueued
	submitted int64        // operations
	ending    bool         // no more is submitted
	drained   bool         // and all is enqueued
}

func newQueue(d *Device) (*queue, error) {
	const profiling = 2
	properties := uintptr(0)
	if d.options.Timed {
		properties = profiling
	}
	cl, err := d.driver.create(clCreateCommandQueue, d.context.cl, d.info.id, properties)
	if err != nil {
		return nil, err
	}
	q := &queue{device: d, cl: cl}
	q.wake.L = &q.mu
	q.done.Go(q.enqueueAll)
	q.done.Go(q.waitForAll)
	return q, nil
}

// submit hands an operation to the queue.
func (q *queue) submit(op *operation) devices.Event {
	op.event.device, op.event.queue = q.device, q
	q.mu.Lock()
	ended := q.ending
	if !ended {
		q.submitted++
		op.event.number = q.submitted
		q.jobs = append(q.jobs, op)
	}
	q.mu.Unlock()
	if ended {
		op.event.happen(wrap(q.device, op, devices.ErrClosed))
		return op.event
	}
	q.wake.Broadcast()
	return op.event
}

// stop ends the goroutines when all is done, but for what never ends.
func (q *queue) stop() {
	q.mu.Lock()
	q.ending = true
	q.mu.Unlock()
	q.wake.Broadcast()
	q.done.Wait()
}

// enqueueAll enqueues what is submitted, in order.
func (q *queue) enqueueAll() {
	for {
		q.mu.Lock()
		for len(q.jobs) == 0 && !q.ending {
			if q.behind > 0 {
				q.mu.Unlock()
				q.flush()
				q.mu.Lock()
				continue
			}
			q.wake.Wait()
		}
		if len(q.jobs) == 0 {
			q.drained = true
			q.mu.Unlock()
			q.wake.Broadcast()
			return
		}
		op := q.jobs[0]
		q.jobs[0] = nil
		q.jobs = q.jobs[1:]
		q.mu.Unlock()
		q.enqueue(op)
	}
}

// enqueue enqueues one operation, when what it is behind can be waited for on the device.
func (q *queue) enqueue(op *operation) {
	waits, err := q.waitsOf(op.after)
	if err == nil {
		err = q.device.alive()
	}
	var cl uintptr
	q.latest = op.event.number
	if err == nil {
		op.since = time.Now()
		cl, err = op.start(waits)
		if err != nil {
			err = wrap(q.device, op, err)
		} else if q.behind++; q.behind >= mostBehind {
			q.flush()
		}
	}
	for _, w := range waits {
		if released := q.device.driver.do(clReleaseEvent, w); err == nil && released != nil {
			q.device.lose("release an event", released)
		}
	}
	if err != nil {
		if op.drop != nil {
			op.drop()
		}
		op.event.happen(err)
		return
	}
	op.event.placed(cl)
	q.mu.Lock()
	q.flying = append(q.flying, op)
	q.mu.Unlock()
	q.wake.Broadcast()
}

// mostBehind is the most operations that are enqueued before the driver has to begin them. A flush
// costs about as much as a launch; it is made at once where nothing else is submitted.
const mostBehind = 16

// flush has the driver begin what is enqueued. Only the goroutine that enqueues calls it.
func (q *queue) flush() {
	q.behind = 0
	q.flushTo(q.latest)
}

// flushTo has the driver begin all up to operation number n, which is enqueued.
//
// Source: The OpenCL Specification 3.0, section 5.15: a command may wait for an event of another
// queue when that queue was flushed.
func (q *queue) flushTo(n int64) {
	if err := q.device.driver.do(clFlush, q.cl); err != nil {
		q.device.lose("flush", err)
		return
	}
	for before := q.flushed.Load(); before < n && !q.flushed.CompareAndSwap(before, n); before = q.flushed.Load() {
	}
}

// waitsOf waits for the events that the device cannot wait for, and returns those of the driver
// that it can, the last of each other queue, which the caller gives back.
func (q *queue) waitsOf(after []devices.Event) ([]uintptr, error) {
	var last map[*queue]*event // none where all is of this queue
	var failed error
	for _, e := range after {
		own, ok := e.(*event)
		if !ok || own.device != q.device || own.alone {
			if q.behind > 0 && !e.Done() { // it may be behind what is enqueued here
				q.flush()
			}
			if err := await(e); err != nil && failed == nil {
				failed = err
			}
			continue
		}
		if own.queue != q { // what was submitted to this queue is enqueued before
			if q.behind > 0 {
				q.flush()
			}
			placed := make(chan struct{})
			own.whenPlaced(func() { close(placed) })
			<-placed
			if last == nil {
				last = map[*queue]*event{}
			}
			if before := last[own.queue]; before == nil || before.number < own.number {
				last[own.queue] = own
			}
		}
		if err := own.Err(); err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil {
		return nil, failed
	}
	var waits []uintptr
	for _, own := range last {
		cl, err := own.handle()
		if err != nil {
			return waits, q.device.fail("wait for an event", err)
		}
		if cl != 0 {
			waits = append(waits, cl)
			if own.queue.flushed.Load() < own.number {
				own.queue.flushTo(own.number)
			}
		}
	}
	return waits, nil
}

// shortWait is the time of an operation below which it is waited for together with others. The
// events of those happen when the last is done, so it times mostBehind bounds the delay of a first.
// A driver is slow to enqueue while another thread asks it for events.
//
// Source: docs/results/h200.md, a launch while another thread queries events.
const shortWait = 20 * time.Microsecond

// waitForAll makes the events of what is enqueued happen, in order.
func (q *queue) waitForAll() {
	ops, most := make([]*operation, 0, mostBehind), 1
	for {
		q.mu.Lock()
		for len(q.flying) == 0 && !q.drained {
			q.wake.Wait()
		}
		n := min(len(q.flying), most)
		ops = append(ops[:0], q.flying[:n]...)
		clear(q.flying[:n])
		q.flying = q.flying[n:]
		q.mu.Unlock()
		if n == 0 {
			return
		}
		began := time.Now()
		done := n > 1 && q.wait(ops)
		for _, op := range ops {
			q.end(op, done)
		}
		switch took := time.Since(began); {
		case q.device.options.TimeLimit > 0 || took > time.Duration(n)*shortWait:
			most = 1
		default:
			most = min(2*most, mostBehind)
		}
		clear(ops)
	}
}

// wait waits until operations are done, and reports whether all have succeeded: then no status of
// an event says more.
//
// Source: The OpenCL Specification 1.2, section 5.9, clWaitForEvents.
func (q *queue) wait(ops []*operation) bool {
	if q.device.alive() != nil {
		return false
	}
	b := newBlock()
	defer b.free()
	for i, op := range ops {
		b.words[i] = uint64(op.event.cl)
	}
	return q.device.driver.do(clWaitForEvents, uintptr(len(ops)), b.at(0)) == nil
}

// end makes the event of one operation happen, which it waits for unless that is done.
func (q *queue) end(op *operation, done bool) {
	e, d := op.event, q.device
	err := d.alive()
	if err == nil && !done {
		err = q.await(op)
	}
	if q.stuck.Load() {
		op.event.happen(err)
		return // the driver still has what it uses
	}
	for _, a := range op.after { // nothing finishes before what it was behind, and that may have failed
		if own, ok := a.(*event); ok && own.device == d {
			if failed := await(own); err == nil {
				err = failed
			}
		}
	}
	if err == nil && op.finish != nil {
		if err = op.finish(); err != nil {
			err = wrap(d, op, err)
		}
	}
	if d.options.Timed && err == nil {
		if began, ended, failed := d.profile(e.cl); failed != nil {
			err = wrap(d, op, failed)
		} else {
			e.mu.Lock()
			e.began, e.ended = d.clock.host(began), d.clock.host(ended)
			e.mu.Unlock()
		}
	}
	if op.drop != nil {
		op.drop()
	}
	e.happen(err)
	if released := d.driver.do(clReleaseEvent, e.cl); released != nil {
		d.lose("release an event", released)
	}
}

// How a queue with a time limit looks whether something is done.
const (
	shortLook = 20 * time.Microsecond
	longLook  = time.Millisecond
)

// await waits until the commands of an operation are done.
func (q *queue) await(op *operation) error {
	d := q.device
	b := newBlock()
	defer b.free()
	const status, size, complete = 0x11D3, 4, 0
	if b.words[0] = uint64(op.event.cl); d.options.TimeLimit == 0 {
		_ = d.driver.do(clWaitForEvents, 1, b.at(0)) // its status says more
	}
	for look := shortLook; ; look = min(2*look, longLook) {
		b.words[1] = 0
		err := d.driver.do(clGetEventInfo, op.event.cl, status, size, b.at(1), 0)
		code := int(int32(uint32(b.words[1])))
		switch {
		case err != nil:
			return d.lose(op.what, err)
		case code == complete:
			return nil
		case code == codeNoObjectMemory || code == codeNoResources || code == codeNoHostMemory:
			return wrap(d, op, &Error{Call: "status of the event", Code: code})
		case code < 0:
			return d.lose(op.what, &Error{Call: "status of the event", Code: code})
		case d.options.TimeLimit > 0 && time.Since(op.since) > d.options.TimeLimit:
			q.stuck.Store(true)
			return d.lose(op.what, fmt.Errorf("%w of %v", ErrTimeLimit, d.options.TimeLimit))
		}
		time.Sleep(look)
	}
}

// wrap makes the error of an operation.
func wrap(d *Device, op *operation, err error) error {
	var lost *devices.DeviceError
	if errors.As(err, &lost) && lost.Fatal {
		return err
	}
	switch codeOf(err) {
	case codeNoObjectMemory, codeNoResources, codeNoHostMemory:
		err = fmt.Errorf("%w: %w", devices.ErrNoMemory, err)
	}
	return &devices.DeviceError{Device: d.name, What: op.what, Pos: op.pos, Err: err}
}
