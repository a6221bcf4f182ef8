package sched

import (
	"sync/atomic"
	"time"
)

// This file is what goes past the lock of the scheduler's owner: items without tokens of which it is known already how long they run.
// Many goroutines put such items in flight at their places and take them out again, and share nothing but what a place has in flight.
// What the policy should hear of goes the way of all others.

// A placeLoadad is what a place has in flight.
type placeLoad struct {
	items    atomic.Int32
	expected atomic.Int64  // nanoseconds that it is expected to take, in a ledger
	runs     atomic.Int64  // without what is moved for it
	ended    atomic.Uint32 // items that were over beside the lock
	outlier  atomic.Bool   // the one before took another time than expected
	_        [128]byte     // others have the next one
}

// Load returns the number of items that were popped for p and are not done. It may be called beside the lock.
func (s *State) Load(p PlaceID) int { return int(s.places[p].items.Load()) }

// Idle returns the places with nothing in flight. It may be called beside the lock.
func (s *State) Idle() PlaceSet { return PlaceSet(s.idle.Load()) }

// countIn and fewer count an item in and out at p.
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

// noteIdle makes idle say what is so of p. Of several who do, the last to write it looks again afterwards.
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

// inFlightLoad is how long p has to do with what was popped and is not done.
func (s *State) inFlightLoad(p PlaceID) time.Duration {
	return time.Duration(s.places[p].expected.Load())
}

// inFlightRuns is flying without what is moved.
func (s *State) inFlightRuns(p PlaceID) time.Duration { return time.Duration(s.places[p].runs.Load()) }

// beginRun counts what it is expected to take of p in, land counts it out.
func (s *State) beginRun(it *Item, p PlaceID) {
	it.counted = true
	s.places[p].expected.Add(int64(it.expect))
	s.places[p].runs.Add(int64(it.run))
}

func (s *State) endRun(it *Item) {
	it.counted = false
	s.places[it.at].expected.Add(-int64(it.expect))
	s.places[it.at].runs.Add(-int64(it.run))
}

// GrantUnlocked is Grant for an item that needs no tokens, without the lock of the scheduler's owner, beside others. It reports false, and
// has done nothing, where the policy wants to know of it.
func (s *Scheduler) GrantUnlocked(it *Item, p PlaceID) bool {
	if it.state != idle || !it.Allowed.Has(p) {
		panic("gompss: bug: sched: grant of an item that is queued, in flight or has no business there")
	}
	if it.needs || s.grantObserver != nil && (s.loads == nil || !s.loads.grantUnlocked(it, p)) {
		return false
	}
	it.state, it.at, it.seen = inFlight, p, it.seen[:0]
	s.countIn(p)
	return true
}

// grantUnlocked is Granted for an item of which it is known how long it runs at p, or where nothing is decided by that.
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

// briefRun is what an item takes at the most that is no longer learned from each time: there are so many.
const briefRun = 100 * time.Microsecond

// DoneUnlocked is Done for an item that holds no tokens, without the lock of the scheduler's owner, beside others. It reports false, and
// has done nothing, where the policy has to hear of it: that learns of each learnEach-th item at a place, of what took another time than
// expected, and of the one after that.
func (s *Scheduler) DoneUnlocked(it *Item) bool {
	if it.state != inFlight {
		panic("gompss: bug: sched: done with an item that is not in flight")
	}
	if it.needs || it.trial || it.fallback > 0 || s.learner != nil && (s.loads == nil || !s.loads.nothingToLearn(it)) {
		return false
	}
	if it.counted {
		s.endRun(it)
	}
	s.countOut(it.at)
	it.state = idle
	return true
}

// nothingToLearn reports whether nothing is to be learned from it.
func (l *loadEstimator) nothingToLearn(it *Item) bool {
	if it.Took == 0 || it.Version == "" {
		return true
	}
	e, at := &it.runs[l.state.pool[it.at]], &l.state.places[it.at]
	if !e.known || e.samples <= settled || e.run > briefRun || !e.alone && !it.moves {
		return false
	}
	if e.alone && it.moves {
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
