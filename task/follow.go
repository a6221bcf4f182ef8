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
// kernel has done. Followers do not take the places of ready tasks (Properties.Depth): there may be farBehind of them, so that
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
	inLine    = 1 // in the line of a place
	following = 2 // granted to it
	stageBits = 2
)

// farBehind is how many tasks may follow at a place, and farPart the part of its memory that they may touch if they are more than
// Properties.Depth: what they touch is kept there, and may keep out what ready tasks want.
const (
	farBehind = 256
	farPart   = 8
)

// startsAtOnce is how many followers are started before somebody looks for what is over.
const startsAtOnce = machine.MaxBatch

// A behind counts the tasks that follow at a place and whose predecessors are not over.
type behind struct {
	tasks   atomic.Int32
	bytes   atomic.Int64
	waiting atomic.Bool       // the line is worth a look
	beside  devices.Attentive // whose goroutine starts followers; nil for none
	_       line128
	mu      spin.Mutex    // guards what follows, and the line of the place
	free    time.Duration // when the accelerator was done with the kernel before, as it was told, where somebody learns
	ended   time.Duration // the same by the clock of the device, where that is asked for
	// standing is the length of the line, to be looked at without the lock.
	standing atomic.Int32
	_        line128
}

// follows counts r in, leads counts it out: its predecessors are over.
func (b *behind) follows(r *record) { b.tasks.Add(1); b.bytes.Add(int64(r.work)) }
func (b *behind) leads(r *record)   { b.tasks.Add(-1); b.bytes.Add(-int64(r.work)) }

// roomBehind reports whether a task that touches so much may follow at p now. a is what the policy says of it, nil for nothing.
func (rt *Runtime) roomBehind(work deps.Bytes, p sched.PlaceID, a *agreement) bool {
	b := &rt.behind[p]
	n := int(b.tasks.Load())
	return n < rt.depth[p] || n < farBehind && (a == nil || a.known.Load()) && deps.Bytes(b.bytes.Load())+work <= rt.memory[p]/farPart
}

// ahead is what p has in flight without those that follow. Requires: mu held.
func (rt *Runtime) ahead(p sched.PlaceID) int {
	n := rt.sched.Load(p)
	if rt.lines != nil {
		n -= int(rt.behind[p].tasks.Load())
	}
	return n
}

// A follower is an entry of a line; it is void when the word of the detail is another: then r may be another task.
type follower struct {
	r      *record
	detail *detail // of r
	word   uint64
	work   deps.Bytes
	tokens bool       // it needs some
	agreed *agreement // nil where the policy has nothing to say
}

// A line is the tasks that would follow at one place, in order.
type line struct {
	list []follower
	head int
	_    line128
}

func (l *line) push(f follower) {
	if len(l.list) == cap(l.list) && 2*l.head >= len(l.list) && l.head > 0 { // it need not become empty for long
		n := copy(l.list, l.list[l.head:])
		clear(l.list[n:])
		l.list, l.head = l.list[:n], 0
	}
	l.list = append(l.list, f)
}

func (l *line) empty() bool { return l.head == len(l.list) }

func (l *line) pop() follower {
	f := l.list[l.head]
	l.list[l.head] = follower{}
	if l.head++; l.head == len(l.list) {
		l.list, l.head = l.list[:0], 0
	}
	return f
}

// letFollow makes the graphs tell of tasks that can follow.
func (rt *Runtime) letFollow() {
	rt.behind = make([]behind, len(rt.places))
	if !rt.accelerators {
		return
	}
	rt.lines = make([]line, len(rt.places))
	rt.followAt = func(n *deps.Node, stream int) { rt.follow(n.Owner.(*record), sched.PlaceID(stream-1)) }
	rt.root.graph.domain = rt.getDomain(&rt.root) // several look at it from the first submission on
	for p, d := range rt.machine.Devices() {
		if a, ok := d.(devices.Attentive); ok {
			id := sched.PlaceID(p)
			rt.behind[p].beside = a
			a.Attend(func() bool { return rt.attend(id) }, rt.crowd.is)
		}
	}
}

// launched is called by the machine when the kernel of a task is enqueued.
func launched(ws *machine.WorkingSet) {
	r := ws.Owner.(*record)
	r.home.graph.domain.Launch(&r.node, int(r.item.Place())+1)
}

