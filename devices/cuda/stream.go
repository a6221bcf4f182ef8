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

	// Of streams of kernels, under submitter.mu: what will be enqueued together, the event
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
		e.doom(s.device.health.failAt(e, err))
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

// A streamSet is the streams of one device.
type streamSet struct {
	toDevice, toHost, between *stream
	kernels                   []*stream
}

// beside returns how many operations were enqueued on other streams of kernels than s, and whether
// none of them is in flight.
func (t *streamSet) beside(s *stream) (pushed uint64, alone bool) {
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

// open makes the streams of d, n of them for kernels. Requires: the context is current.
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

// all returns all streams that were made.
func (t *streamSet) all() []*stream {
	var out []*stream
	for _, s := range append([]*stream{t.toDevice, t.toHost, t.between}, t.kernels...) {
		if s != nil {
			out = append(out, s)
		}
	}
	return out
}

// synchronize waits for all work on the streams. Requires: the context is current.
func (t *streamSet) synchronize(g *gpu) error {
	return t.each(func(s *stream) error { return g.driver.Do(driver.CuStreamSynchronize, s.cu) })
}

// destroy gives the streams back. Requires: the context is current.
func (t *streamSet) destroy(g *gpu) error {
	return t.each(func(s *stream) error { return g.driver.Do(driver.CuStreamDestroy, s.cu) })
}

// freeBatches gives back what the streams of kernels keep. Requires: the context is current.
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

// flyingKernels returns a kernel that is the next of its stream, nil when there is none, and how
// many are in flight.
func (t *streamSet) flyingKernels() (first *event, n int) {
	for _, one := range t.kernels {
		if one == nil {
			continue // it is being opened
		}
		if k := one.first(); first == nil {
			first = k
		}
		n += one.length()
	}
	return first, n
}
