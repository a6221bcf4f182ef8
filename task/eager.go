package task

import (
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/learn"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/state"
)

// This file launches a kernel task before its predecessors are finished: when all unfinished
// predecessors are launched on one accelerator, the task is enqueued behind them there, ordered by
// events, without a round trip to the host.
//
// Such an eager task is finished when its kernel and its predecessors are. If a predecessor failed,
// the task is skipped, whatever its kernel did. Eager tasks do not count against Properties.Depth:
// there may be maxEager of them, as long as they touch a small part of the memory of the
// accelerator. A task that exceeds this waits in the eager queue, and becomes ready in the ordinary
// way if its predecessors finish first. Eager tasks hold their tokens from their launch on, if no
// ready task waits for these.
//
// A task with retries is neither eager nor the predecessor of an eager task: the host keeps its
// inputs (keepInputs), which it cannot while other tasks of the device use them.
//
// A recorder sees an eager task as ready and chosen when its last predecessor finished on the
// accelerator, since the task waited for that kernel and not for the host. An observer of points
// sees the points of such a task when it is finished, with the times at which they happened or,
// where that is later, the end of its last predecessor: every task lies between its predecessors
// and its successors.

// Eager tasks are granted to their place, and finished there, under the lock of that place alone,
// so that several accelerators do not wait for each other. Tasks that hold tokens, or that the
// policy learns from, take the ordinary way.
//
// While the launch thread of an accelerator is awake, it starts the tasks of the eager queue. A
// submitting goroutine then only submits, and a completion only reports. No task depends on the
// thread: a queued task becomes ready in the ordinary way in any case.

// maxEager is the largest number of eager tasks at a place. More than Properties.Depth of them may
// touch at most 1/eagerMemoryPart of its memory, which stays allocated and may delay ready tasks.
const (
	maxEager        = 256
	eagerMemoryPart = 8
)

// maxStartBatch is the number of eager tasks that start between two looks for completions.
const maxStartBatch = machine.MaxBatch

// A deviceBacklog counts the eager tasks at a place whose predecessors are not finished.
type deviceBacklog struct {
	tasks    atomic.Int32
	bytes    atomic.Int64
	recheck  atomic.Bool       // a task of the queue may start
	launcher devices.Attentive // the launch thread; nil where there is none
	_        spin.Line
	mu       spin.Mutex    // guards what follows, and the eager queue of the place
	freeAt   time.Duration // end of the latest kernel on the host clock, where the policy learns
	endedAt  time.Duration // the same on the clock of the device
	// queued is the length of the eager queue, for readers without the lock.
	queued atomic.Int32
	_      spin.Line
}

// add counts r in; remove counts it out when its predecessors are finished.
func (b *deviceBacklog) add(r *record)    { b.tasks.Add(1); b.bytes.Add(int64(r.work)) }
func (b *deviceBacklog) remove(r *record) { b.tasks.Add(-1); b.bytes.Add(-int64(r.work)) }

// hasEagerCapacity reports whether one more task that touches work bytes may be eager at p. a is
// the answer of the policy, nil for none.
func (rt *Runtime) hasEagerCapacity(work deps.Bytes, p sched.PlaceID, a *learn.Agreement) bool {
	b := &rt.backlogs[p]
	n := int(b.tasks.Load())
	return n < rt.topology.depth[p] || n < maxEager && (a == nil || a.Known()) && deps.Bytes(b.bytes.Load())+work <= rt.topology.memory[p]/eagerMemoryPart
}

// inFlightNotEager is the number of tasks in flight at p that are not eager. Requires: mu held.
func (rt *Runtime) inFlightNotEager(p sched.PlaceID) int {
	n := rt.ready.sched.Load(p)
	if rt.eagerQueues != nil {
		n -= int(rt.backlogs[p].tasks.Load())
	}
	return n
}

// An eagerEntry is an entry of an eager queue. It is void when r is not task id in state Offered
// any more.
type eagerEntry struct {
	r         *record
	id        deps.TaskID
	work      deps.Bytes
	tokens    bool             // it needs some
	agreement *learn.Agreement // nil where the policy has nothing to say
}

// An eagerQueue holds the tasks that wait for eager launch at one place, in order.
type eagerQueue struct {
	list []eagerEntry
	head int
	_    spin.Line
}

