package run

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
)

// A Run is the records of a run. After Finish its tasks are numbered from 0 in order of submission:
// Len and Task.
type Run struct {
	Machine probe.Machine
	Points  []probe.Point
	tasks   rows
	details details
	packed  packs // other tasks and their details; Finish unpacks them
	// unpacks says that what comes packed is unpacked at once, through scratch: from a file.
	unpacks bool
	scratch record.Batch
	Dropped uint64        // records lost because a ring was full
	Lost    record.Losses // the same counted apart
	Damage  record.Damage
	// Gone is the number of tasks that are not in the run because of the limit.
	Gone   int64
	hidden int64 // those of Gone that are still in tasks
	limit  int
	oldest deps.TaskID // tasks up to this one are to go, and may still be in tasks or packed

	derived
	// extraKept is how many details beyond the first of a task say which others it waited for after
	// the last thinning.
	extraKept int
	// EdgesGone is the number of edges to kept tasks, of all tasks so far, that are not among the
	// details: see thin.
	EdgesGone int64
	spare     []probe.Point // memory for Finish to put points in order; it means nothing
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
	r := &Run{limit: limit}
	r.tasks.shift, r.details.shift = shiftFor(limit), shiftFor(limit)
	return r
}

// Open implements record.Sink.
func (r *Run) Open(m *probe.Machine) error {
	r.Machine = *m
	return nil
}

// Take implements record.Sink.
func (r *Run) Take(b *record.Batch) error {
	r.takeRecords(b)
	r.Points = append(r.Points, b.Points...)
	r.Dropped = b.Dropped
	if b.Lost != nil {
		r.Lost = *b.Lost
	}
	if b.Packed.Len() > 0 {
		r.takePacked(&b.Packed)
	}
	n := r.tasks.len() + r.packed.len()
	if r.limit > 0 && n > 2*r.limit {
		r.forget()
	}
	if r.limit > 0 && r.details.extra > 2*(r.extraKept+n)+r.limit/8 {
		thinner{r}.thin()
	}
	return nil
}

func (r *Run) takeRecords(b *record.Batch) {
	for i := range b.Tasks {
		r.tasks.add(&b.Tasks[i])
	}
	for i := range b.Details {
		r.details.add(&b.Details[i])
	}
}

// unpackOne takes the tasks and details of packed records.
func (r *Run) unpackOne(p *record.Packed) {
	b := &r.scratch
	b.Tasks, b.Details, b.Packed = b.Tasks[:0], b.Details[:0], *p
	b.Unpack()
	b.Packed = record.Packed{}
	r.takeRecords(b)
}

// takePacked keeps packed records, or unpacks them.
func (r *Run) takePacked(p *record.Packed) {
	if r.unpacks {
		r.unpackOne(p)
	} else {
		r.packed.add(p)
	}
}

// unpack takes the tasks and details of all that is packed.
func (r *Run) unpack() {
	for i := range r.packed.list {
		r.unpackOne(&r.packed.list[i])
		r.packed.list[i] = record.Packed{}
	}
	r.packed.list = r.packed.list[:0]
}

// forget drops the oldest tasks beyond the limit, and the details about them, without putting them
// in order: ids are nearly dense. Those that lie with newer ones are left for Finish to hide.
func (r *Run) forget() {
	newest := max(r.tasks.newest(), r.packed.newest())
	oldest := newest - deps.TaskID(min(r.limit, int(newest)))
	if kept := r.tasks.after(oldest) + r.packed.after(oldest); kept < r.limit/2 { // ids are far apart
		r.Finish()
		if r.Len() <= r.limit { // some of what was packed was to go already
			return
		}
		oldest = r.tasks.id(r.Len()-r.limit) - 1
	}
	r.oldest = max(r.oldest, oldest)
	gone, since := r.tasks.forget(r.oldest)
	packed, begin := r.packed.forget(r.oldest)
	r.Gone += gone + packed - r.hidden
	r.hidden = 0
	since = min(since, begin)
	r.details.forget(r.oldest)
	r.extraKept = min(r.details.extra, r.extraKept)
	r.forgetPoints(since)
	r.derived = derived{}
}

// forgetPoints drops the points before the earliest submission of a task that is kept, and the
// first of those beyond four a task. What memory had backed by then stays, as one point for each
// device.
func (r *Run) forgetPoints(since time.Duration) {
	backed := map[string]probe.Point{}
	gone := func(p probe.Point) bool {
		if b := backed[p.Device]; (p.Kind == probe.Alloc || p.Kind == probe.Evict) && p.Err == nil {
			n := p.Bytes
			if p.Kind == probe.Evict {
				n = -n
			}
			at := max(b.Time, p.Time)
			backed[p.Device] = probe.Point{Kind: probe.Alloc, Device: p.Device, Begin: at, Time: at, Bytes: b.Bytes + n}
		}
		return true
	}
	r.Points = slices.DeleteFunc(r.Points, func(p probe.Point) bool { return p.Time < since && !lasting(p.Kind) && gone(p) })
	if many := len(r.Points) - 4*r.limit; many > 0 {
		r.Points = slices.DeleteFunc(r.Points, func(p probe.Point) bool { many--; return many >= 0 && !lasting(p.Kind) && gone(p) })
	}
	for _, device := range slices.Sorted(maps.Keys(backed)) {
		if b := backed[device]; b.Bytes != 0 {
			r.Points = append(r.Points, b)
		}
	}
}

// lasting reports whether points of a kind are of interest however long ago they were: there are
// few.
func lasting(k probe.Kind) bool { return k == probe.Compile || k == probe.Explain }

// Close implements record.Sink.
func (r *Run) Close() error {
	r.Finish()
	r.tasks.spare, r.details.spare, r.spare, r.packed.idle, r.scratch = nil, nil, nil, nil, record.Batch{}
	return nil
}

// Finish puts the records in order. The methods below need it after the last Take.
func (r *Run) Finish() {
	r.unpack()
	hidden := r.tasks.finish(r.oldest)
	r.Gone += hidden - r.hidden
	r.hidden = hidden
	r.details.finish(r.oldest)
	r.Points, r.spare = sorted(r.Points, r.spare, func(p *probe.Point) uint64 { return uint64(p.Begin) })
	r.derived = derived{}
}

// Copy makes r a copy of from, in the memory that r has: what becomes of one then is nothing to the
// other.
func (r *Run) Copy(from *Run) {
	mine := *r
	*r = *from
	r.tasks, r.details = mine.tasks.copyOf(&from.tasks), mine.details.copyOf(&from.details)
	r.Points = append(mine.Points[:0], from.Points...)
	r.packed = mine.packed.copyOf(&from.packed)
	r.derived, r.spare, r.scratch = derived{}, mine.spare, mine.scratch
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
func (r *Run) Len() int { return len(r.tasks.order) }

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
func (r *Run) Index(id deps.TaskID) (int, bool) {
	n := r.Len()
	if n == 0 {
		return 0, false
	}
	first := r.tasks.first
	if id < first {
		return 0, false
	}
	if r.tasks.dense {
		return int(min(id-first, deps.TaskID(n))), id-first < deps.TaskID(n)
	}
	// Ids are nearly dense: a task is at, or not far before, its distance from the first.
	hi := int(min(uint64(id-first), uint64(n-1)))
	if r.tasks.id(hi) == id {
		return hi, true
	}
	i := sort.Search(hi, func(i int) bool { return r.tasks.id(i) >= id })
	return i, i < hi && r.tasks.id(i) == id
}

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
