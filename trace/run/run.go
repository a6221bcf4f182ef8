package run

import (
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
)

// A Run is the records of a run. After Finish its tasks are numbered from 0 in order of submission:
// Len and Task. Its field Points has the records of no task; Gone and EdgesGone count the tasks and
// edges that are not in the run because of its limit.
type Run struct {
	Machine probe.Machine
	Dropped uint64        // records lost because a ring was full
	Lost    record.Losses // the same counted apart
	Damage  record.Damage
	store
	derived
}

// derived has the results that are computed once, after Finish.
type derived struct {
	edges   []Edge
	nested  []time.Duration // see spans
	lanes   []Lane          // see TaskLanes
	classes *classes
	bounds  *Span
}

// New returns an empty run that keeps at least the newest limit tasks; 0 keeps all.
func New(limit int) *Run {
	return &Run{store: newStore(limit)}
}

// Open implements record.Sink.
func (r *Run) Open(m *probe.Machine) error {
	r.Machine = *m
	return nil
}

// Take implements record.Sink.
func (r *Run) Take(b *record.Batch) error {
	r.Dropped = b.Dropped
	if b.Lost != nil {
		r.Lost = *b.Lost
	}
	n, forgot := r.take(b)
	if forgot {
		r.derived = derived{}
	}
	if r.fullOfEdges(n) {
		thinner{r}.thin()
	}
	return nil
}

// Close implements record.Sink.
func (r *Run) Close() error {
	r.Finish()
	r.close()
	return nil
}

// Finish puts the records in order. The methods below need it after the last Take.
func (r *Run) Finish() {
	r.order()
	r.derived = derived{}
}

// Copy makes r a copy of from, in the memory that r has: what becomes of one then is nothing to the
// other.
func (r *Run) Copy(from *Run) {
	mine := *r
	*r = *from
	r.store, r.derived = mine.copyOf(&from.store), derived{}
}

// Append adds tasks, as Take does.
func (r *Run) Append(tasks ...probe.Task) { r.takeRecords(&record.Batch{Tasks: tasks}) }

// AppendDetails adds details of tasks, as Take does.
func (r *Run) AppendDetails(list ...record.Detail) { r.takeRecords(&record.Batch{Details: list}) }

// Records returns a copy of all records. Requires: Finish.
func (r *Run) Records() *record.Batch {
	b := &record.Batch{Points: slices.Clone(r.Points), Dropped: r.Dropped}
	for i := range r.Len() {
		b.Tasks = append(b.Tasks, *r.Task(i))
	}
	for d := range r.details.all() {
		b.Details = append(b.Details, *d)
	}
	return b
}

// Len returns how many tasks there are. Requires: Finish.
func (r *Run) Len() int { return r.size() }

// Task returns a copy of the i-th task in order of submission. Requires: Finish.
func (r *Run) Task(i int) *probe.Task {
	t := r.Row(i).task()
	return &t
}

// Row returns the i-th task in order of submission, where it lies. Requires: Finish.
func (r *Run) Row(i int) Row { return r.tasks.row(i) }

// Classes returns the classes of tasks; ClassOf gives their indices. Two may be equal.
func (r *Run) Classes() []*Class {
	if r.classes == nil {
		c := r.tasks.classes()
		r.classes = &c
	}
	return r.classes.list
}

// ClassOf returns the index of the class of the i-th task. Requires: Classes.
func (r *Run) ClassOf(i int) int {
	shift, n := shiftOf(r.tasks.shift), r.tasks.order[i]
	b := n >> shift
	return r.classes.first[b] + int(r.tasks.blocks[b].what[n&(1<<shift-1)])
}

// Read reads a trace file.
func Read(in io.Reader) (*Run, error) { return ReadLast(in, 0) }

// ReadLast is Read into a run with a limit: see New. A task of a Go function with three accesses
// takes some 100 bytes of memory.
func ReadLast(in io.Reader, limit int) (*Run, error) {
	r := New(limit)
	r.unpacks = true
	damage, err := record.Read(in, r)
	if err != nil {
		return nil, err
	}
	r.Damage = damage
	return r, r.Close()
}

// ReadFile reads the trace file of a name.
func ReadFile(name string) (*Run, error) { return ReadFileLast(name, 0) }

// ReadFileLast is ReadFile into a run with a limit: see New.
func ReadFileLast(name string, limit int) (*Run, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := ReadLast(f, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// Find returns a copy of the task of an id, nil when there is none.
func (r *Run) Find(id deps.TaskID) *probe.Task {
	if i, ok := r.Index(id); ok {
		return r.Task(i)
	}
	return nil
}

// Index returns the number of the task of an id.
func (r *Run) Index(id deps.TaskID) (int, bool) { return r.index(id) }

// DetailsOf returns the details of a task.
func (r *Run) DetailsOf(id deps.TaskID) []record.Detail { return r.details.of(id) }

// Ran reports whether a task ran on some place.
func Ran(t *probe.Task) bool { return t.Place >= 0 && t.Start > 0 }

// Name returns the name of a task.
func Name(t *probe.Task) string {
	switch {
	case t.Label != "":
		return t.Label
	case t.Kernel != "":
		return t.Kernel
	}
	return "go task"
}

// Sort returns the name under which tasks are counted: the kernel, or the label of a Go function.
func Sort(t *probe.Task) string {
	if t.Kernel != "" {
		return t.Kernel
	}
	return Name(t)
}

// PlaceName returns the name of a place, "" for none.
func (r *Run) PlaceName(p int16) string {
	if p >= 0 && int(p) < len(r.Machine.Places) {
		return r.Machine.Places[p].Name
	}
	if p < 0 {
		return ""
	}
	return fmt.Sprintf("place %d", p)
}

// Bounds returns the first submission and the last thing that happened; it finds them once.
func (r *Run) Bounds() (from, to time.Duration) {
	if r.Len() == 0 {
		return 0, 0
	}
	if r.bounds != nil {
		return r.bounds.From, r.bounds.To
	}
	from = r.Row(0).Submit()
	for i := range r.Len() {
		t := r.Row(i)
		from, to = min(from, t.Submit()), max(to, t.Release())
	}
	for i := range r.Points {
		if r.Points[i].Kind == probe.Arrive {
			from, to = min(from, r.Points[i].Begin), max(to, r.Points[i].Time)
		}
	}
	r.bounds = &Span{from, to}
	return from, to
}

// Summary works out the numbers. Requires: Finish.
func (r *Run) Summary() *Summary {
	from, to := r.Bounds()
	s := &Summary{Elapsed: to - from, Missing: Missing{Gone: r.Gone, Dropped: r.Dropped, Lost: r.Lost, EdgesGone: r.EdgesGone}, Damage: r.Damage.String(), Policy: r.Machine.Policy, Absent: r.Machine.Absent}
	c := counter{r}
	c.countTasks(s)
	s.Held = c.sumTokens()
	busy := c.sumPlaces(s)
	c.sumMemory(s)
	c.sumCompiling(s)
	c.sumKnown(s)
	s.Kernels = c.sumKernels()
	s.Links = c.sumLinks()
	path := r.Critical()
	s.Critical, s.Path, s.Chain = path.Length, r.Collapse(path), r.Chain()
	chainFinder{run: r}.waitBehind(&s.Chain, busy)
	s.Verdict, s.Notes = s.judge(), noteTaker{r}.notes(s)
	return s
}
