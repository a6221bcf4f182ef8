package sched

import (
	"time"
)

// A loadEstimator estimates the work of each place as a time. Policies that learn decide by it. An
// item occupies a place for the time of its transfers and its run, times its occupancy: one of the
// place's Width, or its tokens of all tokens.
type loadEstimator struct {
	state      *State
	queued     []time.Duration // by place: the expected time of its queue
	queuedRuns []time.Duration // by place: queued without transfers; State.places has the items in flight
	trials     map[timeKey]int // items queued or in flight without a known time
}

func newLoadEstimator(s *State) loadEstimator {
	n := len(s.Places)
	return loadEstimator{state: s, queued: make([]time.Duration, n), queuedRuns: make([]time.Duration, n), trials: map[timeKey]int{}}
}

// expect returns the time of it at p, transfers included, and whether its run time is known rather
// than guessed.
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

// readTimes copies the known times of it into the item, once for each kind of device. They stay
// until Done.
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
	l.acceptLongRun(it)
	l.acceptSlowTrial(it)
	l.acceptQuickTrial(it)
}

// acceptLongRun treats a run of longTrial on an accelerator as known, unless it may include
// transfers or the pinning of memory.
func (l *loadEstimator) acceptLongRun(it *Item) {
	for rest := l.accelerators(it); rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		e := &it.runs[l.state.pool[p]]
		if e.known || e.samples == 0 || e.run < longTrial {
			continue
		}
		e.known = l.state.Times.of(it, l.state.Places[p].Kind).alone.Load()
	}
}

// acceptQuickTrial treats one trial on the host as sufficient where it took less than a
// trialFactor-th of the time of every accelerator. Without that, the slower accelerator gets work
// until the host has run as many items as make a time known.
func (l *loadEstimator) acceptQuickTrial(it *Item) {
	run, ok := l.quickest(it)
	for rest := it.Allowed; ok && rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		e := &it.runs[l.state.pool[p]]
		if l.state.Places[p].Host && e.samples > 0 && trialFactor*e.run <= run && l.runsAlone(it, run) {
			e.known = true
		}
	}
}

// runsAlone reports whether the known time of it on each accelerator is the time of its run: no
// sample includes transfers, or they are short compared with run.
func (l *loadEstimator) runsAlone(it *Item, run time.Duration) bool {
	for rest := l.accelerators(it); rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		if e := &it.runs[l.state.pool[p]]; e.known && !e.alone && !l.state.isLongRun(it, run, p) {
			return false
		}
	}
	return true
}

// acceptSlowTrial treats one trial on the host as sufficient where it exceeded the limit of a
// trial, in this size class or the next. Without that, blocks of nearly one size on both sides of a
// power of two would be tried twice.
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
		case e.samples == 0 && e.run > 0: // a guess: scale by how much slower it was there
			if there := l.quickestNear(it); there > 0 && e.run >= trialFactor*there {
				*e = expected{run: time.Duration(float64(e.run) / float64(there) * float64(run)), known: true}
			}
		}
	}
}

// quickestNear is quickest for the neighbouring size class; 0 if unknown.
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

// quickest returns the shortest known run time of it on an accelerator; ok is false if none is
// known.
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

// accelerators returns the allowed places of it without the host.
func (l *loadEstimator) accelerators(it *Item) PlaceSet {
	set := it.Allowed
	for p := range l.state.Places {
		if l.state.Places[p].Host {
			set = set.Without(PlaceID(p))
		}
	}
	return set
}

// candidates returns the places to choose from: the accelerators alone while no run time on any of
// them is known, because that time bounds a trial on the host.
func (l *loadEstimator) candidates(it *Item) PlaceSet {
	set := l.accelerators(it)
	if _, ok := l.quickest(it); ok || set == 0 || it.Version == "" {
		return it.Allowed
	}
	return set
}

// limit returns Item.Limit for it at p.
func (l *loadEstimator) limit(it *Item, p PlaceID) time.Duration {
	if !l.state.Places[p].Host || it.runs[l.state.pool[p]].known && !it.marks.has(retrial) {
		return 0
	}
	run, ok := l.quickest(it)
	if !ok {
		return 0
	}
	return max(trialLeast, trialFactor*run)
}

// occupancy returns the part of p that it uses while it runs there, between 0 and 1.
func (l *loadEstimator) occupancy(it *Item, p PlaceID) float64 {
	part := 1 / float64(max(1, l.state.Places[p].Width))
	if !it.marks.has(needsTokens) {
		return part
	}
	k := l.state.pool[p]
	return max(part, float64(it.need[k])/float64(max(1, l.state.pools[k].limit)))
}

// load returns the expected time of everything queued or in flight at p.
func (l *loadEstimator) load(p PlaceID) time.Duration { return l.queued[p] + l.state.inFlightLoad(p) }

// runLoad is load without transfers.
func (l *loadEstimator) runLoad(p PlaceID) time.Duration {
	return l.queuedRuns[p] + l.state.inFlightRuns(p)
}

// samples returns how many runs of it on the kind of p are known or under way.
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

// leastSampled returns the place of the kind with the fewest samples, the least loaded among
// equals, and that number.
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

// finish returns the expected time from now until it would finish at p.
func (l *loadEstimator) finish(it *Item, p PlaceID) time.Duration {
	d, _ := l.expect(it, p)
	return l.load(p) + d
}

// earliest returns the place in of with the earliest expected finish among those with a known run
// time; false if there is none.
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

// paysOnHost reports whether it finishes earlier on the host, behind ahead of other work, than on
// accelerator q, behind wait, of which work is without transfers. If the run is slower on the host,
// an unknown link is assumed to be good, and the transfer of the results to the accelerator counts.
// A wait for transfers alone counts as none, because they overlap with kernels.
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

