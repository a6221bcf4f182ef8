package run

import (
	"sort"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// A Path is a chain of tasks, each a predecessor of the next.
type Path struct {
	Tasks  []deps.TaskID
	Length time.Duration // the sum of their running times
}

// Critical returns a path whose tasks take the longest time to run: no number of devices makes the
// run shorter than that. Edges to tasks that were over when the successor was submitted are not in
// the records; they delayed nothing.
//
// A task whose body submitted others runs for as long as it would have if no device had been short:
// see nest.
//
// Cost: O(tasks + edges).
func (r *Run) Critical() Path {
	n := r.Len()
	if n == 0 {
		return Path{}
	}
	best := make([]time.Duration, n) // of the predecessors, then with the task itself
	via := make([]int32, n)
	for i := range via {
		via[i] = -1
	}
	links, end, spans := r.Edges(), 0, r.spans()
	for i, k := 0, 0; i < n; i++ {
		for ; k < len(links) && int(links[k].Succ) == i; k++ {
			if p := links[k].Pred; via[i] < 0 || best[p] > best[i] {
				best[i], via[i] = best[p], p
			}
		}
		if best[i] += weigh(r, i, spans); best[i] > best[end] {
			end = i
		}
	}
	path := Path{Length: best[end]}
	for i := int32(end); i >= 0; i = via[i] {
		path.Tasks = append(path.Tasks, r.tasks.id(int(i)))
	}
	for i, j := 0, len(path.Tasks)-1; i < j; i, j = i+1, j-1 {
		path.Tasks[i], path.Tasks[j] = path.Tasks[j], path.Tasks[i]
	}
	return path
}

// A Link of a collapsed path: tasks of one sort, with no others between them.
type Link struct {
	Sort  string
	Count int
	Time  time.Duration
}

// Collapse joins neighbours of one sort on a path.
func (r *Run) Collapse(p Path) []Link {
	var out []Link
	spans := r.spans()
	for _, id := range p.Tasks {
		i, ok := r.Index(id)
		if !ok {
			continue
		}
		sort := r.Row(i).Class().Sort()
		if n := len(out); n == 0 || out[n-1].Sort != sort {
			out = append(out, Link{Sort: sort})
		}
		last := &out[len(out)-1]
		last.Count++
		last.Time += weigh(r, i, spans)
	}
	return out
}

// A Chain is the path that the run really took, found from its end: the last task, the predecessor
// that made it ready, and so on. Its parts add up to the time from the first submission to the end
// of the last task.
type Chain struct {
	Tasks  []deps.TaskID
	Run    time.Duration // bodies
	Fetch  time.Duration // from the choice of a place to the start: copies, and kernels before it on an accelerator
	Behind time.Duration // that part of Fetch and Queue in which the accelerator ran others; of a Summary
	Queue  time.Duration // ready, and no place took it
	Tokens time.Duration // that part of Queue in which tasks were short of tokens
	Kind   string        // of the places whose tokens most of that was for
	Submit time.Duration // from the end of a task, or the first submission, until the next task was submitted
	Tell   time.Duration // from the end of a task until its successor was ready
	// Messages is the time that messages between ranks were on their way, from their sender to the
	// task that waits for them.
	Messages time.Duration
	Late     int           // tasks that were over before the next on the chain was submitted
	Before   time.Duration // that they ran
	Most     Link          // the sort of tasks on it that ran for the longest; of a Summary
}

// Chain follows the run back from its end. Before a task that was ready when it was submitted comes
// the task that finished last before that: what the program did between the two is submission.
func (r *Run) Chain() Chain {
	var c Chain
	from, _ := r.Bounds()
	finder := chainFinder{r, lastSteps(r)}
	byRelease, short := finder.byRelease(), map[int16]time.Duration{}
	messages := MessagesOf(r)
	last, awaited := -1, false
	for i := range r.Len() {
		if t := r.Row(i); t.Ran() && (last < 0 || t.End() > r.Row(last).End()) {
			last = i
		}
	}
	for n := r.Len(); n > 0 && last >= 0; n-- {
		t := r.Task(last)
		c.Tasks = append(c.Tasks, t.ID)
		if i, ok := sender(r, t, messages); ok && awaited && i < last {
			c.Tell += max(0, messages[t.ID].Begin-r.Row(i).End())
			last, awaited = i, false
			continue
		}
		c.Run += t.End - t.Start
		c.Fetch += t.Start - t.Choice
		c.Queue += t.Choice - t.Ready
		if t.Short {
			c.Tokens += t.Choice - t.Ready
			short[t.Place] += t.Choice - t.Ready
		}
		if i, ok := finder.before(t); ok && (i < last || r.Row(i).End() <= t.Ready) && r.Row(i).Ran() {
			tell := t.Ready - r.Row(i).End()
			m := messages[t.Last]
			if awaited = m != nil; awaited {
				way := min(tell, t.Ready-m.Begin)
				c.Messages += max(0, way)
				tell -= max(0, way)
				if _, ok := sender(r, r.Task(i), messages); ok {
					tell = 0 // meanwhile the chain is on the rank of the sender
				}
			}
			c.Tell += max(0, tell)
			last = i
			continue
		}
		k := sort.Search(len(byRelease), func(i int) bool { return r.Row(int(byRelease[i])).Release() > t.Submit })
		for k > 0 && RankOf(r, r.Row(int(byRelease[k-1])).Place()) != RankOf(r, t.Place) { // another program
			k--
		}
		awaited = false
		if k == 0 {
			c.Submit += t.Ready - from
			break
		}
		before := r.Task(int(byRelease[k-1]))
		c.Submit += t.Ready - before.Release
		c.Tell += before.Release - before.End
		c.Late, c.Before = c.Late+1, c.Before+before.End-before.Start
		last = int(byRelease[k-1])
	}
	c.Kind = finder.mostOf(short)
	return c
}

// sender returns the task, by index, that sends what t receives, where the message was sent after t
// waited for it.
func sender(r *Run, t *probe.Task, messages map[deps.TaskID]*probe.Point) (int, bool) {
	m := messages[t.ID]
	if m == nil || m.Begin < t.End {
		return 0, false
	}
	i, ok := r.Index(t.Last)
	return i, ok && r.Row(i).Ran()
}

// A chainFinder answers what Run.Chain and a Summary ask about all tasks of a run.
type chainFinder struct {
	run       *Run
	lastSteps map[deps.TaskID]int // see lastSteps
}

// lastSteps returns by replay the step that finished last, by index. A replay runs nothing itself.
func lastSteps(r *Run) map[deps.TaskID]int {
	out := map[deps.TaskID]int{}
	for _, c := range r.children() {
		parent, t := r.Row(int(c.parent)), r.Row(int(c.task))
		if parent.Ran() || !t.Ran() {
			continue
		}
		if last, ok := out[parent.ID()]; !ok || r.Row(last).End() < t.End() {
			out[parent.ID()] = int(c.task)
		}
	}
	return out
}

// before returns the task that made t ready, by index: for a step without a predecessor that which
// made the replay ready, and for a replay its last step.
func (f chainFinder) before(t *probe.Task) (int, bool) {
	last := t.Last
	if last == 0 && len(f.lastSteps) > 0 {
		if parent := f.run.Find(f.run.ParentOf(t.ID)); parent != nil && !Ran(parent) {
			last = parent.Last
		}
	}
	if i, ok := f.lastSteps[last]; ok {
		return i, true
	}
	return f.run.Index(last)
}

// waitBehind says for how long the tasks of a chain waited behind others of their accelerator, and
// what most of it is.
func (f chainFinder) waitBehind(c *Chain, busy [][]Span) {
	sorts := map[string]Link{}
	for _, id := range c.Tasks {
		t := f.run.Find(id)
		l := sorts[Sort(t)]
		l = Link{Sort(t), l.Count + 1, l.Time + t.End - t.Start}
		if sorts[l.Sort] = l; l.Time > c.Most.Time || l.Time == c.Most.Time && l.Sort < c.Most.Sort {
			c.Most = l
		}
		if int(t.Place) >= len(busy) {
			continue
		}
		spans := busy[t.Place]
		for i := sort.Search(len(spans), func(i int) bool { return spans[i].To > t.Ready }); i < len(spans) && spans[i].From < t.Start; i++ {
			c.Behind += max(0, min(spans[i].To, t.Start)-max(spans[i].From, t.Ready))
		}
	}
}

// mostOf returns the kind of the place with the longest time.
func (f chainFinder) mostOf(times map[int16]time.Duration) (kind string) {
	byKind := map[string]time.Duration{}
	for p, t := range times {
		if int(p) < len(f.run.Machine.Places) {
			byKind[f.run.Machine.Places[p].Kind] += t
		}
	}
	for k, t := range byKind {
		if kind == "" || t > byKind[kind] || t == byKind[kind] && k < kind {
			kind = k
		}
	}
	return kind
}

// byRelease returns the tasks that ran, in order of their end.
func (f chainFinder) byRelease() []int32 {
	ran := make([]int32, 0, f.run.Len())
	for i := range f.run.Len() {
		if f.run.Row(i).Ran() {
			ran = append(ran, int32(i))
		}
	}
	out := make([]int32, len(ran))
	for i, at := range byTime(len(ran), func(i int) time.Duration { return f.run.Row(int(ran[i])).Release() }) {
		out[i] = ran[at]
	}
	return out
}
