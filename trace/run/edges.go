package run

import (
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/record"
)

// Predecessors returns the tasks that a task waited for: those that were not over when it was
// submitted. A run with a limit may not have all of them: see EdgesGoneOf.
func (r *Run) Predecessors(id deps.TaskID) []deps.TaskID {
	var out []deps.TaskID
	for _, d := range r.DetailsOf(id) {
		if d.What == record.Waits {
			for _, p := range d.Values[:d.Count] {
				out = append(out, deps.TaskID(p))
			}
		}
	}
	return out
}

// EdgesGoneOf returns how many predecessors of a task Predecessors leaves out.
func (r *Run) EdgesGoneOf(id deps.TaskID) (n int64) {
	for _, d := range r.DetailsOf(id) {
		if d.What == record.Waits && int(d.Count) <= goneAt {
			n += d.Values[goneAt]
		}
	}
	return n
}

// goneAt is where a detail of thinned edges, which are few, has the number of those that are not
// there.
const goneAt = len(record.Detail{}.Values) - 1

// An Edge is between two tasks of the run, by index.
type Edge struct{ Pred, Succ int32 }

// Edges returns all edges, by successor; it finds them once.
func (r *Run) Edges() []Edge {
	if r.edges != nil {
		return r.edges
	}
	r.edges = make([]Edge, 0, r.details.waits)
	var waits []deps.TaskID
	for k := range r.details.order {
		task, text := r.details.group(k)
		succ, ok := r.Index(task)
		if !ok {
			continue
		}
		waits = waitsIn(waits[:0], text, task)
		for _, p := range waits {
			if pred, ok := r.Index(p); ok && pred < succ {
				r.edges = append(r.edges, Edge{int32(pred), int32(succ)})
			}
		}
	}
	return r.edges
}

// extraWaits counts the details of edges of one task that are not the first.
func extraWaits(list []record.Detail) (n int) {
	for i := 1; i < len(list); i++ {
		if list[i].What == record.Waits && list[i-1].What == record.Waits {
			n++
		}
	}
	return n
}

// A thinner bounds the edges that a run with a limit keeps.
type thinner struct{ run *Run }

// thin leaves out edges of tasks that waited for more others than one detail says. Where n tasks
// wait for m others each, as when phases follow each other, there are n times m edges, and a run
// with a limit is to stay in a bounded memory. What is kept of a task that has finished is the
// predecessor that finished last and the one at the end of the longest chain: the critical path
// stays the same. Tasks that are not over, or whose predecessors are not all here yet, keep what
// they have.
//
// Cost: O(tasks + edges), each time that the edges have doubled.
func (t thinner) thin() {
	r := t.run
	r.Finish()
	best, known := make([]time.Duration, r.Len()), make([]bool, r.Len())
	spans := r.spans()
	out, k := details{shift: r.details.shift}, 0
	var list, kept []record.Detail
	for i := range r.Len() {
		id := r.tasks.id(i)
		for k < len(r.details.order) && r.details.taskOf(k) < id { // of tasks that are not over
			list = r.details.appendGroup(list[:0], k)
			out.addAll(list)
			k++
		}
		list = list[:0]
		for k < len(r.details.order) && r.details.taskOf(k) == id {
			list = r.details.appendGroup(list, k)
			k++
		}
		var on int
		on, best[i], known[i] = t.longest(list, i, best, known)
		best[i] += weigh(r, i, spans)
		if known[i] && extraWaits(list) > 0 {
			kept = t.fewer(kept[:0], list, on)
			out.addAll(kept)
		} else {
			out.addAll(list)
		}
	}
	for ; k < len(r.details.order); k++ {
		list = r.details.appendGroup(list[:0], k)
		out.addAll(list)
	}
	out.finish(r.oldest)
	r.details, r.derived = out, derived{}
	r.extraKept = out.extra
}

// longest returns the predecessor of task i, by index, at the end of the longest chain, -1 for
// none, and how long that chain is. It returns ok false where a predecessor may still come.
func (t thinner) longest(details []record.Detail, i int, best []time.Duration, known []bool) (on int, length time.Duration, ok bool) {
	on, ok = -1, true
	for k := range details {
		d := &details[k]
		if d.What != record.Waits {
			continue
		}
		for _, p := range d.Values[:d.Count] {
			pred, here := t.run.Index(deps.TaskID(p))
			switch {
			case here && pred < i:
				if ok = ok && known[pred]; on < 0 || best[pred] > length {
					on, length = pred, best[pred]
				}
			case !here && deps.TaskID(p) > t.run.oldest && t.run.Dropped == 0:
				ok = false // its record has not come yet
			}
		}
	}
	return on, length, ok
}

// fewer appends the details of a task with two of its edges at most: from the task at index on, and
// from its last predecessor.
func (t thinner) fewer(out, details []record.Detail, on int) []record.Detail {
	id := details[0].Task
	keep := record.Detail{Task: id, What: record.Waits}
	last := t.run.Find(id).Last
	for i := range details {
		d := details[i]
		if d.What != record.Waits {
			out = append(out, d)
			continue
		}
		for _, p := range d.Values[:d.Count] {
			if deps.TaskID(p) == last || on >= 0 && deps.TaskID(p) == t.run.tasks.id(on) {
				keep.Values[keep.Count] = p
				keep.Count++
			} else {
				keep.Values[goneAt]++
			}
		}
	}
	t.run.EdgesGone += keep.Values[goneAt]
	return append(out, keep)
}
