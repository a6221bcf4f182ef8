package sched

import (
	"time"
)

// A loadEstimator keeps what each place has to do, as time: policies that learn decide by it. What an item takes of a place is its time
// there, moving and running, times the part of the place that it keeps: one of its Width, or its tokens of all.
type loadEstimator struct {
	state      *State
	queued     []time.Duration // by place: what its queue is expected to take of it
	queuedRuns []time.Duration // by place: queued, without what is moved for it; what was popped and is not done is in State.places
	trials     map[timeKey]int // items queued or in flight whose time is not known yet
}

func newLoadEstimator(s *State) loadEstimator {
	n := len(s.Places)
	return loadEstimator{state: s, queued: make([]time.Duration, n), queuedRuns: make([]time.Duration, n), trials: map[timeKey]int{}}
}

// unknownTime is what an item is taken to run of which nothing is known, not even by others of about its size.
const unknownTime = 100 * time.Microsecond

// expect is how long it will be at p, moving what is missing and running, and whether the latter is known or no more than a guess.
func (l *loadEstimator) expect(it *Item, p PlaceID) (d time.Duration, known bool) {
	e := &it.runs[l.state.pool[p]]
	run, known := e.run, e.known
	if run == 0 {
		run = unknownTime
	}
	if n := it.missing(p); n > 0 {
		run += l.state.moving(n, p)
	}
	return run, known
}

// readTimes reads what is known of it, once for each kind that it may run on: it holds until it is done.
func (l *loadEstimator) readTimes(it *Item) {
	var asked [MaxKinds]bool
	for rest := it.Allowed; rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		k := l.state.pool[p]
		if asked[k] {
			continue
		}
		asked[k] = true
		it.runs[k] = expected{}
		if h := l.state.Times.of(it, l.state.Places[p].Kind); h != nil {
			it.runs[k] = h.expected()
		} else if it.Version == "" {
			continue
		} else if h := l.state.Times.near(it, l.state.Places[p].Kind); h != nil {
			it.runs[k].run = h.expected().run // a guess
		}
	}
	l.acceptSlowTrial(it)
}

// acceptSlowTrial takes one trial on the host for enough where it took longer than a trial may, in this size class or
// in the next: blocks of nearly one size that lie on both sides of a power of two would be tried twice.
func (l *loadEstimator) acceptSlowTrial(it *Item) {
	run, ok := l.quickest(it)
	for rest := it.Allowed; ok && rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		if !l.state.Places[p].Host {
			continue
		}
		switch e := &it.runs[l.state.pool[p]]; {
		case e.samples > 0 && e.run >= trialFactor*run:
			e.known = true
		case e.samples == 0 && e.run > 0: // a guess: what counts is how much slower it was there, then
			if there := l.quickestNear(it); there > 0 && e.run >= trialFactor*there {
				*e = expected{run: time.Duration(float64(e.run) / float64(there) * float64(run)), known: true}
			}
		}
	}
}

// quickestNear is quickest in the next size class, 0 when that is not known.
func (l *loadEstimator) quickestNear(it *Item) (run time.Duration) {
	for rest := l.accelerators(it); rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		if h := l.state.Times.near(it, l.state.Places[p].Kind); h != nil {
			if e := h.expected(); e.known && (run == 0 || e.run < run) {
				run = e.run
			}
		}
	}
	return run
}

// quickest returns how long it runs on the quickest of the accelerators where that is known; false when there is none.
func (l *loadEstimator) quickest(it *Item) (run time.Duration, ok bool) {
	for rest := l.accelerators(it); rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		if e := &it.runs[l.state.pool[p]]; e.known && (!ok || e.run < run) {
			run, ok = e.run, true
		}
	}
	return run, ok
}

// accelerators returns the places but the host that it may run on.
func (l *loadEstimator) accelerators(it *Item) PlaceSet {
	set := it.Allowed
	for p := range l.state.Places {
		if l.state.Places[p].Host {
			set = set.Without(PlaceID(p))
		}
	}
	return set
}

// candidates returns where it may run: on accelerators, if there are some and it is not known of any how long it runs there. Only then
// can be said how long a trial on the host may take.
func (l *loadEstimator) candidates(it *Item) PlaceSet {
	set := l.accelerators(it)
	if _, ok := l.quickest(it); ok || set == 0 || it.Version == "" {
		return it.Allowed
	}
	return set
}

// A trial on the host may take trialFactor times what an accelerator takes, and trialLeast at the least.
const (
	trialFactor = 2
	trialLeast  = 100 * time.Microsecond
)

// limit is Item.Limit for it at p.
func (l *loadEstimator) limit(it *Item, p PlaceID) time.Duration {
	if !l.state.Places[p].Host || it.runs[l.state.pool[p]].known && !it.retrial {
		return 0
	}
	run, ok := l.quickest(it)
	if !ok {
		return 0
	}
	return max(trialLeast, trialFactor*run)
}

