package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/trace/probe"
)

// A Task names a submitted task. It stays valid when the task has finished, and may be copied; the
// zero Task has finished.
type Task struct {
	rt     *Runtime
	record *record
	id     deps.TaskID
}

// closedDone is the Done of tasks that have finished.
var closedDone = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// ID returns the place of the task in the order of submission, from 1.
func (t Task) ID() deps.TaskID { return t.id }

// Done returns a channel that is closed when the task has finished: it ran, failed or was skipped.
//
// In a virtual time the caller waits for the channel at once: time advances until the task has
// finished.
func (t Task) Done() <-chan struct{} {
	if t.rt != nil && t.rt.virtual != nil && !t.isOver() && !insideBody() {
		t.rt.virtual.Watch(t.isOver)
	}
	return t.done()
}

// isOver reports whether the task has finished.
func (t Task) isOver() bool { return t.record == nil || t.record.taskID() != t.id }

// done is Done for waits of the runtime.
func (t Task) done() <-chan struct{} {
	r := t.record
	if r == nil || r.taskID() != t.id {
		return closedDone
	}
	done := r.done.Load()
	if done == nil {
		fresh := make(chan struct{})
		if r.done.CompareAndSwap(nil, &fresh) {
			done = &fresh
		} else if done = r.done.Load(); done == nil {
			return closedDone // it ended between the two looks
		}
	}
	// The record may have gone to another task meanwhile, which then closes a channel without
	// receivers.
	if r.taskID() != t.id {
		return closedDone
	}
	return *done
}

// Err returns the error of a task that has finished: nil, or an *Error. It is nil before.
func (t Task) Err() error {
	if t.record == nil || t.record.taskID() == t.id {
		return nil
	}
	return t.rt.log.failureOf(t.id)
}

// Wait waits until the task is done or ctx ends, and returns the task's error, or that of ctx. It
// does not make data valid on the host: see Runtime.WaitOn.
//
// With the context of a Scope, or one derived from it, the worker runs other tasks meanwhile. With
// any other context the body of a task would keep its worker: Wait is ErrInsideTask there unless
// the task is done. So it is where the task would wait for itself: for its own task, or one that
// contains it.
func (t Task) Wait(ctx context.Context) error {
	if err := checkContext("Task.Wait", ctx); err != nil {
		return err
	}
	select {
	case <-t.done():
		return t.Err()
	default:
	}
	t.rt.awaits()
	return t.waitContext("Task.Wait", ctx)
}

// waitContext is Wait for a call of the program, which its errors name.
func (t Task) waitContext(call string, ctx context.Context) error {
	over := false
	wait := func() {
		select {
		case <-t.done():
			over = true
		case <-ctx.Done():
		}
	}
	switch s := scopeOf(ctx); {
	case t.record == nil || t.record.taskID() != t.id:
		wait()
	case s != nil && s.body.Load() != bodyFinished:
		if err := s.refuses(call, t); err != nil {
			return err
		}
		s.block(func() bool { return t.isOver() || ctx.Err() != nil }, wait)
	case insideBody():
		return misuse(call, errInBody)
	default:
		t.awaitTurn(ctx)
		wait()
	}
	if !over {
		return t.rt.withStatus(fmt.Errorf("task: wait for task %d: %w", t.id, context.Cause(ctx)), t.id)
	}
	return t.Err()
}

// noteFailure keeps the error of r for Task.Err and waits.
func (rt *Runtime) noteFailure(r *record) {
	if rt.observers.watched() {
		rt.observers.observeFailure(r)
	}
	if rt.world != nil && r.kind != waitBody && !isSkip(r.err) {
		rt.world.Failed(r.err)
	}
	rt.log.failing.Lock()
	defer rt.log.failing.Unlock()
	rt.log.failures.add(r.taskID(), r.err)
	switch skipped := isSkip(r.err); {
	case r.kind == waitBody: // the wait reports it
		return
	case skipped:
		rt.log.skipped++
	default:
		rt.log.broken++
	}
	r.scope.failures.note(r.err)
	for g := r.member; g != nil; g = g.outer {
		g.failures.note(r.err)
	}
	for _, o := range r.others() {
		o.failures.note(r.err)
	}
}

// note adds a failure to those that will be told.
func (e *FailedError) note(failure *Error) {
	if isSkip(failure) {
		e.Skipped++
	} else {
		e.Failed = append(e.Failed, failure)
	}
}

// isSkip reports whether the task of e did not run because of another task.
func isSkip(e *Error) bool {
	_, skipped := e.Cause.(*SkippedError)
	return skipped
}

// Wait waits until all tasks have finished and all data are valid on the host, and returns a
// *FailedError for the tasks that failed since the last Wait; what they and the tasks that were
// skipped should have written is undefined.
//
// The program may then read and write its data, until it submits a task that uses them: devices
// give up their copies. With ReadOnly it may only read, and devices keep what they have.
//
// Errors: also that of ctx, and then the tasks continue.
//
// With tasks submitted meanwhile by other goroutines it waits for those too. A task body must not
// call it.
func (rt *Runtime) Wait(ctx context.Context, options ...WaitOption) error {
	if !rt.usable() {
		return rt.unusable("Runtime.Wait")
	}
	o, err := waitOptions("Runtime.Wait", ctx, options)
	if err != nil {
		return err
	}
	if rt.window.Live() > 0 && insideBody() {
		return misuse("Runtime.Wait", errInBody)
	}
	if rt.observers.watched() {
		defer rt.observePhase(probe.PhaseWait, rt.observers.now(), rt.buffers.Sum())
	}
	if rt.world == nil {
		return rt.waitHere(o)
	}
	err = rt.world.Complete()
	return rt.world.Wait(ctx, errors.Join(err, rt.waitHere(o)))
}

