package engine

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

// MaxEager is the largest number of eager tasks at a place. More than Properties.Depth of them may
// touch at most 1/eagerMemoryPart of its memory, which stays allocated and may delay ready tasks.
const (
	MaxEager        = 256
	eagerMemoryPart = 8
)

// maxStartBatch is the number of eager tasks that start between two looks for completions.
const maxStartBatch = machine.MaxBatch

// A DeviceBacklog counts the eager tasks at a place whose predecessors are not finished.
type DeviceBacklog struct {
	Tasks    atomic.Int32
	bytes    atomic.Int64
	Recheck  atomic.Bool          // a task of the queue may start
	Launcher devices.LaunchHelper // nil if the device has none
	_        spin.Line
	mu       spin.Mutex    // guards the fields below, and the eager queue of the place
	freeAt   time.Duration // end of the latest kernel on the host clock, where the policy learns
	endedAt  time.Duration // the same on the clock of the device
	// queued is the length of the eager queue, for readers without the lock.
	queued atomic.Int32
	_      spin.Line
}

// add counts r in; remove counts it out when its predecessors are finished.
func (b *DeviceBacklog) add(r *Record) { b.Tasks.Add(1); b.bytes.Add(int64(r.Work)) }

func (b *DeviceBacklog) remove(r *Record) { b.Tasks.Add(-1); b.bytes.Add(-int64(r.Work)) }

// hasEagerCapacity reports whether one more task that touches work bytes may be eager at p. a is
// the answer of the policy, nil for none.
func (e *eagerLaunch) hasEagerCapacity(work deps.Bytes, p sched.PlaceID, a *learn.Agreement) bool {
	b := &e.Backlogs[p]
	n := int(b.Tasks.Load())
	return n < e.rt.Topology.depth[p] || n < MaxEager && (a == nil || a.Known()) && deps.Bytes(b.bytes.Load())+work <= e.rt.Topology.Memory[p]/eagerMemoryPart
}

// inFlightNotEager is the number of tasks in flight at p that are not eager. Requires: mu held.
func (e *eagerLaunch) inFlightNotEager(p sched.PlaceID) int {
	n := e.rt.Ready.Sched.Load(p)
	if e.EagerQueues != nil {
		n -= int(e.Backlogs[p].Tasks.Load())
	}
	return n
}

// An eagerEntry is an entry of an eager queue. It is void when r is not task id in state Offered
// any more.
type eagerEntry struct {
	r         *Record
	id        deps.TaskID
	work      deps.Bytes
	tokens    bool             // it needs some
	agreement *learn.Agreement // nil where the policy has nothing to say
}

// An EagerQueue holds the tasks that wait for eager launch at one place, in order.
type EagerQueue struct {
	list []eagerEntry
	head int
	_    spin.Line
}

func (l *EagerQueue) push(f eagerEntry) {
	if len(l.list) == cap(l.list) && 2*l.head >= len(l.list) && l.head > 0 { // it need not become empty for long
		n := copy(l.list, l.list[l.head:])
		clear(l.list[n:])
		l.list, l.head = l.list[:n], 0
	}
	l.list = append(l.list, f)
}

func (l *EagerQueue) empty() bool { return l.head == len(l.list) }

func (l *EagerQueue) pop() eagerEntry {
	f := l.list[l.head]
	l.list[l.head] = eagerEntry{}
	if l.head++; l.head == len(l.list) {
		l.list, l.head = l.list[:0], 0
	}
	return f
}

// kernelEnqueued is called by the machine when the kernel of a task has been enqueued.
func kernelEnqueued(ws *machine.WorkingSet) {
	r := ws.Owner.(*Record)
	r.Scope.Graph.Domain.Launch(&r.Node, int(r.Item.Place())+1)
}

// ClaimEagerly grants r to p, where its predecessors run, or puts it into the eager queue of p, or
// does nothing. It reports whether the caller has to start r. r cannot be ready before it returns.
func (e *eagerLaunch) ClaimEagerly(r *Record, p sched.PlaceID) (start bool) {
	rt := e.rt
	if r.Kind != KernelBody || r.Traits.Is(life.Relaxed) || r.Retries > 0 || !r.Item.Allowed.Has(p) || r.poison.Load() != nil || r.Context().Err() != nil {
		return false
	}
	var here deps.Bytes
	if rt.Topology.Accelerated > 1 {
		here = rt.Topology.estimateTransfers(r, p)
	}
	agreed := rt.Ready.agreementOf(r, p)
	if agreed != nil && agreed.Disagrees() {
		return false
	}
	r.eagerPlace = p
	b := &e.Backlogs[p]
	if rt.Topology.Accelerated > 1 && (here > 0 || rt.Ready.idleAccelerators() != 0) && !e.shouldStayAt(r, p, here) { // else no other place has more data, or is idle
		return false
	}
	switch {
	case rt.Ready.Sched.Retired(p):
		return false
	case b.launchThreadAwake() || !e.tryGrantEager(r, p, agreed):
		e.enqueueEager(r, p, agreed)
		return false
	}
	return true
}

