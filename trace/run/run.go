package run

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
)

// A Run is the records of a run.
type Run struct {
	Machine probe.Machine
	Tasks   []probe.Task
	Details []record.Detail
	Points  []probe.Point
	packed  []record.Packed // other tasks and their details, as they came; Finish unpacks them
	idle    []record.Packed // memory for more of them
	copied  bool            // a copy of the run may refer to what is packed
	Dropped uint64          // records lost because a ring was full
	Lost    record.Losses   // the same counted apart
	Damage  record.Damage
	// Gone is the number of tasks that are not in Tasks because of the limit.
	Gone   int64
	limit  int
	oldest deps.TaskID // tasks up to this one are to go, and may still be among those that are packed

	edges  []Edge
	nested []time.Duration // see spans
	// Of details that say which tasks others waited for, those beyond the first of a task, now and
	// after the last thinning.
	extra, extraKept int
	// EdgesGone is the number of edges to kept tasks, of all tasks so far, that are not among the
	// details: see thin.
	EdgesGone int64
	// spare is memory for Finish to put records in order; its records mean nothing.
	spare struct {
		tasks   []probe.Task
		details []record.Detail
		points  []probe.Point
	}
}

// New returns an empty run that keeps at least the newest limit tasks; 0 keeps all.
func New(limit int) *Run { return &Run{limit: limit} }

// Open implements record.Sink.
func (r *Run) Open(m *probe.Machine) error {
	r.Machine = *m
	return nil
}

// Take implements record.Sink.
func (r *Run) Take(b *record.Batch) error {
	r.Tasks = append(r.Tasks, b.Tasks...)
	r.Details = append(r.Details, b.Details...)
	r.Points = append(r.Points, b.Points...)
	r.Dropped = b.Dropped
	if b.Lost != nil {
		r.Lost = *b.Lost
	}
	r.extra += extraWaits(b.Details)
	if b.Packed.Len() > 0 {
		r.keepPacked(&b.Packed)
	}
	if r.limit > 0 && r.len() > 2*r.limit {
		r.forget()
	}
	if r.limit > 0 && r.extra > 2*(r.extraKept+r.len())+r.limit/8 {
		thinner{r}.thin()
	}
	return nil
}

// packedWords is how many words of packed tasks are kept together, or more where they come
// together.
const packedWords = 1 << 13

func (r *Run) keepPacked(p *record.Packed) {
	n := len(r.packed)
	if n == 0 || !r.packed[n-1].Takes(p) {
		r.packed = append(r.packed, r.room(p))
		n++
	}
	r.packed[n-1].Append(p)
}

// room returns room for p, or more.
func (r *Run) room(p *record.Packed) record.Packed {
	if n := len(r.idle); n > 0 {
		x := r.idle[n-1]
		r.idle = r.idle[:n-1]
		if x.Reset(p.Place()); x.Takes(p) {
			return x
		}
	}
	return record.NewPacked(max(packedWords, p.Words()), p.Place())
}

// len returns how many tasks there are.
func (r *Run) len() int {
	n := len(r.Tasks)
	for i := range r.packed {
		n += r.packed[i].Len()
	}
	return n
}

// unpack makes tasks and details of what is packed.
func (r *Run) unpack() {
	if len(r.packed) == 0 {
		return
	}
	b := record.Batch{Tasks: r.Tasks, Details: r.Details}
	for i := range r.packed {
		b.Packed = r.packed[i]
		b.Unpack()
	}
	clear(r.packed)
	r.Tasks, r.Details, r.packed = b.Tasks, b.Details, r.packed[:0]
	if r.oldest > 0 {
		n := len(r.Tasks)
		r.Tasks = slices.DeleteFunc(r.Tasks, func(t probe.Task) bool { return t.ID <= r.oldest })
		r.Details = slices.DeleteFunc(r.Details, func(d record.Detail) bool { return d.Task <= r.oldest })
		r.Gone += int64(n - len(r.Tasks))
	}
}

