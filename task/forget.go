package task

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
)

// keptFailures is the number of failures kept for Task.Err.
const keptFailures = 1 << 14

// ErrForgotten is the cause of a failure so long ago, with so many since, that of its error only
// the fact is known.
var ErrForgotten = errors.New("the task failed or was skipped; its error is not kept any more")

// failures are the errors of tasks that have finished, for Task.Err: the latest ones as they are,
// of the others the numbers of the tasks.
type failures struct {
	byTask    map[deps.TaskID]*Error
	order     []deps.TaskID // of byTask, some perhaps taken out since; a ring once it is full
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

// of returns the error of a task that has finished, nil if it had none.
func (f *failures) of(id deps.TaskID) *Error {
	if e := f.byTask[id]; e != nil {
		return e
	}
	if f.forgotten.Overlaps(deps.Interval(0, int64(id), int64(id)+1)) {
		return &Error{Task: id, Label: fmt.Sprintf("task %d", id), Cause: ErrForgotten}
	}
	return nil
}

// takeGroup returns the failures of g, and removes them from those that the scope of g would
// report.
func (fl *failureLog) takeGroup(g *Group) error {
	fl.failing.Lock()
	defer fl.failing.Unlock()
	if len(g.failures.Failed) == 0 && g.failures.Skipped == 0 {
		return nil
	}
	failed := g.failures
	g.failures = FailedError{}
	g.scope.failures.without(&failed, g)
	for o := g.outer; o != nil; o = o.outer {
		o.failures.without(&failed, g)
	}
	return &failed
}

// noteLeak keeps an error of giving something back for Close to tell.
func (fl *failureLog) noteLeak(err error) {
	fl.failing.Lock()
	fl.leaks = errors.Join(fl.leaks, err)
	fl.failing.Unlock()
}

// A failureLog is what failed in a runtime, and what waits return of it. Its lock is innermost.
type failureLog struct {
	failing  spin.Mutex
	failures failures
	leaks    error // of giving things back
	broken   int64
	skipped  int64
}

func (fl *failureLog) failureOf(id deps.TaskID) error {
	fl.failing.Lock()
	defer fl.failing.Unlock()
	if e := fl.failures.of(id); e != nil {
		return e
	}
	return nil
}

// forgetError returns the error of a wait and forgets it.
func (fl *failureLog) forgetError(t Task) error {
	err := t.Err()
	fl.failing.Lock()
	defer fl.failing.Unlock()
	delete(fl.failures.byTask, t.id)
	return err
}

// takeFailures returns the failures since the last call, nil if there are none.
func (fl *failureLog) takeFailures(told *FailedError) error {
	fl.failing.Lock()
	defer fl.failing.Unlock()
	if len(told.Failed) == 0 && told.Skipped == 0 {
		return nil
	}
	failed := *told
	*told = FailedError{}
	return &failed
}
