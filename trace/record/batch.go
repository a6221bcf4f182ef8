package record

import (
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// A Batch has the records since the last one. Its slices belong to the sender: a sink copies the
// records that it keeps. Other sinks get the same batch: one that wants it packed in another form
// makes a copy first.
type Batch struct {
	Tasks   []probe.Task
	Packed  Packed // other tasks, with their details
	Details []Detail
	Points  []probe.Point // of no task: copies, memory, compilation
	Dropped uint64        // tasks, details and points lost since the start because a ring was full
	Lost    *Losses       // the same counted apart, since the start; nil where that was said before, or will be later
}

// reset empties b, which keeps its memory.
func (b *Batch) reset() {
	clear(b.Points) // of what they refer to
	b.Tasks, b.Details, b.Points, b.Dropped, b.Lost = b.Tasks[:0], b.Details[:0], b.Points[:0], 0, nil
	b.Packed.clear()
}

// Len returns how many records are in b; what is packed counts by tasks.
func (b *Batch) Len() int { return len(b.Tasks) + b.Packed.Len() + len(b.Details) + len(b.Points) }

// take appends a task, and a detail with its nesting: files have tasks without that.
func (b *Batch) take(t *probe.Task) {
	b.Tasks = append(b.Tasks, *t)
	if n := &t.Nesting; *n != (probe.Nesting{}) {
		b.Details = append(b.Details, Detail{Task: t.ID, What: Inside, Count: 1, Values: [6]int64{int64(n.Parent), int64(n.Replay), int64(n.Step), int64(n.Steps)}})
	}
}

// Nesting returns what a detail of kind Inside says.
func (d *Detail) Nesting() probe.Nesting {
	return probe.Nesting{Parent: deps.TaskID(d.Values[0]), Replay: int32(d.Values[1]), Step: int32(d.Values[2]), Steps: int32(d.Values[3])}
}

// A ranStep is a step of a replay that has run.
type ranStep struct {
	of *probe.Replay
	probe.StepRun
}

// takeStep appends the task of a step, and its details.
func (b *Batch) takeStep(x *ranStep) {
	t := x.of.TaskOf(&x.StepRun)
	b.take(&t)
	s := &x.of.Steps[x.Step]
	for i := range s.Accesses {
		b.Details = append(b.Details, detailOfAccess(t.ID, &s.Accesses[i]))
	}
	for before := s.Before; len(before) > 0; {
		d := Detail{Task: t.ID, What: Waits, Count: uint8(min(len(before), waitsOfDetail))}
		for k, p := range before[:d.Count] {
			d.Values[k] = int64(x.of.ID(p))
		}
		b.Details, before = append(b.Details, d), before[d.Count:]
	}
}

// Clone returns a copy.
func (b *Batch) Clone() *Batch {
	c := *b
	c.Tasks, c.Details, c.Points, c.Packed.words = slices.Clone(b.Tasks), slices.Clone(b.Details), slices.Clone(b.Points), slices.Clone(b.Packed.words)
	return &c
}

// A DetailKind is the kind of a Detail.
type DetailKind uint8

// The kinds of details, with the meaning of Values.
const (
	Accesses  DetailKind = iota + 1 // one access: buffer, first element, elements, last element; Mode
	Waits                           // Count predecessors
	_                               // was used by the first files
	Candidate                       // a place that the task might have run at: see Detail.Candidate
	Inside                          // the fields of probe.Nesting: see Detail.Nesting
)

// A Detail is something about a task that has no place in probe.Task; there may be several of a
// kind for a task.
type Detail struct {
	Task   deps.TaskID
	What   DetailKind
	Count  uint8
	Mode   deps.Mode
	Place  int16
	Values [6]int64
}