func (l *eagerQueue) push(f eagerEntry) {
	if len(l.list) == cap(l.list) && 2*l.head >= len(l.list) && l.head > 0 { // it need not become empty for long
		n := copy(l.list, l.list[l.head:])
		clear(l.list[n:])
		l.list, l.head = l.list[:n], 0
	}
	l.list = append(l.list, f)
}

func (l *eagerQueue) empty() bool { return l.head == len(l.list) }

func (l *eagerQueue) pop() eagerEntry {
	f := l.list[l.head]
	l.list[l.head] = eagerEntry{}
	if l.head++; l.head == len(l.list) {
		l.list, l.head = l.list[:0], 0
	}
	return f
}

// enableEager makes the graphs report tasks that can be launched eagerly.
func (rt *Runtime) enableEager() {
	rt.backlogs = make([]deviceBacklog, len(rt.topology.places))
	if !rt.topology.accelerators {
		return
	}
	rt.eagerQueues = make([]eagerQueue, len(rt.topology.places))
	rt.onEagerCandidate = func(n *deps.Node, stream int) {
		if r := n.Owner.(*record); rt.claimEagerly(r, sched.PlaceID(stream-1)) {
			rt.startOn(r)
		}
	}
	rt.root.graph.domain = rt.getDomain(&rt.root) // several look at it from the first submission on
	for p, d := range rt.topology.machine.Devices() {
		if a := machine.Attentive(rt.topology.machine, d); a != nil {
			id := sched.PlaceID(p)
			rt.backlogs[p].launcher = a
			a.Attend(func() bool { return rt.launchQueued(id) }, rt.contention.Contended)
		}
	}
}

// kernelEnqueued is called by the machine when the kernel of a task has been enqueued.
func kernelEnqueued(ws *machine.WorkingSet) {
	r := ws.Owner.(*record)
	r.scope.graph.domain.Launch(&r.node, int(r.item.Place())+1)
}

// claimEagerly grants r to p, where its predecessors run, or puts it into the eager queue of p, or
// does nothing. It reports whether the caller has to start r. r cannot be ready before it returns.
func (rt *Runtime) claimEagerly(r *record, p sched.PlaceID) (start bool) {
	if r.kind != kernelBody || r.traits.Is(life.Relaxed) || r.retries > 0 || !r.item.Allowed.Has(p) || r.poison.Load() != nil || r.Context().Err() != nil {
		return false
	}
	var here deps.Bytes
	if rt.topology.accelerated > 1 {
		here = rt.topology.estimateTransfers(r, p)
	}
	agreed := rt.ready.agreementOf(r, p)
	if agreed != nil && agreed.Disagrees() {
		return false
	}
	r.eagerPlace = p
	b := &rt.backlogs[p]
	if rt.topology.accelerated > 1 && (here > 0 || rt.ready.idleAccelerators() != 0) && !rt.shouldStayAt(r, p, here) { // else no other place has more data, or is idle
		return false
	}
	switch {
	case rt.ready.sched.Retired(p):
		return false
	case b.launchThreadAwake() || !rt.tryGrantEager(r, p, agreed):
		rt.enqueueEager(r, p, agreed)
		return false
	}
	return true
}

// tryGrantEager grants r to p and reports true, unless the eager queue is not empty, there is no
// capacity, or tokens are lacking.
func (rt *Runtime) tryGrantEager(r *record, p sched.PlaceID, a *learn.Agreement) bool {
	if len(r.settings.tokens) == 0 {
		if !rt.reserveEager(r, p, a) {
			return false
		}
		rt.ready.grantEager(r, p)
		return true
	}
	spin.LockLong(&rt.ready.mu)
	defer rt.ready.unlock()
	if !rt.ready.sched.Follows(&r.item, p) || !rt.reserveEager(r, p, a) {
		return false
	}
	rt.ready.sched.Grant(&r.item, p)
	rt.ready.granted(&r.item)
	return true
}

// reserveEager counts r as eager at p, unless the eager queue is not empty or there is no capacity.
func (rt *Runtime) reserveEager(r *record, p sched.PlaceID, a *learn.Agreement) bool {
	b := &rt.backlogs[p]
	spin.LockLong(&b.mu)
	defer b.mu.Unlock()
	if !rt.eagerQueues[p].empty() || !rt.hasEagerCapacity(r.work, p, a) {
		return false
	}
	r.life.Enter(state.Launch)
	b.add(r)
	return true
}

