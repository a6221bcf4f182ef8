package record

import (
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
	Candidate                       // a place that the task might have run at: see Detail.Candidate
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