// tryGrantEager grants r to p and reports true, unless the eager queue is not empty, there is no
// capacity, or tokens are lacking.
func (e *eagerLaunch) tryGrantEager(r *Record, p sched.PlaceID, a *learn.Agreement) bool {
	rt := e.rt
	if len(r.Settings.Tokens) == 0 {
		if !e.reserveEager(r, p, a) {
			return false
		}
		rt.Ready.grantEager(r, p)
		return true
	}
	spin.LockLong(&rt.Ready.Mu)
	defer rt.Ready.Unlock()
	if !rt.Ready.Sched.Follows(&r.Item, p) || !e.reserveEager(r, p, a) {
		return false
	}
	rt.Ready.Sched.Grant(&r.Item, p)
	rt.Ready.granted(&r.Item)
	return true
}

// reserveEager counts r as eager at p, unless the eager queue is not empty or there is no capacity.
func (e *eagerLaunch) reserveEager(r *Record, p sched.PlaceID, a *learn.Agreement) bool {
	b := &e.Backlogs[p]
	spin.LockLong(&b.mu)
	defer b.mu.Unlock()
	if !e.EagerQueues[p].empty() || !e.hasEagerCapacity(r.Work, p, a) {
		return false
	}
	r.Life.Enter(state.Launch)
	b.add(r)
	return true
}

// grantEager grants r, which is eager at p and needs no tokens, to p.
func (hq *readyQueues) grantEager(r *Record, p sched.PlaceID) {
	if hq.Sched.GrantUnlocked(&r.Item, p) {
		hq.Counts.grantUncounted(p)
		return
	}
	spin.LockLong(&hq.Mu)
	hq.Sched.Grant(&r.Item, p)
	hq.granted(&r.Item)
	hq.Unlock()
}

// shouldStayAt reports whether no other accelerator holds more of the inputs of r than p, and no
// idle one should steal it.
func (e *eagerLaunch) shouldStayAt(r *Record, p sched.PlaceID, here deps.Bytes) bool {
	rt := e.rt
	others := r.Item.Allowed.Without(p)
	if rt.Topology.Host >= 0 {
		others = others.Without(rt.Topology.Host)
	}
	if here == 0 { // no place has more
		others &= rt.Ready.idleAccelerators()
	}
	for ; others != 0; others = others.Without(others.First()) {
		id := others.First()
		extra := rt.Topology.estimateTransfers(r, id) - here
		if extra < 0 || e.shouldSteal(r, p, id, extra) {
			return false
		}
	}
	return true
}

// idleAccelerators returns the accelerators without tasks.
func (hq *readyQueues) idleAccelerators() sched.PlaceSet {
	set := hq.Sched.Idle()
	if hq.Topology.Host >= 0 {
		set = set.Without(hq.Topology.Host)
	}
	return set
}

// shouldSteal reports whether q, if it is idle, should take r from p, which holds extra more bytes
// of its inputs.
func (e *eagerLaunch) shouldSteal(r *Record, p, q sched.PlaceID, extra deps.Bytes) bool {
	rt := e.rt
	spin.LockLong(&rt.Ready.Mu)
	defer rt.Ready.Mu.Unlock()
	r.Item.Work = r.Work
	return rt.Ready.Sched.Load(q) == 0 && rt.Ready.Sched.WorthMoving(&r.Item, p, q, e.inFlightNotEager(p), extra)
}

// enqueueEager puts r into the eager queue of p.
func (e *eagerLaunch) enqueueEager(r *Record, p sched.PlaceID, a *learn.Agreement) {
	b := &e.Backlogs[p]
	spin.LockLong(&b.mu)
	r.Life.Enter(state.Offer)
	e.EagerQueues[p].push(eagerEntry{r, r.TaskID(), r.Work, len(r.Settings.Tokens) > 0, a})
	b.queued.Add(1)
	if !b.Recheck.Load() {
		b.Recheck.Store(true)
	}
	b.mu.Unlock()
}

