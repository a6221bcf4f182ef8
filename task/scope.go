package task

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/admission"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/trace/probe"
)

// A Submitter is where tasks are submitted: a Runtime, for tasks of the program; the Scope of a
// task, for its children; a Group, for tasks that are waited for and cancelled together.
type Submitter interface {
	submitter() (*Scope, *Group)
}

// A Scope is what the body of a task submits tasks with: its children. They are ordered among
// themselves as the tasks of a program are, and what they access is what the task itself accesses,
// or memory that was first used in the scope. The task has finished when its body has returned and
// its children have finished; only then its own successors start.
//
// Between submitting a child and waiting for it, the body must not touch what the child uses. A
// Scope is valid until the body returns. Its methods may be called from any goroutine, but the body
// must not return before they do. The body of a child has a Scope of its own: with that of its
// parent it would wait for itself, and is refused (ErrInsideTask).
type Scope struct {
	rt    *Runtime
	owner *record // nil for the tasks of the program; valid until the task has finished
	group *Group  // of owner

	records *Recorder // what is submitted here is recorded

	graph graph
	_     [64]byte // padding: goroutines that end tasks read the fields above

	submitting spin.Mutex // one submission at a time: the order of submission is the meaning of the program
	submission
	recycled
	relations
	memory memory.Owner // of buffers; its fresh ones are memory first used here
	reporting
	finished bool // the body has returned
	offspring
	loan
	checking

	final bool // children run where they are submitted
	ending
}

// A submission is the owner of the order of submission in a scope. All of it is guarded by
// Scope.submitting.
type submission struct {
	submitters admission.Submitters // goroutines that submit kernels to the program; on the cache line of the lock
	declared   []deps.Access        // of the task that is being submitted, if its record has no detail
}

// A recycled is the free records of a scope: see Scope.takeRecord.
type recycled struct {
	freeOwn  *record
	returned atomic.Pointer[record]
}

// A relations holds the relations between tasks of a scope outside the graph.
type relations struct {
	exclusion  deps.Exclusion // of commutative accesses
	reductions []*reduction   // that more tasks may join
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
	pending      atomic.Int64  // children that have not finished, and holder for each other reason why the task has not
	waiting      atomic.Int32  // how a goroutine waits for the children
	waitMu       spin.Mutex    // held by the goroutine that waits for the children
	childrenDone chan struct{} // for a wait that has not released its worker; made when first needed, as is resume
	submitted    atomic.Bool   // something was
}

// A loan is the worker of a body, and the goroutine that has lent it.
type loan struct {
	// body is the goroutine that runs the body, see package goid: bodyFinished when it has
	// returned, 0 where there is none.
	body  atomic.Uintptr
	above atomic.Uintptr // the goroutine of the body on whose stack a child runs

	lending spin.Mutex // held by the goroutine that has released its worker, until it has one again
	worker  int        // that the body runs on, smp.None when there is none; guarded by lending
	resume  chan int   // a worker for the goroutine that has released its own
}

// A checking holds the state of GOMPSS_CHECK for a body.
type checking struct {
	pauses  atomic.Int32 // how often the body waits, or has returned
	monitor atomic.Pointer[accessMonitor]
}

// An ending is the result of a task.
type ending struct {
	outside  error       // of events; guarded by Runtime.failing
	failures FailedError // of the children since the last Wait; guarded by Runtime.failing
	ctx      context.Context
}

// holder is the amount that the body, and each external event, adds to Scope.pending.
const holder = 1 << 32

// The states of Scope.waiting: how a goroutine waits for the children.
const (
	noWaiter           int32 = iota
	waitsForWorker           // has lent the worker, and continues when it gets one
	waitsWithoutWorker       // continues at once
)

// newScope returns the scope of a task whose body is about to run.
func newScope(r *record) *Scope {
	s := &Scope{final: r.traits.Is(life.Final) || r.scope.final, rt: r.rt, owner: r, group: r.group}
	s.memory.Init(s, &r.accesses)
	s.worker = int(r.worker)
	s.pending.Store(holder)
	return s
}