// occupancy is how much of p it keeps.
func (l *loadEstimator) occupancy(it *Item, p PlaceID) float64 {
	part := 1 / float64(max(1, l.state.Places[p].Width))
	if !it.needs {
		return part
	}
	k := l.state.pool[p]
	return max(part, float64(it.need[k])/float64(max(1, l.state.pools[k].limit)))
}

// load is how long p has to do with what it has.
func (l *loadEstimator) load(p PlaceID) time.Duration { return l.queued[p] + l.state.inFlightLoad(p) }

// runLoad is busy without what is moved.
func (l *loadEstimator) runLoad(p PlaceID) time.Duration {
	return l.queuedRuns[p] + l.state.inFlightRuns(p)
}

// samples is how often it ran on the kind of p, or is about to.
func (l *loadEstimator) samples(it *Item, p PlaceID) int64 {
	e := &it.runs[l.state.pool[p]]
	n := e.samples
	if e.known {
		n = max(n, fewTimes)
	}
	if n < fewTimes {
		n += int64(l.trials[keyFor(it, l.state.Places[p].Kind)])
	}
	return n
}

// leastSampled returns the place of some with the least to do of the kind on which it was tried least, and how often that was.
func (l *loadEstimator) leastSampled(it *Item, of PlaceSet) (PlaceID, int64) {
	rare, fewest := PlaceID(-1), int64(0)
	for rest := of; rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		if n := l.samples(it, p); rare < 0 || n < fewest || n == fewest && l.finish(it, p) < l.finish(it, rare) {
			rare, fewest = p, n
		}
	}
	return rare, fewest
}

// finish is when it would be over at p, from now.
func (l *loadEstimator) finish(it *Item, p PlaceID) time.Duration {
	d, _ := l.expect(it, p)
	return l.load(p) + d
}

// earliest returns the one of some places where it would be over first, of those where its time is known; false when there is none.
func (l *loadEstimator) earliest(it *Item, of PlaceSet) (PlaceID, bool) {
	best, first := PlaceID(-1), time.Duration(0)
	for rest := of; rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		d, known := l.expect(it, p)
		if known && (best < 0 || l.load(p)+d < first) {
			best, first = p, l.load(p)+d
		}
	}
	if best < 0 || !l.state.Places[best].Host {
		return best, best >= 0
	}
	if q, ok := l.earliest(it, of&l.accelerators(it)); ok && !l.paysOnHost(it, best, q, l.load(best), l.load(q), l.runLoad(q)) {
		return q, true
	}
	return best, true
}

// paysOnHost reports whether the host, which has so much to do before it, is done with it before accelerator q would be, where it waits so
// long, for work alone of that. If it is slower on the host, by however little, a link that is not known is taken for a good one, and what it
// writes has to come to the accelerators after all: a wait that is for copies, which go on beside kernels, is none there.
func (l *loadEstimator) paysOnHost(it *Item, host, q PlaceID, ahead, wait, work time.Duration) bool {
	here, _ := l.expect(it, host)
	there, _ := l.expect(it, q)
	quick := it.runs[l.state.pool[q]].run
	if it.runs[l.state.pool[host]].run > quick {
		here += l.state.moving(it.Work, q)
		there = quick + l.state.visibleWait(there-quick, q)
		wait = work + l.state.visibleWait(wait-work, q)
	}
	return ahead+here < wait+there
}

// guessEarliest returns the one of some places where an item would be over first, as far as is known.
func (l *loadEstimator) guessEarliest(it *Item, of PlaceSet) PlaceID {
	if of == 0 {
		return it.Allowed.First()
	}
	best := of.First()
	for rest := of.Without(best); rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		if l.finish(it, p) < l.finish(it, best) {
			best = p
		}
	}
	return best
}

// movesTooMuch reports whether it is not worth a try at p: to move its data there alone takes longer than until it is over at the best
// of the places where its time is known.
func (l *loadEstimator) movesTooMuch(it *Item, p PlaceID) bool {
	n := it.missing(p)
	if n == 0 {
		return false
	}
	best, ok := l.earliest(it, it.Allowed)
	return ok && best != p && l.state.moving(n, p) > l.finish(it, best)
}

// agrees implements placer: no other kind is known to run it sooner, moving its data included, and none is due for a trial. While
// one is being tried nothing counts as known.
func (l *loadEstimator) agrees(it *Item, p PlaceID) (agrees, known bool) {
	if it.Version == "" || l.state.kindsOf(it) < 2 {
		return true, true
	}
	l.readTimes(it)
	kind := l.state.pool[p]
	here, known := l.expect(it, p)
	if rare, _ := l.leastSampled(it, l.candidates(it)); l.state.pool[rare] != kind && !l.movesTooMuch(it, rare) {
		trying := l.trials[keyFor(it, l.state.Places[rare].Kind)] > 0
		if e := &it.runs[l.state.pool[rare]]; !e.known && (trying || !l.refusesTrial(it, rare)) {
			return trying, false // until the trial tells
		}
	}
	for rest := it.Allowed; known && rest != 0; rest = rest.Without(rest.First()) {
		q := rest.First()
		if there, also := l.expect(it, q); also && l.state.pool[q] != kind && there < here {
			return false, known
		}
	}
	return true, known
}