// takeEager is nextEager for tasks with tokens, too. The task is counted, and not granted yet.
// Requires: mu held.
func (e *eagerLaunch) takeEager(p sched.PlaceID) *Record {
	if e.EagerQueues == nil {
		return nil
	}
	b := &e.Backlogs[p]
	spin.LockLong(&b.mu)
	defer b.mu.Unlock()
	r, _ := e.nextEager(p, true)
	return r
}

// nextEager takes the first task that may start from the eager queue of p, nil for none. tokens
// reports that the first task needs tokens, for which mu must be held. Requires: deviceBacklog.mu
// of p held.
func (e *eagerLaunch) nextEager(p sched.PlaceID, held bool) (r *Record, tokens bool) {
	rt := e.rt
	b := &e.Backlogs[p]
	for l := &e.EagerQueues[p]; !l.empty(); {
		f := l.list[l.head]
		if f.r.Life.Word.Load() == life.LifeOf(f.id, state.Offered) {
			switch { // or, if it becomes ready meanwhile, next time
			case f.agreement != nil && f.agreement.Disagrees(): // it becomes ready in the ordinary way
				l.pop()
				b.queued.Add(-1)
				f.r.Life.Move(f.id, state.Offered, state.Withdraw)
				continue
			case !e.hasEagerCapacity(f.work, p, f.agreement):
				return nil, false
			case f.tokens && !held:
				return nil, true
			case f.tokens && !rt.Ready.Sched.Retired(p) && !rt.Ready.Sched.Follows(&f.r.Item, p):
				return nil, false // it lacks them
			}
		}
		l.pop()
		b.queued.Add(-1)
		if !rt.Ready.Sched.Retired(p) && f.r.Life.Move(f.id, state.Offered, state.Launch) {
			b.add(f.r)
			return f.r, false
		}
	}
	return nil, false
}

// predecessorsDone records that all predecessors of r, which was launched behind them, have
// finished. by is the last
// one, nil where r was submitted too late to know.
func (e *eagerLaunch) predecessorsDone(r, by *Record) {
	if r.Kind == ReplayBody {
		replayReleased(r, by)
		return
	}
	if e.rt.Observers.HasObserver {
		r.lastPredecessor = lastPredecessor{}
		if by != nil && by.Trace.End > 0 {
			r.lastPredecessor = lastPredecessor{by.TaskID(), by.Trace.End}
		}
	}
	e.Backlogs[r.eagerPlace].remove(r)
	if r.Life.Race(state.Release) == state.End {
		e.finishTask(r)
	}
}

// A lastPredecessor is the predecessor of an eager task that finished last, and when.
type lastPredecessor struct {
	by deps.TaskID
	at time.Duration
}

// finishTask ends r: its kernel is finished, or did not run, and its predecessors are finished.
func (e *eagerLaunch) finishTask(r *Record) {
	rt := e.rt
	p, err := r.Item.Place(), r.outcome
	via := r.poison.Load()
	if rt.Observers.HasObserver && r.Life.State().Early() {
		rt.Observers.observeEagerStart(r, via == nil)
	}
	if via == nil && err == nil {
		rt.Ready.reconsider(r, p)
	}
	switch {
	case via != nil:
		r.skip(via)
	case err != nil && (e.retryElsewhere(r, p, err) || e.retryOnAccelerator(r, p, err)):
		return
	case err != nil:
		r.Fail(rt.Topology.Places[p].Name, r.retried(r.outcome))
	}
	rt.retire(r, smp.None)
}

// launchThreadAwake reports whether the launch thread is awake.
func (b *DeviceBacklog) launchThreadAwake() bool {
	return b.Launcher != nil && b.Launcher.HelperAwake()
}

// StartEager starts up to maxStartBatch tasks of the eager queue of p while there is capacity, and
// reports whether it started one.
func (e *eagerLaunch) StartEager(p sched.PlaceID) bool {
	b := &e.Backlogs[p]
	var starts RecordList
	n := 0
	spin.LockLong(&b.mu)
	r, tokens := e.nextEager(p, false)
	for r != nil {
		starts.Push(r)
		if n++; n == maxStartBatch {
			break
		}
		r, tokens = e.nextEager(p, false)
	}
	b.mu.Unlock()
	if (n == maxStartBatch || n > 0 && tokens) && !b.Recheck.Load() {
		b.Recheck.Store(true) // there may be more
	}
	e.startEagerBatch(&starts, p)
	return n > 0 || tokens && e.startEagerWithTokens(p)
}

