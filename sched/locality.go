package sched

import (
	"time"

	"github.com/gompss/gompss/deps"
)

// locality gives each item to the place with the fewest bytes to transfer, and among equals to the
// least loaded. An idle place steals items of other places if that transfers nothing, if the saved
// wait outweighs the transfers, or if the other place lacks the tokens.
//
// Once the run time of a kernel on a kind of device is known, transfers and waiting have one
// measure, time: the item goes to the place with the earliest finish, and a place steals it if it
// would finish it earlier. Every kind that may run an item is tried a few times.
type locality struct {
	loadEstimator
	queues     []queue      // by place
	assigned   []int        // by place: items ever queued at it
	ownedBytes []deps.Bytes // by place: bytes of work whose data it owns
	len        int
}

func newLocality(s *State) Policy {
	return &locality{loadEstimator: newLoadEstimator(s), queues: make([]queue, len(s.Places)), assigned: make([]int, len(s.Places)), ownedBytes: make([]deps.Bytes, len(s.Places))}
}

func (l *locality) Push(it *Item) {
	l.readTimes(it)
	l.enqueue(it, l.choose(it))
}

// enqueue puts it into the queue of p.
func (l *locality) enqueue(it *Item, p PlaceID) {
	l.assigned[p]++
	if !it.marks.has(owned) {
		l.countOwned(it, l.owner(it, p))
	}
	l.loadEstimator.push(it, p)
	l.queues[p].push(it, it.Priority)
	l.len++
}

// owner returns the accelerator that will own the data of it in the end if it is queued at p.
func (l *locality) owner(it *Item, p PlaceID) PlaceID {
	if it.fallback > 0 {
		return it.fallback - 1
	}
	return p
}

// countOwned adds it to the owned bytes of p if it makes p the owner of its data.
func (l *locality) countOwned(it *Item, p PlaceID) {
	if it.marks.set(owned, !l.state.Places[p].Host && l.unplaced(it, it.missing(p))) {
		l.ownedBytes[p] += it.Work
	}
}

// choose returns the place whose queue it joins.
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
			q := l.place(it, rest)
			if l.refusesTrial(it, rare) || l.critical(it, q) {
				return q
			}
			l.reserve(it, q)
			return rare
		}
	}
	return l.place(it, of)
}

// critical reports whether accelerator q, where it would run otherwise, is idle and would begin at
// once, so that it is probably on the critical path. Where others come first it is not, whatever
// else is idle: many items that are ready at once may have their data in one place.
func (l *locality) critical(it *Item, q PlaceID) bool {
	return l.queues[q].len+l.state.Load(q) == 0 && l.sampledLess(it, tryCritical)
}

// place returns the place in of whose queue it joins, by its known or guessed time.
func (l *locality) place(it *Item, of PlaceSet) PlaceID {
	if p, ok := l.earliest(it, of); ok {
		if l.isLong(it, p) {
			return p
		}
		return l.nearest(it, of&l.sameKind(p))
	}
	if p := l.guessEarliest(it, of); l.isLong(it, p) {
		return p // a guess; an item that has run once must not queue for the few bytes of its data
	}
	if home := of & it.Home; home != 0 {
		return l.nearest(it, home) // data that it only reads are soon replicated elsewhere, too
	}
	return l.nearest(it, of)
}

// isLong reports whether it runs long at p relative to its transfers, as far as that is known or
// guessed.
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

// nearest returns the place in of with the fewest bytes to transfer.
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
		// The data will stay where they are moved to: balance the owned bytes, and a little the
		// queues.
		if x, y := l.ownedBytes[p]+a+l.wait(it, p)/queuePart, l.ownedBytes[q]+b+l.wait(it, q)/queuePart; x != y {
			return x < y
		}
	}
	if a != b || accelerators && it.Home.Has(p) != it.Home.Has(q) {
		if !accelerators {
			return a < b
		}
		// Between accelerators the wait counts too: a few bytes of a halo are no reason to queue.
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

// moveCost returns the cost of running it for run at p instead of at the owner of its data. The
// data that it changes belong to p afterwards.
func (l *locality) moveCost(it *Item, p PlaceID, run time.Duration) time.Duration {
	n := it.missing(p)
	if it.Home != 0 && !it.Home.Has(p) {
		n += it.Work / homePart
	}
	return l.state.transferCost(it, n, p, run)
}

// unplaced reports whether no accelerator owns the data of it; missing is the least number of bytes
// missing anywhere.
func (l *locality) unplaced(it *Item, missing deps.Bytes) bool {
	if it.Changes {
		return it.Home == 0
	}
	return missing > it.Work/2
}

// transferCost returns the cost of transferring n bytes from another accelerator to p for an item
// that runs for run: returnFactor times the transfer, or, for short runs, moveFactor times the
// run's share of the bytes.
func (s *State) transferCost(it *Item, n deps.Bytes, p PlaceID, run time.Duration) time.Duration {
	if n == 0 {
		return 0
	}
	return min(returnFactor*s.moving(n, p), time.Duration(moveFactor*float64(n)/float64(it.Work)*float64(run)))
}

// wait returns the work queued at p before it, in bytes; each queued item counts as much as it.
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

// peek implements peeker.
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
	if it.marks.has(owned) && l.owner(it, p) != meant { // another place stole it
		l.ownedBytes[meant] -= it.Work
		l.countOwned(it, p)
	}
}

// popLocal implements localPopper. It takes an item that is queued at p and has no item of higher
// priority before it.
func (l *locality) popLocal(it *Item, p PlaceID) bool {
	if it.at != p || l.queues[p].above(it.Priority) {
		return false
	}
	l.pop(it, p)
	return true
}

// Done learns the run time of it.
func (l *locality) Done(it *Item) { l.done(it) }

// steal returns an item of another place that p should run. It asks the places with the most items
// first.
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

// shouldSteal reports whether p should steal it from q. ahead is the number of items queued before
// it at q, wait their expected time, and work that time without transfers. An item that q can start
// at once stays. The items in flight at p come first there, too.
func (l *locality) shouldSteal(it *Item, q, p PlaceID, ahead int, wait, work time.Duration) bool {
	same := l.state.Places[p].Kind == l.state.Places[q].Kind
	here, known := l.expect(it, p)
	there, both := l.expect(it, q)
	if !same && !(known && both) { // more may be known than at the push
		l.readTimes(it)
		here, known = l.expect(it, p)
		there, both = l.expect(it, q)
	}
	switch n := it.missing(p); {
	case l.state.Places[p].Host && both && !known && it.Version != "": // a trial, where its cost is bounded by what it can reveal
		return l.state.Short(it, q) || wait > 0 && !l.refusesTrial(it, p) && !l.critical(it, q) && !l.movesTooMuch(it, p)
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
	if it.marks.has(onTrial) && !same {
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

// WorthMoving reports whether the idle place q should take it from place p, where others items come
// first: whether the wait costs more than transferring extra bytes away from their owner. The
// locality policy decides by the same rule.
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
