package sched

import (
	"fmt"
	"sync/atomic"

	"github.com/gompss/gompss/devices"
)

// DefaultPolicy is the policy of Options without one.
const DefaultPolicy = "locality"

// Options describe the machine. Places must not be empty.
type Options struct {
	Policy string
	Places []Place
	Tokens map[devices.Kind]int // by kind, devices.Acc for all accelerators; DefaultTokens by default
	Seed   uint64               // of policies that draw lots
	Times  *Times               // what is known from before; nil is nothing
	// Watched makes the scheduler record what the policy knew of each item: Item.Seen.
	Watched bool
	// Broke receives a *PolicyError, once, when a registered policy is taken out of use. It runs
	// under the lock of the scheduler's owner and must not call the scheduler.
	Broke func(error)
}

// A Scheduler holds the ready items. See the package comment for its rules.
type Scheduler struct {
	State
	policy        Policy
	learner       Learner       // policy, if it is one
	grantObserver grantObserver // policy, if it is one
	explainer     explainer     // policy, if it is one
	localPopper   localPopper   // policy, if it is one
	peeker        peeker        // policy, if it is one
	chained       uint32        // how often PopAfter was asked
	watched       bool
	name          string
	loads         *loadEstimator // of policy, if it has one
	retired       atomic.Uint64  // a PlaceSet
	_             [128]byte      // readers without the lock read what comes before
	order         uint64
	_             [128]byte
}

// New returns a scheduler without items.
func New(o Options) (*Scheduler, error) {
	if len(o.Places) == 0 || len(o.Places) > MaxPlaces {
		return nil, fmt.Errorf("sched: %d places: between 1 and %d are possible", len(o.Places), MaxPlaces)
	}
	if o.Policy == "" {
		o.Policy = DefaultPolicy
	}
	s := &Scheduler{name: o.Policy, watched: o.Watched, State: State{Places: o.Places, Seed: o.Seed, places: make([]placeLoad, len(o.Places)), Times: o.Times, links: linksOf(o.Places)}}
	s.idle.Store(1<<len(o.Places) - 1)
	if s.Times == nil {
		s.Times = &Times{}
	}
	var err error
	if s.pools, s.pool, err = newPools(o.Places, o.Tokens); err != nil {
		return nil, err
	}
	if s.policy, err = openPolicy(o.Policy, &s.State, o.Broke); err != nil {
		return nil, err
	}
	s.learner, _ = s.policy.(Learner)
	if g, ok := s.policy.(*policySandbox); ok && !g.learns() {
		s.learner = nil
	}
	s.grantObserver, _ = s.policy.(grantObserver)
	s.explainer, _ = s.policy.(explainer)
	s.localPopper, _ = s.policy.(localPopper)
	s.peeker, _ = s.policy.(peeker)
	if l, ok := s.policy.(interface{ estimator() *loadEstimator }); ok {
		s.loads = l.estimator()
	}
	return s, nil
}

// Learns reports whether the policy learns from the run times of items.
func (s *Scheduler) Learns() bool { return s.learner != nil }

// Prepare sets where it may run and what it needs there: places that can never have the tokens are
// left out.
//
// Errors: *UnsatisfiableError when no place is left. Cost: O(places) with tokens, O(1) without.
// It looks at nothing that changes, so it needs no lock.
func (s *Scheduler) Prepare(it *Item, allowed PlaceSet, needs []Tokens) error {
	it.Allowed = allowed
	it.marks.set(needsTokens, false)
	if len(needs) > 0 {
		s.setNeeds(it, needs)
	}
	if it.Allowed == 0 {
		return s.unsatisfiable(it, allowed, needs)
	}
	return nil
}

func (s *Scheduler) setNeeds(it *Item, needs []Tokens) {
	for k := range s.pools {
		n := needOf(s.pools[k].kind, needs)
		it.need[k] = int32(n)
		if n != 0 {
			it.marks.set(needsTokens, true)
		}
		if n <= s.pools[k].limit && n >= 0 {
			continue
		}
		for p := range s.Places {
			if s.pool[p] == k {
				it.Allowed = it.Allowed.Without(PlaceID(p))
			}
		}
	}
}

