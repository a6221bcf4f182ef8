//go:build linux && (amd64 || arm64)

package cuda

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// A stream is a CUstream and the events of what is in flight on it, in order.
//
// Not every operation has a CUevent of its own: a mark stands for all that was enqueued before it,
// and what has finished is seen by the marks. A goroutine that has to wait for an operation that no
// mark stands for yet makes one.
type stream struct {
	device *Device
	cu     uintptr
	// kernels says that it is one of those for kernels.
	kernels bool
	moved   int64 // monotonic time when something on it was last seen to be over; the engine's
	pace    int64 // nanoseconds that an operation takes, smoothed; the engine's

	flying atomic.Int32 // length of the queue, and how many of it no mark stands for: to be looked at without the lock
	loose  atomic.Int32
	mu     sync.Mutex
	queue  []*event // from head on
	head   int
	pushed uint64 // number of the event pushed last, from 1
	marked uint64 // of the last one that a mark stands for
	blind  bool   // the last mark could not be made; under marking
	marks  []*mark
	unused []*mark

	marking sync.Mutex // held while a mark is made, over the call of the driver

	// Of streams of kernels, under Device.enqueueing: what will be enqueued together, the event
	// that was put on the stream last, the graphs for that, by the binary logarithm of their
	// length, and scratch memory.
	pending []*operation
	tail    *event
	graphs  [6]batchGraph
	ring    ring
}

// A mark is a CUevent that was recorded behind all operations of a stream up to number upTo.
type mark struct {
	stream *stream
	cu     uintptr
	upTo   uint64
	users  int // of cu: the stream, and those about to wait for it; guarded by stream.mu
}