// guessEarliest returns the place in of with the earliest expected finish, known or guessed.
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

// movesTooMuch reports whether a trial at p is pointless: the transfers to p alone take longer than
// the item would take to finish at the best place with a known run time.
func (l *loadEstimator) movesTooMuch(it *Item, p PlaceID) bool {
	n := it.missing(p)
	if n == 0 {
		return false
	}
	best, ok := l.earliest(it, it.Allowed)
	return ok && best != p && l.state.moving(n, p) > l.finish(it, best)
}

// agrees implements earlyPlacer: no other kind is known to run it sooner, transfers included, and
// no trial is due. While a trial is under way nothing counts as known.
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
			return trying, false // until the trial has ended
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

// refusesTrial reports whether p is the host and it should not be tried there now. Another item of
// its kind is on trial already, and each slow trial delays a program whose data belong on
// accelerators. Or the trial could not be stopped, because no other copy of the data that it
// changes exists, and later items may allow one that can.
func (l *loadEstimator) refusesTrial(it *Item, p PlaceID) bool {
	if !l.state.Places[p].Host {
		return false
	}
	if l.trials[keyFor(it, l.state.Places[p].Kind)] > 0 {
		return true
	}
	quick, known := l.quickest(it)
	if e := &it.runs[l.state.pool[p]]; known && e.samples > 0 && e.run < quick {
		return false // the samples say that the host is faster
	}
	return it.Changes && it.Home == 0 && l.sampledLess(it, tryUnstopped)
}

// sampledLess reports whether an accelerator may run it and each has run it less than n times.
func (l *loadEstimator) sampledLess(it *Item, n int64) bool {
	set := l.accelerators(it)
	for rest := set; rest != 0; rest = rest.Without(rest.First()) {
		if it.runs[l.state.pool[rest.First()]].samples >= n {
			return false
		}
	}
	return set != 0
}

// push adds it to the queue of p.
func (l *loadEstimator) push(it *Item, p PlaceID) {
	l.assign(it, p)
	l.queued[p] += it.expect
	l.queuedRuns[p] += it.run
}

// reserve sets aside time of accelerator q for it while it is on trial on the host. Most trials end
// on the accelerator, so later items are distributed as if it were there.
func (l *loadEstimator) reserve(it *Item, q PlaceID) {
	d, _ := l.expect(it, q)
	it.fallback, it.reserved = q+1, time.Duration(float64(d)*l.occupancy(it, q))
	l.queued[q] += it.reserved
	l.queuedRuns[q] += it.reserved
}

// unreserve undoes reserve.
func (l *loadEstimator) unreserve(it *Item) {
	if it.fallback > 0 {
		l.queued[it.fallback-1] -= it.reserved
		l.queuedRuns[it.fallback-1] -= it.reserved
		it.reserved = 0
	}
}

// remove takes it out of its queue.
func (l *loadEstimator) remove(it *Item) {
	l.unreserve(it)
	l.queued[it.at] -= it.expect
	l.queuedRuns[it.at] -= it.run
	l.unassign(it)
}

// pop adds it, which was removed, to the items in flight at p.
func (l *loadEstimator) pop(it *Item, p PlaceID) {
	meant := it.at
	l.assign(it, p)
	switch {
	case !it.marks.has(onTrial) || !l.state.Places[p].Host:
		it.fallback = 0
	case it.fallback > 0:
		l.reserve(it, it.fallback-1)
	case it.state == queued && it.Allowed.Has(meant) && !l.state.Places[meant].Host:
		l.reserve(it, meant)
	}
	it.Limit = l.limit(it, p)
	l.state.beginRun(it, p)
}

// Granted adds an item that was never pushed.
func (l *loadEstimator) Granted(it *Item, p PlaceID) {
	l.readTimes(it)
	l.pop(it, p)
}

// done removes it from the items in flight and learns its run time.
func (l *loadEstimator) done(it *Item) {
	if it.marks.has(counted) {
		l.unreserve(it)
		l.state.endRun(it)
		l.unassign(it)
	}
	if it.Took > 0 && it.Version != "" {
		if l.state.Places[it.at].Host { // times on the host begin when all data are available
			it.Beside = false
			it.marks.set(moves, false)
		}
		l.state.Times.learn(it, l.state.Places[it.at].Kind, it.Took, it.weight)
		it.weight = weightOne
	}
}

func (l *loadEstimator) assign(it *Item, p PlaceID) {
	d, known := l.expect(it, p)
	it.at = p
	l.charge(it, p, d)
	if it.marks.set(onTrial, !known && it.Version != "") {
		l.trials[keyFor(it, l.state.Places[p].Kind)]++
	}
}

// charge computes the load that it adds to place p if it takes d there. A time that includes
// transfers counts as run time only where it is much longer than they are; otherwise items would be
// moved away from a wait that is none.
func (l *loadEstimator) charge(it *Item, p PlaceID, d time.Duration) {
	part := l.occupancy(it, p)
	it.marks.set(moves, it.missing(p) > 0)
	it.expect, it.run = time.Duration(float64(d)*part), 0
	if e := &it.runs[l.state.pool[p]]; e.alone || e.known && l.state.isLongRun(it, e.run, p) {
		it.run = time.Duration(float64(e.run) * part)
	}
}

func (l *loadEstimator) unassign(it *Item) {
	if !it.marks.has(onTrial) {
		return
	}
	it.marks.set(onTrial, false)
	k := keyFor(it, l.state.Places[it.at].Kind)
	if l.trials[k]--; l.trials[k] == 0 {
		delete(l.trials, k)
	}
}