func (s *Scope) submitter() (*Scope, *Group)    { return s, s.group }
func (rt *Runtime) submitter() (*Scope, *Group) { return &rt.root, nil }

// Go submits a child that runs body: see Runtime.Go.
func (s *Scope) Go(body func() error, options ...Option) (Task, error) {
	if !s.usable() {
		return Task{}, misuse("Scope.Go", s.unusable())
	}
	return goTask(s, s.group, body, options)
}

// GoScope submits a child that may have children of its own: see Runtime.GoScope.
func (s *Scope) GoScope(body func(*Scope) error, options ...Option) (Task, error) {
	if !s.usable() {
		return Task{}, misuse("Scope.GoScope", s.unusable())
	}
	return goScope(s, s.group, body, options)
}

// Context returns the context of the task: done when the runtime's is, or that of its group. It
// carries the scope, so that what waits with it lends the worker: Task.Wait, Future.Get.
func (s *Scope) Context() context.Context {
	s.submitting.Lock()
	defer s.submitting.Unlock()
	if s.ctx == nil {
		s.ctx = context.WithValue(s.rt.contextOf(s.group), scopeKey{}, s)
	}
	return s.ctx
}

type scopeKey struct{}

// scopeOf returns the scope of the task that ctx is the context of, nil if it is of none.
func scopeOf(ctx context.Context) *Scope {
	s, _ := ctx.Value(scopeKey{}).(*Scope)
	return s
}

// program reports whether s is that of the program.
func (s *Scope) program() bool { return s.owner == nil }

// children returns how many children are not over.
func (o *offspring) children() int64 { return o.pending.Load() & (holder - 1) }

