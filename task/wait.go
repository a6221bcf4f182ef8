package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/values"
	"github.com/gompss/gompss/trace/probe"
)

// A Task is a handle of a submitted task. It may be copied, and stays valid after the task has
// finished. The zero Task is a finished task.
type Task struct{ h engine.Task }

// handle wraps the result of a submission of the engine.
func handle(t engine.Task, err error) (Task, error) { return Task{t}, err }

// ID returns the number of the task in the order of submission, starting at 1.
func (t Task) ID() deps.TaskID { return t.h.ID }

// Done returns a channel that is closed when the task has finished: after it ran, failed or was
// skipped.
//
// Under virtual time, the call itself waits: time advances until the task has finished.
func (t Task) Done() <-chan struct{} {
	if t.h.RT != nil && t.h.RT.Virtual != nil && !t.h.Finished() && !smp.InBody() {
		t.h.RT.Virtual.Watch(t.h.Finished)
	}
	return t.h.Done()
}

// Err returns the error of a finished task: nil or an *Error. Before the task has finished it
// returns nil.
func (t Task) Err() error { return t.h.Err() }

// Wait waits until the task has finished or ctx is done, and returns the error of the task, or the
// cause of ctx. It does not make data valid on the host: see Runtime.WaitOn.
//
// In the body of a task, use the context of its Scope or one derived from it: the worker then runs
// other tasks meanwhile. With any other context the body would keep its worker, so Wait returns
// ErrInsideTask unless the task has finished. It also returns ErrInsideTask if the body would wait
// for its own task, or for one that contains it.
func (t Task) Wait(ctx context.Context) error {
	if err := checkContext("Task.Wait", ctx); err != nil {
		return err
	}
	select {
	case <-t.h.Done():
		return t.h.Err()
	default:
	}
	engine.Awaits(t.h.RT)
	return t.waitContext("Task.Wait", ctx)
}

// waitContext is Wait for a function of the API, whose name appears in errors.
func (t Task) waitContext(call string, ctx context.Context) error {
	over := false
	wait := func() {
		select {
		case <-t.h.Done():
			over = true
		case <-ctx.Done():
		}
	}
	switch s := scopeOf(ctx); {
	case t.h.Record == nil || t.h.Record.TaskID() != t.h.ID:
		wait()
	case s != nil && s.Body.Load() != engine.BodyFinished:
		if err := refusesWait(s, call, t); err != nil {
			return err
		}
		s.Block(func() bool { return t.h.Finished() || ctx.Err() != nil }, wait)
	case smp.InBody():
		return misuse(call, engine.ErrInBody)
	default:
		t.awaitTurn(ctx)
		wait()
	}
	if !over {
		return withStatus(t.h.RT, fmt.Errorf("task: wait for task %d: %w", t.h.ID, context.Cause(ctx)), t.h.ID)
	}
	return t.h.Err()
}

// Wait waits until all tasks have finished and all data are valid on the host. It returns a
// *FailedError for the tasks that failed since the last Wait. The data that these tasks, and the
// tasks skipped because of them, should have written are undefined.
//
// The program may then read and write its data, until it submits a task that uses them: devices
// discard their copies. With ReadOnly it may only read, and devices keep their copies.
//
// Errors: also the cause of ctx, while the tasks continue.
//
// Wait also waits for tasks that other goroutines submit meanwhile. A task body must not call it.
func (rt *Runtime) Wait(ctx context.Context, options ...WaitOption) error {
	if !rt.usable() {
		return rt.unusable("Runtime.Wait")
	}
	o, err := waitOptions("Runtime.Wait", ctx, options)
	if err != nil {
		return err
	}
	if rt.core.Window.Live() > 0 && smp.InBody() {
		return misuse("Runtime.Wait", engine.ErrInBody)
	}
	return waitAll(&rt.core, ctx, o)
}

// waitAll is Runtime.Wait for a caller that is allowed to wait.
func waitAll(rt *engine.Runtime, ctx context.Context, o WaitOption) error {
	if rt.Observers.Watched() {
		defer observePhase(rt, probe.PhaseWait, rt.Observers.Now(), rt.Buffers.Sum())
	}
	if rt.World == nil {
		return waitHere(rt, o)
	}
	world := rt.World.(World)
	err := world.Complete()
	return world.Wait(ctx, errors.Join(err, waitHere(rt, o)))
}

