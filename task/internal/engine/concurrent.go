package engine

import (
	"cmp"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
)

// This file implements the relations that delay a task whose predecessors have finished:
// commutative accesses, which exclude each other, and concurrent accesses, whose tasks must all be
// in one address space at a time.

// admit reports whether s may go to the scheduler now. If not, releaseExclusion of another task
// will make it ready.
func (hq *readyQueues) admit(s *Record) bool {
	if !s.Traits.Is(life.Relaxed) {
		return true
	}
	if len(s.Node.Exclusive()) > 0 && s.Kind != WaitBody {
		if s.Holds.Take(life.HeldExclusive); !s.Scope.Exclusion.TryAcquire(&s.Node) {
			return false
		}
	}
	return hq.admitConcurrent(s)
}

// admitConcurrent is the part of admit for concurrent accesses.
func (hq *readyQueues) admitConcurrent(s *Record) bool {
	spin.Perturb()
	if s.Kind == WaitBody || !HasConcurrent(s) {
		return true
	}
	hq.Mu.Lock()
	defer hq.Unlock()
	s.Holds.Take(life.HeldConcurrent)
	s.sharedRegions = s.sharedRegions[:0]
	for i := range s.Accesses {
		if a := &s.Accesses[i]; a.Mode == deps.Concurrent && !a.Region.Empty() && !inherits(s, a) {
			s.sharedRegions = append(s.sharedRegions, a.Region)
		}
	}
	w := &hq.Concurrent
	if first := w.first(); first != nil && shareElement(s, first) || !hq.joinGroup(s) {
		w.wait(s)
		return false
	}
	return true
}

func HasConcurrent(s *Record) bool {
	return slices.ContainsFunc(s.Accesses, func(a deps.Access) bool { return a.Mode == deps.Concurrent })
}

// inherits reports whether the parent of r also has a concurrent access to the region of a. Such an
// access does not count: the parent accesses the elements on the host for it, and must not wait for
// tasks that wait for the parent.
func inherits(r *Record, a *deps.Access) bool {
	return r.Traits.Is(life.HostOnly) && r.Scope.Shares(a)
}

