//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// A stream is a CUstream and the queue of events of its operations in flight.
//
// Most operations have no CUevent of their own: a mark covers all operations before it, and the
// completion of a mark shows the completion of these. A goroutine that has to wait for an operation
// without a mark records one.
type stream struct {
	device *Device
	cu     uintptr
	// kernels is true for a stream of kernels.
	kernels  bool
	lastDone int64 // the monotonic time of the last observed completion; used by the engine only
	opTime   int64 // the smoothed duration of an operation in nanoseconds; written by the engine only

	flying        atomic.Int32 // length of the queue; and below, events without a mark: read without the lock
	unmarkedCount atomic.Int32
	mu            sync.Mutex
	queue         []*event // the events in flight are queue[head:]
	head          int
	pushed        uint64 // the number of the latest event, from 1
	marked        uint64 // the number of the latest event that a mark covers
	markFailed    bool   // the last mark could not be recorded; guarded by marking
	marks         []*mark
	unused        []*mark

	marking sync.Mutex // held while a mark is recorded, also during the driver call

	// For streams of kernels, guarded by submitter.mu: the operations that will be enqueued
	// together, the latest event of the stream, the graphs by the binary logarithm of their length,
	// and the scratch memory.
	pending []*operation
	tail    *event
	graphs  [6]batchGraph
	ring    ring
}

// A mark is a CUevent that was recorded after all operations of a stream up to number upTo.
type mark struct {
	stream *stream
	cu     uintptr
	upTo   uint64
	users  int // references to cu: of the stream, and of waiting goroutines; guarded by stream.mu
}

// push adds an event whose operation has been enqueued on s.
func (s *stream) push(e *event) {
	s.mu.Lock()
	s.pushed++
	e.number = s.pushed
	s.queue = append(s.queue, e)
	s.count()
	s.mu.Unlock()
}

// first returns the oldest event in flight, nil if there is none.
func (s *stream) first() *event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head == len(s.queue) {
		return nil
	}
	return s.queue[s.head]
}

// count updates the atomic counters.
// Requires: mu held.
func (s *stream) count() {
	s.flying.Store(int32(len(s.queue) - s.head))
	s.unmarkedCount.Store(int32(s.pushed - s.marked))
}

// length returns the number of events in flight.
func (s *stream) length() int { return int(s.flying.Load()) }

// unmarked returns the number of events without a mark.
func (s *stream) unmarked() int { return int(s.unmarkedCount.Load()) }

// markAt returns mark k(n) of the n marks in flight, with a reference for the caller; nil if there
// are none.
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

// popTo removes the events up to number upTo from the queue and appends them to list. It also
// removes the marks that cover them.
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
	s.marked = max(s.marked, min(upTo, s.pushed)) // all events of a lost device are removed, marked or not
	s.count()
	return list
}

// failUnmarked makes the events without a mark fail with err.
func (s *stream) failUnmarked(err error) {
	s.mu.Lock()
	at := len(s.queue)
	for at > s.head && s.queue[at-1].number > s.marked {
		at--
	}
	list := slices.Clone(s.queue[at:])
	s.mu.Unlock()
	for _, e := range list {
		e.failWith(s.device.health.failAt(e, err))
	}
}

// drop releases one reference to a mark.
// Requires: s.mu held.
func (s *stream) drop(m *mark) {
	if m.users--; m.users == 0 {
		s.device.spare.put(m.cu)
		s.unused = append(s.unused, m)
	}
}

// unref releases one reference to a mark.
func (m *mark) unref() {
	m.stream.mu.Lock()
	m.stream.drop(m)
	m.stream.mu.Unlock()
}

// record records a mark after all operations on s. If this fails, the operations that the mark
// would have covered fail too, but only when they have finished, which the next mark shows. If that
// one cannot be recorded either, the device is taken out of service, because the completion of its
// work could not be observed.
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
		s.failUnmarked(err)
		if s.markFailed {
			_ = d.gpu.lose("record", err)
		}
		s.markFailed = true
		d.engine.notify() // it may be asleep, and has to record the next mark
		return err
	}
	s.markFailed = false
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

