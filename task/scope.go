package task

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/operator"
	"github.com/gompss/gompss/task/internal/state"
	"github.com/gompss/gompss/task/internal/values"
)

// This file implements waiting in a task body without occupying a worker, and the end of a task
// after its children.

// Wait waits until all children submitted so far have finished. Meanwhile it runs children on this
// goroutine, or releases the worker. It then makes the memory that the task accesses valid on the
// host, so that the body may use it again. Wait returns a *FailedError for the children that failed
// since the last Wait. A failure that no Wait returns makes the task fail.
//
// Errors: also the cause of ctx, while the children continue; ErrInsideTask in the body of another
// task, for example of a child, which would wait for itself; ErrFinished after the body has
// returned.
func (s *Scope) Wait(ctx context.Context, options ...WaitOption) error {
	if !s.usable() {
		return misuse("Scope.Wait", s.unusable())
	}
	o, err := waitOptions("Scope.Wait", ctx, options)
	if err != nil {
		return err
	}
	if err := wrongScopeIn(&s.core, "Scope.Wait"); err != nil {
		return err
	}
	endReductions(&s.core)
	if err := waitChildren(&s.core, o.ctx); err != nil {
		return withStatus(s.core.RT, err, 0)
	}
	if !o.keep {
		if err = fetchToHost(&s.core); err != nil {
			err = fmt.Errorf("task: %s: wait: %w", s.core.Owner.Title(), err)
		}
	}
	s.core.Submitting.Lock()
	engine.ForgetFailures(&s.core)
	s.core.Submitting.Unlock()
	return errors.Join(s.core.RT.Log.TakeFailures(&s.core.Failures), err)
}

func waitChildren(s *engine.Scope, ctx context.Context) error {
	engine.PauseCheck(s)
	defer engine.ResumeCheck(s)
	s.WaitMu.Lock()
	defer s.WaitMu.Unlock()
	if ctx != nil {
		defer context.AfterFunc(ctx, s.WakeWaiter)() // under virtual time, BodyWaits checks ctx
	}
	for s.Children() > 0 {
		if ctx != nil && ctx.Err() != nil {
			return fmt.Errorf("task: %s: wait: %w", s.Owner.Title(), context.Cause(ctx))
		}
		waitOnce(s, ctx)
	}
	return nil
}

// waitOnce runs a child on this goroutine if the scheduler returns one. If it returns another task,
// that task moves to another goroutine together with the worker, and this goroutine sleeps until
// the children have finished.
func waitOnce(s *engine.Scope, ctx context.Context) {
	if !s.Lending.TryLock() { // another goroutine of the body has lent the worker
		if s.ChildrenDone == nil {
			s.ChildrenDone = make(chan struct{}, 1)
		}
		if s.RegisterWaiter(engine.WaitsWithoutWorker, ctx) {
			<-s.ChildrenDone
		}
		return
	}
	defer s.Lending.Unlock()
	next := s.RT.Schedule(nil, nil, s.Worker)
	if next != nil && next.Scope == s && !next.Life.State().Wants() && ctx == nil && s.HoldsNoTokens() { // a child on this stack would outlast ctx
		s.RunOnStack(next, true)
		return
	}
	if s.Children() == 0 {
		s.RT.Ready.HandOff(next)
		return
	}
	if v := s.RT.Virtual; v != nil {
		v.BodyWaits(func() bool { return s.Children() == 0 }, ctx, func() { s.Lend(next) })
		s.RT.WantWorker(s)
		v.End()
		s.Regain()
		return
	}
	s.Lend(next)
	if !s.RegisterWaiter(engine.WaitsForWorker, ctx) {
		s.RT.WantWorker(s)
	}
	s.Regain()
}

// runBlocking calls f, which blocks until done returns true, on behalf of the body of r. The worker
// is released meanwhile. The task keeps its tokens and stays in flight; afterwards it may continue
// on another worker.
// Requires: r has a detail, and the caller is its body.
func runBlocking(rt *engine.Runtime, r *engine.Record, done func() bool, f func()) {
	if r.Inner == nil {
		r.Inner = engine.NewScope(r)
	}
	s := r.Inner
	s.Lending.Lock()
	defer s.Lending.Unlock()
	spin.Perturb()
	if s.Resume == nil {
		s.Resume = make(chan int, 1)
	}
	worker, v := s.Worker, rt.Virtual
	s.Worker = smp.None
	r.Life.Enter(state.Lend)
	rt.Pool.MarkIdle()
	lend := func() { rt.Pool.Workers.Lend(worker) }
	if v == nil {
		lend()
	} else {
		v.BodyWaits(done, nil, lend)
	}
	f()
	rt.Ready.Mu.Lock()
	r.Life.Enter(state.Claim)
	rt.Ready.HandedOff.Push(r)
	rt.Ready.HandedOffLen++
	rt.Ready.Unlock()
	rt.Pool.Workers.Wake(1)
	if v != nil {
		v.End()
	}
	s.Regain()
}

