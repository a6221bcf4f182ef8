package task

import (
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/life"
)

// This file is the fast path of simple tasks. A task is simple when any worker may run it as soon
// as it is ready and there is nothing to decide: it holds no tokens, its priority is 0, the machine
// has no accelerator, and the policy is the default one, which steals tasks of equal priority.
// Simple tasks bypass the scheduler. A worker runs next the first task that it makes ready, and
// puts further ones into its queue; tasks that are ready at submission go into the inbox. An idle
// worker takes a share of the inbox, or half of the queue of another worker.
//
// Other tasks come first, but for those with a priority below 0, which come last.

// A simpleQueue holds ready simple tasks, first in, first out.
//
// It is a ring of pointers and not a list through the records, whose cache lines may be with
// another processor. Idle workers poll nonEmpty, which has a cache line to itself and changes only
// when the queue becomes empty or stops being so: polling does not disturb push.
type simpleQueue struct {
	nonEmpty atomic.Bool
	_        spin.Line
	mu       spin.Mutex
	first    uint32
	count    uint32
	ring     []*record // a power of 2
	_        spin.Line
}

const firstRing = 64

// add appends r. Requires: mu held.
func (q *simpleQueue) add(r *record) {
	if int(q.count) == len(q.ring) {
		ring := make([]*record, max(firstRing, 2*len(q.ring)))
		for i := range q.count {
			ring[i] = q.ring[(q.first+i)&uint32(len(q.ring)-1)]
		}
		q.ring, q.first = ring, 0
	}
	q.ring[(q.first+q.count)&uint32(len(q.ring)-1)] = r
	if q.count++; q.count == 1 {
		q.nonEmpty.Store(true)
	}
}

// len returns how many records are in q.
func (q *simpleQueue) len() int64 {
	if !q.nonEmpty.Load() {
		return 0
	}
	spin.Lock(&q.mu)
	defer q.mu.Unlock()
	return int64(q.count)
}

// next takes the first record. Requires: mu held, count > 0.
func (q *simpleQueue) next() *record {
	at := &q.ring[q.first&uint32(len(q.ring)-1)]
	r := *at
	*at = nil
	q.first++
	if q.count--; q.count == 0 {
		q.nonEmpty.Store(false)
	}
	return r
}

// push adds r and returns how many records are in q then.
func (q *simpleQueue) push(r *record) (count uint32) {
	spin.Lock(&q.mu)
	q.add(r)
	count = q.count
	q.mu.Unlock()
	return count
}

func (q *simpleQueue) pop() (r *record) {
	if !q.nonEmpty.Load() {
		return nil
	}
	spin.Lock(&q.mu)
	if q.count > 0 {
		r = q.next()
	}
	q.mu.Unlock()
	return r
}

// takeShare takes a part of the queue for one of n workers: it returns the first task and puts the
// others into own. taken counts all of them, left those that remain.
func (q *simpleQueue) takeShare(own *simpleQueue, n uint32) (first *record, taken, left uint32) {
	if !q.nonEmpty.Load() {
		return nil, 0, 0
	}
	var room [maxShare]*record
	spin.Lock(&q.mu)
	take := min(maxShare, max(min(q.count, smallShare), (q.count+n-1)/n))
	list := room[:take]
	for i := range list {
		list[i] = q.next()
	}
	left = q.count
	q.mu.Unlock()
	if take == 0 {
		return nil, 0, 0
	}
	for _, r := range list {
		r.link = nil // fetches the line from the processor that made it ready, all of them at once
	}
	if take > 1 {
		spin.Lock(&own.mu)
		for _, r := range list[1:] {
			own.add(r)
		}
		own.mu.Unlock()
	}
	return list[0], take, left
}

// maxShare bounds what is taken at once: the tasks may be long. A queue of at most smallShare tasks
// is not divided; the next idle worker steals from the one that took it.
const (
	maxShare   = 32
	smallShare = 16
)

