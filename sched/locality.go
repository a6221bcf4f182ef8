package sched

import (
	"time"

	"github.com/gompss/gompss/deps"
)

// moveFactor is how much dearer a byte moved is than a byte worked on, for data that have a home on an accelerator:
// links are about that much slower than the memories at their ends. Data that were never moved must be moved once to
// be used by any accelerator, so there a byte counts as a byte.
const moveFactor = 32

// queuePart is how many items in line count as one that has its home at a place, for one that has no home yet: the line is that of a moment.
const queuePart = 16

// unplacedLead is how many items more a place must have before an item without a home than another that has something to do, for that to
// take it.
const unplacedLead = 8

// returnFactor is how much dearer than it takes a move between accelerators is.
const returnFactor = 4

// locality gives each item to the place where the fewest bytes must be moved, among equals to the one with the least
// to do. A place with nothing of its own takes items meant for others: where that moves nothing more, where the
// wait saved is worth the bytes, or where the other place lacks the tokens.
//
// Once it is known how long a kernel runs on a kind of device, bytes and waiting have one measure, time: the item goes where it
// is over first, and is taken over by a place that is done with it first. Kinds that an item may run on are each tried a few times.
type locality struct {
	loadEstimator
	queues     []queue      // by place
	assigned   []int        // by place: items ever meant for it
	ownedBytes []deps.Bytes // by place: what those work on whose data were moved there for that
	len        int
}

func newLocality(s *State) Policy {
	return &locality{loadEstimator: newLoadEstimator(s), queues: make([]queue, len(s.Places)), assigned: make([]int, len(s.Places)), ownedBytes: make([]deps.Bytes, len(s.Places))}
}

func (l *locality) Push(it *Item) {
	l.readTimes(it)
	l.enqueue(it, l.choose(it))
}

// enqueue puts it in the queue of p, for which it is meant.
func (l *locality) enqueue(it *Item, p PlaceID) {
	l.assigned[p]++
	if !it.owned {
		l.countOwned(it, l.owner(it, p))
	}
	l.loadEstimator.push(it, p)
	l.queues[p].push(it, it.Priority)
	l.len++
}

// owner returns the accelerator that has what it works on in the end, if it is meant for p.
func (l *locality) owner(it *Item, p PlaceID) PlaceID {
	if it.fallback > 0 {
		return it.fallback - 1
	}
	return p
}

// countOwned counts it at p, if it makes that its home.
func (l *locality) countOwned(it *Item, p PlaceID) {
	if it.owned = !l.state.Places[p].Host && l.unplaced(it, it.missing(p)); it.owned {
		l.ownedBytes[p] += it.Work
	}
}

// choose returns the place that it is meant for.
func (l *locality) choose(it *Item) PlaceID {
	q := it.fallback - 1
	if it.fallback = 0; q >= 0 && it.Allowed.Has(q) { // its trial was stopped
		return q
	}
	if it.Version == "" || it.Allowed.Len() == 1 {
		return l.nearest(it, it.Allowed)
	}
	of := l.candidates(it)
	if l.state.kindsOf(it) > 1 {
		if rare, n := l.leastSampled(it, of); n < fewTimes && !l.movesTooMuch(it, rare) {
			rest := it.Allowed.Without(rare)
			if !l.state.Places[rare].Host {
				return rare
			}
			if l.refusesTrial(it, rare) || l.critical(it) {
				return l.place(it, rest)
			}
			l.reserve(it, l.place(it, rest))
			return rare
		}
	}
	return l.place(it, of)
}

// critical reports whether an accelerator has nothing to do, so that others may be waiting for it, and not it for others.
func (l *locality) critical(it *Item) bool {
	for rest := l.accelerators(it); rest != 0; rest = rest.Without(rest.First()) {
		if p := rest.First(); l.queues[p].len+l.state.Load(p) == 0 {
			return l.sampledLess(it, tryCritical)
		}
	}
	return false
}

// place returns the one of some places that it is meant for, by what is known of its time.
func (l *locality) place(it *Item, of PlaceSet) PlaceID {
	if p, ok := l.earliest(it, of); ok {
		if l.isLong(it, p) {
			return p
		}
		return l.nearest(it, of&l.sameKind(p))
	}
	if p := l.guessEarliest(it, of); l.isLong(it, p) {
		return p // by a guess; what has run once must not stand in line for the few bytes of its data
	}
	if home := of & it.Home; home != 0 {
		return l.nearest(it, home) // what it only reads is soon elsewhere, too
	}
	return l.nearest(it, of)
}

// longFactor is how many times as long as what it works on is moved an item must run for time to count more than bytes among
// devices of one kind: below, whoever takes it from where its data are makes the next one wait for them.
const longFactor = 8

// longTime is how long it must run for that at the least.
const longTime = 5 * time.Millisecond