// refusesTrial reports whether p is the host and it is not to be tried there: one like it is, which tells soon enough, and each that turns out
// to be slow holds up a program whose data belong on accelerators; or it could not be stopped there, as nobody else has what it changes,
// and others that can may come.
func (l *loadEstimator) refusesTrial(it *Item, p PlaceID) bool {
	if !l.state.Places[p].Host {
		return false
	}
	if l.trials[keyFor(it, l.state.Places[p].Kind)] > 0 {
		return true
	}
	quick, known := l.quickest(it)
	if e := &it.runs[l.state.pool[p]]; known && e.samples > 0 && e.run < quick {
		return false // as far as it was tried, the host runs it sooner
	}
	return it.Changes && it.Home == 0 && l.sampledLess(it, tryUnstopped)
}

// A trial on the host waits for one that costs less until so many like it have run on accelerators: one that can be stopped, and one
// behind which others wait.
const (
	tryUnstopped = 256
	tryCritical  = 32
)

// sampledLess reports whether it may run on accelerators, and has done so less than n times.
func (l *loadEstimator) sampledLess(it *Item, n int64) bool {
	set := l.accelerators(it)
	for rest := set; rest != 0; rest = rest.Without(rest.First()) {
		if it.runs[l.state.pool[rest.First()]].samples >= n {
			return false
		}
	}
	return set != 0
}

// push enters it in the queue of p.
func (l *loadEstimator) push(it *Item, p PlaceID) {
	l.assign(it, p)
	l.queued[p] += it.expect
	l.queuedRuns[p] += it.run
}

// reserve keeps time of accelerator q free for it, which is tried on the host: most often it runs there in the end, and what comes
// meanwhile is dealt out as if it were there.
func (l *loadEstimator) reserve(it *Item, q PlaceID) {
	d, _ := l.expect(it, q)
	it.fallback, it.reserved = q+1, time.Duration(float64(d)*l.occupancy(it, q))
	l.queued[q] += it.reserved
	l.queuedRuns[q] += it.reserved
}

// unreserve takes that back.
func (l *loadEstimator) unreserve(it *Item) {
	if it.fallback > 0 {
		l.queued[it.fallback-1] -= it.reserved
		l.queuedRuns[it.fallback-1] -= it.reserved
		it.reserved = 0
	}
}

// remove takes it out of the queue that it is in.
func (l *loadEstimator) remove(it *Item) {
	l.unreserve(it)
	l.queued[it.at] -= it.expect
	l.queuedRuns[it.at] -= it.run
	l.unassign(it)
}

// pop enters it, which was removed, among what p runs.
func (l *loadEstimator) pop(it *Item, p PlaceID) {
	meant := it.at
	l.assign(it, p)
	switch {
	case !it.trial || !l.state.Places[p].Host:
		it.fallback = 0
	case it.fallback > 0:
		l.reserve(it, it.fallback-1)
	case it.state == queued && it.Allowed.Has(meant) && !l.state.Places[meant].Host:
		l.reserve(it, meant)
	}
	it.Limit = l.limit(it, p)
	l.state.beginRun(it, p)
}

// Granted enters an item that was never pushed.
func (l *loadEstimator) Granted(it *Item, p PlaceID) {
	l.readTimes(it)
	l.pop(it, p)
}

// done takes it from what its place runs, and learns how long it ran.
func (l *loadEstimator) done(it *Item) {
	if it.counted {
		l.unreserve(it)
		l.state.endRun(it)
		l.unassign(it)
	}
	if it.Took > 0 && it.Version != "" {
		if l.state.Places[it.at].Host { // where a time begins when all data are there
			it.Beside, it.moves = false, false
		}
		l.state.Times.learn(it, l.state.Places[it.at].Kind, it.Took, it.weight)
		it.weight = weightOne
	}
}

func (l *loadEstimator) assign(it *Item, p PlaceID) {
	d, known := l.expect(it, p)
	it.at = p
	l.charge(it, p, d)
	if it.trial = !known && it.Version != ""; it.trial {
		l.trials[keyFor(it, l.state.Places[p].Kind)]++
	}
}

// charge says what it takes of p, where it is for so long. Times that have moving in them say how long it runs there only where that is much
// longer: else others would be moved for a wait that is none.
func (l *loadEstimator) charge(it *Item, p PlaceID, d time.Duration) {
	part := l.occupancy(it, p)
	it.moves = it.missing(p) > 0
	it.expect, it.run = time.Duration(float64(d)*part), 0
	if e := &it.runs[l.state.pool[p]]; e.alone || e.known && l.state.isLongRun(it, e.run, p) {
		it.run = time.Duration(float64(e.run) * part)
	}
}

func (l *loadEstimator) unassign(it *Item) {
	if !it.trial {
		return
	}
	it.trial = false
	k := keyFor(it, l.state.Places[it.at].Kind)
	if l.trials[k]--; l.trials[k] == 0 {
		delete(l.trials, k)
	}
}