// follow puts r behind its predecessors, which run at p, or into the line for that. r cannot be over before.
func (rt *Runtime) follow(r *record, p sched.PlaceID) {
	if r.kind != kernelBody || r.relaxed || r.retries > 0 || !r.item.Allowed.Has(p) || r.poison.Load() != nil || r.context().Err() != nil {
		return
	}
	var here deps.Bytes
	if rt.accelerated > 1 {
		here = rt.guessMoves(r, p)
	}
	agreed := rt.agreementOf(r, p)
	if agreed != nil && agreed.disagrees.Load() {
		return
	}
	id := r.id.Load() << stageBits
	r.followAt = p
	b := &rt.behind[p]
	if rt.accelerated > 1 && (here > 0 || rt.idle() != 0) && !rt.staysAt(r, p, here) { // else nobody has more, and nobody would rather have it
		return
	}
	switch {
	case rt.sched.Retired(p):
	case b.attended() || !rt.followsNow(r, p, id, agreed):
		rt.standInLine(r, p, id, agreed)
	case !r.adding.CompareAndSwap(id|isAdded, id|startWhenAdded):
		rt.startOn(r)
	}
}

// followsNow grants r to p and reports true, unless others stand in line, or there is no room, or tokens are lacking. id is that of the
// task, shifted.
func (rt *Runtime) followsNow(r *record, p sched.PlaceID, id uint64, a *agreement) bool {
	if len(r.settings.tokens) == 0 {
		if !rt.joinBehind(r, p, id, a) {
			return false
		}
		rt.grantFollower(r, p)
		return true
	}
	spin.LockLong(&rt.mu)
	defer rt.unlock()
	if !rt.sched.Follows(&r.item, p) || !rt.joinBehind(r, p, id, a) {
		return false
	}
	rt.sched.Grant(&r.item, p)
	rt.granted(&r.item)
	return true
}

// joinBehind counts r among those that follow at p, unless others stand in line or there is no room.
func (rt *Runtime) joinBehind(r *record, p sched.PlaceID, id uint64, a *agreement) bool {
	b := &rt.behind[p]
	spin.LockLong(&b.mu)
	defer b.mu.Unlock()
	if !rt.lines[p].empty() || !rt.roomBehind(r.work, p, a) {
		return false
	}
	r.follow.Store(id | following)
	b.follows(r)
	return true
}

// grantFollower grants r, which follows at p and needs no tokens, to that.
func (rt *Runtime) grantFollower(r *record, p sched.PlaceID) {
	if rt.sched.GrantUnlocked(&r.item, p) {
		rt.counts.grantBeside(p)
		return
	}
	spin.LockLong(&rt.mu)
	rt.sched.Grant(&r.item, p)
	rt.granted(&r.item)
	rt.unlock()
}

// The low bits of record.adding, below the id of the task: one that follows while it is being submitted is started when no lock is held.
const (
	isAdded        = 1
	startWhenAdded = 2
)

// added says that task id, that of r if it is not over, has been submitted, and reports whether it is to be started by who submits.
func (r *detail) added(id deps.TaskID) bool {
	word := uint64(id) << stageBits
	return r.adding.CompareAndSwap(word|startWhenAdded, 0) ||
		!r.adding.CompareAndSwap(word|isAdded, 0) && r.adding.CompareAndSwap(word|startWhenAdded, 0)
}

