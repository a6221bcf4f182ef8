package task

import (
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
)

// This file is what keeps a task back whose predecessors have finished: commutative accesses, which
// are had by one task at a time, and concurrent ones, whose tasks must all be in one address space
// at a time.

// admit reports whether s may go to the scheduler now. If not, it comes back by itself: through
// releaseExclusion of another task.
func (hq *readyQueues) admit(s *record) bool {
	if !s.traits.Is(life.Relaxed) {
		return true
	}
	if len(s.node.Exclusive()) > 0 && s.kind != waitBody {
		if s.holds.Take(life.HeldExclusive); !s.scope.exclusion.TryAcquire(&s.node) {
			return false
		}
	}
	return hq.admitConcurrent(s)
}

// admitConcurrent is the part of admit that concurrent accesses need.
func (hq *readyQueues) admitConcurrent(s *record) bool {
	spin.Perturb()
	if s.kind == waitBody || !hasConcurrent(s) {
		return true
	}
	hq.mu.Lock()
	defer hq.unlock()
	s.holds.Take(life.HeldConcurrent)
	s.sharedRegions = s.sharedRegions[:0]
	for i := range s.accesses {
		if a := &s.accesses[i]; a.Mode == deps.Concurrent && !a.Region.Empty() && !s.inherits(a) {
			s.sharedRegions = append(s.sharedRegions, a.Region)
		}
	}
	w := &hq.concurrent
	if first := w.first(); first != nil && shareElement(s, first) || !hq.joinGroup(s) {
		w.wait(s)
		return false
	}
	return true
}

func hasConcurrent(s *record) bool {
	return slices.ContainsFunc(s.accesses, func(a deps.Access) bool { return a.Mode == deps.Concurrent })
}

// inherits reports whether r has a concurrent access that its parent has too. What a task shares
// because its parent does does not count: the parent serves it, on the host, and must not wait for
// tasks that wait for the parent.
func (r *record) inherits(a *deps.Access) bool {
	return r.traits.Is(life.HostOnly) && r.scope.shares(a)
}

// joinGroup restricts s to the address space where its companions are, or to the one that is best
// for it when there are none. It reports false when it must wait for them. Requires: mu held.
func (hq *readyQueues) joinGroup(s *record) bool {
	allowed := s.item.Allowed
	if s.traits.Is(life.Simple) {
		allowed = hq.topology.all
	}
	w := &hq.concurrent
	if s.kind == goBody && w.kernels == 0 { // all are Go tasks on the host
		s.groupSpace = devices.Host
		w.add(s)
		return true
	}
	found, alone := false, s.alone()
	meets := func(_ *deps.Region, o *sharedRegion) bool {
		found = true
		allowed &= hq.topology.placesIn(o.at)
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
	if !hq.topology.accelerators {
		s.groupSpace = devices.Host
	} else {
		best := allowed.First()
		if !found {
			best = hq.topology.nearest(s, allowed)
		}
		s.groupSpace = hq.topology.spaces[best]
		s.item.Allowed = allowed & hq.topology.placesIn(s.groupSpace)
	}
	w.add(s)
	return true
}

// releaseExclusion gives back what kept others from running, and makes those ready that may run
// now.
func (rt *Runtime) releaseExclusion(r *record, over, ready *recordList) {
	spin.Perturb()
	if r.holds.Has(life.HeldExclusive) {
		r.holds.Drop(life.HeldExclusive)
		r.scope.exclusion.Release(&r.node, func(n *deps.Node) {
			if s := n.Owner.(*record); rt.ready.admitConcurrent(s) {
				rt.queue(s, nil, over, ready)
			}
		})
	}
	if r.holds.Has(life.HeldConcurrent) {
		r.holds.Drop(life.HeldConcurrent)
		for _, s := range rt.ready.leaveConcurrent(r) {
			rt.queue(s, nil, over, ready)
		}
	}
}

// leaveConcurrent takes r out of its concurrent groups and returns the waiting tasks that may run
// now.
func (hq *readyQueues) leaveConcurrent(r *record) (free []*record) {
	hq.mu.Lock()
	defer hq.unlock()
	w := &hq.concurrent
	w.remove(r)
	for before := -1; before != len(free); { // a task that may run now may have blocked others
		before = len(free)
		for _, l := range w.inOrder() {
			for l.next < len(l.records) {
				s := l.records[l.next]
				if first := w.first(); first != s && shareElement(first, s) || !hq.joinGroup(s) {
					break
				}
				w.leave(l)
				free = append(free, s)
			}
		}
	}
	return free
}
