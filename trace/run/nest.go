package run

import (
	"cmp"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
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

// NestingOf returns what a task is a part of, and how many parts it has.
func (r *Run) NestingOf(id deps.TaskID) probe.Nesting {
	for _, d := range r.DetailsOf(id) {
		if d.What == record.Inside {
			return d.Nesting()
		}
	}
	return probe.Nesting{}
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
	n := nests{run: r, spans: make([]time.Duration, r.Len()), home: make([]int32, r.Len()), best: make([]time.Duration, r.Len())}
	for _, c := range children {
		n.home[c.task] = c.parent + 1
	}
	for i := range r.Len() {
		n.spans[i] = r.Row(i).ranFor()
	}
	var replays [][]child
	for to := len(children); to > 0; { // the innermost first
		from := to - 1
		for from > 0 && children[from-1].parent == children[to-1].parent {
			from--
		}
		if parent := children[from].parent; r.Row(int(parent)).Ran() {
			n.spans[parent] = n.nest(children[from:to])
		} else {
			replays = append(replays, children[from:to])
		}
		to = from
	}
	slices.Reverse(replays)
	n.chainReplays(replays)
	for _, c := range children {
		n.spans[c.task] = 0
	}
	r.nested = n.spans
	return n.spans
}

// nests finds for how long tasks with others inside run, as the critical path counts it.
type nests struct {
	run   *Run
	spans []time.Duration // by task
	home  []int32         // 1 + the task that each is inside of, 0 for none
	best  []time.Duration // of those inside: the longest chain up to its end, from the start of that
}

// chainReplays sets the times of replays, in their order, from those of their steps: a replay runs
// nothing itself, and takes as long as its longest chain of steps. One that starts before the one
// that it waits for has finished continues the chains of that one. Its time is then what it adds to
// the longest.
func (n *nests) chainReplays(replays [][]child) {
	group := make([]int32, len(n.home))  // by replay: that whose chains it continues
	longest := map[int32]time.Duration{} // by replay: the longest chain
	links, over := n.run.Edges(), map[int32]time.Duration{}
	for _, steps := range replays {
		parent := steps[0].parent
		begin := n.run.Row(int(steps[0].task)).Start()
		for _, c := range steps {
			t := n.run.Row(int(c.task))
			if t.Ran() {
				begin, over[parent] = min(begin, t.Start()), max(over[parent], t.End())
			}
		}
		group[parent] = parent
		before := time.Duration(0)
		n.predecessors(links, parent, func(p int32) {
			if end, ok := over[p]; ok && begin < end {
				group[parent], before = group[p], max(before, longest[p])
			}
		})
		longest[parent] = before
		for _, c := range steps {
			n.best[c.task] = n.spans[c.task]
			n.predecessors(links, c.task, func(p int32) {
				if h := n.home[p]; h > 0 && group[h-1] == group[parent] {
					n.best[c.task] = max(n.best[c.task], n.best[p]+n.spans[c.task])
				}
			})
			longest[parent] = max(longest[parent], n.best[c.task])
		}
		n.spans[parent] = longest[parent] - before
	}
}

// predecessors calls f for the predecessors of a task.
func (n *nests) predecessors(links []Edge, task int32, f func(p int32)) {
	k, _ := slices.BinarySearchFunc(links, task, func(e Edge, task int32) int { return cmp.Compare(e.Succ, task) })
	for ; k < len(links) && links[k].Succ == task; k++ {
		f(links[k].Pred)
	}
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
func (n *nests) nest(inside []child) time.Duration {
	r := n.run
	parent := r.Task(int(inside[0].parent))
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
		n.predecessors(links, c.task, func(p int32) {
			if n.home[p] == c.parent+1 {
				before = max(before, n.best[p])
			}
		})
		n.best[c.task] = before + n.spans[c.task]
		longest = max(longest, n.best[c.task])
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
