package run

import (
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// A Row is a task where it lies in a run. To read a field of it costs no copy of the others, as
// Run.Task makes one. It is good until the next Take or Copy. The methods are the fields of
// probe.Task.
type Row struct {
	b *block
	k int
}

// ID returns the number of the task.
func (t Row) ID() deps.TaskID { return t.b.ids[t.k] }

// Last returns the predecessor that finished last, 0 for none.
func (t Row) Last() deps.TaskID { return t.b.lasts[t.k] }

// Submit returns when the task was submitted.
func (t Row) Submit() time.Duration { return t.b.submit[t.k] }

// Ready returns when its predecessors had finished.
func (t Row) Ready() time.Duration { return t.b.ready[t.k] }

// Choice returns when it was given to its place.
func (t Row) Choice() time.Duration { return t.Start() + t.b.choice.at(t.k) }

// Start returns when it began to run.
func (t Row) Start() time.Duration { return t.b.start[t.k] }

// End returns when it had run.
func (t Row) End() time.Duration { return t.b.end[t.k] }

// Release returns when the runtime observed its end.
func (t Row) Release() time.Duration { return t.End() + t.b.release.at(t.k) }

// Missing returns how many bytes had to be copied to its place.
func (t Row) Missing() deps.Bytes { return t.b.missing.at(t.k) }

// Bytes returns how many bytes its accesses name.
func (t Row) Bytes() deps.Bytes { return t.b.bytes.at(t.k) }

// Class returns the class of the task.
func (t Row) Class() *Class { return &t.b.described[t.b.what[t.k]] }

// Place returns the index of its place, -1 for none.
func (t Row) Place() int16 { return t.Class().Place }

// Span returns when it ran.
func (t Row) Span() Span { return Span{t.Start(), t.End()} }

// Ran reports whether it ran on some place.
func (t Row) Ran() bool { return t.Start() > 0 && t.Place() >= 0 }

// ranFor returns for how long it ran.
func (t Row) ranFor() time.Duration {
	if !t.Ran() {
		return 0
	}
	return t.End() - t.Start()
}

// task returns a copy.
func (t Row) task() probe.Task {
	d := t.Class()
	return probe.Task{
		ID: t.ID(), Last: t.Last(), Nesting: probe.Nesting{Parent: t.b.parent.at(t.k)},
		Submit: t.Submit(), Ready: t.Ready(), Choice: t.Choice(), Launch: t.b.launch.at(t.k), Start: t.Start(), End: t.End(), Release: t.Release(),
		Traffic: probe.Traffic{Missing: t.Missing(), Bytes: t.Bytes()},
		Kernel:  d.Kernel, Label: d.Label, Variant: d.Variant, Err: d.Err,
		Place: d.Place, Worker: d.Worker, Tokens: d.Tokens, Short: d.Short, Skipped: d.Skipped,
	}
}

// Name returns the name of the tasks of a class.
func (c *Class) Name() string { return Name(&probe.Task{Kernel: c.Kernel, Label: c.Label}) }

// Sort returns the name under which they are counted: see Sort.
func (c *Class) Sort() string { return Sort(&probe.Task{Kernel: c.Kernel, Label: c.Label}) }

// classes are those of all blocks, one block behind the other.
type classes struct {
	list  []*Class
	first []int // of each block
}

func (r *rows) classes() (c classes) {
	for i := range r.blocks {
		c.first = append(c.first, len(c.list))
		for k := range r.blocks[i].described {
			c.list = append(c.list, &r.blocks[i].described[k])
		}
	}
	return c
}
