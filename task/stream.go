package task

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/internal/spin"
)

// This file keeps workers asleep that are not worth a wake-up. A goroutine that submits short
// tasks, one after the other, keeps a few workers busy; a further one takes the cache lines of the
// queues from these, finds no more, and sleeps again. While there is such a stream of short tasks
//
//   - a submission wakes a worker when all sleep, and for each maxShare tasks in the inbox;
//   - a worker that leaves tasks behind wakes another one when they take longer than a wake-up;
//   - one worker at a time takes from the inbox.
//
// A worker may take a long task for a short one, and then tasks wait that a sleeping worker could
// run. So a goroutine watches the queues as long as the stream lasts: a queue from which nothing
// was taken between two looks ends the stream, and workers are woken for its tasks.

const (
	// shortTask is the mean time of the tasks of a share below which they may be a stream, and
	// streamShare the least number of such tasks.
	shortTask   = 2 * time.Microsecond
	streamShare = 8
	// wakeWorth is the time of the tasks left behind from which a worker wakes another one: half of
	// what a worker spins before it sleeps.
	wakeWorth = spin.Time / 2
	// streamLook is the interval between two looks at the queues, and streamRate how many tasks must
	// have finished meanwhile: less is no stream.
	streamLook = 500 * time.Microsecond
	streamRate = 64
	// streamWorkers is the least number of workers of which some are too many for a stream.
	streamWorkers = 3
)

// A stream says whether many short tasks are being submitted and run.
type stream struct {
	on atomic.Bool // written when it changes, read for each task
	_  spin.Line

	watched atomic.Bool // watch runs, or is about to
	done    sync.WaitGroup

	collector
	_ spin.Line
}

// A collector is the worker that takes from the inbox in a stream.
type collector struct {
	collecting atomic.Bool // a worker is in collect, and owns the fields below
	thin       bool        // the latest share was less than maxShare
	latest     time.Duration
}

// A share is the tasks that a worker runs from one visit of a queue to the next.
type share struct {
	began time.Duration // 0 when there is none
	from  int64         // tasks that the worker had finished then
	mean  time.Duration // of a task of the latest share
}

// beginShare notes when worker takes the first task of a share.
func (wp *workerPool) beginShare(worker int) {
	s := &wp.states[worker].share
	if s.began == 0 && len(wp.states) >= streamWorkers {
		s.began, s.from = max(1, wp.observers.soon()), wp.window.ranOn(worker)
	}
}

// endShare measures the tasks of a share, when the worker has run the last of them.
func (wp *workerPool) endShare(worker int) {
	s := &wp.states[worker].share
	if s.began == 0 {
		return
	}
	n := wp.window.ranOn(worker) - s.from
	began := s.began
	if s.began = 0; n == 0 {
		return
	}
	s.mean = (wp.observers.soon() - began) / time.Duration(n)
	switch on := wp.stream.on.Load(); {
	case !on && n >= streamShare && s.mean < shortTask:
		wp.beginStream()
	case on && s.mean > 2*shortTask:
		wp.endStream()
	}
}

// beginStream begins a stream and makes sure that it is watched.
func (wp *workerPool) beginStream() {
	s := &wp.stream
	if s.on.Store(true); s.watched.CompareAndSwap(false, true) {
		s.done.Add(1)
		go wp.watchStream()
	}
}

// endStream ends a stream, and wakes workers for all that it kept them from: in any queue, as each
// worker that has left tasks behind counted on the stream.
func (wp *workerPool) endStream() {
	wp.stream.on.Store(false)
	spin.Perturb()
	if n := wp.queuedSimple(); n > 0 {
		wp.workers.Wake(int(min(n, int64(wp.workers.Len()))))
	}
}

// close waits until no goroutine watches the queues. Requires: the workers have ended.
func (s *stream) close() {
	s.on.Store(false)
	s.done.Wait()
}

// wakesForQueued reports whether a task that was made ready wakes a worker. worker is the one that
// made it ready, or smp.None; queued is the number of tasks that are in its queue, or in the inbox.
//
// A body that submits occupies a worker, and what it submits wakes others.
func (wp *workerPool) wakesForQueued(worker int, queued uint32, program bool) bool {
	switch {
	case !wp.stream.on.Load():
		return true
	case worker >= 0:
		return time.Duration(queued)*wp.states[worker].share.mean > wakeWorth
	case !program:
		return true
	}
	return queued%maxShare == 0 || queued == 1 && wp.workers.Idle() == wp.workers.Len()
}

// wakesForRest reports whether a worker that has taken a task wakes another one for those that it
// left behind.
func (wp *workerPool) wakesForRest(state *workerState) bool {
	return !wp.stream.on.Load() || time.Duration(state.left)*state.share.mean > wakeWorth
}

// collect is takeInbox in a stream. The worker lets inboxPause pass after a small share, whichever
// worker took that; others go by.
func (wp *workerPool) collect(state *workerState) *record {
	s := &wp.stream
	if s.collecting.Load() || !s.collecting.CompareAndSwap(false, true) {
		return nil
	}
	for s.thin && wp.observers.now()-s.latest < inboxPause {
	}
	awake := max(1, wp.workers.Len()-wp.workers.Idle())
	r, n, left := wp.inbox.takeShare(&state.queue, uint32(awake))
	if s.thin = n < maxShare; s.thin {
		s.latest = wp.observers.now()
	}
	if r != nil {
		state.left = n - 1 + left
	}
	spin.Perturb()
	s.collecting.Store(false)
	return r
}

// watchStream ends the stream when few tasks finish, or a queue is stuck.
func (wp *workerPool) watchStream() {
	s := &wp.stream
	defer s.done.Done()
	first := make([]uint32, len(wp.states)+1)
	finished := wp.window.finished()
	for s.watches() {
		time.Sleep(streamLook)
		was := finished
		finished = wp.window.finished()
		stuck := wp.inbox.stuck(&first[0])
		for i := range wp.states {
			stuck = wp.states[i].queue.stuck(&first[i+1]) || stuck
		}
		if stuck || finished-was < streamRate {
			wp.endStream()
		}
	}
}

// watches reports whether the goroutine that watches the queues continues. A stream that begins
// relies on it until watched is false.
func (s *stream) watches() bool {
	if s.on.Load() {
		return true
	}
	s.watched.Store(false)
	spin.Perturb()
	return s.on.Load() && s.watched.CompareAndSwap(false, true)
}

// stuck reports whether there are tasks in q of which none was taken since the call before. first
// is what that call has noted.
func (q *simpleQueue) stuck(first *uint32) bool {
	if !q.nonEmpty.Load() {
		return false
	}
	spin.Lock(&q.mu)
	defer q.mu.Unlock()
	was := *first
	*first = q.first
	return q.count > 0 && was == q.first
}
