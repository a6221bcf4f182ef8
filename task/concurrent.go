package task

import (
	"cmp"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// concurrentGroups holds the concurrent accesses of ready and running tasks: all that overlap are
// in one address space, since their updates would otherwise go to different replicas. On the host a
// kernel with atomics runs alone: neither its Go function nor its vector code has atomics. A kernel
// without atomics runs beside others, as on a device: its iterations are ordered by its author, or
// touch different elements. It is guarded by readyQueues.mu.
//
// Tasks that wait for the same first region stand in one queue, of which only the head can be next.
// No task overtakes the one that has waited longest if the two overlap.
type concurrentGroups struct {
	held     []*record // record.heldIndex is the index
	kernels  int       // among held
	indexed  bool      // spots are those of held; not before there is a kernel
	regions  deps.Shelf[sharedRegion]
	waiting  int // tasks
	queues   []*waitQueue
	byFirst  map[deps.Region]*waitQueue
	oldest   *waitQueue // whose head has waited longest; nil where that is not known
	arrivals uint64
}

// A sharedRegion is a region with concurrent accesses at the moment.
type sharedRegion struct {
	at    devices.SpaceID
	n     int // tasks
	alone int // among them, those that must be alone on the host
}

// A waitQueue holds the tasks that wait for one first region, in order of arrival.
type waitQueue struct {
	region  deps.Region
	records []*record
	next    int      // the head is records[next]
	since   []uint64 // when they came
}

// shareElement reports whether concurrent accesses of two tasks share an element.
func shareElement(a, b *record) bool {
	for i := range a.sharedRegions {
		if slices.ContainsFunc(b.sharedRegions, a.sharedRegions[i].Overlaps) {
			return true
		}
	}
	return false
}

// alone reports whether r, on the host, must not run beside tasks with concurrent accesses to the
// same elements.
func (r *record) alone() bool {
	return r.kind == kernelBody && r.rt.topology.host >= 0 && r.running(r.rt.topology.host).Atomics
}

// buildIndex fills regions from held.
func (w *concurrentGroups) buildIndex() {
	if w.indexed {
		return
	}
	w.indexed = true
	for _, s := range w.held {
		w.addRegions(s)
	}
}

// addRegions counts the regions of s in.
func (w *concurrentGroups) addRegions(s *record) {
	alone := s.alone()
	for _, r := range s.sharedRegions {
		o := w.regions.At(r)
		o.at = s.groupSpace
		if o.n++; alone {
			o.alone++
		}
	}
}

func (w *concurrentGroups) add(s *record) {
	s.heldIndex = len(w.held)
	w.held = append(w.held, s)
	if s.kind == kernelBody {
		w.kernels++
	}
	if w.indexed {
		w.addRegions(s)
	}
}

func (w *concurrentGroups) remove(s *record) {
	last := len(w.held) - 1
	if s.heldIndex > last || w.held[s.heldIndex] != s { // it was waiting
		return
	}
	o := w.held[last]
	w.held[s.heldIndex], o.heldIndex = o, s.heldIndex
	w.held[last] = nil
	w.held = w.held[:last]
	if s.kind == kernelBody {
		w.kernels--
	}
	if !w.indexed {
		return
	}
	w.indexed = last > 0
	alone := s.alone()
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
func (w *concurrentGroups) wait(s *record) {
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
func (w *concurrentGroups) first() *record {
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