// startEagerBatch grants eager tasks that need no tokens to p and starts them, maxStartBatch at
// most. None of them waits for another: the predecessors of a queued task have all been launched.
func (e *eagerLaunch) startEagerBatch(list *RecordList, p sched.PlaceID) {
	var starts [maxStartBatch]machine.BatchItem
	n := 0
	for r := list.pop(); r != nil; r = list.pop() {
		e.rt.Ready.grantEager(r, p)
		if e.beginStart(r) {
			e.describeLaunch(r)
			starts[n] = machine.BatchItem{Set: &r.Set, Launch: &r.launch}
			n++
		}
	}
	if n > 0 {
		e.rt.Topology.Machine.StartBatch(starts[:n])
	}
}

// startEagerWithTokens starts the first task of the eager queue of p, if there is capacity and its
// tokens are free.
func (e *eagerLaunch) startEagerWithTokens(p sched.PlaceID) bool {
	rt := e.rt
	spin.LockLong(&rt.Ready.Mu)
	r := e.takeEager(p)
	if r != nil {
		rt.Ready.Sched.Grant(&r.Item, p)
		rt.Ready.granted(&r.Item)
	}
	rt.Ready.Unlock()
	if r == nil {
		return false
	}
	e.Backlogs[p].Recheck.Store(true)
	e.StartOn(r)
	return true
}

// finishOutsideScheduler takes r, which has finished on an accelerator and made no task ready, out
// of flight without the lock of the scheduler. It reports false where r holds tokens or the policy
// learns from it.
func (e *eagerLaunch) finishOutsideScheduler(r *Record) bool {
	rt := e.rt
	p := r.Item.Place()
	if r.Kind != KernelBody || p == rt.Topology.Host || r.err != nil || len(r.Settings.Tokens) > 0 {
		return false
	}
	if rt.Ready.Learned.On {
		r.Item.Took = e.Backlogs[p].timeOf(r, &rt.Observers)
	}
	if !rt.Ready.Sched.DoneUnlocked(&r.Item) {
		return false
	}
	rt.Ready.Counts.End(p)
	rt.Ready.Counts.Ran[p].N.Add(1)
	if rt.Ready.Waiting.Load() > 0 { // the ready tasks may have waited for r
		rt.Schedule(nil, nil, smp.None)
		return true
	}
	b := &e.Backlogs[p]
	if b.queued.Load() == 0 {
		return true
	}
	if b.Recheck.Store(true); !b.launchThreadAwake() {
		e.StartEager(p)
	}
	return true
}

// timeOf returns how long the kernel of r ran on its accelerator, which it shared with those
// launched before.
func (b *DeviceBacklog) timeOf(r *Record, ob *Observers) time.Duration {
	spin.LockLong(&b.mu)
	defer b.mu.Unlock()
	now := ob.Now()
	began := max(r.began, b.freeAt)
	r.Item.Beside = r.began < b.freeAt
	b.freeAt = max(now, b.freeAt)
	switch {
	case r.err != nil || r.Kind != KernelBody:
		return 0
	case r.Set.Space != devices.Host && r.Set.Lasted > 0:
		r.Item.Beside = false
		return r.Set.Lasted
	case r.Set.Space != devices.Host && r.Set.Ended > r.Set.Began:
		began, now = r.Set.Began, r.Set.Ended
		if before := b.endedAt; before < now {
			r.Item.Beside = began < before
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
func (hq *readyQueues) agreementOf(r *Record, p sched.PlaceID) *learn.Agreement {
	if !hq.Learned.On || r.Kernel == nil || r.Item.Allowed&^hq.Topology.alike[p] == 0 {
		return nil
	}
	return hq.agreed.Of(r.Kernel.Hash, r.Work)
}

// reconsider asks the policy again whether tasks like r, which has finished at p, are to be
// launched there early.
func (hq *readyQueues) reconsider(r *Record, p sched.PlaceID) {
	a := hq.agreementOf(r, p)
	if a == nil {
		return
	}
	if !a.Due() {
		return
	}
	hq.Topology.estimate(r)
	spin.LockLong(&hq.Mu)
	agrees, known := hq.Sched.Agrees(&r.Item, p)
	hq.Mu.Unlock()
	a.Set(agrees, known)
}

// placedOn asks the policy again after a disagreement, where it gives r to accelerator p
// nevertheless: a trial is no change of mind. Requires: mu held.
func (hq *readyQueues) placedOn(r *Record, p sched.PlaceID) {
	if a := hq.agreementOf(r, p); a != nil && a.Disagrees() {
		agrees, known := hq.Sched.Agrees(&r.Item, p)
		a.Set(agrees, known)
	}
}