// grantEager grants r, which is eager at p and needs no tokens, to p.
func (hq *readyQueues) grantEager(r *record, p sched.PlaceID) {
	if hq.sched.GrantUnlocked(&r.item, p) {
		hq.counts.grantUncounted(p)
		return
	}
	spin.LockLong(&hq.mu)
	hq.sched.Grant(&r.item, p)
	hq.granted(&r.item)
	hq.unlock()
}

// shouldStayAt reports whether no other accelerator holds more of the inputs of r than p, and no
// idle one should steal it.
func (rt *Runtime) shouldStayAt(r *record, p sched.PlaceID, here deps.Bytes) bool {
	others := r.item.Allowed.Without(p)
	if rt.topology.host >= 0 {
		others = others.Without(rt.topology.host)
	}
	if here == 0 { // no place has more
		others &= rt.ready.idleAccelerators()
	}
	for ; others != 0; others = others.Without(others.First()) {
		id := others.First()
		extra := rt.topology.estimateTransfers(r, id) - here
		if extra < 0 || rt.shouldSteal(r, p, id, extra) {
			return false
		}
	}
	return true
}

// idleAccelerators returns the accelerators without tasks.
func (hq *readyQueues) idleAccelerators() sched.PlaceSet {
	set := hq.sched.Idle()
	if hq.topology.host >= 0 {
		set = set.Without(hq.topology.host)
	}
	return set
}

// shouldSteal reports whether q, if it is idle, should take r from p, which holds extra more bytes
// of its inputs.
func (rt *Runtime) shouldSteal(r *record, p, q sched.PlaceID, extra deps.Bytes) bool {
	spin.LockLong(&rt.ready.mu)
	defer rt.ready.mu.Unlock()
	r.item.Work = r.work
	return rt.ready.sched.Load(q) == 0 && rt.ready.sched.WorthMoving(&r.item, p, q, rt.inFlightNotEager(p), extra)
}

// enqueueEager puts r into the eager queue of p.
func (e *eagerLaunch) enqueueEager(r *record, p sched.PlaceID, a *learn.Agreement) {
	b := &e.backlogs[p]
	spin.LockLong(&b.mu)
	r.life.Enter(state.Offer)
	e.eagerQueues[p].push(eagerEntry{r, r.taskID(), r.work, len(r.settings.tokens) > 0, a})
	b.queued.Add(1)
	if !b.recheck.Load() {
		b.recheck.Store(true)
	}
	b.mu.Unlock()
}

// takeEager is nextEager for tasks with tokens, too. The task is counted, and not granted yet.
// Requires: mu held.
func (rt *Runtime) takeEager(p sched.PlaceID) *record {
	if rt.eagerQueues == nil {
		return nil
	}
	b := &rt.backlogs[p]
	spin.LockLong(&b.mu)
	defer b.mu.Unlock()
	r, _ := rt.nextEager(p, true)
	return r
}

// nextEager takes the first task that may start from the eager queue of p, nil for none. tokens
// reports that the first task needs tokens, for which mu must be held. Requires: deviceBacklog.mu
// of p held.
func (rt *Runtime) nextEager(p sched.PlaceID, held bool) (r *record, tokens bool) {
	b := &rt.backlogs[p]
	for l := &rt.eagerQueues[p]; !l.empty(); {
		f := l.list[l.head]
		if f.r.life.Word.Load() == life.LifeOf(f.id, state.Offered) {
			switch { // or, if it becomes ready meanwhile, next time
			case f.agreement != nil && f.agreement.Disagrees(): // it becomes ready in the ordinary way
				l.pop()
				b.queued.Add(-1)
				f.r.life.Move(f.id, state.Offered, state.Withdraw)
				continue
			case !rt.hasEagerCapacity(f.work, p, f.agreement):
				return nil, false
			case f.tokens && !held:
				return nil, true
			case f.tokens && !rt.ready.sched.Retired(p) && !rt.ready.sched.Follows(&f.r.item, p):
				return nil, false // it lacks them
			}
		}
		l.pop()
		b.queued.Add(-1)
		if !rt.ready.sched.Retired(p) && f.r.life.Move(f.id, state.Offered, state.Launch) {
			b.add(f.r)
			return f.r, false
		}
	}
	return nil, false
}

