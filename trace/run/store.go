package run

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
)

// A store holds the tasks, details and points that were taken, of a run with a limit the newest.
type store struct {
	Points  []probe.Point
	tasks   rows
	details details
	packed  packs // other tasks and their details; order unpacks them
	// unpacks says that what comes packed is unpacked at once, through scratch: from a file.
	unpacks bool
	scratch record.Batch
	bound
	spare []probe.Point // memory for order; its contents are unused
}

// A bound is the limit of a store, and what is not there because of it.
type bound struct {
	limit int
	// Gone is the number of tasks that are not in the run because of the limit.
	Gone   int64
	hidden int64       // those of Gone that are still in tasks
	oldest deps.TaskID // tasks up to this one are to go, and may still be in tasks or packed
	// extraKept is how many details beyond the first of a task say which others it waited for after
	// the last thinning.
	extraKept int
	// EdgesGone is the number of edges to kept tasks, of all tasks so far, that are not among the
	// details: see thin.
	EdgesGone int64
}

// newStore returns an empty store that keeps at least the newest limit tasks; 0 keeps all.
func newStore(limit int) store {
	s := store{bound: bound{limit: limit}}
	s.tasks.shift, s.details.shift = shiftFor(limit), shiftFor(limit)
	return s
}

// take keeps the records of a batch, and forgets old ones where there are too many: forgot. It
// returns the number of tasks before that.
func (s *store) take(b *record.Batch) (n int, forgot bool) {
	s.takeRecords(b)
	s.Points = append(s.Points, b.Points...)
	if b.Packed.Len() > 0 {
		s.takePacked(&b.Packed)
	}
	n = s.tasks.len() + s.packed.len()
	if forgot = s.limit > 0 && n > 2*s.limit; forgot {
		s.forget()
	}
	return n, forgot
}

// fullOfEdges reports whether a store with a limit, of n tasks, has too many details of edges.
func (s *store) fullOfEdges(n int) bool {
	return s.limit > 0 && s.details.extra > 2*(s.extraKept+n)+s.limit/8
}

// takeRecords appends tasks and details.
func (s *store) takeRecords(b *record.Batch) {
	for i := range b.Tasks {
		s.tasks.add(&b.Tasks[i])
	}
	for i := range b.Details {
		s.details.add(&b.Details[i])
	}
}

// unpackOne takes the tasks and details of packed records.
func (s *store) unpackOne(p *record.Packed) {
	b := &s.scratch
	b.Tasks, b.Details, b.Packed = b.Tasks[:0], b.Details[:0], *p
	b.Unpack()
	b.Packed = record.Packed{}
	s.takeRecords(b)
}

// takePacked keeps packed records, or unpacks them.
func (s *store) takePacked(p *record.Packed) {
	if s.unpacks {
		s.unpackOne(p)
	} else {
		s.packed.add(p)
	}
}

// unpack takes the tasks and details of all that is packed.
func (s *store) unpack() {
	for i := range s.packed.list {
		s.unpackOne(&s.packed.list[i])
		s.packed.list[i] = record.Packed{}
	}
	s.packed.list = s.packed.list[:0]
}

// forget drops the oldest tasks beyond the limit, and the details about them, without putting them
// in order: ids are nearly dense. Those that lie with newer ones are left for order to hide.
func (s *store) forget() {
	newest := max(s.tasks.newest(), s.packed.newest())
	oldest := newest - deps.TaskID(min(s.limit, int(newest)))
	if kept := s.tasks.after(oldest) + s.packed.after(oldest); kept < s.limit/2 { // ids are far apart
		s.order()
		if s.size() <= s.limit { // some of what was packed was to go already
			return
		}
		oldest = s.tasks.id(s.size()-s.limit) - 1
	}
	s.oldest = max(s.oldest, oldest)
	gone, since := s.tasks.forget(s.oldest)
	packed, begin := s.packed.forget(s.oldest)
	s.Gone += gone + packed - s.hidden
	s.hidden = 0
	since = min(since, begin)
	s.details.forget(s.oldest)
	s.extraKept = min(s.details.extra, s.extraKept)
	s.forgetPoints(since)
}

// forgetPoints drops the points before the earliest submission of a task that is kept, and the
// first of those beyond four a task. What memory had backed by then stays, as one point for each
// device.
func (s *store) forgetPoints(since time.Duration) {
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
	s.Points = slices.DeleteFunc(s.Points, func(p probe.Point) bool { return p.Time < since && !lasting(p.Kind) && gone(p) })
	if many := len(s.Points) - 4*s.limit; many > 0 {
		s.Points = slices.DeleteFunc(s.Points, func(p probe.Point) bool { many--; return many >= 0 && !lasting(p.Kind) && gone(p) })
	}
	for _, device := range slices.Sorted(maps.Keys(backed)) {
		if b := backed[device]; b.Bytes != 0 {
			s.Points = append(s.Points, b)
		}
	}
}

// lasting reports whether points of a kind are of interest however long ago they were: there are
// few.
func lasting(k probe.Kind) bool { return k == probe.Compile || k == probe.Explain }

// order puts the records in order. The methods below need it after the last take.
func (s *store) order() {
	s.unpack()
	hidden := s.tasks.finish(s.oldest)
	s.Gone += hidden - s.hidden
	s.hidden = hidden
	s.details.finish(s.oldest)
	s.Points, s.spare = sorted(s.Points, s.spare, func(p *probe.Point) uint64 { return uint64(p.Begin) })
}

// close gives up the memory for more records.
func (s *store) close() {
	s.tasks.spare, s.details.spare, s.spare, s.packed.idle, s.scratch = nil, nil, nil, nil, record.Batch{}
}

// copyOf is from, in the memory of s.
func (s *store) copyOf(from *store) store {
	out := *from
	out.tasks, out.details, out.packed = s.tasks.copyOf(&from.tasks), s.details.copyOf(&from.details), s.packed.copyOf(&from.packed)
	out.Points = append(s.Points[:0], from.Points...)
	out.spare, out.scratch = s.spare, s.scratch
	return out
}

// size returns how many tasks there are.
func (s *store) size() int { return len(s.tasks.order) }

// index returns the number of the task of an id.
func (s *store) index(id deps.TaskID) (int, bool) {
	n := s.size()
	if n == 0 {
		return 0, false
	}
	first := s.tasks.first
	if id < first {
		return 0, false
	}
	if s.tasks.dense {
		return int(min(id-first, deps.TaskID(n))), id-first < deps.TaskID(n)
	}
	// Ids are nearly dense: a task is at, or not far before, its distance from the first.
	hi := int(min(uint64(id-first), uint64(n-1)))
	if s.tasks.id(hi) == id {
		return hi, true
	}
	i := sort.Search(hi, func(i int) bool { return s.tasks.id(i) >= id })
	return i, i < hi && s.tasks.id(i) == id
}