func (s *Scheduler) unsatisfiable(it *Item, allowed PlaceSet, needs []Tokens) error {
	e := &UnsatisfiableError{Task: it.Name, Needs: needs}
	var seen [MaxKinds]bool
	for p, place := range s.Places {
		if !allowed.Has(PlaceID(p)) {
			continue
		}
		e.Places = append(e.Places, place.Name)
		if k := s.pool[p]; !seen[k] {
			seen[k] = true
			e.Limits = append(e.Limits, Tokens{place.Kind, s.pools[k].limit})
		}
	}
	return e
}

// Push makes a prepared item ready. Missing and Work must be set before. It returns false, and does
// not hold the item, when all its places were retired since Prepare.
func (s *Scheduler) Push(it *Item) bool {
	if it.state != idle || it.Allowed == 0 {
		panic("gompss: bug: sched: push of an item that is queued, in flight or not prepared")
	}
	if it.Allowed &^= PlaceSet(s.retired.Load()); it.Allowed == 0 {
		return false
	}
	s.order++
	it.state, it.order, it.passed = queued, s.order, 0
	it.marks.set(lacksTokens, false)
	s.recordCandidates(it)
	s.policy.Push(it)
	s.markChosen(it)
	return true
}

// Pop returns the item that p should start now, with its tokens taken, or nil.
func (s *Scheduler) Pop(p PlaceID) *Item {
	t := &s.pools[s.pool[p]]
	it := t.reserved
	if it != nil && it.Allowed.Has(p) && t.free >= int(it.need[s.pool[p]]) {
		s.policy.Remove(it)
	} else if it = s.policy.Pop(p); it == nil {
		return nil
	}
	s.grant(it, p)
	return it
}

// Offers reports whether Pop would return an item for p now. Where the policy cannot tell, it
// reports whether there are ready items at all. It saves waking a worker without success.
func (s *Scheduler) Offers(p PlaceID) bool {
	t := &s.pools[s.pool[p]]
	switch {
	case s.policy.Len() == 0:
		return false
	case s.peeker == nil || t.reserved != nil:
		return true
	}
	return s.peeker.peek(p) != nil
}

// chainFairness is the number of calls of PopAfter after which one takes the earliest item
// regardless, so that no item waits for the end of a long chain.
const chainFairness = 61

// PopAfter is Pop for a worker of p that has just made next ready. Where the policy leaves it open,
// next goes before earlier items of its priority, because its data are still in the caches of the
// worker. next may be nil or already taken.
func (s *Scheduler) PopAfter(p PlaceID, next *Item) *Item {
	if next == nil || next.state != queued || s.localPopper == nil || s.pools[s.pool[p]].reserved != nil {
		return s.Pop(p)
	}
	if s.chained++; s.chained%chainFairness == 0 || next.marks.has(needsTokens) && !s.pools[s.pool[p]].spare(next, s.pool[p]) || !s.localPopper.popLocal(next, p) {
		return s.Pop(p)
	}
	s.grant(next, p)
	return next
}

func (s *Scheduler) grant(it *Item, p PlaceID) {
	k := s.pool[p]
	if it.marks.has(needsTokens) {
		s.pools[k].take(it, k)
		s.unreserve(it)
	}
	if it.state != queued || s.pools[k].free < 0 {
		panic("gompss: bug: sched: a policy popped an item that was not pushed or not admitted")
	}
	it.state, it.at = inFlight, p
	s.countIn(p)
}

// unreserve cancels the reservation of tokens for it.
func (s *Scheduler) unreserve(it *Item) {
	for k := range s.pools {
		if s.pools[k].reserved == it {
			s.pools[k].reserved = nil
		}
		if s.pools[k].refused == it {
			s.pools[k].refused = nil
		}
	}
}

// Follows reports whether it, which is prepared and not queued, may be granted to p without the
// policy: its tokens are free and no refused item needs them.
func (s *Scheduler) Follows(it *Item, p PlaceID) bool {
	if it.state != idle || !it.Allowed.Has(p) || s.Retired(p) {
		return false
	}
	if !it.marks.has(needsTokens) {
		return true
	}
	k := s.pool[p]
	return s.pools[k].spare(it, k)
}

