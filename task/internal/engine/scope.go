package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/admission"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/trace/probe"
)

// A Scope is where the tasks of a program, or the children of one task, are submitted: it has their
// graph, and the order of their submission.
type Scope struct {
	RT    *Runtime
	Owner *Record // nil for the tasks of the program; valid until the task has finished
	Group *Group  // of owner

	Public   any // what bodies are called with: see Bridge; nil in the scope of the program
	Recorder any // the *Recorder of what is submitted here; nil where that is not recorded

	Graph graph
	_     [64]byte // padding: goroutines that end tasks read the fields above

	Submitting spin.Mutex // one submission at a time: the order of submission is the meaning of the program
	submission
	recycled
	relations
	Memory memory.Owner // of buffers; its fresh ones are memory first used here
	reporting
	finished bool // the body has returned
	offspring
	loan
	checking

	final bool // children run where they are submitted
	ending
}

// A submission is the owner of the order of submission in a scope. All of it is guarded by
// Scope.Submitting.
type submission struct {
	submitters admission.Submitters // goroutines that submit kernels to the program; on the cache line of the lock
	Declared   []deps.Access        // of the task that is being submitted, if its record has no detail
}

// A recycled is the free records of a scope: see Scope.takeRecord.
type recycled struct {
	freeOwn  *Record
	returned atomic.Pointer[Record]
}

// A relations holds the relations between tasks of a scope outside the graph.
type relations struct {
	Exclusion  deps.Exclusion // of commutative accesses
	Reductions []*Reduction   // that more tasks may join
	waits      []Task         // in flight, and some that have finished
}

// A reporting holds the facts about the task under submission that the recorder has not received.
type reporting struct {
	unreported      bool          // what it touches and waits for
	pendingAccesses []deps.Access // by it
	brief           *probe.Brief  // where it is written, nil where it has a detail
}

// An offspring is the children of a task, and the goroutine that waits for them.
type offspring struct {
	Pending      atomic.Int64  // children that have not finished, and holder for each other reason why the task has not
	Waiting      atomic.Int32  // how a goroutine waits for the children
	WaitMu       spin.Mutex    // held by the goroutine that waits for the children
	ChildrenDone chan struct{} // for a wait that has not released its worker; made when first needed, as is resume
	Submitted    atomic.Bool   // something was
	uses         atomic.Int32  // the body and the events that may use the data of the task: see EndUse
}

// A loan is the worker of a body, and the goroutine that has lent it.
type loan struct {
	// body is the goroutine that runs the body, see package goid: bodyFinished when it has
	// returned, 0 where there is none.
	Body  atomic.Uintptr
	above atomic.Uintptr // the goroutine of the body on whose stack a child runs

	Lending spin.Mutex // held by the goroutine that has released its worker, until it has one again
	Worker  int        // that the body runs on, smp.None when there is none; guarded by lending
	Resume  chan int   // a worker for the goroutine that has released its own
}

// A checking holds the state of GOMPSS_CHECK for a body.
type checking struct {
	Pauses  atomic.Int32 // how often the body waits, or has returned
	monitor atomic.Pointer[accessMonitor]
}

// An ending is the result of a task.
type ending struct {
	Outside  error       // of events; guarded by failureLog.Failing
	Failures FailedError // of the children since the last Wait; guarded by failureLog.Failing
	Ctx      context.Context
}

// Holder is the amount that the body, and each external event, adds to Scope.pending.
const Holder = 1 << 32

// The states of Scope.waiting: how a goroutine waits for the children.
const (
	NoWaiter           int32 = iota
	WaitsForWorker           // has lent the worker, and continues when it gets one
	WaitsWithoutWorker       // continues at once
)

// NewScope returns the scope of a task whose body is about to run.
func NewScope(r *Record) *Scope {
	s := r.RT.NewScope()
	s.final, s.RT, s.Owner, s.Group = r.Traits.Is(life.Final) || r.Scope.final, r.RT, r, r.Group
	s.Memory.Init(s, &r.Accesses)
	s.Worker = int(r.worker)
	s.Pending.Store(Holder)
	s.uses.Store(1)
	return s
}

// Program reports whether s is that of the program.
func (s *Scope) Program() bool { return s.Owner == nil }

// Children returns how many children are not over.
func (o *offspring) Children() int64 { return o.Pending.Load() & (Holder - 1) }

// LockSubmission takes the lock of submission, when a task may be submitted and there is room for
// it in the window, or the context of the task has ended meanwhile. A child does not wait for room,
// as its parent may be what the others wait for: its parent waits for the child instead (commit),
// so that each task has one child too many at most. Nor does a wait, without a context here: those
// that it is for may be all that keep the others.
func (s *Scope) LockSubmission(ctx context.Context) error {
	for {
		s.RT.Topology.lock(&s.Submitting)
		switch {
		case s.finished:
			s.Submitting.Unlock()
			return errScopeFinished
		case !s.Program() || ctx == nil:
			return nil
		case s.RT.Refuses():
			s.Submitting.Unlock()
			return ErrClosed
		case s.RT.Window.HasCapacity(), smp.InBody(): // a body, which should use its scope, would wait for room as a worker
			return nil
		}
		s.Submitting.Unlock() // goroutines that end tasks may need it
		s.RT.Awaits()
		if err := s.RT.Window.WaitCapacity(ctx); err != nil {
			return err
		}
	}
}

// UncoveredError reports that a child accesses memory that its parent does not.
type UncoveredError struct {
	Parent string
	Mode   deps.Mode
	Region deps.Region
	Have   deps.Mode // of the parent's access that overlaps
	Some   bool      // there is one
	Memory string    // what the buffer is: the argument of a kernel, else its length and address
	At     string    // the line of the child's function, where the child has a label; else ""
}

func (e *UncoveredError) Error() string {
	why := fmt.Sprintf("no access of its parent %s covers it", e.Parent)
	if e.Some {
		why = fmt.Sprintf("its parent %s has %s", e.Parent, e.Have)
	}
	text := fmt.Sprintf("%s of %v: %s: the parent must declare what its children use", e.Mode, e.Region, why)
	if e.Memory != "" {
		text += fmt.Sprintf("; b%d is %s", e.Region.Buffer, e.Memory)
	}
	if e.At != "" {
		text += "; the child is at " + e.At
	}
	return text
}

// Shares reports whether the parent has a concurrent access to some of a.
func (s *Scope) Shares(a *deps.Access) bool {
	for i := range s.Owner.Accesses {
		if p := &s.Owner.Accesses[i]; p.Mode == deps.Concurrent && p.Region.Overlaps(a.Region) {
			return true
		}
	}
	return false
}

// releaseSet releases what the parent holds in the machine, as a child is about to use it: what it
// has written so far is valid on the host. Requires: submitting held.
func (s *Scope) releaseSet() {
	if r := s.Owner; r != nil && r.Holds.Has(life.HeldData) {
		r.Holds.Drop(life.HeldData)
		s.RT.Topology.Machine.ReleaseSet(&r.Set, nil)
	}
}