// acquireMark returns a mark that covers event n, with a reference for the caller. It returns nil
// if the event has finished, or if no mark covers it; in the second case wanted is true.
func (s *stream) acquireMark(n uint64) (m *mark, wanted bool) {
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

// A mark covers as many operations as take about markTime, and at most markMost. A waiter for the
// first of them observes its completion later by this time.
const (
	markTime = 20 * time.Microsecond
	markMost = 16
)

// maxUnmarked is the number of operations that may be without a mark.
func (s *stream) maxUnmarked() int {
	if pace := atomic.LoadInt64(&s.opTime); pace > 0 {
		return int(max(1, min(markMost, int64(markTime)/pace)))
	}
	return 1
}

// briefTime is the maximum duration of the operations of a stream of brief operations. Running
// after such an operation, although it is not a predecessor, costs less than waiting for a
// predecessor on another stream, which takes an event and splits a batch.
const briefTime = 20 * time.Microsecond

// shouldContinue reports whether a successor of e, the event of an operation on s, should be
// enqueued on s too: e is the latest event there, or the operations after it are brief.
func (s *stream) shouldContinue(e *event) bool {
	if s.tail == e {
		return true
	}
	pace := time.Duration(atomic.LoadInt64(&s.opTime))
	return pace > 0 && pace <= briefTime
}

// A streamSet contains the streams of one device.
type streamSet struct {
	toDevice, toHost, between *stream
	kernels                   []*stream
}

// others returns the number of operations that were enqueued on streams of kernels other than s.
// idle is true if none of them is in flight.
func (t *streamSet) others(s *stream) (pushed uint64, alone bool) {
	alone = true
	for _, other := range t.kernels {
		if other != s {
			other.mu.Lock()
			pushed += other.pushed
			alone = alone && other.head == len(other.queue)
			other.mu.Unlock()
		}
	}
	return pushed, alone
}

// open creates the streams of d, n of them for kernels.
// Requires: the context is current.
func (t *streamSet) open(d *Device, n int) error {
	t.kernels = make([]*stream, n)
	list := []**stream{&t.toDevice, &t.toHost, &t.between}
	for i := range t.kernels {
		list = append(list, &t.kernels[i])
	}
	b := driver.NewBlock()
	defer b.Free()
	const nonBlocking = 1
	for _, s := range list {
		if err := d.gpu.driver.Do(driver.CuStreamCreate, b.At(0), nonBlocking); err != nil {
			return err
		}
		*s = &stream{device: d, cu: uintptr(b.Words[0])}
	}
	for _, s := range t.kernels {
		s.kernels = true
	}
	return nil
}

// all returns all streams that were created.
func (t *streamSet) all() []*stream {
	var out []*stream
	for _, s := range append([]*stream{t.toDevice, t.toHost, t.between}, t.kernels...) {
		if s != nil {
			out = append(out, s)
		}
	}
	return out
}

// synchronize waits for all operations on the streams.
// Requires: the context is current.
func (t *streamSet) synchronize(g *gpu) error {
	return t.each(func(s *stream) error { return g.driver.Do(driver.CuStreamSynchronize, s.cu) })
}

// destroy destroys the streams.
// Requires: the context is current.
func (t *streamSet) destroy(g *gpu) error {
	return t.each(func(s *stream) error { return g.driver.Do(driver.CuStreamDestroy, s.cu) })
}

// freeBatches frees the graphs of the streams of kernels.
// Requires: the context is current.
func (t *streamSet) freeBatches() error {
	return t.each(func(s *stream) error {
		var errs []error
		for i := range s.graphs {
			errs = append(errs, s.graphs[i].free(s.device))
		}
		return errors.Join(append(errs, s.ring.free(s))...)
	})
}

func (t *streamSet) each(f func(*stream) error) error {
	var errs []error
	for _, s := range t.all() {
		errs = append(errs, f(s))
	}
	return errors.Join(errs...)
}

// flyingKernels returns a kernel that is the oldest operation of its stream, nil if there is none,
// and the number of kernels in flight.
func (t *streamSet) flyingKernels() (first *event, n int) {
	for _, one := range t.kernels {
		if one == nil {
			continue // the device is being opened
		}
		if k := one.first(); first == nil {
			first = k
		}
		n += one.length()
	}
	return first, n
}
