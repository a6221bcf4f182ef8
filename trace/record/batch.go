package record

import (
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// A Batch is what was recorded since the last one. Its slices belong to the sender: a sink copies what it keeps.
type Batch struct {
	Tasks   []probe.Task
	Details []Detail
	Points  []probe.Point // of no task: copies, memory, compilation
	Dropped uint64        // tasks, details and points lost since the start because a ring was full
}

// Empty reports whether there is nothing in b.
func (b *Batch) Empty() bool { return len(b.Tasks)+len(b.Details)+len(b.Points) == 0 }

// A DetailKind says what a Detail is.
type DetailKind uint8

// The kinds of details, and what is in Values.
const (
	Accesses  DetailKind = iota + 1 // one access: buffer, first element, elements, last element; Mode
	Waits                           // Count predecessors
	_                               // was used by the first files
	Candidate                       // a place that the task might have run at: see candidate
)

// A Detail is something about a task that has no place in probe.Task; there may be several of a kind for a task.
type Detail struct {
	Task   deps.TaskID
	What   DetailKind
	Count  uint8
	Mode   deps.Mode
	Place  int16
	Values [6]int64
}

// access makes d describe one access.
func (d *Detail) access(id deps.TaskID, a *deps.Access) {
	last, n := a.Region.Offset, int64(1)
	for _, dim := range a.Region.Dims[:a.Region.N] {
		last += (dim.Count - 1) * dim.Stride
		n *= dim.Count
	}
	*d = Detail{Task: id, What: Accesses, Count: a.Region.N, Mode: a.Mode, Values: [6]int64{int64(a.Region.Buffer), a.Region.Offset, n, last}}
}

// candidate makes d describe a place that a task may run at. Values: bytes missing, expected running time, time that the place has to do
// before it, queued and load in 32 bits each, tokens needed and left in 32 bits each; Count has the flags.
func (d *Detail) candidate(id deps.TaskID, c *probe.Candidate) {
	flags := uint8(0)
	if c.Meant {
		flags |= 1
	}
	if c.Known {
		flags |= 2
	}
	*d = Detail{Task: id, What: Candidate, Count: flags, Place: c.Place, Values: [6]int64{int64(c.Missing), int64(c.Run), int64(c.Ahead), both(c.Queued, c.Load), both(c.Need, c.Free)}}
}

// Candidate returns what candidate has made d of.
func (d *Detail) Candidate() probe.Candidate {
	c := probe.Candidate{Place: d.Place, Meant: d.Count&1 != 0, Known: d.Count&2 != 0, Missing: deps.Bytes(d.Values[0]), Run: time.Duration(d.Values[1]), Ahead: time.Duration(d.Values[2])}
	c.Queued, c.Load = apart(d.Values[3])
	c.Need, c.Free = apart(d.Values[4])
	return c
}

func both(a, b int32) int64      { return int64(a)<<32 | int64(uint32(b)) }
func apart(v int64) (a, b int32) { return int32(v >> 32), int32(v) }
