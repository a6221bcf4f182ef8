package task

import (
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
)

// This file is the quick way of plain tasks. A task is plain when any worker may run it as soon as it is ready and nothing is
// there to decide: it holds no tokens, its priority is 0, the machine has no accelerator, and the policy is the default one,
// under which equals are stolen. Plain tasks go past the scheduler: the worker that makes one ready runs it next, more of them
// go into the worker's queue, those that were ready at once into the inbox. Who has nothing takes some of the inbox, or half
// of another's queue.
//
// Tasks that are not plain come first, but for those with a priority below 0, which come last.

// A simpleQueuee is plain tasks that are ready, first in, first out.
//
// It is a ring of pointers and not a list through the records, whose lines may be with another processor. some, at which those look
// who have nothing to do, has a line to itself and changes only when the queue becomes empty or is so no more: who looks does not
// disturb who pushes.
type simpleQueue struct {
	nonEmpty atomic.Bool
	_        line128
	mu       spin.Mutex
	first    uint32
	count    uint32
	ring     []*record // a power of 2
	_        line128
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

func (q *simpleQueue) push(r *record) {
	spin.Lock(&q.mu)
	q.add(r)
	q.mu.Unlock()
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

// takeShare takes a part of the queue for one of n who take: it returns the first task and puts the others into own. taken counts all.
func (q *simpleQueue) takeShare(own *simpleQueue, n uint32) (first *record, taken int) {
	if !q.nonEmpty.Load() {
		return nil, 0
	}
	var room [maxShare]*record
	spin.Lock(&q.mu)
	take := min(maxShare, max(min(q.count, smallShare), (q.count+n-1)/n))
	list := room[:take]
	for i := range list {
		list[i] = q.next()
	}
	q.mu.Unlock()
	if take == 0 {
		return nil, 0
	}
	for _, r := range list {
		r.link = nil // fetches the line from who made it ready, all of them at once
	}
	if take > 1 {
		spin.Lock(&own.mu)
		for _, r := range list[1:] {
			own.add(r)
		}
		own.mu.Unlock()
	}
	return list[0], len(list)
}

// maxShare bounds what is taken at once: the tasks may be long. What is no more than smallShare is not divided: who comes next finds it
// with who has taken it.
const (
	maxShare   = 32
	smallShare = 16
)

// A share of less than maxShare says that the worker is quicker than who makes tasks ready. It then lets inboxPause go by before the
// next one: the lines of the inbox, and of the tasks that those who submit look at as predecessors, are to go from one processor to
// the other for several tasks at once. A task that comes alone does not wait for that, nor does who has run what takes longer.
const inboxPause = 4 * time.Microsecond

// takeInbox is takeSimple from the inbox.
func (rt *Runtime) takeInbox(state *workerState) *record {
	if !rt.inbox.nonEmpty.Load() {
		return nil
	}
	for state.underfilled && time.Since(state.lastShare) < inboxPause {
	}
	r, n := rt.inbox.takeShare(&state.queue, uint32(len(rt.workerStates)))
	if state.underfilled = n < maxShare; state.underfilled {
		state.lastShare = time.Now()
	}
	return r
}

// fairness is how often a worker looks into the inbox before its own queue, so that tasks there do not wait for ever.
const fairness = 61

// isSimple reports whether r, whose options are known, is plain.
func (rt *Runtime) isSimple(r *record) bool {
	return rt.fastPath && r.item.Priority == 0 && len(r.settings.tokens) == 0
}

// setFastPath finds out whether there can be plain tasks.
func (rt *Runtime) setFastPath(policy string) {
	rt.fastPath = !rt.accelerators && rt.host >= 0 && (policy == "" || policy == sched.DefaultPolicy)
}

// scheduleFast is schedule where there are plain tasks.
func (rt *Runtime) scheduleFast(done *record, ready *recordList, worker int) *record {
	var next *record
	var rest recordList
	queued := false
	if ready != nil {
		for r := ready.pop(); r != nil; r = ready.pop() {
			switch {
			case !r.simple:
				rest.push(r)
			case next == nil && worker != smp.None:
				next = r
			default:
				rt.queueOf(worker).push(r)
				queued = true
			}
		}
	}
	if done != nil && done.simple {
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
	if queued {
		rt.workers.Wake(1)
	}
	return next
}

func (rt *Runtime) queueOf(worker int) *simpleQueue {
	if worker == smp.None {
		return &rt.inbox
	}
	return &rt.workerStates[worker].queue
}

// nextSimple returns what a worker should run that has made next ready, if it has.
func (rt *Runtime) nextSimple(worker int, next *record) *record {
	if rt.waiting.Load() > 0 {
		if first := rt.takeScheduled(); first != nil {
			if next != nil {
				rt.workerStates[worker].queue.push(next)
				rt.workers.Wake(1)
			}
			return first
		}
	}
	if next == nil {
		next = rt.takeSimple(worker)
	}
	if next == nil && rt.waitingLow.Load() > 0 {
		return rt.takeScheduled()
	}
	if next != nil && rt.watched() {
		rt.observeChoice(next)
	}
	return next
}

// takeScheduled returns what the scheduler has for a worker.
func (rt *Runtime) takeScheduled() *record {
	rt.mu.Lock()
	r := rt.takeHost(nil)
	rt.unlock()
	if r != nil && !r.held && !r.parked && rt.watched() {
		rt.observeChoice(r)
	}
	return r
}

// takeSimple returns a plain task from the queues, and sees that somebody comes for the others.
func (rt *Runtime) takeSimple(worker int) *record {
	state := &rt.workerStates[worker]
	var r *record
	if state.tick++; state.tick%fairness != 0 {
		r = state.queue.pop()
	}
	if r == nil {
		r = rt.takeInbox(state)
	}
	if r == nil {
		r = state.queue.pop()
	}
	if r == nil {
		for _, o := range rt.neighbours[worker] { // those of the same memory node first
			if r, _ = rt.workerStates[o].queue.takeShare(&state.queue, 2); r != nil {
				break
			}
		}
	}
	if r != nil && (state.queue.nonEmpty.Load() || rt.inbox.nonEmpty.Load()) {
		rt.workers.Wake(1)
	}
	return r
}

// unlock unlocks mu, and tells those who look without it what there is for workers.
func (rt *Runtime) unlock() {
	rt.publishWaiting()
	rt.mu.Unlock()
}

// publishWaiting is what unlock tells. Requires: mu held.
func (rt *Runtime) publishWaiting() {
	waiting := rt.handedOffLen + int32(rt.sched.Len())
	if rt.fastPath {
		waiting -= rt.lowItems
	}
	if rt.arrived.head != nil {
		waiting++
	}
	if waiting != rt.waiting.Load() {
		rt.waiting.Store(waiting)
	}
	if rt.fastPath && rt.lowItems != rt.waitingLow.Load() {
		rt.waitingLow.Store(rt.lowItems)
	}
}

// Ready reports whether there may be something for a worker.
func (w cpu) Ready() bool {
	rt := w.rt
	if rt.waiting.Load() > 0 || rt.waitingLow.Load() > 0 || rt.inbox.nonEmpty.Load() {
		return true
	}
	for i := range rt.workerStates {
		if rt.workerStates[i].queue.nonEmpty.Load() {
			return true
		}
	}
	return false
}

// markBusy and rest count the workers that have a task. The most at once is for plain tasks, which go past the scheduler: it counts
// those with tokens, and a worker that is done with one is still busy.
func (rt *Runtime) markBusy(r *record) {
	n := rt.busy.Add(1)
	if !rt.isSimple(r) {
		return
	}
	for most := rt.mostBusy.Load(); n > most && !rt.mostBusy.CompareAndSwap(most, n); most = rt.mostBusy.Load() {
	}
}

func (rt *Runtime) markIdle() { rt.busy.Add(-1) }
