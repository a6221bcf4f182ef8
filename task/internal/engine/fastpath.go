package engine

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

// IsSimple reports whether r, whose options are known, is simple.
func (hq *readyQueues) IsSimple(r *Record) bool {
	return hq.FastPath && r.Item.Priority == 0 && len(r.Settings.Tokens) == 0
}

// SetFastPath finds out whether there can be simple tasks.
func (hq *readyQueues) SetFastPath(policy string) {
	hq.FastPath = !hq.Topology.Accelerators && hq.Topology.Host >= 0 && (policy == "" || policy == sched.DefaultPolicy)
}

// scheduleFast is schedule where there are simple tasks.
func (rt *Runtime) scheduleFast(done *Record, ready *RecordList, worker int) *Record {
	var next *Record
	var rest RecordList
	queued := uint32(0) // how many tasks are in the queue to which one was added
	program := false    // that one is of the program, and not of a body
	if ready != nil {
		for r := ready.pop(); r != nil; r = ready.pop() {
			switch {
			case !r.Traits.Is(life.Simple):
				rest.Push(r)
			case next == nil && worker != smp.None:
				next = r
			default:
				program = r.Scope.Program() // before the push: r may be finished after it
				queued = rt.Pool.Simple.Push(worker, r)
			}
		}
	}
	if done != nil && done.Traits.Is(life.Simple) {
		done = nil
	}
	chain := worker
	if next != nil || rest.head == nil || rest.head.Item.Priority < 0 {
		chain = smp.None // it looks for something to run below
	}
	var chained *Record
	if rest.head != nil || done != nil {
		chained = rt.scheduleAll(done, &rest, chain)
	}
	if chained != nil {
		next = chained
	} else if worker != smp.None {
		next = rt.nextSimple(worker, next)
	}
	if queued > 0 && rt.Pool.Simple.WakesForQueued(worker, queued, program) {
		rt.Pool.Workers.Wake(1)
	}
	return next
}

// nextSimple returns the task that a worker should run next. next is one that the worker has made
// ready, or nil.
func (rt *Runtime) nextSimple(worker int, next *Record) *Record {
	if rt.Ready.Waiting.Load() > 0 {
		if first := rt.takeScheduled(); first != nil {
			if next != nil {
				rt.Pool.Simple.Push(worker, next)
				rt.Pool.Workers.Wake(1)
			}
			return first
		}
	}
	if next == nil {
		next = rt.Pool.Simple.Take(worker)
	}
	if next == nil && rt.Ready.WaitingLow.Load() > 0 {
		return rt.takeScheduled()
	}
	if next != nil && rt.Observers.Watched() {
		rt.observeChoice(next)
	}
	return next
}

// takeScheduled returns a task of the scheduler for a worker.
func (rt *Runtime) takeScheduled() *Record {
	rt.Ready.Mu.Lock()
	r := rt.Ready.takeHost(nil)
	rt.Ready.Unlock()
	if r != nil && !r.Holds.Has(life.HeldData) && !r.Life.State().Wants() && rt.Observers.Watched() {
		rt.observeChoice(r)
	}
	return r
}

// Unlock unlocks mu, and publishes the number of waiting tasks for readers without the lock.
func (hq *readyQueues) Unlock() {
	hq.publishWaiting()
	hq.Mu.Unlock()
}

// publishWaiting is the part of unlock that publishes. Requires: mu held.
func (hq *readyQueues) publishWaiting() {
	waiting := hq.HandedOffLen + int32(hq.Sched.Len())
	if hq.FastPath {
		waiting -= hq.LowItems
	}
	if hq.arrived.head != nil {
		waiting++
	}
	if waiting != hq.Waiting.Load() {
		hq.Waiting.Store(waiting)
	}
	if hq.FastPath && hq.LowItems != hq.WaitingLow.Load() {
		hq.WaitingLow.Store(hq.LowItems)
	}
}

// More reports whether the tasks that a worker leaves are worth a wake-up.
func (w CPU) More() bool {
	rt := w.RT
	return rt.Ready.Waiting.Load() > 0 || rt.Ready.WaitingLow.Load() > 0 || !rt.Pool.Simple.Streaming() && w.Ready()
}

// Ready reports whether there may be a task for a worker.
func (w CPU) Ready() bool {
	rt := w.RT
	return rt.Ready.Waiting.Load() > 0 || rt.Ready.WaitingLow.Load() > 0 || rt.Pool.Simple.NonEmpty()
}

// markBusy and markIdle maintain the number of busy workers. The maximum counts only simple tasks:
// the scheduler counts those with tokens, and a worker that has finished one is still busy.
func (hq *readyQueues) markBusy(r *Record) {
	n := hq.Pool.Busy.Add(1)
	if !hq.IsSimple(r) {
		return
	}
	for most := hq.Pool.MostBusy.Load(); n > most && !hq.Pool.MostBusy.CompareAndSwap(most, n); most = hq.Pool.MostBusy.Load() {
	}
}

func (wp *workerPool) MarkIdle() { wp.Busy.Add(-1) }

// A readyQueues is what is ready and not simple: the scheduler, and what waits on the host for a
// worker. Its lock is never held together with submitting's work on the graph; it is innermost.
type readyQueues struct {
	Topology *Topology
	Pool     *workerPool
	Sched    *sched.Scheduler // of all places; guarded by mu
	Virtual  *virtual.Turns   // nil where no device has a virtual time
	FastPath bool             // plain tasks go past the scheduler
	Counts   Counts
	experience
	_ spin.Line

	Mu           spin.Mutex
	HandedOffLen int32
	HandedOff    RecordList // granted tasks that need a worker, and bodies that want theirs back
	Concurrent   concurrentGroups
	arrived      RecordList // data are available, ready to run
	fetching     int        // data are on their way
	LowItems     int32      // items in the scheduler with a priority below that of plain tasks
	_            spin.Line

	// waiting are those in handedOff, arrived and sched, but for those that come after plain tasks.
	Waiting    atomic.Int32
	WaitingLow atomic.Int32 // these
	_          spin.Line
}

// An experience holds the times that the policy has learned, and its answers.
type experience struct {
	Learned learn.Times
	_       spin.Line
	agreed  learn.AgreementTable // on launches before the predecessors finish
}