// isLong reports whether it runs long at p for the bytes that it works on, as far as is known or guessed.
func (l *locality) isLong(it *Item, p PlaceID) bool {
	return l.state.isLongRun(it, it.runs[l.state.pool[p]].run, p)
}

func (s *State) isLongRun(it *Item, run time.Duration, p PlaceID) bool {
	return run >= max(longTime, longFactor*s.moving(it.Work, p))
}

// sameKind returns the places of the kind of p.
func (l *locality) sameKind(p PlaceID) PlaceSet {
	var set PlaceSet
	for q := range l.state.Places {
		if l.state.Places[q].Kind == l.state.Places[p].Kind {
			set = set.With(PlaceID(q))
		}
	}
	return set
}

// nearest returns the place of some where the fewest bytes must be moved.
func (l *locality) nearest(it *Item, of PlaceSet) PlaceID {
	best := of.First()
	for rest := of.Without(best); rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		if l.better(it, p, best) {
			best = p
		}
	}
	return best
}

// better reports whether p is a better place for it than q.
func (l *locality) better(it *Item, p, q PlaceID) bool {
	a, b := it.missing(p), it.missing(q)
	accelerators := !l.state.Places[p].Host && !l.state.Places[q].Host
	if accelerators && l.unplaced(it, min(a, b)) {
		// It will stay where it is moved to: what counts is who has got more, and a little who has more to do.
		if x, y := l.ownedBytes[p]+a+l.wait(it, p)/queuePart, l.ownedBytes[q]+b+l.wait(it, q)/queuePart; x != y {
			return x < y
		}
	}
	if a != b || accelerators && it.Home.Has(p) != it.Home.Has(q) {
		if !accelerators {
			return a < b
		}
		// Between accelerators the wait counts too: a few bytes of a neighbour's edge are no reason to stand in line.
		if k := l.state.pool[p]; k == l.state.pool[q] && it.runs[k].known && it.runs[k].alone && it.Work > 0 {
			return l.runLoad(p)+l.moveCost(it, p, it.runs[k].run) < l.runLoad(q)+l.moveCost(it, q, it.runs[k].run)
		}
		return a*moveFactor+l.wait(it, p) < b*moveFactor+l.wait(it, q)
	}
	// cross-multiplied loads per unit of width
	x := (l.queues[p].len + l.state.Load(p)) * l.state.Places[q].Width
	y := (l.queues[q].len + l.state.Load(q)) * l.state.Places[p].Width
	if x != y {
		return x < y
	}
	return l.assigned[p] < l.assigned[q]
}

// homePart is what part of what it works on counts as missing besides where it has not got its home.
const homePart = 4

// moveCost is what it costs to run it at p, for that long, and not where all of its data are. What it changes has its home there from then on.
func (l *locality) moveCost(it *Item, p PlaceID, run time.Duration) time.Duration {
	n := it.missing(p)
	if it.Home != 0 && !it.Home.Has(p) {
		n += it.Work / homePart
	}
	return l.state.transferCost(it, n, p, run)
}

// unplaced reports whether no accelerator has yet what it works on, of which so much at least is missing.
func (l *locality) unplaced(it *Item, missing deps.Bytes) bool {
	if it.Changes {
		return it.Home == 0
	}
	return missing > it.Work/2
}

// transferCost is what moving n bytes for it from another accelerator to p costs, where it runs so long: returnFactor times what that takes, as what comes
// next may have to move them back; or, for what runs so shortly that a line of many is over by then, what moveFactor says.
func (s *State) transferCost(it *Item, n deps.Bytes, p PlaceID, run time.Duration) time.Duration {
	if n == 0 {
		return 0
	}
	return min(returnFactor*s.moving(n, p), time.Duration(moveFactor*float64(n)/float64(it.Work)*float64(run)))
}

// wait is what p has to run before it, in bytes worked on, as far as one can know: as much each as it is itself.
func (l *locality) wait(it *Item, p PlaceID) deps.Bytes {
	return deps.Bytes((l.queues[p].len+l.state.Load(p))/max(1, l.state.Places[p].Width)) * it.Work
}

func (l *locality) Pop(p PlaceID) *Item {
	it := l.peek(p)
	if it != nil {
		l.pop(it, p)
	}
	return it
}

// peek implements finder.
func (l *locality) peek(p PlaceID) *Item {
	if l.len == 0 {
		return nil
	}
	it := l.queues[p].first(l.state, p)
	if it == nil && l.len > l.queues[p].len {
		it = l.steal(p)
	}
	return it
}

func (l *locality) pop(it *Item, p PlaceID) {
	meant := l.owner(it, it.at)
	l.Remove(it)
	l.loadEstimator.pop(it, p)
	if it.owned && l.owner(it, p) != meant { // somebody else took it
		l.ownedBytes[meant] -= it.Work
		l.countOwned(it, p)
	}
}