// forget drops the oldest tasks beyond the limit, and the details about them, without putting them
// in order: ids are nearly dense.
func (r *Run) forget() {
	newest := deps.TaskID(0)
	for i := range r.Tasks {
		newest = max(newest, r.Tasks[i].ID)
	}
	for i := range r.packed {
		_, last := r.packed[i].IDs()
		newest = max(newest, last)
	}
	oldest := newest - deps.TaskID(min(r.limit, int(newest)))
	if kept := r.keep(oldest); kept < r.limit/2 { // ids are far apart
		r.Finish()
		if len(r.Tasks) <= r.limit { // some of what was packed was to go already
			return
		}
		oldest = r.Tasks[len(r.Tasks)-r.limit].ID - 1
	}
	r.oldest = max(r.oldest, oldest)
	since := r.forgetPacked(oldest)
	n := len(r.Tasks)
	r.Tasks = slices.DeleteFunc(r.Tasks, func(t probe.Task) bool {
		if t.ID > oldest {
			since = min(since, t.Submit)
			return false
		}
		return true
	})
	r.Gone += int64(n - len(r.Tasks))
	r.Details = slices.DeleteFunc(r.Details, func(d record.Detail) bool { return d.Task <= oldest })
	r.extra = extraWaits(r.Details)
	r.extraKept = min(r.extra, r.extraKept)
	r.forgetPoints(since)
	r.edges, r.nested = nil, nil
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

// forgetPacked drops what is packed and has only tasks up to the oldest, and returns the earliest
// submission of the rest.
func (r *Run) forgetPacked(oldest deps.TaskID) time.Duration {
	since := time.Duration(math.MaxInt64)
	r.packed = slices.DeleteFunc(r.packed, func(p record.Packed) bool {
		if _, last := p.IDs(); last > oldest {
			since = min(since, p.Since())
			return false
		}
		r.Gone += int64(p.Len())
		if !r.copied {
			r.idle = append(r.idle, p)
		}
		return true
	})
	return since
}

// lasting reports whether points of a kind are of interest however long ago they were: there are
// few.
func lasting(k probe.Kind) bool { return k == probe.Compile || k == probe.Explain }

// keep returns how many tasks came after the one of an id, or a few less.
func (r *Run) keep(oldest deps.TaskID) (n int) {
	for i := range r.packed {
		if first, _ := r.packed[i].IDs(); first > oldest {
			n += r.packed[i].Len()
		}
	}
	for i := range r.Tasks {
		if r.Tasks[i].ID > oldest {
			n++
		}
	}
	return n
}

// Close implements record.Sink.
func (r *Run) Close() error {
	r.Finish()
	r.spare.tasks, r.spare.details, r.spare.points, r.idle = nil, nil, nil, nil
	return nil
}

// Finish puts the records in order. The methods below need it after the last Take.
func (r *Run) Finish() {
	r.unpack()
	r.Tasks, r.spare.tasks = sorted(r.Tasks, r.spare.tasks, func(t *probe.Task) uint64 { return uint64(t.ID) })
	r.Tasks = slices.CompactFunc(r.Tasks, func(a, b probe.Task) bool { return a.ID == b.ID }) // a damaged file may have one twice
	r.Details, r.spare.details = sorted(r.Details, r.spare.details, func(d *record.Detail) uint64 { return uint64(d.Task) })
	r.Points, r.spare.points = sorted(r.Points, r.spare.points, func(p *probe.Point) uint64 { return uint64(p.Begin) })
	r.edges, r.nested = nil, nil
}

// Copy makes r a copy of from, in the memory that r has: what becomes of one then is nothing to the
// other.
func (r *Run) Copy(from *Run) {
	mine := *r
	*r = *from
	r.Tasks, r.Details, r.Points = append(mine.Tasks[:0], from.Tasks...), append(mine.Details[:0], from.Details...), append(mine.Points[:0], from.Points...)
	r.packed = append(mine.packed[:0], from.packed...) // what they point to is only added to from now on
	r.idle, r.copied, from.copied = nil, true, true
	r.edges, r.nested, r.spare = nil, nil, mine.spare
}

// sorted returns list in order of a key, equals as they were, and memory for the next time: that of
// spare, or of list where spare is used. The elements are large: each moves once.
func sorted[T any](list, spare []T, key func(*T) uint64) (out, rest []T) {
	lo, hi, inOrder := uint64(math.MaxUint64), uint64(0), true
	for i := range list {
		k := key(&list[i])
		inOrder = inOrder && k >= hi
		lo, hi = min(lo, k), max(hi, k)
	}
	if inOrder {
		return list, spare
	}
	if cap(spare) < len(list) {
		spare = make([]T, 0, cap(list))
	}
	out = spare[:len(list)]
	if hi-lo < 4*uint64(len(list)) {
		deal(out, list, key, lo, int(hi-lo)+1)
	} else {
		place(out, list, key)
	}
	return out, list
}

// deal puts list in order of keys that are nearly dense: n of them from lo on.
func deal[T any](out, list []T, key func(*T) uint64, lo uint64, n int) {
	at := make([]int32, n+1)
	for i := range list {
		at[key(&list[i])-lo+1]++
	}
	for k := range n {
		at[k+1] += at[k]
	}
	for i := range list {
		to := &at[key(&list[i])-lo]
		out[*to] = list[i]
		*to++
	}
}

// place puts list in order of any keys: numbers are sorted in the place of the elements.
func place[T any](out, list []T, key func(*T) uint64) {
	type entry struct {
		key uint64
		at  int
	}
	order := make([]entry, len(list))
	for i := range list {
		order[i] = entry{key(&list[i]), i}
	}
	slices.SortFunc(order, func(a, b entry) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
	for i, e := range order {
		out[i] = list[e.at]
	}
}

// Read reads a trace file.
func Read(in io.Reader) (*Run, error) { return ReadLast(in, 0) }

// ReadLast is Read into a run with a limit: see New. A task takes some 700 bytes of memory.
func ReadLast(in io.Reader, limit int) (*Run, error) {
	r := New(limit)
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

// Find returns the task of an id, nil when there is none.
func (r *Run) Find(id deps.TaskID) *probe.Task {
	if i, ok := r.Index(id); ok {
		return &r.Tasks[i]
	}
	return nil
}

// Index returns the index in Tasks of the task of an id.
func (r *Run) Index(id deps.TaskID) (int, bool) {
	if len(r.Tasks) == 0 || id < r.Tasks[0].ID {
		return 0, false
	}
	// Ids are nearly dense: a task is at, or not far before, its distance from the first.
	hi := int(min(uint64(id-r.Tasks[0].ID), uint64(len(r.Tasks)-1)))
	if r.Tasks[hi].ID == id {
		return hi, true
	}
	i := sort.Search(hi, func(i int) bool { return r.Tasks[i].ID >= id })
	return i, i < hi && r.Tasks[i].ID == id
}

// DetailsOf returns the details of a task.
func (r *Run) DetailsOf(id deps.TaskID) []record.Detail {
	lo := sort.Search(len(r.Details), func(i int) bool { return r.Details[i].Task >= id })
	hi := lo
	for hi < len(r.Details) && r.Details[hi].Task == id {
		hi++
	}
	return r.Details[lo:hi]
}

// Ran reports whether a task ran on some place.
func Ran(t *probe.Task) bool { return t.Place >= 0 && t.Start > 0 }

// Name returns what a task is called.
func Name(t *probe.Task) string {
	switch {
	case t.Label != "":
		return t.Label
	case t.Kernel != "":
		return t.Kernel
	}
	return "go task"
}

// Sort returns what tasks are counted under: the kernel, or the label of a Go function.
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

// Bounds returns the first submission and the last thing that happened.
func (r *Run) Bounds() (from, to time.Duration) {
	if len(r.Tasks) == 0 {
		return 0, 0
	}
	from = r.Tasks[0].Submit
	for i := range r.Tasks {
		from, to = min(from, r.Tasks[i].Submit), max(to, r.Tasks[i].Release)
	}
	for i := range r.Points {
		if r.Points[i].Kind == probe.Arrive {
			from, to = min(from, r.Points[i].Begin), max(to, r.Points[i].Time)
		}
	}
	return from, to
}
