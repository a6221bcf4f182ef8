package sched

import (
	"sync/atomic"
	"time"
)

// This file holds the operations that need no lock of the scheduler's owner, for items without
// tokens whose run time is known. Concurrent goroutines share only the counters of a place.
// Whatever the policy must learn of takes the locked way.

// A placeLoad counts what a place has in flight.
type placeLoad struct {
	items    atomic.Int32
	expected atomic.Int64  // nanoseconds
	runs     atomic.Int64  // nanoseconds without transfers
	ended    atomic.Uint32 // items that DoneUnlocked ended
	outlier  atomic.Bool   // the previous item was an outlier
	_        [128]byte     // padding: another goroutine has the next one
}

// Load returns the number of items that were popped for p and are not done. It needs no lock.
func (s *State) Load(p PlaceID) int { return int(s.places[p].items.Load()) }

// Idle returns the places with nothing in flight. It needs no lock.
func (s *State) Idle() PlaceSet { return PlaceSet(s.idle.Load()) }

// countIn and countOut maintain the number of items in flight at p.
func (s *State) countIn(p PlaceID) {
	if s.places[p].items.Add(1) == 1 {
		s.noteIdle(p)
	}
}

func (s *State) countOut(p PlaceID) {
	if s.places[p].items.Add(-1) == 0 {
		s.noteIdle(p)
	}
}

// noteIdle makes the idle set agree with the counter of p. Concurrent callers check again after
// they write.
func (s *State) noteIdle(p PlaceID) {
	at, bit := &s.places[p].items, uint64(PlaceSet(0).With(p))
	for {
		none := at.Load() == 0
		if none {
			s.idle.Or(bit)
		} else {
			s.idle.And(^bit)
		}
		if none == (at.Load() == 0) {
			return
		}
	}
}

// inFlightLoad returns the expected time of the items in flight at p.
func (s *State) inFlightLoad(p PlaceID) time.Duration {
	return time.Duration(s.places[p].expected.Load())
}

// inFlightRuns is inFlightLoad without transfers.
func (s *State) inFlightRuns(p PlaceID) time.Duration { return time.Duration(s.places[p].runs.Load()) }

// beginRun adds the expected time of it to the load of p; endRun removes it.
func (s *State) beginRun(it *Item, p PlaceID) {
	it.marks.set(counted, true)
	s.places[p].expected.Add(int64(it.expect))
	s.places[p].runs.Add(int64(it.run))
}

func (s *State) endRun(it *Item) {
	it.marks.set(counted, false)
	s.places[it.at].expected.Add(-int64(it.expect))
	s.places[it.at].runs.Add(-int64(it.run))
}

// GrantUnlocked is Grant for an item without tokens. It needs no lock and may run concurrently with
// itself and DoneUnlocked. It reports false, and has done nothing, where the policy must take part
// in the decision.
func (s *Scheduler) GrantUnlocked(it *Item, p PlaceID) bool {
	if it.state != idle || !it.Allowed.Has(p) {
		panic("gompss: bug: sched: grant of an item that is queued, in flight or has no business there")
	}
	if it.marks.has(needsTokens) || s.grantObserver != nil && (s.loads == nil || !s.loads.grantUnlocked(it, p)) {
		return false
	}
	it.state, it.at, it.seen = inFlight, p, it.seen[:0]
	s.countIn(p)
	return true
}

// grantUnlocked is Granted for an item whose run time at p is known, or where nothing depends on
// it.
func (l *loadEstimator) grantUnlocked(it *Item, p PlaceID) bool {
	if len(l.state.Places) == 1 {
		return true
	}
	h := l.state.Times.all()[keyFor(it, l.state.Places[p].Kind)]
	if h == nil || l.state.Places[p].Host {
		return false
	}
	e := h.expected()
	if !e.known {
		return false
	}
	it.runs[l.state.pool[p]] = e
	d, _ := l.expect(it, p)
	l.charge(it, p, d)
	l.state.beginRun(it, p)
	return true
}

// DoneUnlocked is Done for an item without tokens. It needs no lock and may run concurrently with
// itself and GrantUnlocked. It reports false, and has done nothing, where the policy learns from
// the item: from every learnEach-th item of a place, from outliers, and from the item after an
// outlier.
func (s *Scheduler) DoneUnlocked(it *Item) bool {
	if it.state != inFlight {
		panic("gompss: bug: sched: done with an item that is not in flight")
	}
	if it.marks.has(needsTokens) || it.marks.has(onTrial) || it.fallback > 0 || s.learner != nil && (s.loads == nil || !s.loads.nothingToLearn(it)) {
		return false
	}
	if it.marks.has(counted) {
		s.endRun(it)
	}
	s.countOut(it.at)
	it.state = idle
	return true
}

// nothingToLearn reports whether the run time of it is as expected and need not be learned.
func (l *loadEstimator) nothingToLearn(it *Item) bool {
	if it.Took == 0 || it.Version == "" {
		return true
	}
	e, at := &it.runs[l.state.pool[it.at]], &l.state.places[it.at]
	if !e.known || e.samples <= settled || e.run > briefRun || !e.alone && !it.marks.has(moves) {
		return false
	}
	if e.alone && it.marks.has(moves) {
		return true
	}
	odd := !it.Beside && isOutlier(it.Took, e.median)
	switch {
	case at.ended.Add(1)%learnEach == 0:
		it.weight = weightBlock
	case odd || at.outlier.Load():
		it.weight = weightNone
	default:
		return true
	}
	if at.outlier.Load() != odd {
		at.outlier.Store(odd)
	}
	return false
}

func (l *locality) estimator() *loadEstimator { return &l.loadEstimator }