// waitHere is Wait for the tasks of this rank.
func waitHere(rt *engine.Runtime, o WaitOption) error {
	for {
		endReductions(&rt.Root)
		engine.Awaits(rt)
		if err := rt.Window.Wait(0, o.ctx); err != nil {
			return withStatus(rt, err, 0)
		}
		rt.Virtual.EndJobs() // jobs may need the lock
		rt.Root.Submitting.Lock()
		if rt.Window.Live() != 0 || len(rt.Root.Reductions) > 0 {
			rt.Root.Submitting.Unlock()
			continue
		}
		var err error
		if !o.keep {
			err = flushData(rt, o.read)
		}
		if !o.keep && !o.read {
			rt.Printer.Flush()
		}
		engine.ForgetFailures(&rt.Root)
		rt.PageGuard.Forget()
		rt.Root.Submitting.Unlock()
		return errors.Join(rt.Log.TakeFailures(&rt.Root.Failures), err)
	}
}

// A WaitOption is an option of a wait.
type WaitOption struct {
	ctx  context.Context // nil if it never ends
	keep bool
	read bool
}

// KeepOnDevice leaves data valid only on the devices that wrote them. The program must not access
// them.
func KeepOnDevice() WaitOption { return WaitOption{keep: true} }

// ReadOnly declares that the program only reads its data after the wait. Devices keep their copies,
// so a task that reads the data there needs no transfer.
func ReadOnly() WaitOption { return WaitOption{read: true} }

// waitOptions combines the options of a call. A context that never ends becomes nil. It returns an
// error for a nil context.
func waitOptions(call string, ctx context.Context, options []WaitOption) (all WaitOption, err error) {
	if err := checkContext(call, ctx); err != nil {
		return all, err
	}
	for _, o := range options {
		all.keep = all.keep || o.keep
		all.read = all.read || o.read
	}
	if ctx.Done() != nil {
		all.ctx = ctx
	}
	return all, nil
}

// flushData makes all data valid on the host. If the program may write them, the copies of devices
// become invalid.
// Requires: submitting held, and no task in flight.
func flushData(rt *engine.Runtime, read bool) error {
	if !rt.Topology.Accelerators {
		return nil
	}
	var all []deps.Access
	for _, b := range rt.Buffers.List() {
		if b.Copied || b.Use.Load() == memory.Released && b.Host.At() == nil {
			continue // the data are undefined
		}
		all = append(all, deps.Access{Region: b.Whole(), Mode: deps.In})
	}
	if len(all) == 0 {
		return nil
	}
	// In the order of first use: addresses differ from run to run.
	slices.SortFunc(all, func(a, b deps.Access) int { return cmp.Compare(a.Region.Buffer, b.Region.Buffer) })
	done := make(chan error, 1)
	bring := rt.Topology.Machine.Claim
	if read {
		bring = rt.Topology.Machine.Fetch
	}
	bring(all, func(err error) { done <- err })
	rt.Virtual.Await(func() bool { return len(done) > 0 }, nil)
	if err := <-done; err != nil {
		return fmt.Errorf("task: wait: %w", err)
	}
	return nil
}

// stopTasks makes the ready tasks that wait for a device fail. Tasks that are not ready yet fail
// when they become ready.
func stopTasks(rt *engine.Runtime) {
	rt.Window.Wake()
	cause := context.Cause(rt.Ctx)
	rt.Ready.Mu.Lock()
	items := rt.Ready.Sched.Drain()
	rt.Ready.LowItems = 0
	rt.Ready.Unlock()
	for _, it := range items {
		r := it.Owner.(*engine.Record)
		if r.Life.State().Wants() { // its body has started and must finish
			rt.Ready.Mu.Lock()
			rt.Ready.Sched.Push(it)
			if it.Priority < 0 {
				rt.Ready.LowItems++
			}
			rt.Ready.Unlock()
			if rt.Pool.Workers != nil {
				rt.Pool.Workers.Wake(1) // the worker that was woken for the task may have found nothing
			}
			continue
		}
		r.Fail("", cause)
		rt.RetireUnscheduled(r)
	}
}

// awaitTurn waits under virtual time until t has finished or ctx is done.
func (t Task) awaitTurn(ctx context.Context) {
	if t.h.Record != nil && t.h.RT.Virtual != nil {
		t.h.RT.Virtual.Await(t.h.Finished, ctx)
	}
}

// The following functions implement WaitOn, which waits for the tasks that use some memory.

