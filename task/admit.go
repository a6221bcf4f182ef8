package task

import (
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
)

// This file is what keeps a task back whose predecessors have finished: commutative accesses, which
// are had by one task at a time, and concurrent ones, whose tasks must all be in one address space
// at a time.

// admit reports whether s may go to the scheduler now. If not, it comes back by itself: through
// releaseExclusion of another task.
func (rt *Runtime) admit(s *record) bool {
	if !s.relaxed {
		return true
	}
	if s.exclusive = len(s.node.Exclusive()) > 0 && s.kind != waitBody; s.exclusive && !s.scope.exclusion.TryAcquire(&s.node) {
		return false
	}
	return rt.admitConcurrent(s)
}

// admitConcurrent is the part of admit that concurrent accesses need.
func (rt *Runtime) admitConcurrent(s *record) bool {
	spin.Perturb()
	if s.kind == waitBody || !hasConcurrent(s) {
		return true
	}
	rt.mu.Lock()
	defer rt.unlock()
	s.inConcurrentGroup = true
	s.sharedRegions = s.sharedRegions[:0]
	for i := range s.accesses {
		if a := &s.accesses[i]; a.Mode == deps.Concurrent && !a.Region.Empty() && !s.inherits(a) {
			s.sharedRegions = append(s.sharedRegions, a.Region)
		}
	}
	w := &rt.concurrent
	if first := w.first(); first != nil && shareElement(s, first) || !rt.joinGroup(s) {
		w.wait(s)
		return false
	}
	return true
}

func hasConcurrent(s *record) bool {
	return slices.ContainsFunc(s.accesses, func(a deps.Access) bool { return a.Mode == deps.Concurrent })
}

// inherits reports whether r has a concurrent access that its parent has too. What a task shares
// because its parent does does not count: the parent is there for it, on the host, and must not
// wait for tasks that wait for the parent.
func (r *record) inherits(a *deps.Access) bool { return r.onHost && r.scope.shares(a) }

// joinGroup restricts s to the address space where its companions are, or to the one that is best
// for it when there are none. It reports false when it must wait for them. Requires: mu held.
func (rt *Runtime) joinGroup(s *record) bool {
	allowed := s.item.Allowed
	if s.simple {
		allowed = rt.all
	}
	w := &rt.concurrent
	if s.kind == goBody && w.kernels == 0 { // all are Go tasks on the host
		s.groupSpace = devices.Host
		w.add(s)
		return true
	}
	found, alone := false, s.alone()
	meets := func(_ *deps.Region, o *sharedRegion) bool {
		found = true
		allowed &= rt.placesIn(o.at)
		return o.at == devices.Host && (alone || o.alone > 0)
	}
	w.buildIndex()
	for i := range s.sharedRegions {
		if w.regions.Any(&s.sharedRegions[i], meets) {
			return false
		}
	}
	if allowed == 0 {
		return false
	}
	if !rt.accelerators {
		s.groupSpace = devices.Host
	} else {
		best := allowed.First()
		if !found {
			best = rt.nearest(s, allowed)
		}
		s.groupSpace = rt.spaces[best]
		s.item.Allowed = allowed & rt.placesIn(s.groupSpace)
	}
	w.add(s)
	return true
}

// nearest returns the allowed place where the fewest bytes are missing.
func (rt *Runtime) nearest(s *record, allowed sched.PlaceSet) sched.PlaceID {
	best, least := allowed.First(), deps.Bytes(-1)
	for p := range rt.places {
		if !allowed.Has(sched.PlaceID(p)) {
			continue
		}
		if n := rt.machine.MissingBytes(s.data(), rt.spaces[p]); least < 0 || n < least {
			best, least = sched.PlaceID(p), n
		}
	}
	return best
}

// placesIn returns the places that work in a space.
func (rt *Runtime) placesIn(space devices.SpaceID) (out sched.PlaceSet) {
	for p, at := range rt.spaces {
		if at == space {
			out = out.With(sched.PlaceID(p))
		}
	}
	return out
}

// releaseExclusion gives back what kept others from running, and makes those ready that may run
// now.
func (rt *Runtime) releaseExclusion(r *record, over, ready *recordList) {
	spin.Perturb()
	if r.exclusive {
		r.exclusive = false
		r.scope.exclusion.Release(&r.node, func(n *deps.Node) {
			if s := n.Owner.(*record); rt.admitConcurrent(s) {
				rt.queue(s, nil, over, ready)
			}
		})
	}
	if r.inConcurrentGroup {
		r.inConcurrentGroup = false
		for _, s := range rt.leaveConcurrent(r) {
			rt.queue(s, nil, over, ready)
		}
	}
}

// leaveConcurrent takes r out of its concurrent groups and returns the waiting tasks that may run
// now.
func (rt *Runtime) leaveConcurrent(r *record) (free []*record) {
	rt.mu.Lock()
	defer rt.unlock()
	w := &rt.concurrent
	w.remove(r)
	for before := -1; before != len(free); { // a task that may run now may have blocked others
		before = len(free)
		for _, l := range w.inOrder() {
			for l.next < len(l.records) {
				s := l.records[l.next]
				if first := w.first(); first != s && shareElement(first, s) || !rt.joinGroup(s) {
					break
				}
				w.leave(l)
				free = append(free, s)
			}
		}
	}
	return free
}

// hostOnly is the place of the CPU workers, as a set.
func (rt *Runtime) hostOnly() sched.PlaceSet { return sched.PlaceSet(0).With(rt.host) }
