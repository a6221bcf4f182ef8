package task

import (
	"cmp"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// gatherings knows where the concurrent accesses of tasks that are ready or run are: all that overlap are in one address
// space, or their updates would be to different replicas. On the host, a kernel with atomics is alone: neither its Go function nor its
// vector code makes them. One without runs beside others, as on a device: its author says that they order themselves, by what they
// touch. It is guarded by Runtime.mu.
//
// Tasks that wait for the same first region stand in one line, where only the head can be next. Nobody overtakes the one that has waited
// longest if the two overlap.
type gatherings struct {
	held    []*record // record.heldAt is the index
	kernels int       // among held
	known   bool      // spots are those of held; not before there is a kernel
	spots   deps.Shelf[spot]
	waiting int // tasks
	lines   []*waitLine
	byFirst map[deps.Region]*waitLine
	oldest  *waitLine // whose head has waited longest; nil where that is not known
	arrived uint64
}

// A spot is a region that is shared now.
type spot struct {
	at    devices.SpaceID
	n     int // tasks
	alone int // among them, those that must be alone on the host
}

// A waitLine is the tasks that wait for one first region, in order of arrival.
type waitLine struct {
	region  deps.Region
	records []*record
	next    int      // the head is records[next]
	since   []uint64 // when they came
}

// meet reports whether two tasks share a common element.
func meet(a, b *record) bool {
	for i := range a.shared {
		if slices.ContainsFunc(b.shared, a.shared[i].Overlaps) {
			return true
		}
	}
	return false
}

// alone reports whether r, on the host, must be kept from those that have concurrent accesses to the same elements.
func (r *record) alone() bool {
	return r.kind == kernelBody && r.rt.host >= 0 && r.running(r.rt.host).atomics
}

// know makes the spots those of all that are held.
func (w *gatherings) know() {
	if w.known {
		return
	}
	w.known = true
	for _, s := range w.held {
		w.note(s)
	}
}

// note counts s in, where it is.
func (w *gatherings) note(s *record) {
	alone := s.alone()
	for _, r := range s.shared {
		o := w.spots.At(r)
		o.at = s.at
		if o.n++; alone {
			o.alone++
		}
	}
}

func (w *gatherings) hold(s *record) {
	s.heldAt = len(w.held)
	w.held = append(w.held, s)
	if s.kind == kernelBody {
		w.kernels++
	}
	if w.known {
		w.note(s)
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
	if !w.known {
		return
	}
	w.known = last > 0
	alone := s.alone()
	for _, r := range s.shared {
		o := w.spots.At(r)
		if alone {
			o.alone--
		}
		if o.n--; o.n == 0 {
			w.spots.Drop(r)
		}
	}
}

// wait has s wait. It shares something, as there is nothing else to wait for.
func (w *gatherings) wait(s *record) {
	first := s.shared[0]
	l := w.byFirst[first]
	if l == nil {
		if w.byFirst == nil {
			w.byFirst = map[deps.Region]*waitLine{}
		}
		l = &waitLine{region: first}
		w.byFirst[first] = l
		w.lines = append(w.lines, l)
	}
	w.arrived++
	w.waiting++
	l.records, l.since = append(l.records, s), append(l.since, w.arrived)
}

// leave takes the head of l out.
func (w *gatherings) leave(l *waitLine) {
	w.waiting--
	if w.oldest == l {
		w.oldest = nil
	}
	l.records[l.next] = nil
	if l.next++; l.next == len(l.records) {
		delete(w.byFirst, l.region)
		w.lines = slices.DeleteFunc(w.lines, func(o *waitLine) bool { return o == l })
	}
}

// first returns the task that has waited longest, nil if none waits.
func (w *gatherings) first() *record {
	if len(w.lines) == 0 {
		return nil
	}
	if w.oldest == nil { // who comes later is younger than all heads
		w.oldest = slices.MinFunc(w.lines, (*waitLine).compare)
	}
	return w.oldest.records[w.oldest.next]
}

func (l *waitLine) compare(o *waitLine) int { return cmp.Compare(l.since[l.next], o.since[o.next]) }

// inOrder returns the lines, those first whose heads have waited longest.
func (w *gatherings) inOrder() []*waitLine {
	if len(w.lines) == 0 {
		return nil
	}
	return slices.SortedFunc(slices.Values(w.lines), (*waitLine).compare)
}
