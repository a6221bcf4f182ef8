// Package simple holds the ready tasks that any worker may run at once, and that the scheduler
// never sees.
//
// Each worker has a queue for the tasks that it makes ready, and one inbox is for those that are
// ready at their submission. An idle worker takes a share of the inbox, or half of the queue of
// another worker. The lock of a queue is innermost; a worker holds one at a time.
package simple

import (
	"time"

	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/admission"
	"github.com/gompss/gompss/trace/clock"
)

// Queues are the queues of the workers of a runtime, for tasks *R.
type Queues[R any] struct {
	window     *admission.Window
	clock      *clock.Clock
	workers    *smp.Workers
	fetch      func([]*R) // brings the tasks of a share to this processor
	neighbours [][]int32  // by worker: the others, in the order in which it looks for work there
	states     []state[R] // by worker
	_          spin.Line

	inbox  ring[R] // tasks that no worker has made ready
	stream stream
}

// A state is what one worker has taken and not run yet; padded, as neighbours are used by other
// processors.
type state[R any] struct {
	tick        uint32    // how often the worker has looked for a task
	underfilled bool      // its latest share of the inbox was small
	lastShare   time.Time // and when that was
	left        uint32    // tasks that remained where the latest share was taken, and in that
	share       share
	room        [MaxShare]*R // for a share that the worker is taking
	_           spin.Line    // others look into the queue
	queue       ring[R]
	_           spin.Line
}

// MaxShare bounds what is taken at once: the tasks may be long. A queue of at most smallShare tasks
// is not divided; the next idle worker steals from the one that took it.
const (
	MaxShare   = 32
	smallShare = 16
)

// A share of less than MaxShare says that the worker is faster than the goroutines that make tasks
// ready. The worker then lets inboxPause pass before the next share, so that the cache lines of the
// inbox and of predecessors move between processors once for several tasks. A single task does not
// wait for that, nor does a worker whose last task took longer.
const inboxPause = 4 * time.Microsecond

// Open makes the queues of n workers. fetch is called with the tasks of each share before they are
// put into the queue of the worker that took them.
func (qs *Queues[R]) Open(n int, window *admission.Window, c *clock.Clock, fetch func([]*R)) {
	qs.window, qs.clock, qs.fetch = window, c, fetch
	qs.states, qs.neighbours = make([]state[R], n), smp.Nearest(n)
}

// Start gives the queues their workers, which are to be woken for tasks.
func (qs *Queues[R]) Start(workers *smp.Workers) { qs.workers = workers }

// Close waits until no goroutine watches the queues. Requires: the workers have ended.
func (qs *Queues[R]) Close() { qs.stream.close() }

// Push puts r into the queue of a worker, or into the inbox for smp.None, and returns how many
// tasks are there then.
func (qs *Queues[R]) Push(worker int, r *R) uint32 {
	if worker == smp.None {
		return qs.inbox.push(r)
	}
	return qs.states[worker].queue.push(r)
}

// Streaming reports whether there is a stream of short tasks.
func (qs *Queues[R]) Streaming() bool { return qs.stream.on.Load() }

// NonEmpty reports whether there may be a task for a worker.
func (qs *Queues[R]) NonEmpty() bool {
	if qs.inbox.nonEmpty.Load() {
		return true
	}
	for i := range qs.states {
		if qs.states[i].queue.nonEmpty.Load() {
			return true
		}
	}
	return false
}

// Len returns how many tasks wait for a worker.
func (qs *Queues[R]) Len() int64 {
	n := qs.inbox.len()
	for i := range qs.states {
		n += qs.states[i].queue.len()
	}
	return n
}

// Each calls f with all tasks but those in queues whose lock is not to be had.
func (qs *Queues[R]) Each(lock func(*spin.Mutex) bool, f func(*R)) {
	qs.inbox.each(lock, f)
	for i := range qs.states {
		qs.states[i].queue.each(lock, f)
	}
}

// Take returns a task from the queues, and wakes another worker where more are left.
func (qs *Queues[R]) Take(worker int) *R {
	state := &qs.states[worker]
	state.left = 0
	var r *R
	if state.tick++; state.tick%fairness != 0 {
		if r = state.queue.pop(); r == nil {
			qs.endShare(worker)
		}
	}
	if r == nil {
		r = qs.takeInbox(state)
	}
	if r == nil {
		r = state.queue.pop()
	}
	if r == nil {
		for _, o := range qs.neighbours[worker] { // those of the same memory node first
			var n, left uint32
			if r, n, left = qs.takeShare(&qs.states[o].queue, state, 2); r != nil {
				state.left = n - 1 + left
				break
			}
		}
	}
	if r == nil {
		return nil
	}
	qs.beginShare(worker)
	if (state.queue.nonEmpty.Load() || qs.inbox.nonEmpty.Load()) && qs.wakesForRest(state) {
		qs.workers.Wake(1)
	}
	return r
}

// takeShare takes a part of q for one of n workers: it returns the first task and puts the others
// into the queue of own. taken counts all of them, left those that remain.
func (qs *Queues[R]) takeShare(q *ring[R], own *state[R], n uint32) (first *R, taken, left uint32) {
	list, left := q.take(&own.room, n)
	if len(list) == 0 {
		return nil, 0, 0
	}
	qs.fetch(list)
	if len(list) > 1 {
		own.queue.addAll(list[1:])
	}
	return list[0], uint32(len(list)), left
}

// takeInbox is Take from the inbox.
func (qs *Queues[R]) takeInbox(state *state[R]) *R {
	if !qs.inbox.nonEmpty.Load() {
		return nil
	}
	if qs.stream.on.Load() {
		return qs.collect(state)
	}
	for state.underfilled && time.Since(state.lastShare) < inboxPause {
	}
	r, n, _ := qs.takeShare(&qs.inbox, state, uint32(len(qs.states)))
	if state.underfilled = n < MaxShare; state.underfilled {
		state.lastShare = time.Now()
	}
	return r
}

// A worker looks into the inbox before its own queue once in fairness tasks, so that tasks in the
// inbox do not starve.
const fairness = 61
