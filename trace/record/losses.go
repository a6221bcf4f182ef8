package record

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// Losses counts the records that a recorder dropped since the start because its rings were full. A
// dropped task or copy leaves no record, and its counts and sums are exact nevertheless.
type Losses struct {
	Tasks   []LostTasks  `json:",omitempty"`
	Copies  []LostCopies `json:",omitempty"`
	Details uint64       `json:",omitempty"` // accesses, predecessors and candidates of tasks
	Points  uint64       `json:",omitempty"` // of memory, compilation and phases
}

// LostTasks are the dropped tasks of one kernel, or of one label where there is no kernel, and one
// variant at one place.
type LostTasks struct {
	Kernel, Label, Variant string
	Place                  int16
	Count                  int64
	Ran, Failed, Skipped   int64
	Short                  int64         // lacked tokens at some time
	Waited                 time.Duration // by them, ready, until they got a place
	Running                time.Duration // from start to end, of those that ran
	Least, Most            time.Duration // of the same
	Steps                  int64         `json:",omitempty"` // kernels in device graphs
}

// LostCopies are the dropped copies from one address space to another.
type LostCopies struct {
	From, To       string
	Copies, Failed int64
	Bytes          deps.Bytes // of those that did not fail
}

// Records returns how many records l stands for.
func (l *Losses) Records() uint64 {
	n := l.Details + l.Points
	for i := range l.Tasks {
		n += uint64(l.Tasks[i].Count)
	}
	for i := range l.Copies {
		n += uint64(l.Copies[i].Copies + l.Copies[i].Failed)
	}
	return n
}

// Sum returns the sums over all dropped tasks, without names and extremes.
func (l *Losses) Sum() (all LostTasks) {
	for i := range l.Tasks {
		t := &l.Tasks[i]
		all.Count += t.Count
		all.Ran += t.Ran
		all.Failed += t.Failed
		all.Skipped += t.Skipped
		all.Short += t.Short
		all.Waited += t.Waited
		all.Running += t.Running
	}
	return all
}

// mostLostKinds bounds the rows of tasks that one writer counts apart: labels may differ from task
// to task. Further tasks count in a row of their place, with OtherTasks as the label.
const mostLostKinds = 1 << 8

// OtherTasks is the label of the row that counts dropped tasks of too many kinds.
const OtherTasks = "(others)"

type lostKind struct {
	kernel, label, variant string
	place                  int16
}

type lostLink struct{ from, to string }

// losses counts the lost tasks and points of one writer. They are written only when a ring is
// full.
type losses struct {
	records atomic.Uint64 // of all kinds; read without mu
	mu      sync.Mutex    // guards the fields below
	tasks   map[lostKind]*LostTasks
	copies  map[lostLink]*LostCopies
	details uint64
	points  uint64
	_       [64]byte
}

// task counts a dropped task.
func (l *losses) task(t *probe.Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records.Add(1)
	k := lostKind{t.Kernel, "", t.Variant, t.Place}
	if t.Kernel == "" {
		k.label = t.Label
	}
	if l.tasks[k] == nil && len(l.tasks) >= mostLostKinds {
		k = lostKind{label: OtherTasks, place: t.Place}
	}
	row := entryOf(&l.tasks, k)
	row.Kernel, row.Label, row.Variant, row.Place = k.kernel, k.label, k.variant, k.place
	row.add(t)
}

func (l *LostTasks) add(t *probe.Task) {
	l.Count++
	switch {
	case t.Skipped:
		l.Skipped++
	case t.Err != "":
		l.Failed++
	}
	if t.Short {
		l.Short++
		l.Waited += max(0, t.Choice-t.Ready)
	}
	if t.Place < 0 || t.Start <= 0 { // it got no place, or did not run
		return
	}
	l.Steps += int64(t.Steps)
	d := t.End - t.Start
	if l.Ran == 0 || d < l.Least {
		l.Least = d
	}
	l.Ran++
	l.Running += d
	l.Most = max(l.Most, d)
}

// merge adds other, of the same kernel, label, variant and place.
func (l *LostTasks) merge(other *LostTasks) {
	least := min(l.Least, other.Least)
	switch {
	case l.Ran == 0:
		least = other.Least
	case other.Ran == 0:
		least = l.Least
	}
	l.Count += other.Count
	l.Ran += other.Ran
	l.Failed += other.Failed
	l.Skipped += other.Skipped
	l.Short += other.Short
	l.Waited += other.Waited
	l.Running += other.Running
	l.Steps += other.Steps
	l.Least, l.Most = least, max(l.Most, other.Most)
}

// point counts a dropped point.
func (l *losses) point(p *probe.Point) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records.Add(1)
	if p.Kind != probe.Arrive {
		l.points++
		return
	}
	row := entryOf(&l.copies, lostLink{p.From, p.To})
	row.From, row.To = p.From, p.To
	if p.Err != nil {
		row.Failed++
		return
	}
	row.Copies++
	row.Bytes += p.Bytes
}

// detail counts dropped details.
func (l *losses) detail(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records.Add(uint64(n))
	l.details += uint64(n)
}

// entryOf returns the value at k, made when it is not there.
func entryOf[K comparable, V any](m *map[K]*V, k K) *V {
	v := (*m)[k]
	if v == nil {
		if *m == nil {
			*m = map[K]*V{}
		}
		v = new(V)
		(*m)[k] = v
	}
	return v
}

// lossesOf adds up the losses of all writers, ordered by place, kernel, label and variant.
func lossesOf(list []losses) *Losses {
	out := &Losses{}
	tasks, copies := map[lostKind]*LostTasks{}, map[lostLink]*LostCopies{}
	for i := range list {
		l := &list[i]
		l.mu.Lock()
		for k, row := range l.tasks {
			to := entryOf(&tasks, k)
			to.Kernel, to.Label, to.Variant, to.Place = k.kernel, k.label, k.variant, k.place
			to.merge(row)
		}
		for k, row := range l.copies {
			to := entryOf(&copies, k)
			to.From, to.To = k.from, k.to
			to.Copies, to.Failed, to.Bytes = to.Copies+row.Copies, to.Failed+row.Failed, to.Bytes+row.Bytes
		}
		out.Details, out.Points = out.Details+l.details, out.Points+l.points
		l.mu.Unlock()
	}
	for row := range maps.Values(tasks) {
		out.Tasks = append(out.Tasks, *row)
	}
	for row := range maps.Values(copies) {
		out.Copies = append(out.Copies, *row)
	}
	slices.SortFunc(out.Tasks, func(a, b LostTasks) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Variant, b.Variant))
	})
	slices.SortFunc(out.Copies, func(a, b LostCopies) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}