// A share of less than maxShare says that the worker is faster than the goroutines that make tasks
// ready. The worker then lets inboxPause pass before the next share, so that the cache lines of the
// inbox and of predecessors move between processors once for several tasks. A single task does not
// wait for that, nor does a worker whose last task took longer.
const inboxPause = 4 * time.Microsecond

// takeInbox is takeSimple from the inbox.
func (wp *workerPool) takeInbox(state *workerState) *record {
	if !wp.inbox.nonEmpty.Load() {
		return nil
	}
	if wp.stream.on.Load() {
		return wp.collect(state)
	}
	for state.underfilled && time.Since(state.lastShare) < inboxPause {
	}
	r, n, _ := wp.inbox.takeShare(&state.queue, uint32(len(wp.states)))
	if state.underfilled = n < maxShare; state.underfilled {
		state.lastShare = time.Now()
	}
	return r
}

// A worker looks into the inbox before its own queue once in fairness tasks, so that tasks in the
// inbox do not starve.
const fairness = 61

// isSimple reports whether r, whose options are known, is simple.
func (hq *readyQueues) isSimple(r *record) bool {
	return hq.fastPath && r.item.Priority == 0 && len(r.settings.tokens) == 0
}

// setFastPath finds out whether there can be simple tasks.
func (hq *readyQueues) setFastPath(policy string) {
	hq.fastPath = !hq.topology.accelerators && hq.topology.host >= 0 && (policy == "" || policy == sched.DefaultPolicy)
}

// scheduleFast is schedule where there are simple tasks.
func (rt *Runtime) scheduleFast(done *record, ready *recordList, worker int) *record {
	var next *record
	var rest recordList
	queued := uint32(0) // how many tasks are in the queue to which one was added
	program := false    // that one is of the program, and not of a body
	if ready != nil {
		for r := ready.pop(); r != nil; r = ready.pop() {
			switch {
			case !r.traits.Is(life.Simple):
				rest.push(r)
			case next == nil && worker != smp.None:
				next = r
			default:
				program = r.scope.program() // before the push: r may be finished after it
				queued = rt.pool.queueOf(worker).push(r)
			}
		}
	}
	if done != nil && done.traits.Is(life.Simple) {
		done = nil
	}
	chain := worker
	if next != nil || rest.head == nil || rest.head.item.Priority < 0 {
		chain = smp.None // it looks for something to run below
	}
	var chained *record
	if rest.head != nil || done != nil {
		chained = rt.scheduleAll(done, &rest, chain)
	}
	if chained != nil {
		next = chained
	} else if worker != smp.None {
		next = rt.nextSimple(worker, next)
	}
	if queued > 0 && rt.pool.wakesForQueued(worker, queued, program) {
		rt.pool.workers.Wake(1)
	}
	return next
}

func (wp *workerPool) queueOf(worker int) *simpleQueue {
	if worker == smp.None {
		return &wp.inbox
	}
	return &wp.states[worker].queue
}

// nextSimple returns the task that a worker should run next. next is one that the worker has made
// ready, or nil.
func (rt *Runtime) nextSimple(worker int, next *record) *record {
	if rt.ready.waiting.Load() > 0 {
		if first := rt.takeScheduled(); first != nil {
			if next != nil {
				rt.pool.states[worker].queue.push(next)
				rt.pool.workers.Wake(1)
			}
			return first
		}
	}
	if next == nil {
		next = rt.pool.takeSimple(worker)
	}
	if next == nil && rt.ready.waitingLow.Load() > 0 {
		return rt.takeScheduled()
	}
	if next != nil && rt.observers.watched() {
		rt.observeChoice(next)
	}
	return next
}

// takeScheduled returns a task of the scheduler for a worker.
func (rt *Runtime) takeScheduled() *record {
	rt.ready.mu.Lock()
	r := rt.takeHost(nil)
	rt.ready.unlock()
	if r != nil && !r.holds.Has(life.HeldData) && !r.life.State().Wants() && rt.observers.watched() {
		rt.observeChoice(r)
	}
	return r
}

