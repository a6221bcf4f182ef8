package task

import (
	"sync/atomic"

	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
)

// This file is what goes past Runtime.mu and the scheduler. Followers are granted to their place, and taken out of flight, with nothing but
// what is kept for that place, so that several accelerators do not wait for each other; what has tokens, or is to be learned from, goes
// the way of all others.
//
// While the attendant of an accelerator is awake it is left to that to start what stands in line: who submits then only submits, and who
// hears of what is over only tells. Nothing waits for ever because of that: what stands in line becomes ready in the ordinary way in any
// case.

// A contention says whether several goroutines submit kernel tasks, in turns. The threads of accelerators look at that all the time, so it is
// written only where it changes.
type contention struct {
	on atomic.Bool
	_  line128
}

func (c *contention) contended() bool { return c.on.Load() }

// submitters is what a crowd is known by.
type submitters struct {
	latest    uintptr // who has submitted the latest
	remaining int     // submissions of one goroutine alone until it counts as such
}

// contentionLasts is for how many submissions of one goroutine alone it is taken for a crowd: more than there is room for when half of a window
// is free, and the first of those who have waited for that submits while the others are still being woken.
const contentionLasts = 2 * DefaultWindow

// observe notes a submission for c. Who submits all that comes after what another has submitted is no crowd: who takes turns comes back.
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

// launchThreadAwake reports whether the attendant is awake.
func (b *deviceBacklog) launchThreadAwake() bool { return b.launcher != nil && b.launcher.Attends() }

// launchQueued starts what stands in the line of p and has room, and reports whether there was something.
func (rt *Runtime) launchQueued(p sched.PlaceID) bool {
	b := &rt.backlogs[p]
	if !b.recheck.Load() || int(b.tasks.Load()) >= maxEager {
		return false
	}
	b.recheck.Store(false) // who finds no room will be found when somebody leaves
	return rt.startEager(p)
}

// startEager starts some of those who stand in the line of p, as far as there is room, and reports whether there were some.
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

// startEagerBatch grants followers that need no tokens to p and starts them, maxStartBatch at most. None waits for another: who stands in
// a line does so since all that it follows has been launched.
func (rt *Runtime) startEagerBatch(list *recordList, p sched.PlaceID) {
	var starts [maxStartBatch]machine.BatchItem
	n := 0
	for r := list.pop(); r != nil; r = list.pop() {
		rt.grantEager(r, p)
		if rt.beginStart(r) {
			rt.describeLaunch(r)
			starts[n] = machine.BatchItem{Set: &r.set, Launch: &r.launch}
			n++
		}
	}
	if n > 0 {
		rt.machine.StartBatch(starts[:n])
	}
}

// startEagerWithTokens starts the first of those who stand in the line of p, if there is room and it can have its tokens.
func (rt *Runtime) startEagerWithTokens(p sched.PlaceID) bool {
	spin.LockLong(&rt.mu)
	r := rt.takeEager(p)
	if r != nil {
		rt.sched.Grant(&r.item, p)
		rt.granted(&r.item)
	}
	rt.unlock()
	if r == nil {
		return false
	}
	rt.backlogs[p].recheck.Store(true)
	rt.startOn(r)
	return true
}

// finishOutsideScheduler takes r out of flight, which is over on an accelerator and has made nobody ready, past the scheduler, and reports whether that
// could be done: where r has no tokens that others may want, and the policy learns nothing from it.
func (rt *Runtime) finishOutsideScheduler(r *record) bool {
	p := r.item.Place()
	if r.kind != kernelBody || p == rt.host || r.err != nil || len(r.settings.tokens) > 0 {
		return false
	}
	if rt.learned.on {
		r.item.Took = rt.timeOf(r, p)
	}
	if !rt.sched.DoneUnlocked(&r.item) {
		return false
	}
	rt.counts.end(p)
	rt.counts.ran[p].n.Add(1)
	if rt.waiting.Load() > 0 { // r may have been what they wait for
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