// Agrees reports whether the policy agrees to launch it at p before its predecessors have finished,
// and whether its run time there is known. A policy that is not an earlyPlacer always agrees.
func (s *Scheduler) Agrees(it *Item, p PlaceID) (agrees, known bool) {
	if of, weighs := s.policy.(earlyPlacer); weighs {
		return of.agrees(it, p)
	}
	return true, true
}

// Grant puts an item that follows in flight at p, as if it had been pushed and popped. p may have
// been retired meanwhile.
func (s *Scheduler) Grant(it *Item, p PlaceID) {
	if it.state != idle || !it.Allowed.Has(p) || it.marks.has(needsTokens) && !s.pools[s.pool[p]].spare(it, s.pool[p]) {
		panic("gompss: bug: sched: grant of an item that is queued, in flight or has no business there")
	}
	if k := s.pool[p]; it.marks.has(needsTokens) {
		s.pools[k].take(it, k)
	}
	s.start(it, p)
}

// start puts it in flight at p without the policy.
func (s *Scheduler) start(it *Item, p PlaceID) {
	it.state, it.at, it.seen = inFlight, p, it.seen[:0]
	s.countIn(p)
	if s.grantObserver != nil {
		s.grantObserver.Granted(it, p)
	}
}

// Retired reports whether p was retired.
func (s *Scheduler) Retired(p PlaceID) bool { return PlaceSet(s.retired.Load()).Has(p) }

// Done ends the run of an item and frees its tokens. The item may be pushed again.
func (s *Scheduler) Done(it *Item) {
	if it.state != inFlight {
		panic("gompss: bug: sched: done with an item that is not in flight")
	}
	k := s.pool[it.at]
	if it.marks.has(needsTokens) {
		s.pools[k].free += int(it.need[k])
	}
	s.countOut(it.at)
	it.state = idle
	if s.learner != nil {
		s.learner.Done(it)
	}
}

// Resume puts a prepared item without tokens in flight at p, as if it had been pushed and popped at
// once. The item ran before and continues.
func (s *Scheduler) Resume(it *Item, p PlaceID) {
	if it.state != idle || it.marks.has(needsTokens) || !it.Allowed.Has(p) {
		panic("gompss: bug: sched: resume of an item that is queued, in flight, needs tokens or may not run there")
	}
	s.start(it, p)
}

// Retire removes a place permanently and returns the ready items that can run nowhere else. The
// scheduler no longer holds those.
func (s *Scheduler) Retire(p PlaceID) []*Item {
	s.retired.Or(uint64(PlaceSet(0).With(p)))
	var moved, orphans []*Item
	s.policy.Each(func(it *Item) {
		if it.Allowed.Has(p) {
			s.policy.Remove(it)
			moved = append(moved, it)
		}
	})
	for _, it := range moved {
		s.unreserve(it)
		if it.Allowed = it.Allowed.Without(p); it.Allowed != 0 {
			s.policy.Push(it)
			continue
		}
		it.state = idle
		orphans = append(orphans, it)
	}
	return orphans
}

// Drain takes out all ready items.
func (s *Scheduler) Drain() []*Item {
	var out []*Item
	s.policy.Each(func(it *Item) {
		s.policy.Remove(it)
		s.unreserve(it)
		it.state = idle
		out = append(out, it)
	})
	return out
}

// Len returns the number of ready items.
func (s *Scheduler) Len() int { return s.policy.Len() }

// PolicyName returns the name of the policy.
func (s *Scheduler) PolicyName() string { return s.name }

// Limit returns the total tokens of the kind of p.
func (s *Scheduler) Limit(p PlaceID) int { return s.pools[s.pool[p]].limit }

// Need returns the tokens that a prepared item holds while it runs at p.
func (s *Scheduler) Need(it *Item, p PlaceID) int { return int(it.need[s.pool[p]]) }

// Free returns the free tokens of the kind of p.
func (s *Scheduler) Free(p PlaceID) int { return s.pools[s.pool[p]].free }