// WaitOn waits until the tasks submitted so far that the accesses depend on have finished, and the
// data of the accesses are valid on the host. The program may then read the memory of In and write
// that of InOut, until it submits another task that uses it.
//
// Errors: the cause of ctx, and then the program must not touch the data; an *Error if a task that
// it waits for failed; ErrInsideTask in the body of a task, which has Scope.WaitOn; ErrUnused for
// memory that no task has used, because such a wait is probably a mistake.
func (rt *Runtime) WaitOn(ctx context.Context, accesses ...Option) error {
	const call = "Runtime.WaitOn"
	if !rt.usable() {
		return rt.unusable(call)
	}
	return waitOnProgram(&rt.core, call, ctx, accesses)
}

// waitOnProgram waits for tasks of the program that use the memory of accesses.
func waitOnProgram(rt *engine.Runtime, call string, ctx context.Context, accesses []Option) error {
	if rt.Window.Live() > 0 && smp.InBody() {
		return misuse(call, engine.ErrInBody)
	}
	if rt.Observers.Watched() {
		defer observePhase(rt, probe.PhaseWait, rt.Observers.Now(), rt.Buffers.Sum())
	}
	if rt.World != nil {
		if err := shareInWorld(rt, accesses); err != nil {
			return err
		}
	}
	return waitOn(&rt.Root, call, ctx, accesses)
}

// WaitOn is Runtime.WaitOn for the children of a task and the memory that it accesses. It also
// returns the errors of Scope.Wait.
func (s *Scope) WaitOn(ctx context.Context, accesses ...Option) error {
	if !s.usable() {
		return misuse("Scope.WaitOn", s.unusable())
	}
	return waitOn(&s.core, "Scope.WaitOn", ctx, accesses)
}

func waitOn(s *engine.Scope, call string, ctx context.Context, accesses []Option) error {
	if err := checkContext(call, ctx); err != nil {
		return err
	}
	if err := wrongScopeIn(s, call); err != nil {
		return err
	}
	if err := checkWaitOptions(accesses); err != nil {
		return misuse(call, err)
	}
	t, err := submitWaitOn(s, accesses)
	switch {
	case errors.Is(err, ErrUnused):
		return misuse(call, err)
	case err != nil:
		return err
	}
	engine.Awaits(s.RT)
	if awaitUntil(s, t, ctx) {
		return s.RT.Log.ForgetError(t.h)
	}
	return withStatus(s.RT, fmt.Errorf("task: wait on %s: %w", values.Count(len(accesses), "access"), context.Cause(ctx)), 0)
}

// awaitUntil waits until t has finished or ctx, which may be nil, is done, and reports whether t
// has finished. A body releases its worker meanwhile.
func awaitUntil(s *engine.Scope, t Task, ctx context.Context) (over bool) {
	var ended <-chan struct{}
	if ctx != nil {
		ended = ctx.Done()
	}
	wait := func() {
		select {
		case <-t.h.Done():
			over = true
		case <-ended:
		}
	}
	if s.Program() || t.h.Finished() {
		t.awaitTurn(ctx)
		wait()
	} else {
		s.Block(func() bool { return t.h.Finished() || ctx != nil && ctx.Err() != nil }, wait)
	}
	return over
}

var (
	errNoAccess   = errors.New("an option that is no access: it takes In, Out, InOut and the like, and NoCopyDeps")
	errNoAccesses = errors.New("no access is given, so that there is nothing to wait for: Wait waits for all tasks")
)

// checkWaitOptions checks the options of WaitOn.
func checkWaitOptions(accesses []Option) error {
	given := false
	for i := range accesses {
		o := &accesses[i]
		if !o.isAccess() && o.what() != orderOnlyOption {
			return errNoAccess
		}
		given = given || o.isAccess()
	}
	if !given {
		return errNoAccesses
	}
	return nil
}

// ErrUnused is the error of WaitOn for memory that no task has used, or that the runtime has
// forgotten: after Unregister or Free, or after the task in whose Scope it was first used.
var ErrUnused = errors.New("no task has used this memory")

// An unusedError is ErrUnused with the access that it concerns.
type unusedError struct {
	number int // the number of the access, from 1
	mode   deps.Mode
	text   string // describes the memory
	known  bool   // other elements of its buffer were used, or it was registered
	inside bool   // the wait is in the body of a task
}