// joinGroup restricts s to the address space of its concurrent group, or to the best one if the
// group is empty. It returns false if s must wait for the group.
// Requires: mu held.
func (hq *readyQueues) joinGroup(s *Record) bool {
	allowed := s.Item.Allowed
	if s.Traits.Is(life.Simple) {
		allowed = hq.Topology.All
	}
	w := &hq.Concurrent
	if s.Kind == GoBody && w.kernels == 0 { // all are Go tasks on the host
		s.groupSpace = devices.Host
		w.add(s)
		return true
	}
	found, alone := false, Alone(s)
	meets := func(_ *deps.Region, o *sharedRegion) bool {
		found = true
		allowed &= hq.Topology.placesIn(o.at)
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
	if !hq.Topology.Accelerators {
		s.groupSpace = devices.Host
	} else {
		best := allowed.First()
		if !found {
			best = hq.Topology.nearest(s, allowed)
		}
		s.groupSpace = hq.Topology.spaces[best]
		s.Item.Allowed = allowed & hq.Topology.placesIn(s.groupSpace)
	}
	w.add(s)
	return true
}

// releaseExclusion ends the exclusion of other tasks by r, and makes the tasks ready that may run
// now.
func releaseExclusion(rt *Runtime, r *Record, ended, ready *RecordList) {
	spin.Perturb()
	if r.Holds.Has(life.HeldExclusive) {
		r.Holds.Drop(life.HeldExclusive)
		r.Scope.Exclusion.Release(&r.Node, func(n *deps.Node) {
			if s := n.Owner.(*Record); rt.Ready.admitConcurrent(s) {
				rt.queue(s, nil, ended, ready)
			}
		})
	}
	if r.Holds.Has(life.HeldConcurrent) {
		r.Holds.Drop(life.HeldConcurrent)
		for _, s := range rt.Ready.leaveConcurrent(r) {
			rt.queue(s, nil, ended, ready)
		}
	}
}

// leaveConcurrent removes r from its concurrent groups and returns the waiting tasks that may run
// now.
func (hq *readyQueues) leaveConcurrent(r *Record) (free []*Record) {
	hq.Mu.Lock()
	defer hq.Unlock()
	w := &hq.Concurrent
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

// concurrentGroups contains the concurrent accesses of ready and running tasks. All that overlap
// are in one address space, because their updates would otherwise go to different replicas. On the
// host a kernel with atomics runs alone, because neither its Go function nor its vector code uses
// atomic operations. A kernel without atomics runs concurrently with others, as on a device: its
// author ensures that its iterations are ordered or access different elements.
//
// Tasks that wait for the same first region form one queue, of which only the head can be next. No
// task overtakes the longest-waiting task if the two overlap.
// Guarded by readyQueues.Mu.
type concurrentGroups struct {
	Held     []*Record // Record.heldIndex is the index
	kernels  int       // the number of kernels in Held
	indexed  bool      // the regions of Held are indexed; not before it contains a kernel
	regions  deps.Shelf[sharedRegion]
	waiting  int // the number of waiting tasks
	queues   []*waitQueue
	byFirst  map[deps.Region]*waitQueue
	oldest   *waitQueue // the queue whose head has waited longest; nil if unknown
	arrivals uint64
}

// A sharedRegion is a region with concurrent accesses at the moment.
type sharedRegion struct {
	at    devices.SpaceID
	n     int // tasks
	alone int // those of them that must be alone on the host
}

// A waitQueue holds the tasks that wait for the same first region, in order of arrival.
type waitQueue struct {
	region  deps.Region
	records []*Record
	next    int      // the head is records[next]
	since   []uint64 // the arrival numbers
}

// shareElement reports whether concurrent accesses of two tasks share an element.
func shareElement(a, b *Record) bool {
	for i := range a.sharedRegions {
		if slices.ContainsFunc(b.sharedRegions, a.sharedRegions[i].Overlaps) {
			return true
		}
	}
	return false
}

// Alone reports whether r, on the host, must not run concurrently with tasks that have concurrent
// accesses to the same elements.
func Alone(r *Record) bool {
	return r.Kind == KernelBody && r.RT.Topology.Host >= 0 && r.running(r.RT.Topology.Host).Atomics
}

// buildIndex fills the index of regions from Held.
func (w *concurrentGroups) buildIndex() {
	if w.indexed {
		return
	}
	w.indexed = true
	for _, s := range w.Held {
		w.addRegions(s)
	}
}

// addRegions adds the regions of s to the index.
func (w *concurrentGroups) addRegions(s *Record) {
	alone := Alone(s)
	for _, r := range s.sharedRegions {
		o := w.regions.At(r)
		o.at = s.groupSpace
		if o.n++; alone {
			o.alone++
		}
	}
}

func (w *concurrentGroups) add(s *Record) {
	s.heldIndex = len(w.Held)
	w.Held = append(w.Held, s)
	if s.Kind == KernelBody {
		w.kernels++
	}
	if w.indexed {
		w.addRegions(s)
	}
}

func (w *concurrentGroups) remove(s *Record) {
	last := len(w.Held) - 1
	if s.heldIndex > last || w.Held[s.heldIndex] != s { // it was waiting
		return
	}
	o := w.Held[last]
	w.Held[s.heldIndex], o.heldIndex = o, s.heldIndex
	w.Held[last] = nil
	w.Held = w.Held[:last]
	if s.Kind == KernelBody {
		w.kernels--
	}
	if !w.indexed {
		return
	}
	w.indexed = last > 0
	alone := Alone(s)
	for _, r := range s.sharedRegions {
		o := w.regions.At(r)
		if alone {
			o.alone--
		}
		if o.n--; o.n == 0 {
			w.regions.Drop(r)
		}
	}
}

// wait queues s, which has at least one shared region.
func (w *concurrentGroups) wait(s *Record) {
	first := s.sharedRegions[0]
	l := w.byFirst[first]
	if l == nil {
		if w.byFirst == nil {
			w.byFirst = map[deps.Region]*waitQueue{}
		}
		l = &waitQueue{region: first}
		w.byFirst[first] = l
		w.queues = append(w.queues, l)
	}
	w.arrivals++
	w.waiting++
	l.records, l.since = append(l.records, s), append(l.since, w.arrivals)
}

// leave removes the head of l.
func (w *concurrentGroups) leave(l *waitQueue) {
	w.waiting--
	if w.oldest == l {
		w.oldest = nil
	}
	l.records[l.next] = nil
	if l.next++; l.next == len(l.records) {
		delete(w.byFirst, l.region)
		w.queues = slices.DeleteFunc(w.queues, func(o *waitQueue) bool { return o == l })
	}
}

// first returns the task that has waited longest, nil if none waits.
func (w *concurrentGroups) first() *Record {
	if len(w.queues) == 0 {
		return nil
	}
	if w.oldest == nil { // later arrivals are younger than all heads
		w.oldest = slices.MinFunc(w.queues, (*waitQueue).compare)
	}
	return w.oldest.records[w.oldest.next]
}

func (l *waitQueue) compare(o *waitQueue) int { return cmp.Compare(l.since[l.next], o.since[o.next]) }

// inOrder returns the queues, sorted by the arrival of their heads.
func (w *concurrentGroups) inOrder() []*waitQueue {
	if len(w.queues) == 0 {
		return nil
	}
	return slices.SortedFunc(slices.Values(w.queues), (*waitQueue).compare)
}
