package task

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/values"
)

// Sentinels for errors.Is.
var (
	// ErrSkipped means that a task did not run because a task that it depends on failed.
	ErrSkipped = errors.New("skipped")
	// ErrClosed means that the runtime is closed.
	ErrClosed = errors.New("task: runtime is closed")
)

// An Error is the failure of one task. Cause is what its body returned, a *PanicError, a
// *SkippedError, the context's error or a failure of a device.
type Error struct {
	Task   deps.TaskID
	Label  string // as given; the kernel's or the function's name where none was
	Kernel string // "" for a plain Go task
	Device string // where it ran or was to run; "" if that was not decided
	Pos    ir.Pos // of the kernel, or of the Go function that is the body; zero where that is a method value
	Cause  error

	group *Group // that the task was in
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "task: %s", e.Label)
	if e.Kernel != "" && e.Kernel != e.Label {
		fmt.Fprintf(&b, ": kernel %s", e.Kernel)
	}
	if e.Pos.File != "" {
		fmt.Fprintf(&b, " (%s:%d)", e.Pos.File, e.Pos.Line)
	}
	if e.Device != "" {
		fmt.Fprintf(&b, " on %s", e.Device)
	}
	fmt.Fprintf(&b, ": %v", e.inner())
	return b.String()
}

// inner returns the cause without the part that the text already contains: a launch on the device.
func (e *Error) inner() error {
	if d, ok := e.Cause.(*devices.DeviceError); ok && d.Device == e.Device && d.Pos == e.Pos && d.What == "launch "+e.Kernel {
		return d.Err
	}
	return e.Cause
}

func (e *Error) Unwrap() error { return e.Cause }

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

// A SkippedError names the failure that kept a task from running. It is ErrSkipped for errors.Is,
// and unwraps to the failure.
type SkippedError struct {
	// Via is the label of the predecessor, which failed or was itself skipped; of a Go task without
	// a label it has the line.
	Via   string
	First *Error // the failure at the start of the chain

	direct bool // First is the error of the predecessor
}

func (e *SkippedError) Error() string {
	if e.direct {
		return fmt.Sprintf("skipped: predecessor failed: %v", e.First)
	}
	return fmt.Sprintf("skipped: predecessor %s was skipped: %v", e.Via, e.First)
}

// Is reports whether target is ErrSkipped.
func (e *SkippedError) Is(target error) bool { return target == ErrSkipped }

func (e *SkippedError) Unwrap() error { return e.First }

// first returns the failure at the start of the chain that e is in.
func (e *Error) first() *Error {
	if s, ok := e.Cause.(*SkippedError); ok {
		return s.First
	}
	return e
}

// A FailedError is the error of Wait: the tasks that failed since the last Wait, in the order in
// which they failed, and how many were skipped because of them.
type FailedError struct {
	Failed  []*Error
	Skipped int
}

// listed is the number of failures that the text of a FailedError spells out.
const listed = 8

func (e *FailedError) Error() string {
	var b strings.Builder
	for i, f := range e.Failed {
		if i == listed {
			fmt.Fprintf(&b, "\nand %d more %s", len(e.Failed)-listed, values.Plural(len(e.Failed)-listed, "failure", "failures"))
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.Error())
	}
	switch {
	case e.Skipped > 0 && len(e.Failed) > 0:
		b.WriteString("\n" + e.skipped())
	case e.Skipped > 0:
		fmt.Fprintf(&b, "task: %d tasks were skipped because of failures that were told before", e.Skipped)
	}
	return b.String()
}

// skipped returns the text about the tasks that did not run, with the cause.
func (e *FailedError) skipped() string {
	return fmt.Sprintf("%s that %s on %s %s skipped", values.Count(e.Skipped, "task"), values.Plural(e.Skipped, "depends", "depend"),
		values.Plural(len(e.Failed), "it", "them"), values.Plural(e.Skipped, "was", "were"))
}

// Unwrap returns the failures.
func (e *FailedError) Unwrap() []error {
	out := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		out[i] = f
	}
	return out
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