// takeSimple returns a simple task from the queues, and wakes another worker where more are left.
func (wp *workerPool) takeSimple(worker int) *record {
	state := &wp.states[worker]
	state.left = 0
	var r *record
	if state.tick++; state.tick%fairness != 0 {
		if r = state.queue.pop(); r == nil {
			wp.endShare(worker)
		}
	}
	if r == nil {
		r = wp.takeInbox(state)
	}
	if r == nil {
		r = state.queue.pop()
	}
	if r == nil {
		for _, o := range wp.neighbours[worker] { // those of the same memory node first
			var n, left uint32
			if r, n, left = wp.states[o].queue.takeShare(&state.queue, 2); r != nil {
				state.left = n - 1 + left
				break
			}
		}
	}
	if r == nil {
		return nil
	}
	wp.beginShare(worker)
	if (state.queue.nonEmpty.Load() || wp.inbox.nonEmpty.Load()) && wp.wakesForRest(state) {
		wp.workers.Wake(1)
	}
	return r
}

// unlock unlocks mu, and publishes the number of waiting tasks for readers without the lock.
func (hq *readyQueues) unlock() {
	hq.publishWaiting()
	hq.mu.Unlock()
}

// publishWaiting is the part of unlock that publishes. Requires: mu held.
func (hq *readyQueues) publishWaiting() {
	waiting := hq.handedOffLen + int32(hq.sched.Len())
	if hq.fastPath {
		waiting -= hq.lowItems
	}
	if hq.arrived.head != nil {
		waiting++
	}
	if waiting != hq.waiting.Load() {
		hq.waiting.Store(waiting)
	}
	if hq.fastPath && hq.lowItems != hq.waitingLow.Load() {
		hq.waitingLow.Store(hq.lowItems)
	}
}

// More reports whether what a worker leaves behind is worth a wake-up.
func (w cpu) More() bool {
	rt := w.rt
	return rt.ready.waiting.Load() > 0 || rt.ready.waitingLow.Load() > 0 || !rt.pool.stream.on.Load() && w.Ready()
}

// Ready reports whether there may be a task for a worker.
func (w cpu) Ready() bool {
	rt := w.rt
	if rt.ready.waiting.Load() > 0 || rt.ready.waitingLow.Load() > 0 || rt.pool.inbox.nonEmpty.Load() {
		return true
	}
	for i := range rt.pool.states {
		if rt.pool.states[i].queue.nonEmpty.Load() {
			return true
		}
	}
	return false
}

// markBusy and markIdle maintain the number of busy workers. The maximum counts only simple tasks:
// the scheduler counts those with tokens, and a worker that has finished one is still busy.
func (hq *readyQueues) markBusy(r *record) {
	n := hq.pool.busy.Add(1)
	if !hq.isSimple(r) {
		return
	}
	for most := hq.pool.mostBusy.Load(); n > most && !hq.pool.mostBusy.CompareAndSwap(most, n); most = hq.pool.mostBusy.Load() {
	}
}

func (wp *workerPool) markIdle() { wp.busy.Add(-1) }

// A readyQueues is what is ready and not simple: the scheduler, and what waits on the host for a
// worker. Its lock is never held together with submitting's work on the graph; it is innermost.
type readyQueues struct {
	topology *topology
	pool     *workerPool
	sched    *sched.Scheduler // of all places; guarded by mu
	fastPath bool             // plain tasks go past the scheduler
	counts   counts
	_        spin.Line

	mu           spin.Mutex
	handedOffLen int32
	handedOff    recordList // granted tasks that need a worker, and bodies that want theirs back
	concurrent   concurrentGroups
	arrived      recordList // data are available, ready to run
	fetching     int        // data are on their way
	lowItems     int32      // items in the scheduler with a priority below that of plain tasks
	_            spin.Line

	// waiting are those in handedOff, arrived and sched, but for those that come after plain tasks.
	waiting    atomic.Int32
	waitingLow atomic.Int32 // these
	_          spin.Line
}