// guessMoves is what would be moved for r to p, as of a moment ago; what it changes counts twice, as for the scheduler (addMoves).
func (rt *Runtime) guessMoves(r *record, p sched.PlaceID) deps.Bytes {
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

// staysAt reports whether no other accelerator has more of what r reads, and none that is idle should rather have it.
func (rt *Runtime) staysAt(r *record, p sched.PlaceID, here deps.Bytes) bool {
	others := r.item.Allowed.Without(p)
	if rt.host >= 0 {
		others = others.Without(rt.host)
	}
	if here == 0 { // nobody has more
		others &= rt.idle()
	}
	for ; others != 0; others = others.Without(others.First()) {
		id := others.First()
		extra := rt.guessMoves(r, id) - here
		if extra < 0 || rt.takesFrom(r, p, id, extra) {
			return false
		}
	}
	return true
}

// idle returns the places but the host that have nothing to do.
func (rt *Runtime) idle() sched.PlaceSet {
	set := rt.sched.Idle()
	if rt.host >= 0 {
		set = set.Without(rt.host)
	}
	return set
}

// takesFrom reports whether q, if it is idle, should rather have r than p, which has extra bytes more of what it reads.
func (rt *Runtime) takesFrom(r *record, p, q sched.PlaceID, extra deps.Bytes) bool {
	spin.LockLong(&rt.mu)
	defer rt.mu.Unlock()
	r.item.Work = r.work
	return rt.sched.Load(q) == 0 && rt.sched.WorthMoving(&r.item, p, q, rt.ahead(p), extra)
}

// standInLine puts r into the line of p; id is that of the task, shifted.
func (rt *Runtime) standInLine(r *record, p sched.PlaceID, id uint64, a *agreement) {
	b := &rt.behind[p]
	spin.LockLong(&b.mu)
	r.follow.Store(id | inLine)
	rt.lines[p].push(follower{r, r.detail, id | inLine, r.work, len(r.settings.tokens) > 0, a})
	b.standing.Add(1)
	if !b.waiting.Load() {
		b.waiting.Store(true)
	}
	b.mu.Unlock()
}

// takeFollower is nextFollower for one that needs tokens, too. It is counted, and not granted yet. Requires: mu held.
func (rt *Runtime) takeFollower(p sched.PlaceID) *record {
	if rt.lines == nil {
		return nil
	}
	b := &rt.behind[p]
	spin.LockLong(&b.mu)
	defer b.mu.Unlock()
	r, _ := rt.nextFollower(p, true)
	return r
}

// nextFollower takes the first that may follow out of the line of p, or returns nil; tokens says that it needs some, for which mu must be
// held. Requires: behind.mu of p held.
func (rt *Runtime) nextFollower(p sched.PlaceID, held bool) (r *record, tokens bool) {
	b := &rt.behind[p]
	for l := &rt.lines[p]; !l.empty(); {
		f := l.list[l.head]
		if f.detail.follow.Load() == f.word {
			switch { // or, if it becomes ready meanwhile, next time
			case f.agreed != nil && f.agreed.disagrees.Load(): // it leaves the line, and becomes ready in the ordinary way
				l.pop()
				b.standing.Add(-1)
				continue
			case !rt.roomBehind(f.work, p, f.agreed):
				return nil, false
			case f.tokens && !held:
				return nil, true
			case f.tokens && !rt.sched.Retired(p) && !rt.sched.Follows(&f.r.item, p):
				return nil, false // it lacks them
			}
		}
		l.pop()
		b.standing.Add(-1)
		if !rt.sched.Retired(p) && f.detail.follow.CompareAndSwap(f.word, f.word&^inLine|following) {
			b.follows(f.r)
			return f.r, false
		}
	}
	return nil, false
}

// leads says that the predecessors of r, which follows, are over; by was the last, nil where r was submitted too late to know.
func (rt *Runtime) leads(r, by *record) {
	if rt.seen {
		r.led = led{}
		if by != nil && by.seen.End > 0 {
			r.led = led{by.taskID(), by.seen.End}
		}
	}
	rt.behind[r.followAt].leads(r)
	rt.meet(r)
}

// granted reports whether r, whose predecessors are over, was granted to a place before: then it may be on a list of those who start
// it, and must be put on no other. If it stands in a line still, it does so no longer.
func (r *record) granted() bool {
	word := r.follow.Load()
	return word != 0 && !r.follow.CompareAndSwap(r.id.Load()<<stageBits|inLine, 0)
}

// meet says that the kernel of r is over, or that its predecessors are; the second of the two ends it.
func (rt *Runtime) meet(r *record) {
	if r.met.Add(1) == 2 {
		rt.settle(r)
	}
}

// A led says which predecessor of a task that follows was over last, and when.
type led struct {
	by deps.TaskID
	at time.Duration
}

// settle ends r: its kernel is over, or did not run, and its predecessors are over.
func (rt *Runtime) settle(r *record) {
	p, err := r.item.Place(), r.outcome
	via := r.poison.Load()
	if rt.seen && r.follow.Load() != 0 {
		rt.observeEagerStart(r, via == nil)
	}
	if via == nil && err == nil {
		rt.reconsider(r, p)
	}
	r.follow.Store(0)
	r.met.Store(0)
	switch {
	case via != nil:
		r.skip(via)
	case err != nil && (rt.runsElsewhere(r, p, err) || rt.runsAgain(r, p, err)):
		return
	case err != nil:
		r.fail(rt.places[p].Name, r.retried(r.outcome))
	}
	rt.retire(r, smp.None)
}
