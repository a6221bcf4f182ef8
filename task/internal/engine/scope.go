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

// A Scope is the place where the tasks of a program, or the children of one task, are submitted. It
// contains their graph and defines their order of submission.
type Scope struct {
	RT    *Runtime
	Owner *Record // nil for the tasks of the program; valid until the task has finished
	Group *Group  // the group of Owner

	Public   any // the public object that bodies receive: see Bridge; nil in the scope of the program
	Recorder any // the *Recorder of tasks that are submitted here; nil if they are not recorded

	Graph graph
	_     [64]byte // padding: goroutines that end tasks read the fields above

	Submitting spin.Mutex // serialises submissions: their order is the semantics of the program
	submission
	recycled
	relations
	Memory memory.Owner // of buffers; its fresh ones were first used here
	reporting
	finished bool // the body has returned
	offspring
	loan
	checking

	final bool // children run on the submitting goroutine (final clause)
	ending
}

// A submission is the state of the current submission in a scope.
// Guarded by Scope.Submitting.
type submission struct {
	submitters admission.Submitters // goroutines that submit kernels to the program; on the cache line of the lock
	Declared   []deps.Access        // the accesses of the task that is being submitted, if its record has no detail
}

// recycled is the free list of records of a scope: see Scope.takeRecord.
type recycled struct {
	freeOwn  *Record
	returned atomic.Pointer[Record]
}

// relations are the relations between the tasks of a scope outside the graph.
type relations struct {
	Exclusion  deps.Exclusion // of commutative accesses
	Reductions []*Reduction   // reductions that more tasks may join
	waits      []Task         // waits in flight, and some finished ones
}

// A reporting holds the facts about the current submission that the recorder has not received.
type reporting struct {
	unreported      bool          // the accesses and predecessors
	pendingAccesses []deps.Access // its accesses
	brief           *probe.Brief  // where it is written; nil if the task has a detail
}

// offspring is the state of the children of a task, and of the goroutine that waits for them.
type offspring struct {
	Pending      atomic.Int64  // unfinished children, plus Holder for each other reason why the task has not finished
	Waiting      atomic.Int32  // how a goroutine waits for the children
	WaitMu       spin.Mutex    // held by the goroutine that waits for the children
	ChildrenDone chan struct{} // for a wait that has not released its worker; created at first use, like Resume
	Submitted    atomic.Bool   // a task was submitted
	uses         atomic.Int32  // the body and the events that may use the data of the task: see EndUse
}

// A loan is the worker of a body, and the goroutine that has lent it.
type loan struct {
	// Body is the goroutine that runs the body, see package goid; BodyFinished after the body has
	// returned, 0 before it starts.
	Body  atomic.Uintptr
	above atomic.Uintptr // the goroutine of the body while a child runs on its stack

	Lending spin.Mutex // held by the goroutine that has released its worker, until it has one again
	Worker  int        // the worker of the body, smp.None if it has none; guarded by Lending
	Resume  chan int   // a worker for the goroutine that has released its own
}

// A checking holds the state of GOMPSS_CHECK for a body.
type checking struct {
	Pauses  atomic.Int32 // the number of current waits of the body, plus 1 when it has returned
	monitor atomic.Pointer[accessMonitor]
}

// An ending is the result of a task.
type ending struct {
	Outside  error       // the errors of events; guarded by failureLog.Failing
	Failures FailedError // the failures of the children since the last Wait; guarded by failureLog.Failing
	Ctx      context.Context
}

// Holder is the amount that the body, and each external event, adds to Scope.Pending.
const Holder = 1 << 32

// The states of Scope.Waiting: how a goroutine waits for the children.
const (
	NoWaiter           int32 = iota
	WaitsForWorker           // has lent the worker, and continues when it gets one
	WaitsWithoutWorker       // continues without a worker
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

// Program reports whether s is the scope of the program.
func (s *Scope) Program() bool { return s.Owner == nil }

// Children returns the number of unfinished children.
func (o *offspring) Children() int64 { return o.Pending.Load() & (Holder - 1) }

// LockSubmission takes the submission lock when a task may be submitted and the window has
// capacity, or when ctx has ended. A child does not wait for capacity, because other tasks may wait
// for its parent. Instead the parent waits for the child (Commit), so that each task exceeds the
// window by at most one child. A wait, with a nil ctx, does not wait for capacity either, because
// the tasks in the window may need it.
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
		case s.RT.Window.HasCapacity(), smp.InBody(): // the body should use its scope; it would occupy a worker while it waits for capacity
			return nil
		}
		s.Submitting.Unlock() // goroutines that end tasks may need the lock
		Awaits(s.RT)
		if err := s.RT.Window.WaitCapacity(ctx); err != nil {
			return err
		}
	}
}

// UncoveredError reports that a child accesses memory that its parent does not access.
type UncoveredError struct {
	Parent string
	Mode   deps.Mode
	Region deps.Region
	Have   deps.Mode // of the overlapping access of the parent
	Some   bool      // an access of the parent overlaps
	Memory string    // describes the buffer: an argument of a kernel, or length and address
	At     string    // the line of the child's function, if the child has a label; otherwise ""
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

// Shares reports whether the parent has a concurrent access that overlaps with a.
func (s *Scope) Shares(a *deps.Access) bool {
	for i := range s.Owner.Accesses {
		if p := &s.Owner.Accesses[i]; p.Mode == deps.Concurrent && p.Region.Overlaps(a.Region) {
			return true
		}
	}
	return false
}

// memoryOnHost reports whether no accelerator has, or is getting, memory that was first used in s.
// Requires: the children of s have finished.
func (t *Topology) memoryOnHost(s *Scope) bool {
	if !t.Accelerators {
		return true
	}
	for _, b := range s.Memory.Fresh {
		if !t.Machine.OnlyOnHost(b.ID) {
			return false
		}
	}
	return true
}

// writeBack makes the memory that was first used in s valid on the host, where the program may
// still reach it. It waits for the copies.
// Requires: the children of s have finished.
func writeBack(rt *Runtime, s *Scope) error {
	if rt.Topology.memoryOnHost(s) {
		return nil
	}
	accesses := s.Memory.Results()
	if len(accesses) == 0 {
		return nil
	}
	done := make(chan error, 1)
	rt.Topology.Machine.Fetch(accesses, func(err error) { done <- err })
	rt.Virtual.Await(func() bool { return len(done) > 0 }, nil)
	if err := <-done; err != nil {
		return fmt.Errorf("end of its scope: %w", err)
	}
	return nil
}

// releaseSet releases the working set of the parent, because a child is about to use it. The data
// that the parent has written so far are valid on the host.
// Requires: submitting held.
func (s *Scope) releaseSet() {
	if r := s.Owner; r != nil && r.Holds.Has(life.HeldData) {
		r.Holds.Drop(life.HeldData)
		s.RT.Topology.Machine.ReleaseSet(&r.Set, nil)
	}
}