func (e *unusedError) Error() string {
	why := "it is in no buffer: check the slice; memory that was first used in the Scope of a task is forgotten with that task"
	if e.known {
		why = "it is in a buffer of which tasks have used other elements, or none: check the slice and its bounds"
	}
	if e.inside {
		why += "; in a body counts what its task declares and what its children use"
	}
	return fmt.Sprintf("access %d (%s of %s): %v, so that there is nothing to wait for: %s", e.number, e.mode, e.text, ErrUnused, why)
}

func (e *unusedError) Unwrap() error { return ErrUnused }

// submitWaitOn submits an empty task that waits for its accesses. Tasks must have used the memory
// of each of them.
func submitWaitOn(s *engine.Scope, accesses []Option) (Task, error) {
	r, err := s.Begin(nil, engine.WaitBody)
	if err != nil {
		return Task{}, err
	}
	for i := range accesses {
		if o := &accesses[i]; o.isAccess() {
			if err := usedBefore(s, i+1, o); err != nil {
				return handle(s.Abort(r, err))
			}
		}
	}
	return submitGo(s, r, accesses)
}

// usedBefore returns an error if no task of s has accessed an element of o, the n-th access of a
// wait, and the task of s does not declare it.
// Requires: submitting held.
func usedBefore(s *engine.Scope, n int, o *Option) error {
	m := o.memory()
	if m.Len == 0 || o.box() != nil && o.box().empty() {
		return nil // an empty region
	}
	b, first, err := s.RT.Buffers.Find(m)
	switch {
	case errors.As(err, new(*memory.OverlapError)):
		if inBox(m, o.box(), func(m values.Range) bool { return usedAround(s, m) }) {
			return nil // the buffers grow, or submitGo reports the error
		}
		return &unusedError{n, o.mode(), m.String(), true, !s.Program()}
	case err != nil:
		return nil // submitGo reports the error
	case b == nil:
		return &unusedError{n, o.mode(), m.String(), false, !s.Program()}
	}
	if b, first, err = s.Memory.View(&s.RT.Buffers, m, b, first); err != nil {
		return nil
	}
	region := b.Span(first, first+m.Len)
	if box := o.box(); box != nil && box.err == nil {
		if region, err = deps.Box(b.ID, first, box.shape, box.lo, box.hi); err != nil {
			return nil
		}
	}
	if usedRegion(s, &region) || inBox(m, o.box(), func(m values.Range) bool { return usedParts(s, b, m) }) {
		return nil
	}
	return &unusedError{n, o.mode(), m.String(), true, !s.Program()}
}

// inBox reports whether f is true for a row of a box of m, or for m if box is nil.
func inBox(m values.Range, box *box, f func(values.Range) bool) bool {
	if box == nil || box.err != nil {
		return f(m)
	}
	region, err := deps.Box(0, 0, box.shape, box.lo, box.hi)
	if err != nil {
		return f(m)
	}
	for lo, hi := range region.Runs() {
		row := m
		row.Base, row.Len, row.Cap = unsafe.Add(m.Base, lo*int64(m.Elem)), hi-lo, hi-lo
		if f(row) {
			return true
		}
	}
	return false
}

// usedAround is usedRegion for the parts of m, which lies in no buffer, that are in one.
func usedAround(s *engine.Scope, m values.Range) bool {
	return slices.ContainsFunc(s.RT.Buffers.Overlapped(m), func(b *memory.Buffer) bool {
		region := b.Within(m)
		return usedRegion(s, &region) || usedParts(s, b, m)
	})
}

// usedParts is usedRegion for the buffers that have become parts of b, as long as that is not done.
func usedParts(s *engine.Scope, b *memory.Buffer, m values.Range) bool {
	parts := b.Parts.Load()
	return parts != nil && slices.ContainsFunc(*parts, func(p *memory.Buffer) bool {
		region := p.Within(m)
		return !region.Empty() && usedRegion(s, &region) || usedParts(s, p, m)
	})
}

// usedRegion reports whether a task of s has accessed an element of r, or the task of s declares
// it.
func usedRegion(s *engine.Scope, r *deps.Region) bool {
	d := s.Graph.Domain
	return d != nil && d.Known(r) || !s.Program() && declaresRegion(s, r)
}

// declaresRegion reports whether the task of s accesses an element of r.
func declaresRegion(s *engine.Scope, r *deps.Region) bool {
	return slices.ContainsFunc(s.Owner.Accesses, func(a deps.Access) bool { return a.Region.Overlaps(*r) })
}
