package simple

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
//   - a submission wakes a worker when all sleep, and for each MaxShare tasks in the inbox;
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
	// StreamWorkers is the least number of workers of which some are too many for a stream.
	StreamWorkers = 3
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
	thin       bool        // the latest share was less than MaxShare
	latest     time.Duration
}

// A share is the tasks that a worker runs from one visit of a queue to the next.
type share struct {
	began time.Duration // 0 when there is none
	from  int64         // tasks that the worker had finished then
	mean  time.Duration // of a task of the latest share
}

// beginShare notes when worker takes the first task of a share.
func (qs *Queues[R]) beginShare(worker int) {
	s := &qs.states[worker].share
	if s.began == 0 && len(qs.states) >= StreamWorkers {
		s.began, s.from = max(1, qs.clock.Early()), qs.window.RanOn(worker)
	}
}

// endShare measures the tasks of a share, when the worker has run the last of them.
func (qs *Queues[R]) endShare(worker int) {
	s := &qs.states[worker].share
	if s.began == 0 {
		return
	}
	n := qs.window.RanOn(worker) - s.from
	began := s.began
	if s.began = 0; n == 0 {
		return
	}
	s.mean = (qs.clock.Early() - began) / time.Duration(n)
	switch on := qs.stream.on.Load(); {
	case !on && n >= streamShare && s.mean < shortTask:
		qs.beginStream()
	case on && s.mean > 2*shortTask:
		qs.endStream()
	}
}

// beginStream begins a stream and makes sure that it is watched.
func (qs *Queues[R]) beginStream() {
	s := &qs.stream
	if s.on.Store(true); s.watched.CompareAndSwap(false, true) {
		s.done.Add(1)
		go qs.watchStream()
	}
}

// endStream ends a stream, and wakes workers for all that it kept them from: in any queue, as each
// worker that has left tasks behind counted on the stream.
func (qs *Queues[R]) endStream() {
	qs.stream.on.Store(false)
	spin.Perturb()
	if n := qs.Len(); n > 0 {
		qs.workers.Wake(int(min(n, int64(qs.workers.Len()))))
	}
}

// close waits until no goroutine watches the queues. Requires: the workers have ended.
func (s *stream) close() {
	s.on.Store(false)
	s.done.Wait()
}

// WakesForQueued reports whether a task that was made ready wakes a worker. worker is the one that
// made it ready, or smp.None; queued is the number of tasks that are in its queue, or in the inbox.
//
// A body that submits occupies a worker, and what it submits wakes others.
func (qs *Queues[R]) WakesForQueued(worker int, queued uint32, program bool) bool {
	switch {
	case !qs.stream.on.Load():
		return true
	case worker >= 0:
		return time.Duration(queued)*qs.states[worker].share.mean > wakeWorth
	case !program:
		return true
	}
	return queued%MaxShare == 0 || queued == 1 && qs.workers.Idle() == qs.workers.Len()
}

// wakesForRest reports whether a worker that has taken a task wakes another one for those that it
// left behind.
func (qs *Queues[R]) wakesForRest(state *state[R]) bool {
	return !qs.stream.on.Load() || time.Duration(state.left)*state.share.mean > wakeWorth
}

// collect is takeInbox in a stream. The worker lets inboxPause pass after a small share, whichever
// worker took that; others go by.
func (qs *Queues[R]) collect(state *state[R]) *R {
	s := &qs.stream
	if s.collecting.Load() || !s.collecting.CompareAndSwap(false, true) {
		return nil
	}
	for s.thin && qs.clock.Now()-s.latest < inboxPause {
	}
	awake := max(1, qs.workers.Len()-qs.workers.Idle())
	r, n, left := qs.takeShare(&qs.inbox, state, uint32(awake))
	if s.thin = n < MaxShare; s.thin {
		s.latest = qs.clock.Now()
	}
	if r != nil {
		state.left = n - 1 + left
	}
	spin.Perturb()
	s.collecting.Store(false)
	return r
}

// Watched reports whether a goroutine watches the queues.
func (qs *Queues[R]) Watched() bool { return qs.stream.watched.Load() }

// watchStream ends the stream when few tasks finish, or a queue is stuck.
func (qs *Queues[R]) watchStream() {
	s := &qs.stream
	defer s.done.Done()
	first := make([]uint32, len(qs.states)+1)
	finished := qs.window.Finished()
	for s.watches() {
		time.Sleep(streamLook)
		was := finished
		finished = qs.window.Finished()
		stuck := qs.inbox.stuck(&first[0])
		for i := range qs.states {
			stuck = qs.states[i].queue.stuck(&first[i+1]) || stuck
		}
		if stuck || finished-was < streamRate {
			qs.endStream()
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
