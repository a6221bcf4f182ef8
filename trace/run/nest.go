package run

import (
	"cmp"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/record"
)

// ParentOf returns the task whose body submitted a task, 0 for the program.
func (r *Run) ParentOf(id deps.TaskID) deps.TaskID {
	for _, d := range r.DetailsOf(id) {
		if d.What == record.Inside {
			return deps.TaskID(d.Values[0])
		}
	}
	return 0
}

// A child is a task and the one whose body submitted it, by index.
type child struct{ parent, task int32 }

// children returns the tasks that bodies submitted, by parent, then in order of submission. Parents
// are before their children.
func (r *Run) children() (out []child) {
	if r.details.inside == 0 {
		return nil
	}
	for d := range r.details.all() {
		if d.What != record.Inside {
			continue
		}
		task, ok := r.Index(d.Task)
		parent, has := r.Index(deps.TaskID(d.Values[0]))
		if ok && has && parent < task {
			out = append(out, child{int32(parent), int32(task)})
		}
	}
	slices.SortFunc(out, func(a, b child) int { return cmp.Or(cmp.Compare(a.parent, b.parent), cmp.Compare(a.task, b.task)) })
	return out
}

// spans returns for how long each task of a run with nested tasks runs, as the critical path counts
// it: 0 for those inside others, which are part of these. It returns nil where no task is nested.
func (r *Run) spans() []time.Duration {
	if r.nested != nil {
		return r.nested
	}
	children := r.children()
	if len(children) == 0 {
		return nil
	}
	spans, home := make([]time.Duration, r.Len()), make([]int32, r.Len())
	for _, c := range children {
		home[c.task] = c.parent + 1
	}
	for i := range r.Len() {
		spans[i] = r.Row(i).ranFor()
	}
	best := make([]time.Duration, r.Len())
	for to := len(children); to > 0; { // the innermost first
		from := to - 1
		for from > 0 && children[from-1].parent == children[to-1].parent {
			from--
		}
		spans[children[from].parent] = r.nest(children[from:to], home, spans, best)
		to = from
	}
	for _, c := range children {
		spans[c.task] = 0
	}
	r.nested = spans
	return spans
}

// weigh returns for how long a task runs, as the critical path counts it. spans are those of the
// run.
func weigh(r *Run, i int, spans []time.Duration) time.Duration {
	if spans != nil {
		return spans[i]
	}
	return r.Row(i).ranFor()
}

// nest returns how long a task takes with those inside it when no device is short: what its body
// does itself until it submits them, their longest chain, and what the body does itself after the
// last of them, for which it is taken to have waited. What a body does itself is the time in which
// none of those inside runs.
func (r *Run) nest(inside []child, home []int32, spans, best []time.Duration) time.Duration {
	parent := r.Task(int(inside[0].parent))
	if !Ran(parent) {
		return 0
	}
	var ran []Span
	last := parent.Start
	for _, c := range inside {
		if t := r.Row(int(c.task)); t.Ran() {
			ran, last = append(ran, t.Span()), max(last, t.End())
		}
	}
	busy := clip(union(ran), Span{parent.Start, parent.End})
	all := Span{parent.Start, parent.End}
	longest := time.Duration(0)
	links := r.Edges()
	for _, c := range inside {
		submitted := min(max(r.Row(int(c.task)).Submit(), parent.Start), parent.End)
		before := submitted - parent.Start - lengthUntil(busy, submitted)
		k, _ := slices.BinarySearchFunc(links, c.task, func(e Edge, task int32) int { return cmp.Compare(e.Succ, task) })
		for ; k < len(links) && links[k].Succ == c.task; k++ {
			if p := links[k].Pred; home[p] == c.parent+1 {
				before = max(before, best[p])
			}
		}
		best[c.task] = before + spans[c.task]
		longest = max(longest, best[c.task])
	}
	return max(all.To-all.From-length(busy), longest+max(0, parent.End-last))
}

// lengthUntil returns the sum of spans that are apart and in order, up to a moment.
func lengthUntil(spans []Span, at time.Duration) (sum time.Duration) {
	for _, s := range spans {
		if s.From >= at {
			break
		}
		sum += min(s.To, at) - s.From
	}
	return sum
}
