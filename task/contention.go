package task

import (
	"sync/atomic"

	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
)

// This file is the part of scheduling that takes neither readyQueues.mu nor the lock of the
// scheduler.
// Eager tasks are granted to their place, and finished there, under the lock of that place alone,
// so that several accelerators do not wait for each other. Tasks that hold tokens, or that the
// policy learns from, take the ordinary way.
//
// While the launch thread of an accelerator is awake, it starts the tasks of the eager queue. A
// submitting goroutine then only submits, and a completion only reports. No task depends on the
// thread: a queued task becomes ready in the ordinary way in any case.

// A contention says whether several goroutines submit kernel tasks in alternation. The threads of
// accelerators poll it, so it is written only when it changes.
type contention struct {
	on atomic.Bool
	_  spin.Line
}

func (c *contention) contended() bool { return c.on.Load() }

// submitters is the state from which contention is found.
type submitters struct {
	latest    uintptr // the goroutine of the latest submission
	remaining int     // submissions by one goroutine until contention ends
}

// contentionLasts is the number of consecutive submissions by one goroutine that end contention. It
// is larger than half a window, so that a goroutine that is woken first when the window empties
// does not end it while the others are being woken.
const contentionLasts = 2 * DefaultWindow

// observe records the submitting goroutine. Submissions count as contended only while at least two
// goroutines alternate.
func (t *submitters) observe(by uintptr, c *contention) {
	switch {
	case by != t.latest:
		if t.remaining > 0 && !c.contended() {
			c.on.Store(true)
		}
		if t.latest != 0 {
			t.remaining = contentionLasts
		}
		t.latest = by
	case t.remaining > 0:
		if t.remaining--; t.remaining == 0 && c.contended() {
			c.on.Store(false)
		}
	}
}

// launchThreadAwake reports whether the launch thread is awake.
func (b *deviceBacklog) launchThreadAwake() bool { return b.launcher != nil && b.launcher.Attends() }

// launchQueued starts tasks of the eager queue of p while there is capacity, and reports whether it
// started one.
func (rt *Runtime) launchQueued(p sched.PlaceID) bool {
	b := &rt.backlogs[p]
	if !b.recheck.Load() || int(b.tasks.Load()) >= maxEager {
		return false
	}
	b.recheck.Store(false) // a task that finishes sets it again
	return rt.startEager(p)
}

// startEager starts up to maxStartBatch tasks of the eager queue of p while there is capacity, and
// reports whether it started one.
func (rt *Runtime) startEager(p sched.PlaceID) bool {
	b := &rt.backlogs[p]
	var starts recordList
	n := 0
	spin.LockLong(&b.mu)
	r, tokens := rt.nextEager(p, false)
	for r != nil {
		starts.push(r)
		if n++; n == maxStartBatch {
			break
		}
		r, tokens = rt.nextEager(p, false)
	}
	b.mu.Unlock()
	if (n == maxStartBatch || n > 0 && tokens) && !b.recheck.Load() {
		b.recheck.Store(true) // there may be more
	}
	rt.startEagerBatch(&starts, p)
	return n > 0 || tokens && rt.startEagerWithTokens(p)
}

// startEagerBatch grants eager tasks that need no tokens to p and starts them, maxStartBatch at
// most. None of them waits for another: the predecessors of a queued task have all been launched.
func (rt *Runtime) startEagerBatch(list *recordList, p sched.PlaceID) {
	var starts [maxStartBatch]machine.BatchItem
	n := 0
	for r := list.pop(); r != nil; r = list.pop() {
		rt.ready.grantEager(r, p)
		if rt.beginStart(r) {
			rt.describeLaunch(r)
			starts[n] = machine.BatchItem{Set: &r.set, Launch: &r.launch}
			n++
		}
	}
	if n > 0 {
		rt.topology.machine.StartBatch(starts[:n])
	}
}

// startEagerWithTokens starts the first task of the eager queue of p, if there is capacity and its
// tokens are free.
func (rt *Runtime) startEagerWithTokens(p sched.PlaceID) bool {
	spin.LockLong(&rt.ready.mu)
	r := rt.takeEager(p)
	if r != nil {
		rt.ready.sched.Grant(&r.item, p)
		rt.ready.granted(&r.item)
	}
	rt.ready.unlock()
	if r == nil {
		return false
	}
	rt.backlogs[p].recheck.Store(true)
	rt.startOn(r)
	return true
}

// finishOutsideScheduler takes r, which has finished on an accelerator and made no task ready, out
// of flight without the lock of the scheduler. It reports false where r holds tokens or the policy
// learns from it.
func (rt *Runtime) finishOutsideScheduler(r *record) bool {
	p := r.item.Place()
	if r.kind != kernelBody || p == rt.topology.host || r.err != nil || len(r.settings.tokens) > 0 {
		return false
	}
	if rt.learned.on {
		r.item.Took = rt.timeOf(r, p)
	}
	if !rt.ready.sched.DoneUnlocked(&r.item) {
		return false
	}
	rt.ready.counts.end(p)
	rt.ready.counts.ran[p].n.Add(1)
	if rt.ready.waiting.Load() > 0 { // the ready tasks may have waited for r
		rt.schedule(nil, nil, smp.None)
		return true
	}
	b := &rt.backlogs[p]
	if b.queued.Load() == 0 {
		return true
	}
	if b.recheck.Store(true); !b.launchThreadAwake() {
		rt.startEager(p)
	}
	return true
}