// Private returns the task's private copy of x, which the task of s must have declared with Reduce,
// or the copy of a part of such a slice. For a box it is the range from its first to its last
// element. The body accumulates its contribution there and uses it for nothing else. If several
// reductions of the task contain x, Private selects the smallest. It panics if the task has not
// declared x.
func Private[T any](s *Scope, x []T) []T {
	if len(x) == 0 {
		return x
	}
	m := values.MemoryOf(x)
	var best *engine.PrivateCopy
	var at int64
	tightest := int64(math.MaxInt64)
	for _, u := range s.core.Owner.Uses {
		b := u.Buffer // the buffer of the declaration, which may since have been merged into another
		if u.Copy == nil || b.Elem != m.Elem || uintptr(m.Base) < b.Lo() || uintptr(m.Base)+uintptr(m.Size()) > b.Hi() {
			continue
		}
		first := int64((uintptr(m.Base) - b.Lo()) / uintptr(b.Elem))
		lo, hi := s.core.Owner.Accesses[u.Access].Region.Bounds()
		if lo <= first && first+m.Len <= hi && hi-lo < tightest {
			best, at, tightest = u.Copy, first, hi-lo
		}
	}
	if best == nil {
		panic(fmt.Sprintf("task: %s: private copy of memory, which it has not declared with Reduce: %s", s.core.Owner.Title(), m.String()))
	}
	return operator.Elements[T](best.B.Host.At(), at, at+m.Len)
}

// A Scope submits the children of a task: tasks that its body creates. The children are ordered
// among themselves like the tasks of a program. They may access what the task itself accesses, and
// memory that was first used in the scope. The task finishes when its body has returned, its
// children have finished, and the memory that was first used in the scope is valid on the host;
// only then do its successors start.
//
// Between submitting a child and waiting for it, the body must not access the memory that the child
// uses. A Scope is valid until the body returns. Any goroutine may call its methods, but the body
// must not return before they have returned. The body of a child has its own Scope. A Wait on the
// scope of its parent would wait for the child itself, and returns ErrInsideTask.
type Scope struct{ core engine.Scope }

// newScope returns the engine's part of a new Scope.
func newScope() *engine.Scope {
	s := &Scope{}
	s.core.Public = s
	return &s.core
}

// callNested calls a body that has a Scope as its parameter.
func callNested(body any, s *engine.Scope) error {
	return body.(func(*Scope) error)(s.Public.(*Scope))
}

// setNested makes nested, if it is not nil, the body of r.
func setNested(r *engine.Record, nested func(*Scope) error) {
	if nested != nil {
		r.Nested = nested
	}
}

// A Submitter accepts tasks: a Runtime accepts tasks of the program, a Scope the children of a
// task, a Group tasks that are waited for and cancelled together, and a Collector tasks for one of
// these, whose submission errors it keeps.
type Submitter interface {
	submitter() (*engine.Scope, *engine.Group)
}

func (s *Scope) submitter() (*engine.Scope, *engine.Group) { return &s.core, s.core.Group }

// Go submits a child task that runs body: see Runtime.Go.
func (s *Scope) Go(body func() error, options ...Option) (Task, error) {
	if !s.usable() {
		return Task{}, misuse("Scope.Go", s.unusable())
	}
	return goTask(&s.core, s.core.Group, body, options)
}

// GoScope submits a child task that may have children: see Runtime.GoScope.
func (s *Scope) GoScope(body func(*Scope) error, options ...Option) (Task, error) {
	if !s.usable() {
		return Task{}, misuse("Scope.GoScope", s.unusable())
	}
	return goScope(&s.core, s.core.Group, body, options)
}

// Context returns the context of the task, which is done when the context of the runtime, or of its
// group, is done. It carries the scope: waiting functions that receive it, such as Task.Wait and
// Future.Get, release the worker.
func (s *Scope) Context() context.Context {
	s.core.Submitting.Lock()
	defer s.core.Submitting.Unlock()
	if s.core.Ctx == nil {
		s.core.Ctx = context.WithValue(s.core.RT.ContextOf(s.core.Group), scopeKey{}, &s.core)
	}
	return s.core.Ctx
}

type scopeKey struct{}

// scopeOf returns the scope of the task whose context ctx is, nil if there is none.
func scopeOf(ctx context.Context) *engine.Scope {
	s, _ := ctx.Value(scopeKey{}).(*engine.Scope)
	return s
}

