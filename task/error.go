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
	// ErrFinished is the error of a call on a finished object: a Group after its Wait, the Scope of
	// a body that has returned, or the Recorder of a complete iteration.
	ErrFinished = engine.ErrFinished
	// ErrForgotten is the cause of an old failure whose error the runtime has dropped because many
	// failures followed.
	ErrForgotten = engine.ErrForgotten
	// ErrInsideTask means that the body of a task called a function that could wait for that task
	// and would keep its worker: Wait, WaitOn and Close of a Runtime, submission to it with
	// If(false), Task.Wait and Future.Get with a context that belongs to no Scope, Wait of a Group
	// of the program, Replay, Free and Unregister. Waiting with the Scope of another task, for
	// example of the parent, and waiting for the caller's own task return it too. A body uses
	// Scope.Wait and Scope.WaitOn to wait for its children. To wait for tasks of another runtime, a
	// body calls Wait on another goroutine.
	ErrInsideTask = engine.ErrInsideTask
)

// Failures of tasks and errors of submissions, with fields for errors.As.
type (
	// An Error is the failure of one task. Task is its number. Label is its label, or the name of
	// the kernel or function. Kernel is "" for a Go task. Device is the device that ran it, "" if
	// none was chosen. Pos is the line of the kernel or function. Cause is the error that the body
	// returned, a *PanicError, a *SkippedError, the cause of the context, or a device failure.
	Error = engine.Error
	// A SkippedError is the reason why a task did not run. Via is the label of the predecessor that
	// failed or was itself skipped, and First is the *Error at the start of the chain. errors.Is
	// accepts it as ErrSkipped; it unwraps to First.
	SkippedError = engine.SkippedError
	// A FailedError is the error of Wait. Failed contains the *Error of each task that failed since
	// the last Wait, in the order of the failures. Skipped is the number of tasks that did not run
	// as a consequence.
	FailedError = engine.FailedError
	// A RetriedError is the failure of a task that was repeated. Last is its last error, and Times
	// the number of executions.
	RetriedError = engine.RetriedError
	// A ViolationError means that memory changed during a task that had not declared a write to it.
	// Label is that of the task. Region and Mode are declared ones. Index is that of the first
	// element that changed. Stray is true if the task does not declare the region, Touched if
	// Options.CheckReads found the access. Buffer describes the memory.
	ViolationError = engine.ViolationError
	// An UncoveredError means that a child accesses memory that its parent does not. Mode and
	// Region are those of the child, and Parent is the parent's label. If Some is true, an access
	// of the parent overlaps, with mode Have.
	UncoveredError = engine.UncoveredError
	// A NoDeviceError means that no device of the machine can run a kernel, which Kernel and Pos
	// name. Reasons contains one error for each device.
	NoDeviceError = engine.NoDeviceError
	// A LeakError lists in Held the resources that a runtime still held after Close had waited for
	// its tasks. It is a bug of this library, not a failure of a task.
	LeakError = engine.LeakError
)

// A PanicError is a panic in the body of a task, or in a kernel on any device.
type PanicError = devices.PanicError

// catchBug converts a panic of the runtime, the compiler or a device, during the submission of a
// task or the preparation of its variants, into an error. The submitting goroutine continues, and
// Close finds no leak.
func catchBug(what string, err *error) {
	if broke := recover(); broke != nil {
		*err = fmt.Errorf("gompss: bug: %s cannot be described: panic: %v\n\n%s", what, broke, debug.Stack())
	}
}

// A Collector is a Submitter for programs that do not check the error of each submission. It keeps
// the first error, and Wait returns it:
//
//	c := task.Collect(rt)
//	for lo := 0; lo < len(x); lo += block {
//		SubmitSaxpy(c, 2, x[lo:lo+block], y[lo:lo+block])
//	}
//	return c.Wait(ctx)
//
// Kernels, Taskloop, ParallelFor and GoValue submit to it as to a Runtime. After an error it
// submits nothing until Wait has returned the error, because later tasks might use the results of
// the missing one. Any goroutine may call its methods.
type Collector struct {
	at awaited

	mu  sync.Mutex // guards err
	err error      // of the first failed submission since the last Wait
}

// awaited is a Submitter whose tasks can be waited for.
type awaited interface {
	Submitter
	Go(body func() error, options ...Option) (Task, error)
	GoScope(body func(*Scope) error, options ...Option) (Task, error)
	Wait(ctx context.Context, options ...WaitOption) error
}

// Collect returns a Collector that submits to at: a Runtime, a Scope or a Group. It panics for
// other values; a Recorder keeps its first error itself.
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

// Go submits a task that runs body: see Runtime.Go. It returns the zero Task for a failed
// submission.
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

// Wait waits for the tasks of the Runtime, the Scope or the Group, as its Wait does. It returns the
// first submission error since the last Wait, joined with the error of the tasks. Afterwards the
// Collector submits tasks again.
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

// WaitOn waits for the tasks that use some memory, as Runtime.WaitOn and Scope.WaitOn do; a
// Collector of a Group waits for tasks outside of the group too. After a failed submission it
// returns that error at once, because the data may lack the results of the missing tasks. Wait is
// still to return the error before the Collector submits tasks again.
func (c *Collector) WaitOn(ctx context.Context, accesses ...Option) error {
	const call = "Collector.WaitOn"
	s, _, err := submitterOf(call, c)
	if err != nil {
		return err
	}
	if err := c.Err(); err != nil {
		return err
	}
	if s.Program() {
		return waitOnProgram(s.RT, call, ctx, accesses)
	}
	return waitOn(s, call, ctx, accesses)
}

func (c *Collector) usable() bool { return c != nil && c.at != nil }

// collected submits to the Submitter of c and keeps the error, unless c already has one.
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