// popLocal implements chainer: for what is meant for p, and has no better before it.
func (l *locality) popLocal(it *Item, p PlaceID) bool {
	if it.at != p || l.queues[p].above(it.Priority) {
		return false
	}
	l.pop(it, p)
	return true
}

// Done learns how long it ran.
func (l *locality) Done(it *Item) { l.done(it) }

// steal returns the item of another place that p should run; the fullest places are asked first.
func (l *locality) steal(p PlaceID) *Item {
	var asked PlaceSet
	for {
		victim, most := PlaceID(-1), 0
		for q := range l.queues {
			if n := l.queues[q].len; n > most && PlaceID(q) != p && !asked.Has(PlaceID(q)) {
				victim, most = PlaceID(q), n
			}
		}
		if victim < 0 {
			return nil
		}
		asked = asked.With(victim)
		if it := l.stealFrom(victim, p); it != nil {
			return it
		}
	}
}

func (l *locality) stealFrom(q, p PlaceID) *Item {
	ahead, wait, work := l.state.Load(q), l.state.inFlightLoad(q), l.state.inFlightRuns(q)
	for _, ln := range l.queues[q].lanes {
		if !ln.allowed.Has(p) {
			continue
		}
		it := ln.head
		for n := 0; it != nil && n < scanLimit; n++ {
			if l.shouldSteal(it, q, p, ahead+n, wait, work) && l.state.Admit(it, p) {
				return it
			}
			wait += it.expect
			work += it.run
			it = it.next
		}
	}
	return nil
}

// shouldSteal reports whether p should take it from q, where so many items are ahead of it, which take so long, and so long without what is moved for them. What q can start at
// once stays; what p has in flight itself comes first there, too.
func (l *locality) shouldSteal(it *Item, q, p PlaceID, ahead int, wait, work time.Duration) bool {
	same := l.state.Places[p].Kind == l.state.Places[q].Kind
	here, known := l.expect(it, p)
	there, both := l.expect(it, q)
	if !same && !(known && both) { // more may be known than when it was pushed
		l.readTimes(it)
		here, known = l.expect(it, p)
		there, both = l.expect(it, q)
	}
	switch n := it.missing(p); {
	case l.state.Places[p].Host && both && !known && it.Version != "": // a trial, where it costs no more than it may tell
		return l.state.Short(it, q) || wait > 0 && !l.refusesTrial(it, p) && !l.critical(it) && !l.movesTooMuch(it, p)
	case known && both && !same && l.state.Places[p].Host:
		return wait > 0 && l.paysOnHost(it, p, q, l.state.inFlightLoad(p), wait, work)
	case known && both && same && it.runs[l.state.pool[p]].alone && !l.isLong(it, p) && it.Work > 0:
		run := it.runs[l.state.pool[p]].run
		if l.state.inFlightRuns(p) > 0 && l.unplaced(it, min(it.missing(p), it.missing(q))) {
			work -= unplacedLead * run
		}
		return work > 0 && (l.state.Short(it, q) || l.state.inFlightRuns(p)+run+l.moveCost(it, p, run) <= work+l.moveCost(it, q, run))
	case known && both && (!same || l.isLong(it, p)):
		return wait > 0 && l.state.inFlightLoad(p)+here < wait+there
	case !same && both && n > 0 && l.state.moving(n, p) > wait+there:
		return l.state.Short(it, q)
	}
	if l.state.Short(it, q) {
		return true
	}
	if it.trial && !same {
		return l.state.Short(it, q)
	}
	rounds := ahead/max(1, l.state.Places[q].Width) - l.state.Load(p)/max(1, l.state.Places[p].Width)
	extra := it.missing(p) - it.missing(q)
	if rounds <= 0 || extra <= 0 {
		return rounds > 0
	}
	if !l.state.Places[q].Host {
		extra *= moveFactor
	}
	return deps.Bytes(rounds)*it.Work >= extra
}

// WorthMoving reports whether place q, which is idle, should take it from place p, which has others to run before it: whether that
// wait is dearer than moving extra bytes away from where they have their home. It is the rule of the locality policy.
func (s *State) WorthMoving(it *Item, p, q PlaceID, others int, extra deps.Bytes) bool {
	here, there := s.Times.expected(it, s.Places[p].Kind), s.Times.expected(it, s.Places[q].Kind)
	if here.known && there.known && s.isLongRun(it, here.run, p) {
		return there.run+s.moving(extra, q) < here.run*time.Duration(others+1)
	}
	if here.known && here.alone && it.Work > 0 {
		return others > 0 && time.Duration(others)*here.run >= s.transferCost(it, extra, q, here.run)
	}
	return others > 0 && deps.Bytes(others)*it.Work >= extra*moveFactor
}

func (l *locality) Remove(it *Item) {
	l.loadEstimator.remove(it)
	it.remove()
	l.len--
}

func (l *locality) Each(f func(*Item)) {
	for i := range l.queues {
		l.queues[i].each(f)
	}
}

func (l *locality) Len() int { return l.len }
