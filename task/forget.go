package task

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/deps"
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
