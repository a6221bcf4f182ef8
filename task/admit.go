package task

import (
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
)

// This file is what keeps a task back whose predecessors are over: commutative accesses, which are had by one task at a
// time, and concurrent ones, whose tasks must all be in one address space at a time.

// gatherings knows where the concurrent accesses of tasks that are ready or run are: all that overlap are in one address
// space, or their updates would be to different replicas. On the host, a kernel with atomics is alone: neither its Go function nor its
// vector code makes them. One without runs beside others, as on a device: its author says that they order themselves, by what they
// touch. It is guarded by Runtime.mu.
type gatherings struct {
	held    []*record // record.heldAt is the index
	kernels int       // among held
	waiting []*record // in order of arrival; nobody overtakes one whose accesses overlap
}

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
	perturb()
	if s.kind == waitBody || !hasConcurrent(s) {
		return true
	}
	rt.mu.Lock()
	defer rt.unlock()
	s.gathered = true
	s.shared = s.shared[:0]
	for _, a := range s.accesses {
		if a.Mode == deps.Concurrent {
			s.shared = append(s.shared, a)
		}
	}
	w := &rt.gathered
	if slices.ContainsFunc(w.waiting, func(o *record) bool { return meet(s, o) }) || !rt.join(s) {
		w.waiting = append(w.waiting, s)
		return false
	}
	return true
}

func hasConcurrent(s *record) bool {
	return slices.ContainsFunc(s.accesses, func(a deps.Access) bool { return a.Mode == deps.Concurrent })
}

// meet reports whether two tasks have concurrent accesses to a common element. What a task shares because its parent does
// does not count: the parent is there for it, on the host, and must not wait for those who wait for the parent.
func meet(a, b *record) bool {
	for i := range a.shared {
		for k := range b.shared {
			x, y := &a.shared[i], &b.shared[k]
			if x.Region.Overlaps(y.Region) && !a.inherits(x) && !b.inherits(y) {
				return true
			}
		}
	}
	return false
}

// inherits reports whether r has a concurrent access that its parent has too.
func (r *record) inherits(a *deps.Access) bool { return r.onHost && r.home.shares(a) }

// join restricts s to the address space where its companions are, or to the one that is best for it when there are none. It
// reports false when it must wait for them. Requires: mu held.
func (rt *Runtime) join(s *record) bool {
	allowed := s.item.Allowed
	if s.plain {
		allowed = rt.all
	}
	found := false
	w := &rt.gathered
	if s.kind == goBody && w.kernels == 0 { // all are Go tasks on the host
		s.at = devices.Host
		w.hold(s)
		return true
	}
	for _, o := range w.held {
		if meet(s, o) {
			found = true
			allowed &= rt.placesIn(o.at)
			if o.at == devices.Host && (s.alone() || o.alone()) {
				return false
			}
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

// alone reports whether r, on the host, must be kept from those that have concurrent accesses to the same elements.
func (r *record) alone() bool {
	return r.kind == kernelBody && r.rt.host >= 0 && r.running(r.rt.host).atomics
}

func (w *gatherings) hold(s *record) {
	s.heldAt = len(w.held)
	w.held = append(w.held, s)
	if s.kind == kernelBody {
		w.kernels++
	}
}

func (w *gatherings) drop(s *record) {
	last := len(w.held) - 1
	if s.heldAt > last || w.held[s.heldAt] != s { // it was waiting
		return
	}
	o := w.held[last]
	w.held[s.heldAt], o.heldAt = o, s.heldAt
	w.held[last] = nil
	w.held = w.held[:last]
	if s.kind == kernelBody {
		w.kernels--
	}
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
	perturb()
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
	kept := w.waiting[:0]
	for _, s := range w.waiting {
		if slices.ContainsFunc(kept, func(o *record) bool { return meet(s, o) }) || !rt.join(s) {
			kept = append(kept, s)
		} else {
			free = append(free, s)
		}
	}
	clear(w.waiting[len(kept):])
	w.waiting = kept
	return free
}

// hostOnly is the place of the CPU workers, as a set.
func (rt *Runtime) hostOnly() sched.PlaceSet { return sched.PlaceSet(0).With(rt.host) }