// push adds an event whose work has been enqueued on s.
func (s *stream) push(e *event) {
	s.mu.Lock()
	s.pushed++
	e.number = s.pushed
	s.queue = append(s.queue, e)
	s.count()
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

// count says how much there is. Requires: mu held.
func (s *stream) count() {
	s.flying.Store(int32(len(s.queue) - s.head))
	s.loose.Store(int32(s.pushed - s.marked))
}

// length returns the number of events in flight.
func (s *stream) length() int { return int(s.flying.Load()) }

// unmarked returns how many events no mark stands for.
func (s *stream) unmarked() int { return int(s.loose.Load()) }

// markAt returns mark k of those in flight, held until letGo, where k is chosen by their number;
// nil when there are none.
func (s *stream) markAt(k func(n int) int) (m *mark, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n = len(s.marks); n == 0 {
		return nil, 0
	}
	m = s.marks[k(n)]
	m.users++
	return m, n
}

// popTo takes the events up to number upTo away and adds them to list; the marks that stand for
// them go.
func (s *stream) popTo(upTo uint64, list []*event) []*event {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.head < len(s.queue) && s.queue[s.head].number <= upTo {
		list = append(list, s.queue[s.head])
		s.queue[s.head] = nil
		s.head++
	}
	switch {
	case s.head == len(s.queue):
		s.queue, s.head = s.queue[:0], 0
	case s.head > cap(s.queue)/2:
		n := copy(s.queue, s.queue[s.head:])
		clear(s.queue[n:])
		s.queue, s.head = s.queue[:n], 0
	}
	done := 0
	for done < len(s.marks) && s.marks[done].upTo <= upTo {
		s.drop(s.marks[done])
		done++
	}
	s.marks = slices.Delete(s.marks, 0, done)
	s.marked = max(s.marked, min(upTo, s.pushed)) // of a device that is lost all are taken away, marked or not
	s.count()
	return list
}

// doomUnmarked says that the events fail that no mark stands for.
func (s *stream) doomUnmarked(err error) {
	s.mu.Lock()
	at := len(s.queue)
	for at > s.head && s.queue[at-1].number > s.marked {
		at--
	}
	list := slices.Clone(s.queue[at:])
	s.mu.Unlock()
	for _, e := range list {
		e.doom(s.device.failAt(e, err))
	}
}

// drop takes back one use of a mark. Requires: s.mu held.
func (s *stream) drop(m *mark) {
	if m.users--; m.users == 0 {
		s.device.spare.put(m.cu)
		s.unused = append(s.unused, m)
	}
}

// letGo takes back one use of a mark.
func (m *mark) letGo() {
	m.stream.mu.Lock()
	m.stream.drop(m)
	m.stream.mu.Unlock()
}

// record makes a mark behind all operations on s. If that fails, the operations that the mark would
// have covered fail too, but only once they have finished, which the next mark shows. If that one
// cannot be made either, the device is out of service, as its work would never be seen to end.
// Requires: the context of its device is current.
func (s *stream) record() error {
	s.marking.Lock()
	defer s.marking.Unlock()
	s.mu.Lock()
	upTo, marked := s.pushed, s.marked
	s.mu.Unlock()
	if upTo == marked {
		return nil
	}
	d := s.device
	cu, err := d.spare.get()
	if err == nil {
		if err = d.gpu.driver.Do(driver.CuEventRecord, cu, s.cu); err != nil {
			d.spare.put(cu)
		}
	}
	if err != nil {
		s.doomUnmarked(err)
		if s.blind {
			_ = d.gpu.lose("record", err)
		}
		s.blind = true
		d.engine.nudge() // it may sleep, and be the one to make the next
		return err
	}
	s.blind = false
	s.mu.Lock()
	s.marked = upTo
	s.count()
	var m *mark
	if last := len(s.unused) - 1; last >= 0 {
		m, s.unused = s.unused[last], s.unused[:last]
	} else {
		m = new(mark)
	}
	*m = mark{stream: s, cu: cu, upTo: upTo, users: 1}
	s.marks = append(s.marks, m)
	s.mu.Unlock()
	return nil
}

// hold returns a mark that stands for event number n, for as long as the caller waits for it, until
// letGo; nil when the event has finished or no mark stands for it, and then whether one has to be
// made.
func (s *stream) hold(n uint64) (m *mark, wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.marks {
		if m.upTo >= n {
			m.users++
			return m, false
		}
	}
	return nil, s.marked < n
}

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

// submit enqueues op behind events: on the engine's goroutine, and there at once when the GPU can
// do the waiting, else when they have happened. It returns at once.
func (d *Device) submit(op *operation, after []devices.Event) devices.Event {
	e := op.event // from submit on op may be another one
	if d.accept(op, after) {
		d.engine.submit(op)
	}
	return e
}

// accept counts op in, behind events, for the engine to enqueue. It reports false when op has
// failed, as the device is lost.
func (d *Device) accept(op *operation, after []devices.Event) bool {
	e := op.event
	e.device = d
	if err := d.gpu.alive(); err != nil {
		e.happen(err)
		return false
	}
	for _, a := range after {
		if !a.Done() || a.Err() != nil {
			e.after = append(e.after, a)
		}
	}
	d.engine.flying.Add(1)
	d.engine.beside.rouse()
	return true
}

// begin enqueues op, or leaves it to the goroutine that makes the event happen, or enqueues the
// event, that it has to wait for first. With batching it may stay pending until flushAll. Requires:
// the context is current.
//
// It returns the stream that something was put on. From then on op may be another one.
func (d *Device) begin(op *operation, batching bool) *stream {
	d.enqueueing.Lock()
	defer d.enqueueing.Unlock()
	if batching {
		_, batching = op.lone()
	}
	batching = batching && !d.clock.on && d.platform.nvtx == nil
	home := d.pendingBehind(op, batching)
	for _, a := range op.event.after {
		if parked := d.park(op, a); parked {
			return nil
		}
	}
	switch {
	case op.host:
		d.later.push(op)
	case batching:
		d.enlist(op, home)
	default:
		return d.place(op)
	}
	return nil
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
	if ours.done || ours.doomed() == nil && (ours.enqueued || ours.device == d && ours.pending != nil) {
		return false
	}
	ours.behind = append(ours.behind, op)
	return true
}

// place enqueues op, and returns its stream; when that fails its event has failed. Requires: the
// context is current.
func (d *Device) place(op *operation) *stream {
	e := op.event
	if op.stream == nil {
		op.stream = d.chooseStream(e.after)
	}
	s := op.stream
	if s.kernels {
		d.flush(s) // what e is behind may fail by that
		s.tail = e
	}
	if err := d.lead(op); err != nil {
		e.doom(err)
		d.engine.over.push(e)
		op.spent()
		return s
	}
	d.launchOn(op)
	op.spent()
	if e.alone || d.clock.on || s.unmarked() >= s.patience() {
		_ = s.record() // e fails with it
	}
	for _, next := range e.enter(s) { // from here on others may wait for it
		next.event.device.engine.push(next)
	}
	return s
}

// lead makes the stream of op wait for what op is behind, which has not failed.
func (d *Device) lead(op *operation) error {
	e := op.event
	err := firstError(e.after)
	if err == nil {
		err = d.gpu.alive()
	}
	for i := 0; err == nil && i < len(e.after); i++ {
		err = d.waitOn(op.stream, e.after[i])
	}
	if err == nil && d.clock.on {
		if err = d.clock.recordFirst(e, op.stream); err != nil {
			err = d.failAt(e, err)
		}
	}
	return err
}

// launchOn makes the calls of the work of op. If one fails, others may have put something on the
// stream: it fails when that has finished.
func (d *Device) launchOn(op *operation) {
	e := op.event
	if err := d.start(op); err != nil {
		e.doom(d.failAt(e, err))
	}
	e.began = monotonic()
	op.stream.push(e)
}

// start makes the calls of the work of op, for kernels in a range of their name where a tool wants
// that.
func (d *Device) start(op *operation) error {
	if n := d.platform.nvtx; n != nil && op.event.kernel != nil {
		name := op.event.label
		if name == "" {
			name = op.event.kernel.Name
		}
		n.Push(name)
		defer n.Pop()
	}
	return op.work.start(op)
}

// A mark stands for as many operations as take about markTime, and no more than markMost: a waiter
// for the first of them observes it that much later.
const (
	markTime = 20 * time.Microsecond
	markMost = 16
)

// patience is the number of operations that may be without a mark.
func (s *stream) patience() int {
	if pace := atomic.LoadInt64(&s.pace); pace > 0 {
		return int(max(1, min(markMost, int64(markTime)/pace)))
	}
	return 1
}

// markAll makes marks for all that has none. Requires: the context is current.
func (d *Device) markAll(streams []*stream) {
	for _, s := range streams {
		if s.unmarked() > 0 {
			_ = s.record() // what it would stand for fails with it
		}
	}
}

// briefTime is the time that operations of a stream take at the most that are brief: to wait behind
// one that is no predecessor costs less than to wait for a predecessor on another stream, which
// takes an event and cuts what could be enqueued together.
const briefTime = 20 * time.Microsecond

// leadsTo reports whether what is behind e, the event of an operation on s, should be put on s too:
// it is the last there, or those after it are brief.
func (s *stream) leadsTo(e *event) bool {
	if s.tail == e {
		return true
	}
	pace := time.Duration(atomic.LoadInt64(&s.pace))
	return pace > 0 && pace <= briefTime
}

// chooseStream returns the stream for a kernel: that of a kernel which it is behind, if nothing
// else is behind that one there yet or all is brief, and so needs no event; else the next in turn.
func (d *Device) chooseStream(after []devices.Event) *stream {
	for _, a := range after {
		if ours, ok := a.(*event); ok && ours.device == d {
			if s := ours.on(); s != nil && s.kernels && s.leadsTo(ours) {
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
		err = d.gpu.driver.Do(driver.CuStreamWaitEvent, s.cu, m.cu, 0)
	}
	if m != nil {
		m.letGo()
	}
	if err != nil { // the event's device may have come to its end: this one has not
		return ours.device.failAt(ours, err)
	}
	return nil
}

// failAt makes the error of an operation, with its place in the Go source.
func (d *Device) failAt(e *event, err error) error {
	err = d.fail(e.what(), err)
	if own, ok := err.(*devices.DeviceError); ok && own.Pos.File == "" && !own.Fatal {
		own.Pos = e.pos()
	}
	return err
}
