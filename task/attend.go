package task

import (
	"sync/atomic"

	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/sched"
)

// This file is what is left to the attendant of an accelerator while that is awake: to start what stands in line, and to take out of
// flight what is over. Who submits then only submits, who hears of what is over only looks for who may start by that, and Runtime.mu is
// taken once for all that has gathered.
//
// Nothing waits for ever because of that: who leaves something to the attendant looks afterwards whether it is awake still, and else
// does it. What stands in line becomes ready in the ordinary way in any case.

// A crowd says whether several goroutines submit kernel tasks, by what the latest of them saw.
type crowd struct {
	n    atomic.Int32 // who are at it
	left atomic.Int32 // submissions until it is believed that there is one alone
}

// crowdLasts is for how many submissions of one goroutine alone it is taken for a crowd: two do not meet each time.
const crowdLasts = 256

func (c *crowd) enter() {
	if c.n.Add(1) > 1 {
		if c.left.Load() < crowdLasts/2 {
			c.left.Store(crowdLasts)
		}
	} else if left := c.left.Load(); left > 0 {
		c.left.CompareAndSwap(left, left-1)
	}
}

func (c *crowd) leave() { c.n.Add(-1) }

func (c *crowd) is() bool { return c.left.Load() > 0 }

// attended reports whether the attendant is awake.
func (b *behind) attended() bool { return b.beside != nil && b.beside.Attends() }

// attend does what has gathered for p, and reports whether there was something.
func (rt *Runtime) attend(p sched.PlaceID) bool {
	b := &rt.behind[p]
	looks := b.waiting.Load() && int(b.tasks.Load()) < farBehind
	if b.gone.Load() == 0 && !looks {
		return false
	}
	lock(&b.mu)
	left := b.left
	b.left = recordList{}
	b.gone.Store(0)
	b.waiting.Store(false) // who finds no room will be found when somebody leaves
	b.mu.Unlock()
	some := left.head != nil
	var starts recordList
	lock(&rt.mu)
	for r := left.head; r != nil; r = r.link {
		rt.leave(r) // it has no tokens
	}
	if some && rt.sched.Len() > 0 {
		rt.takeAccelerators(&starts)
	}
	for range startsAtOnce {
		r := rt.takeFollower(p)
		if r == nil {
			break
		}
		starts.push(r)
		b.waiting.Store(true) // there may be more
	}
	rt.unlock()
	some = some || starts.head != nil
	for r := starts.pop(); r != nil; r = starts.pop() {
		rt.startOn(r)
	}
	for r := left.pop(); r != nil; r = left.pop() {
		rt.complete(rt.conclude(r, smp.None))
	}
	return some
}

// leavesLater leaves it to the attendant to take r out of flight, which is over and has made nobody ready, and reports whether that is
// done. What failed, holds tokens or has a parent goes at once, and all where somebody waits for a place.
func (rt *Runtime) leavesLater(r *record) bool {
	if rt.lines == nil || !rt.crowd.is() || r.kind != kernelBody || r.err != nil || len(r.settings.tokens) > 0 || !r.home.program() || rt.waiting.Load() > 0 {
		return false
	}
	p := r.item.Place()
	b := &rt.behind[p]
	if !b.attended() {
		return false
	}
	if rt.learned.on {
		r.ended = rt.now()
	}
	lock(&b.mu)
	b.left.push(r)
	b.gone.Add(1)
	b.mu.Unlock()
	if !b.attended() {
		rt.attend(p)
	}
	return true
}
