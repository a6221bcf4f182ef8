package task

import (
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
)

// This file is what keeps a task back whose predecessors are over: commutative accesses, which are had by one task at a
// time, and concurrent ones, whose tasks must all be in one address space at a time.

// admit reports whether s may go to the scheduler now. If not, it comes back by itself: through letGo of another task.
func (rt *Runtime) admit(s *record) bool {
	if !s.relaxed {
		return true
	}
	if s.exclusive = len(s.node.Exclusive()) > 0 && s.kind != waitBody; s.exclusive && !s.home.exclusion.TryAcquire(&s.node) {
		return false
	}
	return rt.gather(s)
}

// gather is the part of admit that concurrent accesses need.
func (rt *Runtime) gather(s *record) bool {
	spin.Perturb()
	if s.kind == waitBody || !hasConcurrent(s) {
		return true
	}
	rt.mu.Lock()
	defer rt.unlock()
	s.gathered = true
	s.shared = s.shared[:0]
	for i := range s.accesses {
		if a := &s.accesses[i]; a.Mode == deps.Concurrent && !a.Region.Empty() && !s.inherits(a) {
			s.shared = append(s.shared, a.Region)
		}
	}
	w := &rt.gathered
	if first := w.first(); first != nil && meet(s, first) || !rt.join(s) {
		w.wait(s)
		return false
	}
	return true
}

func hasConcurrent(s *record) bool {
	return slices.ContainsFunc(s.accesses, func(a deps.Access) bool { return a.Mode == deps.Concurrent })
}

// inherits reports whether r has a concurrent access that its parent has too. What a task shares because its parent does does not count:
// the parent is there for it, on the host, and must not wait for those who wait for the parent.
func (r *record) inherits(a *deps.Access) bool { return r.onHost && r.home.shares(a) }

// join restricts s to the address space where its companions are, or to the one that is best for it when there are none. It
// reports false when it must wait for them. Requires: mu held.
func (rt *Runtime) join(s *record) bool {
	allowed := s.item.Allowed
	if s.simple {
		allowed = rt.all
	}
	w := &rt.gathered
	if s.kind == goBody && w.kernels == 0 { // all are Go tasks on the host
		s.at = devices.Host
		w.hold(s)
		return true
	}
	found, alone := false, s.alone()
	meets := func(_ *deps.Region, o *spot) bool {
		found = true
		allowed &= rt.placesIn(o.at)
		return o.at == devices.Host && (alone || o.alone > 0)
	}
	w.know()
	for i := range s.shared {
		if w.spots.Any(&s.shared[i], meets) {
			return false
		}
	}
	if allowed == 0 {
		return false
	}
	if !rt.accelerators {
		s.at = devices.Host
	} else {
		best := allowed.First()
		if !found {
			best = rt.nearest(s, allowed)
		}
		s.at = rt.spaces[best]
		s.item.Allowed = allowed & rt.placesIn(s.at)
	}
	w.hold(s)
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

// letGo gives back what kept others from running, and makes those ready that may run now.
func (rt *Runtime) letGo(r *record, over, ready *recordList) {
	spin.Perturb()
	if r.exclusive {
		r.exclusive = false
		r.home.exclusion.Release(&r.node, func(n *deps.Node) {
			if s := n.Owner.(*record); rt.gather(s) {
				rt.queue(s, nil, over, ready)
			}
		})
	}
	if r.gathered {
		r.gathered = false
		for _, s := range rt.scatter(r) {
			rt.queue(s, nil, over, ready)
		}
	}
}

// scatter takes r out of the gatherings and returns those who waited and may run now.
func (rt *Runtime) scatter(r *record) (free []*record) {
	rt.mu.Lock()
	defer rt.unlock()
	w := &rt.gathered
	w.drop(r)
	for before := -1; before != len(free); { // who may run may be who has kept others back that wait
		before = len(free)
		for _, l := range w.inOrder() {
			for l.next < len(l.records) {
				s := l.records[l.next]
				if first := w.first(); first != s && meet(first, s) || !rt.join(s) {
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
