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
)

// This file is how a kernel task starts before its predecessors are over: when those that are not are all on their way on one
// accelerator, it is put behind them there, by events, and the host is not in the loop.
//
// Such a follower is over when its kernel is and its predecessors are; if one of those failed, it is skipped, whatever its
// kernel has done. Followers do not take the places of ready tasks (Properties.Depth): there may be maxEager of them, so that
// the accelerator never waits for the host, as long as what they touch is a small part of its memory; what finds no room waits in
// line, and becomes ready in the ordinary way if its predecessors are over first. They hold their tokens from when they are launched, if nobody waits for those.
//
// What may run again does not follow, and is not followed: the host keeps what it changes (keepInputs), and cannot before others are done with
// that.
//
// A recorder is told that a follower was ready, and chosen, when its last predecessor was over on the accelerator: what it waited for is
// the kernel before it, and not the host. An observer of points gets those of such a task when it is over, with the times at which they
// happened or, where that was before, the end of its last predecessor: they show every task between its predecessors and its successors.

// The low bits of record.follow, below the id of the task.
const (
	eagerQueued  = 1 // in the line of a place
	eagerGranted = 2 // granted to it
	stateBits    = 2
)

// maxEager is how many tasks may follow at a place, and eagerMemoryPart the part of its memory that they may touch if they are more than
// Properties.Depth: what they touch is kept there, and may keep out what ready tasks want.
const (
	maxEager        = 256
	eagerMemoryPart = 8
)

// maxStartBatch is how many followers are started before somebody looks for what is over.
const maxStartBatch = machine.MaxBatch

// A deviceBacklog counts the tasks that follow at a place and whose predecessors are not over.
type deviceBacklog struct {
	tasks    atomic.Int32
	bytes    atomic.Int64
	recheck  atomic.Bool       // the line is worth a look
	launcher devices.Attentive // whose goroutine starts followers; nil for none
	_        line128
	mu       spin.Mutex    // guards what follows, and the line of the place
	freeAt   time.Duration // when the accelerator was done with the kernel before, as it was told, where somebody learns
	endedAt  time.Duration // the same by the clock of the device, where that is asked for
	// queued is the length of the line, to be looked at without the lock.
	queued atomic.Int32
	_      line128
}

// add counts r in, leads counts it out: its predecessors are over.
func (b *deviceBacklog) add(r *record)    { b.tasks.Add(1); b.bytes.Add(int64(r.work)) }
func (b *deviceBacklog) remove(r *record) { b.tasks.Add(-1); b.bytes.Add(-int64(r.work)) }

// hasEagerCapacity reports whether a task that touches so much may follow at p now. a is what the policy says of it, nil for nothing.
func (rt *Runtime) hasEagerCapacity(work deps.Bytes, p sched.PlaceID, a *agreement) bool {
	b := &rt.backlogs[p]
	n := int(b.tasks.Load())
	return n < rt.depth[p] || n < maxEager && (a == nil || a.known.Load()) && deps.Bytes(b.bytes.Load())+work <= rt.memory[p]/eagerMemoryPart
}

// inFlightNotEager is what p has in flight without those that follow. Requires: mu held.
func (rt *Runtime) inFlightNotEager(p sched.PlaceID) int {
	n := rt.sched.Load(p)
	if rt.eagerQueues != nil {
		n -= int(rt.backlogs[p].tasks.Load())
	}
	return n
}

// An eagerEntry is an entry of a line; it is void when the word of the detail is another: then r may be another task.
type eagerEntry struct {
	r         *record
	detail    *detail // of r
	state     uint64
	work      deps.Bytes
	tokens    bool       // it needs some
	agreement *agreement // nil where the policy has nothing to say
}