// lockSubmission takes the lock of submission, when a task may be submitted and there is room for
// it in the window, or the context of the task has ended meanwhile. A child does not wait for room,
// as its parent may be what the others wait for: its parent waits for the child instead (commit),
// so that each task has one child too many at most. Nor does a wait, without a context here: those
// that it is for may be all that keep the others.
func (s *Scope) lockSubmission(ctx context.Context) error {
	for {
		s.rt.topology.lock(&s.submitting)
		switch {
		case s.finished:
			s.submitting.Unlock()
			return errScopeFinished
		case !s.program() || ctx == nil:
			return nil
		case s.rt.refuses():
			s.submitting.Unlock()
			return ErrClosed
		case s.rt.window.HasCapacity(), insideBody(): // a body, which should use its scope, would wait for room as a worker
			return nil
		}
		s.submitting.Unlock() // goroutines that end tasks may need it
		s.rt.awaits()
		if err := s.rt.window.WaitCapacity(ctx); err != nil {
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

// permits reports whether a task that accesses a region in mode may have a child that accesses it
// in mode child.
func permits(mode, child deps.Mode) bool {
	switch mode {
	case deps.In, deps.Concurrent:
		return child == mode
	case deps.Reduction:
		return false
	}
	return true
}

// covers returns an error when an access of r, which is about to become a child, is not inside
// those of the parent. Requires: submitting held.
func (s *Scope) covers(r *record) error {
	if s.program() {
		return nil
	}
	for i := range r.accesses {
		a := &r.accesses[i]
		if s.owns(a.Region.Buffer) {
			continue
		}
		if !s.covered(a) {
			return s.uncovered(r, a)
		}
		if a.Mode == deps.Concurrent && s.shares(a) {
			if r.traits.Set(life.HostOnly, true); r.alone() { // alone on the host, it would wait for its parent
				return errSharedKernel
			}
		}
	}
	return nil
}

var errSharedKernel = errors.New("concurrent access of a kernel: its parent shares the elements with other tasks on the host, where the kernel's atomics are not made: let the program submit the kernel")

// shares reports whether the parent has a concurrent access to some of a.
func (s *Scope) shares(a *deps.Access) bool {
	for i := range s.owner.accesses {
		if p := &s.owner.accesses[i]; p.Mode == deps.Concurrent && p.Region.Overlaps(a.Region) {
			return true
		}
	}
	return false
}

func (s *Scope) owns(id deps.BufferID) bool {
	for _, b := range s.memory.Fresh {
		if b.ID == id {
			return true
		}
	}
	return false
}

// covered reports whether accesses of the parent that permit a cover all of it.
func (s *Scope) covered(a *deps.Access) bool {
	var parts deps.Set
	for i := range s.owner.accesses {
		p := &s.owner.accesses[i]
		if p.Region.Buffer != a.Region.Buffer || !permits(p.Mode, a.Mode) {
			continue
		}
		if p.Region.Contains(a.Region) {
			return true
		}
		parts.Add(p.Region)
	}
	return !parts.Empty() && parts.Contains(a.Region)
}

func (s *Scope) uncovered(r *record, a *deps.Access) error {
	e := &UncoveredError{Parent: s.owner.title(), Mode: a.Mode, Region: a.Region, Memory: memoryOf(s.rt, r, a.Region.Buffer)}
	if pos := r.position(); r.errorLabel() != unlabelled && pos.File != "" {
		e.At = fmt.Sprintf("%s:%d", pos.File, pos.Line)
	}
	for i := range s.owner.accesses {
		if p := &s.owner.accesses[i]; p.Region.Overlaps(a.Region) && !permits(p.Mode, a.Mode) {
			e.Have, e.Some = p.Mode, true
		}
	}
	return e
}

// memoryOf says what a buffer is for r: which argument of its kernel, or how long it is and where.
func memoryOf(rt *Runtime, r *record, id deps.BufferID) string {
	if r.kernel != nil {
		for i, v := range r.kernel.IR.Params {
			if i < len(r.args.List) && r.args.List[i].InMemory() && r.args.List[i].Buffer == id {
				return fmt.Sprintf("argument %s of %s", v.Name, r.kernel.Name)
			}
		}
	}
	if b := rt.buffers.ByID(id); b != nil {
		return b.String()
	}
	return ""
}

// releaseSet releases what the parent holds in the machine, as a child is about to use it: what it
// has written so far is valid on the host. Requires: submitting held.
func (s *Scope) releaseSet() {
	if r := s.owner; r != nil && r.holds.Has(life.HeldData) {
		r.holds.Drop(life.HeldData)
		s.rt.topology.machine.ReleaseSet(&r.set, nil)
	}
}

// fetchToHost makes all that the task accesses valid on the host again, for its body.
func (s *Scope) fetchToHost() error {
	r := s.owner
	if !s.rt.topology.accelerators || r.holds.Has(life.HeldData) {
		return nil
	}
	s.submitting.Lock()
	var fresh []deps.Access
	for _, b := range s.memory.Fresh {
		fresh = append(fresh, deps.Access{Region: b.Whole(), Mode: deps.In})
	}
	s.submitting.Unlock()
	return errors.Join(s.fetchFresh(fresh), s.acquireAgain())
}

func (s *Scope) fetchFresh(fresh []deps.Access) error {
	if len(fresh) == 0 {
		return nil
	}
	done := make(chan error, 1)
	s.rt.topology.machine.Fetch(fresh, func(err error) { done <- err })
	return s.await(done)
}

// acquireAgain takes the task's working set on the host again.
func (s *Scope) acquireAgain() error {
	r := s.owner
	if len(r.data()) == 0 {
		return nil
	}
	for i := range r.accesses {
		if a := &r.accesses[i]; a.Mode == deps.Out {
			a.Mode = deps.InOut // a child has written it, perhaps elsewhere
		}
	}
	r.setUp(devices.Host)
	done := make(chan error, 1)
	r.set.Ready = func(_ *machine.WorkingSet, err error) { done <- err }
	r.holds.Take(life.HeldData)
	if s.rt.topology.machine.Acquire(&r.set) {
		return nil
	}
	return s.await(done)
}

// await returns the value from done. The worker is lent meanwhile, if the value is not ready.
func (s *Scope) await(done <-chan error) (err error) {
	select {
	case err = <-done:
	default:
		s.block(func() bool { return len(done) > 0 }, func() { err = <-done })
	}
	return err
}
