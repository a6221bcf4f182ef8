package task

import (
	"sync/atomic"

	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/learn"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/virtual"
)

// This file is the fast path of simple tasks. A task is simple when any worker may run it as soon
// as it is ready and there is nothing to decide: it holds no tokens, its priority is 0, the machine
// has no accelerator, and the policy is the default one, which steals tasks of equal priority.
// Simple tasks bypass the scheduler. A worker runs next the first task that it makes ready, and
// puts further ones into its queue; tasks that are ready at submission go into the inbox. An idle
// worker takes a share of the inbox, or half of the queue of another worker.
//
// Other tasks come first, but for those with a priority below 0, which come last.

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
				queued = rt.pool.simple.Push(worker, r)
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
	if queued > 0 && rt.pool.simple.WakesForQueued(worker, queued, program) {
		rt.pool.workers.Wake(1)
	}
	return next
}

// nextSimple returns the task that a worker should run next. next is one that the worker has made
// ready, or nil.
func (rt *Runtime) nextSimple(worker int, next *record) *record {
	if rt.ready.waiting.Load() > 0 {
		if first := rt.takeScheduled(); first != nil {
			if next != nil {
				rt.pool.simple.Push(worker, next)
				rt.pool.workers.Wake(1)
			}
			return first
		}
	}
	if next == nil {
		next = rt.pool.simple.Take(worker)
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
	r := rt.ready.takeHost(nil)
	rt.ready.unlock()
	if r != nil && !r.holds.Has(life.HeldData) && !r.life.State().Wants() && rt.observers.watched() {
		rt.observeChoice(r)
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
	return rt.ready.waiting.Load() > 0 || rt.ready.waitingLow.Load() > 0 || !rt.pool.simple.Streaming() && w.Ready()
}

// Ready reports whether there may be a task for a worker.
func (w cpu) Ready() bool {
	rt := w.rt
	return rt.ready.waiting.Load() > 0 || rt.ready.waitingLow.Load() > 0 || rt.pool.simple.NonEmpty()
}

// fetchRecords writes to the records of list, so that their cache lines come from the processor
// that made them ready, all at once.
func fetchRecords(list []*record) {
	for _, r := range list {
		r.link = nil
	}
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
	virtual  *virtual.Turns   // nil where no device has a virtual time
	fastPath bool             // plain tasks go past the scheduler
	counts   counts
	experience
	_ spin.Line

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

// An experience holds the times that the policy has learned, and its answers.
type experience struct {
	learned learn.Times
	_       spin.Line
	agreed  learn.AgreementTable // on launches before the predecessors finish
}