// permits reports whether a task that accesses a region in mode may have a child that accesses the
// region in mode child.
func permits(mode, child deps.Mode) bool {
	switch mode {
	case deps.In, deps.Concurrent:
		return child == mode
	case deps.Reduction:
		return false
	}
	return true
}

// coverError returns an error if an access of r, a future child of s, is not covered by the
// accesses of the parent.
// Requires: s.Submitting held.
func coverError(s *engine.Scope, r *engine.Record) error {
	if s.Program() {
		return nil
	}
	for i := range r.Accesses {
		a := &r.Accesses[i]
		if ownsBuffer(s, a.Region.Buffer) {
			continue
		}
		if !coveredByParent(s, a) {
			return uncoveredError(s, r, a)
		}
		if a.Mode == deps.Concurrent && s.Shares(a) {
			if r.Traits.Set(life.HostOnly, true); engine.Alone(r) { // alone on the host, the kernel would wait for its parent
				return errSharedKernel
			}
		}
	}
	return nil
}

var errSharedKernel = errors.New("concurrent access of a kernel: its parent shares the elements with other tasks on the host, where the kernel's atomics are not made: let the program submit the kernel")

func ownsBuffer(s *engine.Scope, id deps.BufferID) bool {
	for _, b := range s.Memory.Fresh {
		if b.ID == id {
			return true
		}
	}
	return false
}

// coveredByParent reports whether the accesses of the parent that permit a cover its whole region.
func coveredByParent(s *engine.Scope, a *deps.Access) bool {
	var parts deps.Set
	for i := range s.Owner.Accesses {
		p := &s.Owner.Accesses[i]
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

func uncoveredError(s *engine.Scope, r *engine.Record, a *deps.Access) error {
	e := &engine.UncoveredError{Parent: s.Owner.Title(), Mode: a.Mode, Region: a.Region, Memory: memoryOf(s.RT, r, a.Region.Buffer)}
	if pos := r.Position(); r.ErrorLabel() != engine.Unlabelled && pos.File != "" {
		e.At = fmt.Sprintf("%s:%d", pos.File, pos.Line)
	}
	for i := range s.Owner.Accesses {
		if p := &s.Owner.Accesses[i]; p.Region.Overlaps(a.Region) && !permits(p.Mode, a.Mode) {
			e.Have, e.Some = p.Mode, true
		}
	}
	return e
}

// memoryOf describes a buffer in error messages about r: as an argument of its kernel, or by its
// size and address.
func memoryOf(rt *engine.Runtime, r *engine.Record, id deps.BufferID) string {
	if r.Kernel != nil {
		for i, v := range r.Kernel.IR.Params {
			if i < len(r.Args.List) && r.Args.List[i].InMemory() && r.Args.List[i].Buffer == id {
				return fmt.Sprintf("argument %s of %s", v.Name, r.Kernel.Name)
			}
		}
	}
	if b := rt.Buffers.ByID(id); b != nil {
		return b.String()
	}
	return ""
}

// fetchToHost makes the memory that the task accesses valid on the host again, for its body.
func fetchToHost(s *engine.Scope) error {
	r := s.Owner
	if !s.RT.Topology.Accelerators || r.Holds.Has(life.HeldData) {
		return nil
	}
	s.Submitting.Lock()
	fresh := s.Memory.Results()
	s.Submitting.Unlock()
	return errors.Join(fetchFresh(s, fresh), acquireAgain(s))
}

func fetchFresh(s *engine.Scope, fresh []deps.Access) error {
	if len(fresh) == 0 {
		return nil
	}
	done := make(chan error, 1)
	s.RT.Topology.Machine.Fetch(fresh, func(err error) { done <- err })
	return awaitData(s, done)
}

// acquireAgain acquires the task's working set on the host again.
func acquireAgain(s *engine.Scope) error {
	r := s.Owner
	if len(r.Data()) == 0 {
		return nil
	}
	for i := range r.Accesses {
		if a := &r.Accesses[i]; a.Mode == deps.Out {
			a.Mode = deps.InOut // a child has written the region, perhaps in another address space
		}
	}
	r.SetUp(devices.Host)
	done := make(chan error, 1)
	r.Set.Ready = func(_ *machine.WorkingSet, err error) { done <- err }
	r.Holds.Take(life.HeldData)
	if s.RT.Topology.Machine.Acquire(&r.Set) {
		return nil
	}
	return awaitData(s, done)
}

// awaitData returns the value that arrives on done. It releases the worker while it waits.
func awaitData(s *engine.Scope, done <-chan error) (err error) {
	select {
	case err = <-done:
	default:
		s.Block(func() bool { return len(done) > 0 }, func() { err = <-done })
	}
	return err
}