// waitHere is Wait for the tasks of this rank.
func (rt *Runtime) waitHere(o WaitOption) error {
	for {
		rt.root.endReductions()
		rt.awaits()
		if err := rt.window.Wait(0, o.ctx); err != nil {
			return rt.withStatus(err, 0)
		}
		rt.virtual.EndJobs() // which may need the lock
		rt.root.submitting.Lock()
		if rt.window.Live() != 0 || len(rt.root.reductions) > 0 {
			rt.root.submitting.Unlock()
			continue
		}
		var err error
		if !o.keep {
			err = rt.flush(o.read)
		}
		if !o.keep && !o.read {
			rt.printer.Flush()
		}
		clear(rt.root.graph.poisoned)
		rt.pageGuard.forget()
		rt.root.submitting.Unlock()
		return errors.Join(rt.log.takeFailures(&rt.root.failures), err)
	}
}

// A WaitOption is an option of a wait.
type WaitOption struct {
	ctx  context.Context // nil where it never ends
	keep bool
	read bool
}

// KeepOnDevice leaves data where they are: on the devices that wrote them. The program must not
// touch them.
func KeepOnDevice() WaitOption { return WaitOption{keep: true} }

// ReadOnly declares that the program only reads its data after the wait: devices keep their copies,
// and a task that reads the same data there needs no copy.
func ReadOnly() WaitOption { return WaitOption{read: true} }

// waitOptions joins the options of a call. A context that never ends is nil in the result. Error:
// the nil context.
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

// flush makes all data valid on the host, and nowhere else if the program does not only read them.
// Requires: submitting held and no task in flight.
func (rt *Runtime) flush(read bool) error {
	if !rt.topology.accelerators {
		return nil
	}
	var all []deps.Access
	for _, b := range rt.buffers.List() {
		if b.Copied || b.Use.Load() == memory.Released && b.Host.At() == nil {
			continue // its data are undefined
		}
		all = append(all, deps.Access{Region: b.Whole(), Mode: deps.In})
	}
	if len(all) == 0 {
		return nil
	}
	// In the order in which the program used them: addresses differ from run to run.
	slices.SortFunc(all, func(a, b deps.Access) int { return cmp.Compare(a.Region.Buffer, b.Region.Buffer) })
	done := make(chan error, 1)
	bring := rt.topology.machine.Claim
	if read {
		bring = rt.topology.machine.Fetch
	}
	bring(all, func(err error) { done <- err })
	rt.virtual.Await(func() bool { return len(done) > 0 }, nil)
	if err := <-done; err != nil {
		return fmt.Errorf("task: wait: %w", err)
	}
	return nil
}

// submitWait submits an empty task that waits for its accesses.
func (s *Scope) submitWait(accesses []Option) (Task, error) {
	r, err := s.begin(nil, waitBody)
	if err != nil {
		return Task{}, err
	}
	return s.submitGo(r, accesses)
}

// awaitTask waits for a task on behalf of the body of s, or until enough is closed.
func (s *Scope) awaitTask(t Task, enough <-chan struct{}) {
	done := t.done()
	wait := func() {
		select {
		case <-done:
		case <-enough:
		}
	}
	select {
	case <-done:
	default:
		over := func() bool {
			select {
			case <-enough:
				return true
			default:
				return t.isOver()
			}
		}
		if s.program() {
			s.rt.virtual.Await(over, nil)
			wait()
		} else {
			s.block(over, wait)
		}
	}
}

// stop fails the tasks that wait for a device; those that are not ready yet fail when they would
// be.
func (rt *Runtime) stop() {
	rt.window.Wake()
	cause := context.Cause(rt.ctx)
	rt.ready.mu.Lock()
	items := rt.ready.sched.Drain()
	rt.ready.lowItems = 0
	rt.ready.unlock()
	for _, it := range items {
		r := it.Owner.(*record)
		if r.life.State().Wants() { // its body has begun, and must end
			rt.ready.mu.Lock()
			rt.ready.sched.Push(it)
			if it.Priority < 0 {
				rt.ready.lowItems++
			}
			rt.ready.unlock()
			if rt.pool.workers != nil {
				rt.pool.workers.Wake(1) // the worker that was woken for it may have found nothing
			}
			continue
		}
		r.fail("", cause)
		rt.retireUnscheduled(r)
	}
}

// awaitTurn waits until t has finished, or ctx is done, where there is a virtual time.
func (t Task) awaitTurn(ctx context.Context) {
	if t.record != nil && t.rt.virtual != nil {
		t.rt.virtual.Await(t.isOver, ctx)
	}
}
