package task

import (
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

// A FirstError keeps the first error of many submissions, so that a program checks once, where it
// waits:
//
//	var first task.FirstError
//	for lo := 0; lo < len(x); lo += block {
//		first.Of(SubmitSaxpy(rt, 2, x[lo:lo+block], y[lo:lo+block]))
//	}
//	return errors.Join(first.Err(), rt.Wait(ctx))
//
// The submissions behind one that failed still run: where Err is not nil, what they computed means
// nothing. The zero value is ready. Any goroutine may call its methods; the first error is that of
// the first call.
type FirstError struct {
	mu  sync.Mutex
	err error // guarded by mu
}

// Of takes the results of a submission and returns the task, the zero Task where there is none.
func (f *FirstError) Of(t Task, err error) Task {
	f.keep(err)
	return t
}

// OfAll takes the results of a Taskloop and returns its tasks.
func (f *FirstError) OfAll(tasks []Task, err error) []Task {
	f.keep(err)
	return tasks
}

// Err returns the first error so far.
func (f *FirstError) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *FirstError) keep(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}