// predecessorsDone records that all predecessors of r, which was launched behind them, have
// finished. by is the last
// one, nil where r was submitted too late to know.
func (rt *Runtime) predecessorsDone(r, by *record) {
	if rt.observers.hasObserver {
		r.lastPredecessor = lastPredecessor{}
		if by != nil && by.trace.End > 0 {
			r.lastPredecessor = lastPredecessor{by.taskID(), by.trace.End}
		}
	}
	rt.backlogs[r.eagerPlace].remove(r)
	if r.life.Race(state.Release) == state.End {
		rt.finishTask(r)
	}
}

// A lastPredecessor is the predecessor of an eager task that finished last, and when.
type lastPredecessor struct {
	by deps.TaskID
	at time.Duration
}

// finishTask ends r: its kernel is finished, or did not run, and its predecessors are finished.
func (rt *Runtime) finishTask(r *record) {
	p, err := r.item.Place(), r.outcome
	via := r.poison.Load()
	if rt.observers.hasObserver && r.life.State().Early() {
		rt.observers.observeEagerStart(r, via == nil)
	}
	if via == nil && err == nil {
		rt.ready.reconsider(r, p)
	}
	switch {
	case via != nil:
		r.skip(via)
	case err != nil && (rt.retryElsewhere(r, p, err) || rt.retryOnAccelerator(r, p, err)):
		return
	case err != nil:
		r.fail(rt.topology.places[p].Name, r.retried(r.outcome))
	}
	rt.retire(r, smp.None)
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
	if rt.ready.learned.On {
		r.item.Took = rt.backlogs[p].timeOf(r, &rt.observers)
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

// timeOf returns how long the kernel of r ran on its accelerator, which it shared with those
// launched before.
func (b *deviceBacklog) timeOf(r *record, ob *observers) time.Duration {
	spin.LockLong(&b.mu)
	defer b.mu.Unlock()
	now := ob.now()
	began := max(r.began, b.freeAt)
	r.item.Beside = r.began < b.freeAt
	b.freeAt = max(now, b.freeAt)
	switch {
	case r.err != nil || r.kind != kernelBody:
		return 0
	case r.set.Space != devices.Host && r.set.Lasted > 0:
		r.item.Beside = false
		return r.set.Lasted
	case r.set.Space != devices.Host && r.set.Ended > r.set.Began:
		began, now = r.set.Began, r.set.Ended
		if before := b.endedAt; before < now {
			r.item.Beside = began < before
			began, b.endedAt = max(began, before), now
		}
	}
	return max(1, now-began)
}

// What follows is how a launch before the predecessors are finished stays a decision of the policy:
// such a launch passes over the queues of the policy, and a chain of tasks would otherwise stay for
// ever where its first task went.
//
// The policy is asked when tasks of a kernel and size class have finished: at each until it knows
// how long they run, and then at every agreeInterval-th, since a question takes the lock of the
// scheduler. Once the policy disagrees, tasks of that kernel and size go through its queues, until
// it gives one of them to an accelerator. Until it knows how long they run where they are, no more
// of them are launched early than the device keeps in flight anyway. Kernels that have one kind of
// device are not concerned.

// agreementOf returns the entry of the kernel of r and the size of what r touches; nil where r may
// run on the kind of p alone, or the policy learns nothing.
func (hq *readyQueues) agreementOf(r *record, p sched.PlaceID) *learn.Agreement {
	if !hq.learned.On || r.kernel == nil || r.item.Allowed&^hq.topology.alike[p] == 0 {
		return nil
	}
	return hq.agreed.Of(r.kernel.Hash, r.work)
}

// reconsider asks the policy again whether tasks like r, which has finished at p, are to be
// launched there early.
func (hq *readyQueues) reconsider(r *record, p sched.PlaceID) {
	a := hq.agreementOf(r, p)
	if a == nil {
		return
	}
	if !a.Due() {
		return
	}
	hq.topology.estimate(r)
	spin.LockLong(&hq.mu)
	agrees, known := hq.sched.Agrees(&r.item, p)
	hq.mu.Unlock()
	a.Set(agrees, known)
}

// placedOn asks the policy again after a disagreement, where it gives r to accelerator p
// nevertheless: a trial is no change of mind. Requires: mu held.
func (hq *readyQueues) placedOn(r *record, p sched.PlaceID) {
	if a := hq.agreementOf(r, p); a != nil && a.Disagrees() {
		agrees, known := hq.sched.Agrees(&r.item, p)
		a.Set(agrees, known)
	}
}
