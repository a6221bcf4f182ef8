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
	// event of the last one, 0 where it is not marked.
	start func(waits []uintptr, marked bool) (uintptr, error)
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
	share  int         // operations that may have one event together, 1 for none
	// Only the goroutine that enqueues looks at these.
	latest int64  // the operation that was enqueued last
	behind int    // operations since the last flush
	open   *batch // operations that have no event yet, nil for none
	// flushed is the number of the last operation that the driver has to begin: nothing of another
	// queue may wait for a later one.
	flushed atomic.Int64

	mu        sync.Mutex
	work      sync.Cond    // something is submitted, or no more is
	wake      sync.Cond    // there may be something to wait for
	jobs      []*operation // submitted
	flying    []*batch     // enqueued, with an event
	pace      pace
	submitted int64 // operations
	ending    bool  // no more is submitted
	drained   bool  // and all is enqueued
}

// A pace is what the two goroutines of a queue know of each other.
type pace struct {
	ahead int  // operations that are enqueued and not waited for
	busy  bool // operations are being enqueued
	short bool // they seem to take less than shortWait each
}

// newQueue makes a queue, whose operations may share an event where joins is true.
func newQueue(d *Device, joins bool) (*queue, error) {
	const profiling = 2
	properties := uintptr(0)
	if d.options.Timed {
		properties = profiling
	}
	cl, err := d.driver.create(clCreateCommandQueue, d.context.cl, d.info.id, properties)
	if err != nil {
		return nil, err
	}
	q := &queue{device: d, cl: cl, share: 1}
	if joins && d.info.endsAtFailure() && !d.options.Timed && d.options.TimeLimit == 0 {
		q.share = mostBehind
	}
	q.work.L, q.wake.L = &q.mu, &q.mu
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
	q.work.Signal()
	return op.event
}

// stop ends the goroutines when all is done, but for what never ends.
func (q *queue) stop() {
	q.mu.Lock()
	q.ending = true
	q.mu.Unlock()
	q.work.Signal()
	q.done.Wait()
}

// enqueueAll enqueues what is submitted, in order.
func (q *queue) enqueueAll() {
	for {
		q.mu.Lock()
		for len(q.jobs) == 0 {
			if q.pace.busy {
				q.mu.Unlock()
				q.settle()
				q.mu.Lock()
				continue
			}
			if q.ending {
				q.drained = true
				q.mu.Unlock()
				q.wake.Signal()
				return
			}
			q.work.Wait()
		}
		op := q.jobs[0]
		q.jobs[0] = nil
		q.jobs = q.jobs[1:]
		q.pace.busy = true
		joins := q.share > 1 && q.pace.short && len(q.jobs) > 0 && !op.event.alone
		q.mu.Unlock()
		q.enqueue(op, joins)
	}
}

// settle leaves nothing that is enqueued without an event or a flush: the goroutine that enqueues
// calls it before it waits for anything.
func (q *queue) settle() {
	q.mark()
	q.mu.Lock()
	q.pace.busy = false
	q.mu.Unlock()
	q.wake.Signal() // its goroutine wakes up during the flush
	if q.behind > 0 {
		q.flush()
	}
}

// mark has a marker be the event of the operations that have none.
func (q *queue) mark() {
	if q.open == nil {
		return
	}
	cl, err := q.marker()
	if err != nil {
		q.device.lose("marker", err)
	}
	q.close(cl)
}

// close hands the open batch to the goroutine that waits. Where cl is 0 the device is lost.
func (q *queue) close(cl uintptr) {
	g := q.open
	q.open = nil
	g.close(cl)
	q.mu.Lock()
	q.flying = append(q.flying, g)
	q.pace.ahead += len(g.list)
	ready := q.ready()
	q.mu.Unlock()
	if ready {
		q.wake.Signal()
	}
}

