package sim

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
)

// An operation is one entry of a stream.
type operation struct {
	after []devices.Event
	run   func() error
	cost  time.Duration
	event *event
	// of a lane: its place among what happens at the same moment, from when on it may start, and
	// what failed of what it is behind
	order  uint64
	start  time.Duration
	failed error
}

// An enqueuer is a stream or a lane.
type enqueuer interface {
	enqueue(op operation) *event
	now() time.Duration // when the last operation ended, in modelled time
	close()
}

// A stream runs operations in order, on a goroutine of its own, in real time.
type stream struct {
	mu     spin.Mutex
	queue  []operation
	ending bool
	wake   sync.Cond
	done   sync.WaitGroup
	time   atomic.Int64 // modelled time at which the last operation ended
}

func newStream() *stream {
	s := &stream{}
	s.wake.L = &s.mu
	s.done.Go(s.work)
	return s
}

// enqueue adds an operation and returns its event.
func (s *stream) enqueue(op operation) *event {
	op.event = &event{}
	s.mu.Lock()
	s.queue = append(s.queue, op)
	s.mu.Unlock()
	s.wake.Signal()
	return op.event
}

// close runs what is enqueued and ends the goroutine.
func (s *stream) close() {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.wake.Signal()
	s.done.Wait()
}

// now returns the modelled time at which the last operation ended.
func (s *stream) now() time.Duration { return time.Duration(s.time.Load()) }

func (s *stream) work() {
	var batch []operation
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.ending {
			s.wake.Wait()
		}
		if len(s.queue) == 0 {
			s.mu.Unlock()
			return
		}
		batch, s.queue = s.queue, batch[:0]
		s.mu.Unlock()
		for i := range batch {
			s.carryOut(&batch[i])
			batch[i] = operation{}
		}
	}
}

// carryOut waits for what op is behind, runs it and makes its event happen.
func (s *stream) carryOut(op *operation) {
	start := s.now()
	var err error
	for _, e := range op.after {
		await(e)
		start = max(start, moment(e))
		if err == nil {
			err = e.Err()
		}
	}
	if err == nil {
		began := time.Now()
		op.event.began = began
		err = op.run()
		spend(op.cost, began)
		start += op.cost
		op.event.lasted = op.cost
	}
	s.time.Store(int64(start))
	op.event.happen(start, err)
}

// await returns when e has happened.
func await(e devices.Event) {
	if e.Done() {
		return
	}
	ch := make(chan struct{})
	e.Then(func(error) { close(ch) })
	<-ch
}