// An eagerQueue is the tasks that would follow at one place, in order.
type eagerQueue struct {
	list []eagerEntry
	head int
	_    line128
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

// enableEager makes the graphs tell of tasks that can follow.
func (rt *Runtime) enableEager() {
	rt.backlogs = make([]deviceBacklog, len(rt.places))
	if !rt.accelerators {
		return
	}
	rt.eagerQueues = make([]eagerQueue, len(rt.places))
	rt.onEagerCandidate = func(n *deps.Node, stream int) { rt.launchEagerly(n.Owner.(*record), sched.PlaceID(stream-1)) }
	rt.root.graph.domain = rt.getDomain(&rt.root) // several look at it from the first submission on
	for p, d := range rt.machine.Devices() {
		if a, ok := d.(devices.Attentive); ok {
			id := sched.PlaceID(p)
			rt.backlogs[p].launcher = a
			a.Attend(func() bool { return rt.launchQueued(id) }, rt.contention.contended)
		}
	}
}

// kernelEnqueued is called by the machine when the kernel of a task is enqueued.
func kernelEnqueued(ws *machine.WorkingSet) {
	r := ws.Owner.(*record)
	r.scope.graph.domain.Launch(&r.node, int(r.item.Place())+1)
}

// launchEagerly puts r behind its predecessors, which run at p, or into the line for that. r cannot be over before.
func (rt *Runtime) launchEagerly(r *record, p sched.PlaceID) {
	if r.kind != kernelBody || r.relaxed || r.retries > 0 || !r.item.Allowed.Has(p) || r.poison.Load() != nil || r.context().Err() != nil {
		return
	}
	var here deps.Bytes
	if rt.accelerated > 1 {
		here = rt.estimateTransfers(r, p)
	}
	agreed := rt.agreementOf(r, p)
	if agreed != nil && agreed.disagrees.Load() {
		return
	}
	id := r.id.Load() << stateBits
	r.eagerPlace = p
	b := &rt.backlogs[p]
	if rt.accelerated > 1 && (here > 0 || rt.idleAccelerators() != 0) && !rt.shouldStayAt(r, p, here) { // else nobody has more, and nobody would rather have it
		return
	}
	switch {
	case rt.sched.Retired(p):
	case b.launchThreadAwake() || !rt.tryGrantEager(r, p, id, agreed):
		rt.enqueueEager(r, p, id, agreed)
	case !r.submissionState.CompareAndSwap(id|inSubmission, id|startAfterSubmission):
		rt.startOn(r)
	}
}

// tryGrantEager grants r to p and reports true, unless others stand in line, or there is no room, or tokens are lacking. id is that of the
// task, shifted.
func (rt *Runtime) tryGrantEager(r *record, p sched.PlaceID, id uint64, a *agreement) bool {
	if len(r.settings.tokens) == 0 {
		if !rt.reserveEager(r, p, id, a) {
			return false
		}
		rt.grantEager(r, p)
		return true
	}
	spin.LockLong(&rt.mu)
	defer rt.unlock()
	if !rt.sched.Follows(&r.item, p) || !rt.reserveEager(r, p, id, a) {
		return false
	}
	rt.sched.Grant(&r.item, p)
	rt.granted(&r.item)
	return true
}

// reserveEager counts r among those that follow at p, unless others stand in line or there is no room.
func (rt *Runtime) reserveEager(r *record, p sched.PlaceID, id uint64, a *agreement) bool {
	b := &rt.backlogs[p]
	spin.LockLong(&b.mu)
	defer b.mu.Unlock()
	if !rt.eagerQueues[p].empty() || !rt.hasEagerCapacity(r.work, p, a) {
		return false
	}
	r.eagerState.Store(id | eagerGranted)
	b.add(r)
	return true
}

// grantEager grants r, which follows at p and needs no tokens, to that.
func (rt *Runtime) grantEager(r *record, p sched.PlaceID) {
	if rt.sched.GrantUnlocked(&r.item, p) {
		rt.counts.grantUncounted(p)
		return
	}
	spin.LockLong(&rt.mu)
	rt.sched.Grant(&r.item, p)
	rt.granted(&r.item)
	rt.unlock()
}

// The low bits of record.adding, below the id of the task: one that follows while it is being submitted is started when no lock is held.
const (
	inSubmission         = 1
	startAfterSubmission = 2
)

// endSubmission says that task id, that of r if it is not over, has been submitted, and reports whether it is to be started by who submits.
func (r *detail) endSubmission(id deps.TaskID) bool {
	word := uint64(id) << stateBits
	return r.submissionState.CompareAndSwap(word|startAfterSubmission, 0) ||
		!r.submissionState.CompareAndSwap(word|inSubmission, 0) && r.submissionState.CompareAndSwap(word|startAfterSubmission, 0)
}

// estimateTransfers is what would be moved for r to p, as of a moment ago; what it changes counts twice, as for the scheduler (addMoves).
func (rt *Runtime) estimateTransfers(r *record, p sched.PlaceID) deps.Bytes {
	n := rt.machine.GuessMissing(r.data(), rt.spaces[p])
	if n > 0 {
		for i := range r.data() {
			if a := r.data()[i : i+1]; a[0].Mode.Reads() && a[0].Mode.Writes() {
				n += rt.machine.GuessMissing(a, rt.spaces[p])
			}
		}
	}
	return n
}

// shouldStayAt reports whether no other accelerator has more of what r reads, and none that is idle should rather have it.
func (rt *Runtime) shouldStayAt(r *record, p sched.PlaceID, here deps.Bytes) bool {
	others := r.item.Allowed.Without(p)
	if rt.host >= 0 {
		others = others.Without(rt.host)
	}
	if here == 0 { // nobody has more
		others &= rt.idleAccelerators()
	}
	for ; others != 0; others = others.Without(others.First()) {
		id := others.First()
		extra := rt.estimateTransfers(r, id) - here
		if extra < 0 || rt.shouldSteal(r, p, id, extra) {
			return false
		}
	}
	return true
}

// idleAccelerators returns the places but the host that have nothing to do.
func (rt *Runtime) idleAccelerators() sched.PlaceSet {
	set := rt.sched.Idle()
	if rt.host >= 0 {
		set = set.Without(rt.host)
	}
	return set
}

// shouldSteal reports whether q, if it is idle, should rather have r than p, which has extra bytes more of what it reads.
func (rt *Runtime) shouldSteal(r *record, p, q sched.PlaceID, extra deps.Bytes) bool {
	spin.LockLong(&rt.mu)
	defer rt.mu.Unlock()
	r.item.Work = r.work
	return rt.sched.Load(q) == 0 && rt.sched.WorthMoving(&r.item, p, q, rt.inFlightNotEager(p), extra)
}

// enqueueEager puts r into the line of p; id is that of the task, shifted.
func (rt *Runtime) enqueueEager(r *record, p sched.PlaceID, id uint64, a *agreement) {
	b := &rt.backlogs[p]
	spin.LockLong(&b.mu)
	r.eagerState.Store(id | eagerQueued)
	rt.eagerQueues[p].push(eagerEntry{r, r.detail, id | eagerQueued, r.work, len(r.settings.tokens) > 0, a})
	b.queued.Add(1)
	if !b.recheck.Load() {
		b.recheck.Store(true)
	}
	b.mu.Unlock()
}

// takeEager is nextEager for one that needs tokens, too. It is counted, and not granted yet. Requires: mu held.
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

// nextEager takes the first that may follow out of the line of p, or returns nil; tokens says that it needs some, for which mu must be
// held. Requires: behind.mu of p held.
func (rt *Runtime) nextEager(p sched.PlaceID, held bool) (r *record, tokens bool) {
	b := &rt.backlogs[p]
	for l := &rt.eagerQueues[p]; !l.empty(); {
		f := l.list[l.head]
		if f.detail.eagerState.Load() == f.state {
			switch { // or, if it becomes ready meanwhile, next time
			case f.agreement != nil && f.agreement.disagrees.Load(): // it leaves the line, and becomes ready in the ordinary way
				l.pop()
				b.queued.Add(-1)
				continue
			case !rt.hasEagerCapacity(f.work, p, f.agreement):
				return nil, false
			case f.tokens && !held:
				return nil, true
			case f.tokens && !rt.sched.Retired(p) && !rt.sched.Follows(&f.r.item, p):
				return nil, false // it lacks them
			}
		}
		l.pop()
		b.queued.Add(-1)
		if !rt.sched.Retired(p) && f.detail.eagerState.CompareAndSwap(f.state, f.state&^eagerQueued|eagerGranted) {
			b.add(f.r)
			return f.r, false
		}
	}
	return nil, false
}

// predecessorsDone says that the predecessors of r, which follows, are over; by was the last, nil where r was submitted too late to know.
func (rt *Runtime) predecessorsDone(r, by *record) {
	if rt.hasObserver {
		r.lastPredecessor = lastPredecessor{}
		if by != nil && by.trace.End > 0 {
			r.lastPredecessor = lastPredecessor{by.taskID(), by.trace.End}
		}
	}
	rt.backlogs[r.eagerPlace].remove(r)
	rt.arrive(r)
}

// wasGranted reports whether r, whose predecessors are over, was granted to a place before: then it may be on a list of those who start
// it, and must be put on no other. If it stands in a line still, it does so no longer.
func (r *record) wasGranted() bool {
	word := r.eagerState.Load()
	return word != 0 && !r.eagerState.CompareAndSwap(r.id.Load()<<stateBits|eagerQueued, 0)
}

// arrive says that the kernel of r is over, or that its predecessors are; the second of the two ends it.
func (rt *Runtime) arrive(r *record) {
	if r.arrivals.Add(1) == 2 {
		rt.finishTask(r)
	}
}

// A lastPredecessor says which predecessor of a task that follows was over last, and when.
type lastPredecessor struct {
	by deps.TaskID
	at time.Duration
}

// finishTask ends r: its kernel is over, or did not run, and its predecessors are over.
func (rt *Runtime) finishTask(r *record) {
	p, err := r.item.Place(), r.outcome
	via := r.poison.Load()
	if rt.hasObserver && r.eagerState.Load() != 0 {
		rt.observeEagerStart(r, via == nil)
	}
	if via == nil && err == nil {
		rt.reconsider(r, p)
	}
	r.eagerState.Store(0)
	r.arrivals.Store(0)
	switch {
	case via != nil:
		r.skip(via)
	case err != nil && (rt.retryElsewhere(r, p, err) || rt.retryOnAccelerator(r, p, err)):
		return
	case err != nil:
		r.fail(rt.places[p].Name, r.retried(r.outcome))
	}
	rt.retire(r, smp.None)
}