// enqueue enqueues one operation, when what it is behind can be waited for on the device. Where it
// joins, it may get its event together with others.
func (q *queue) enqueue(op *operation, joins bool) {
	waits, err := q.waitsOf(op.after)
	if err == nil {
		err = q.device.alive()
	}
	if len(waits) > 0 {
		q.mark() // else those before happened only after what op waits for
	}
	marked := !joins || q.behind+1 >= mostBehind
	var cl uintptr
	q.latest = op.event.number
	if err == nil {
		op.since = time.Now()
		cl, err = op.start(waits, marked)
		if err != nil {
			err = wrap(q.device, op, err)
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
	if q.open == nil {
		q.open = &batch{}
	}
	q.open.list = append(q.open.list, op)
	op.event.placed(q.open)
	if marked {
		q.close(cl)
	}
	if q.behind++; q.behind >= mostBehind {
		q.flush()
	}
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
			if !e.Done() { // it may be behind what is enqueued here
				q.settle()
			}
			if err := await(e); err != nil && failed == nil {
				failed = err
			}
			continue
		}
		if own.queue != q { // what was submitted to this queue is enqueued before
			if !own.isPlaced() {
				q.settle()
				placed := make(chan struct{})
				own.whenPlaced(func() { close(placed) })
				<-placed
			}
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
		cl, last, err := own.handle()
		if err != nil {
			return waits, q.device.fail("wait for an event", err)
		}
		if cl != 0 {
			waits = append(waits, cl)
			if own.queue.flushed.Load() < last {
				own.queue.flushTo(last)
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

// mostAhead is how many operations of a queue are enqueued before any is waited for while they are
// short and more are enqueued: so the goroutine that waits finds them done and leaves the driver to
// the one that enqueues.
const mostAhead = 4 * mostBehind

// ready reports whether the goroutine that waits has something to do. Requires: q.mu held.
func (q *queue) ready() bool {
	return q.drained || len(q.flying) > 0 && (!q.pace.busy || !q.pace.short || q.pace.ahead >= mostAhead)
}

// waitForAll makes the events of what is enqueued happen, in order.
func (q *queue) waitForAll() {
	most := 1  // operations that are waited for together
	longs := 0 // waits in a row that were not short
	for {
		q.mu.Lock()
		for !q.ready() {
			q.wake.Wait()
		}
		var batches []*batch
		n := 0
		for len(q.flying) > 0 && (n == 0 || n+len(q.flying[0].list) <= most) {
			n += len(q.flying[0].list)
			batches = append(batches, q.flying[0])
			q.flying[0] = nil
			q.flying = q.flying[1:]
		}
		q.pace.ahead -= n
		q.mu.Unlock()
		if n == 0 {
			return
		}
		began := time.Now()
		done := len(batches) > 1 && q.wait(batches)
		for _, g := range batches {
			q.end(g, done)
		}
		switch took := time.Since(began); {
		case q.device.options.TimeLimit > 0:
		case took <= time.Duration(n)*shortWait:
			most, longs = min(2*most, mostBehind), 0
			q.seem(true)
		default: // it may have waited for the goroutine that enqueues
			if longs++; longs >= mostLongs {
				most = 1
				q.seem(false)
			}
		}
	}
}

// mostLongs is after how many long waits in a row operations are taken to be long.
const mostLongs = 4

// seem notes whether operations are short.
func (q *queue) seem(short bool) {
	q.mu.Lock()
	q.pace.short = short
	q.mu.Unlock()
}

// wait waits until batches are done, and reports whether all have succeeded: then no status of an
// event says more.
//
// Source: The OpenCL Specification 1.2, section 5.9, clWaitForEvents.
func (q *queue) wait(batches []*batch) bool {
	if q.device.alive() != nil {
		return false
	}
	b := newBlock()
	defer b.free()
	for i, g := range batches {
		b.words[i] = uint64(g.cl)
	}
	return q.device.driver.do(clWaitForEvents, uintptr(len(batches)), b.at(0)) == nil
}

// end makes the events of a batch happen, which it waits for unless that is done.
func (q *queue) end(g *batch, done bool) {
	d := q.device
	err := d.alive()
	if err == nil && !done {
		err = q.await(g)
	}
	for _, op := range g.list {
		q.endOne(op, wrap(d, op, err))
	}
	if q.stuck.Load() {
		return // the driver still has what it uses
	}
	if released := g.release(d); released != nil {
		d.lose("release an event", released)
	}
}

// endOne makes the event of one operation happen, whose commands are done.
func (q *queue) endOne(op *operation, err error) {
	e, d := op.event, q.device
	if q.stuck.Load() {
		e.happen(err)
		return
	}
	for _, a := range op.after { // nothing finishes before what it was behind, and that may have failed
		if own, ok := a.(*event); ok && own.device == d {
			if failed := await(own); err == nil {
				err = failed
			}
		}
	}
	if err == nil && op.finish != nil {
		err = wrap(d, op, op.finish())
	}
	if d.options.Timed && err == nil {
		if began, ended, failed := d.profile(e.batch.cl); failed != nil {
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
}

// How a queue with a time limit looks whether something is done.
const (
	shortLook = 20 * time.Microsecond
	longLook  = time.Millisecond
)

// await waits until the commands of a batch are done.
func (q *queue) await(g *batch) error {
	op := g.list[len(g.list)-1]
	d := q.device
	b := newBlock()
	defer b.free()
	const status, size, complete = 0x11D3, 4, 0
	if b.words[0] = uint64(g.cl); d.options.TimeLimit == 0 {
		_ = d.driver.do(clWaitForEvents, 1, b.at(0)) // its status says more
	}
	for look := shortLook; ; look = min(2*look, longLook) {
		b.words[1] = 0
		err := d.driver.do(clGetEventInfo, g.cl, status, size, b.at(1), 0)
		code := int(int32(uint32(b.words[1])))
		switch {
		case err != nil:
			return d.lose(op.what, err)
		case code == complete:
			return nil
		case code == codeNoObjectMemory || code == codeNoResources || code == codeNoHostMemory:
			return &Error{Call: "status of the event", Code: code}
		case code < 0:
			return d.lose(op.what, &Error{Call: "status of the event", Code: code})
		case d.options.TimeLimit > 0 && time.Since(op.since) > d.options.TimeLimit:
			q.stuck.Store(true)
			return d.lose(op.what, fmt.Errorf("%w of %v", ErrTimeLimit, d.options.TimeLimit))
		}
		time.Sleep(look)
	}
}

// wrap makes the error of an operation, nil for nil.
func wrap(d *Device, op *operation, err error) error {
	if err == nil {
		return nil
	}
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
