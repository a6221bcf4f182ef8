package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/engine"
)

// Sentinels for errors.Is.
var (
	// ErrSkipped means that a task did not run because a task that it depends on failed.
	ErrSkipped = engine.ErrSkipped
	// ErrClosed means that the runtime is closed.
	ErrClosed = engine.ErrClosed
	// ErrFinished is the error of a call on a finished object: a Group that was waited for, the Scope
	// of a body that has returned, the Recorder of a complete iteration.
	ErrFinished = engine.ErrFinished
	// ErrForgotten is the cause of a failure so long ago, with so many since, that of its error only
	// the fact is known.
	ErrForgotten = engine.ErrForgotten
	// ErrInsideTask means that what waits for tasks was called by the body of a task, which it
	// may wait for, and which keeps a worker: Wait, WaitOn and Close of a Runtime, submission
	// to it with If(false), Task.Wait and Future.Get with a context that is no Scope's, Wait of
	// a Group of the program, Replay, Free and Unregister. A body that waits with the Scope of
	// another task, as that of a child may do with the one of its parent, or for its own task,
	// gets the same error. In a body, Scope.Wait and Scope.WaitOn wait for the tasks of its
	// own; to wait for those of another runtime there, call Wait on another goroutine.
	ErrInsideTask = engine.ErrInsideTask
)

// Failures of tasks, and errors of submissions, with fields; for errors.As.
type (
	// An Error is the failure of one task. Its fields are Task, the number; Label, as given, else the
	// name of the kernel or the function; Kernel, "" for a Go task; Device, where it ran, "" if that
	// was not decided; Pos, the line of the kernel or the function; and Cause: what the body
	// returned, a *PanicError, a *SkippedError, the context's error or a failure of a device.
	Error = engine.Error
	// A SkippedError names the failure that kept a task from running: Via is the label of the
	// predecessor, which failed or was itself skipped, and First the *Error at the start of the
	// chain. It is ErrSkipped for errors.Is, and unwraps to First.
	SkippedError = engine.SkippedError
	// A FailedError is the error of Wait: Failed has the *Error of each task that failed since the
	// last Wait, in the order in which they failed, and Skipped counts those that did not run because
	// of them.
	FailedError = engine.FailedError
	// A RetriedError is the failure of a task that was run again: Last, and how many Times it ran.
	RetriedError = engine.RetriedError
	// A ViolationError means that memory changed under a task which did not say that it would. Its
	// fields are Label, of the task; Region and Mode, as declared; Index, of the first element that
	// changed; Stray, where the region is not in the accesses; Touched, where Options.CheckReads has
	// seen it; and Buffer, what the region is of.
	ViolationError = engine.ViolationError
	// An UncoveredError means that a child accesses memory that its parent does not: Mode and Region
	// are those of the child, Parent is the label, and Have the mode of the parent's access that
	// overlaps, where there is Some.
	UncoveredError = engine.UncoveredError
	// A NoDeviceError means that no device of the machine can run a kernel, which Kernel and Pos name.
	// Reasons has one error for each device.
	NoDeviceError = engine.NoDeviceError
	// A LeakError says what a runtime still Held when Close had waited for its tasks: a mistake of
	// this library, and no failure of a task.
	LeakError = engine.LeakError
)

// A PanicError is a panic in the body of a task, or in a kernel on any device.
type PanicError = devices.PanicError

// catchBug makes a panic of the runtime, a compiler or a device, met while a task was described or
// its variants were made, the error of what asked for that: the submitting goroutine continues, and
// Close finds nothing held.
func catchBug(what string, err *error) {
	if broke := recover(); broke != nil {
		*err = fmt.Errorf("gompss: bug: %s cannot be described: panic: %v\n\n%s", what, broke, debug.Stack())
	}
}

// A Collector is a Submitter for programs that do not look at the error of each submission: it
// keeps the first one, and Wait returns it:
//
//	c := task.Collect(rt)
//	for lo := 0; lo < len(x); lo += block {
//		SubmitSaxpy(c, 2, x[lo:lo+block], y[lo:lo+block])
//	}
//	return c.Wait(ctx)
//
// Kernels, Taskloop, ParallelFor and GoValue submit to it as to a Runtime. After an error nothing
// is submitted until Wait has returned it: later tasks might use what the one that is missing would
// have computed. Any goroutine may call its methods.
type Collector struct {
	at awaited

	mu  sync.Mutex // guards err
	err error      // of the first submission that failed since the last Wait
}

// awaited is a Submitter whose tasks can be waited for.
type awaited interface {
	Submitter
	Go(body func() error, options ...Option) (Task, error)
	GoScope(body func(*Scope) error, options ...Option) (Task, error)
	Wait(ctx context.Context, options ...WaitOption) error
}

// Collect returns a Collector that submits to at: a Runtime, a Scope or a Group. It panics for
// others; a Recorder keeps its first error itself.
func Collect(at Submitter) *Collector {
	if _, _, err := submitterOf("Collect", at); err != nil {
		panic(err)
	}
	to, ok := at.(awaited)
	if !ok {
		panic(misuse("Collect", errors.New("want a Runtime, a Scope or a Group; a Recorder keeps its first error itself, a Collector has one already")))
	}
	return &Collector{at: to}
}

func (c *Collector) submitter() (*engine.Scope, *engine.Group) { return c.at.submitter() }

// Go submits a task that runs body: see Runtime.Go. The Task of a submission that failed is that of
// no task.
func (c *Collector) Go(body func() error, options ...Option) Task {
	t, _ := collected(c, "Collector.Go", func(Submitter) (Task, error) { return c.at.Go(body, options...) })
	return t
}

// GoScope submits a task that may have children: see Runtime.GoScope.
func (c *Collector) GoScope(body func(*Scope) error, options ...Option) Task {
	t, _ := collected(c, "Collector.GoScope", func(Submitter) (Task, error) { return c.at.GoScope(body, options...) })
	return t
}

// Err returns the error that Wait would return for the submissions so far.
func (c *Collector) Err() error {
	if c == nil {
		return misuse("Collector.Err", errZeroCollector)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Wait waits for the tasks of the Runtime, the Scope or the Group, as Wait of that does, and
// returns the error of the first submission that failed since the last Wait, joined with that of
// the tasks. What is submitted then is submitted again.
func (c *Collector) Wait(ctx context.Context, options ...WaitOption) error {
	if !c.usable() {
		return misuse("Collector.Wait", errZeroCollector)
	}
	err := c.at.Wait(ctx, options...)
	c.mu.Lock()
	defer c.mu.Unlock()
	err, c.err = errors.Join(c.err, err), nil
	return err
}

func (c *Collector) usable() bool { return c != nil && c.at != nil }

// collected submits to where c does and keeps the error, unless c has one already.
func collected[T any](c *Collector, call string, submit func(at Submitter) (T, error)) (out T, err error) {
	if !c.usable() {
		return out, misuse(call, errZeroCollector)
	}
	if err := c.Err(); err != nil {
		return out, err
	}
	if out, err = submit(c.at); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.err = err
		}
	}
	return out, err
}
