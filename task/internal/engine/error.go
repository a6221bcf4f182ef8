package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/values"
)

// Sentinels for errors.Is.
var (
	// ErrSkipped means that a task did not run because a task that it depends on failed.
	ErrSkipped = errors.New("skipped")
	// ErrClosed means that the runtime is closed.
	ErrClosed = errors.New("task: runtime is closed")
)

// An Error is the failure of one task. Cause is the error that its body returned, a *PanicError, a
// *SkippedError, the cause of the context, or a device failure.
type Error struct {
	Task   deps.TaskID
	Label  string // the label, or the name of the kernel or function
	Kernel string // "" for a plain Go task
	Device string // the device that ran it or was to run it; "" if none was chosen
	Pos    ir.Pos // of the kernel, or of the Go function of the body; zero for a method value
	Cause  error

	group *Group // the group of the task
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

// A SkippedError is the reason why a task did not run. errors.Is accepts it as ErrSkipped; it
// unwraps to the failure.
type SkippedError struct {
	// Via is the label of the predecessor that failed or was itself skipped; for a Go task without
	// a label it contains the line.
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

// FirstOf returns the failure at the start of the chain that e is in.
func FirstOf(e *Error) *Error {
	if s, ok := e.Cause.(*SkippedError); ok {
		return s.First
	}
	return e
}

// A FailedError is the error of Wait: the tasks that failed since the last Wait, in the order of
// the failures, and the number of tasks that were skipped as a consequence.
type FailedError struct {
	Failed  []*Error
	Skipped int
	// skippedBy is how many of the skipped tasks were in each group, nil for none in any.
	skippedBy map[*Group]int
}

// listed is the number of failures that the text of a FailedError contains in full.
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

// keptFailures is the number of failures kept for Task.Err.
const keptFailures = 1 << 14

// ErrForgotten is the cause of an old failure whose error the runtime has dropped because many
// failures followed.
var ErrForgotten = errors.New("the task failed or was skipped; its error is not kept any more")

// failures contains the errors of finished tasks, for Task.Err: the latest ones in full, and the
// task numbers of the others.
type failures struct {
	byTask    map[deps.TaskID]*Error
	order     []deps.TaskID // of byTask, in part removed since; a ring once it is full
	next      int           // the oldest
	forgotten deps.Set      // of task numbers
}

func (f *failures) add(id deps.TaskID, e *Error) {
	if f.byTask == nil {
		f.byTask = map[deps.TaskID]*Error{}
	}
	if f.byTask[id] = e; len(f.order) < keptFailures {
		f.order = append(f.order, id)
		return
	}
	oldest := f.order[f.next]
	if _, kept := f.byTask[oldest]; kept {
		delete(f.byTask, oldest)
		f.forgotten.Add(deps.Interval(0, int64(oldest), int64(oldest)+1))
	}
	f.order[f.next] = id
	f.next = (f.next + 1) % keptFailures
}

// of returns the error of a finished task, nil if it had none.
func (f *failures) of(id deps.TaskID) *Error {
	if e := f.byTask[id]; e != nil {
		return e
	}
	if f.forgotten.Overlaps(deps.Interval(0, int64(id), int64(id)+1)) {
		return &Error{Task: id, Label: fmt.Sprintf("task %d", id), Cause: ErrForgotten}
	}
	return nil
}

// TakeGroup returns the failures of g, and removes them from those that the scope of g would
// report.
func (fl *failureLog) TakeGroup(g *Group) error {
	fl.Failing.Lock()
	defer fl.Failing.Unlock()
	if len(g.failures.Failed) == 0 && g.failures.Skipped == 0 {
		return nil
	}
	failed := g.failures
	g.failures, failed.skippedBy = FailedError{}, nil
	g.Scope.Failures.without(g)
	for o := g.Outer; o != nil; o = o.Outer {
		o.failures.without(g)
	}
	return &failed
}

// NoteLeak records an error of the release of a resource, which Close will return.
func (fl *failureLog) NoteLeak(err error) {
	fl.Failing.Lock()
	fl.Leaks = errors.Join(fl.Leaks, err)
	fl.Failing.Unlock()
}

// A failureLog records the failures of a runtime, and which of them waits have to return. Its lock
// is innermost.
type failureLog struct {
	Failing  spin.Mutex
	failures failures
	Leaks    error // errors of the release of resources
	Broken   int64
	Skipped  int64
}

func (fl *failureLog) failureOf(id deps.TaskID) error {
	fl.Failing.Lock()
	defer fl.Failing.Unlock()
	if e := fl.failures.of(id); e != nil {
		return e
	}
	return nil
}

// ForgetError returns the error of a wait and removes it.
func (fl *failureLog) ForgetError(t Task) error {
	err := t.Err()
	fl.Failing.Lock()
	defer fl.Failing.Unlock()
	delete(fl.failures.byTask, t.ID)
	return err
}

// TakeFailures returns the failures since the last call, nil if there are none.
func (fl *failureLog) TakeFailures(told *FailedError) error {
	fl.Failing.Lock()
	defer fl.Failing.Unlock()
	if len(told.Failed) == 0 && told.Skipped == 0 {
		return nil
	}
	failed := *told
	*told, failed.skippedBy = FailedError{}, nil
	return &failed
}

// noteFailure records the error of r for Task.Err and for waits.
func noteFailure(rt *Runtime, r *Record) {
	if rt.Observers.Watched() {
		rt.Observers.observeFailure(r)
	}
	if rt.World != nil && r.Kind != WaitBody && !isSkip(r.err) {
		rt.World.Failed(r.err)
	}
	rt.Log.Failing.Lock()
	defer rt.Log.Failing.Unlock()
	rt.Log.failures.add(r.TaskID(), r.err)
	switch skipped := isSkip(r.err); {
	case r.Kind == WaitBody: // the wait reports it
		return
	case skipped:
		rt.Log.Skipped++
	default:
		rt.Log.Broken++
	}
	r.Scope.Failures.note(r.err)
	for g := r.member; g != nil; g = g.Outer {
		g.failures.note(r.err)
	}
	for _, o := range others(r) {
		o.failures.note(r.err)
	}
}

// note adds a failure to those that a wait will return.
func (e *FailedError) note(failure *Error) {
	if !isSkip(failure) {
		e.Failed = append(e.Failed, failure)
		return
	}
	e.Skipped++
	if failure.group != nil {
		if e.skippedBy == nil {
			e.skippedBy = map[*Group]int{}
		}
		e.skippedBy[failure.group]++
	}
}

// isSkip reports whether the task of e did not run because of another task.
func isSkip(e *Error) bool {
	_, skipped := e.Cause.(*SkippedError)
	return skipped
}
