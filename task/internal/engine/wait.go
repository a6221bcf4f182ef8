package engine

import (
	"errors"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/goid"
)

// This file refuses waits of a body that would never end, or that would keep the worker of another
// body.

// ErrInsideTask means that the body of a task called a function that could wait for that task and
// would keep its worker. The documentation of package task lists the functions.
var ErrInsideTask = errors.New("task: wait or close: called in the body of a task: use its Scope, as GoScope gives it")

// BodyFinished is the value of Scope.Body for a body that has returned.
const BodyFinished = ^uintptr(0)

// An InsideError is ErrInsideTask with the reason.
type InsideError string

func (e InsideError) Error() string { return string(e) }

func (InsideError) Unwrap() error { return ErrInsideTask }

const (
	errElsewhere InsideError = "with the Scope of another task, which may be waiting for the one whose body calls it: use the Scope that GoScope gives this body"
	ErrInBody    InsideError = "called in the body of a task, whose worker it would keep: use the Scope that GoScope gives the body, or its Context"
)

// WrongScope returns an error if the caller must not wait with s, because it is in the body of
// another task, such as a child of s, or the body of s has returned. The usual caller, the
// goroutine of the body, is recognised immediately; for other goroutines, the workers know whether
// they run a body.
func (s *Scope) WrongScope() error {
	if s.Program() {
		return nil
	}
	g := goid.Of()
	if g == 0 {
		return nil
	}
	at := s.Body.Load()
	switch {
	case at == g && s.above.Load() != g:
		return nil
	case smp.InBody():
		return errElsewhere
	case at == BodyFinished:
		return errScopeFinished
	}
	return nil
}

// A Task is a handle of a submitted task. Record is that task as long as it has the same number.
type Task struct {
	RT     *Runtime
	Record *Record
	ID     deps.TaskID
}

// closedDone is the Done channel of finished tasks.
var closedDone = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Finished reports whether the task has finished.
func (t Task) Finished() bool { return t.Record == nil || t.Record.TaskID() != t.ID }

// Done is Task.Done for waits of the runtime.
func (t Task) Done() <-chan struct{} {
	r := t.Record
	if r == nil || r.TaskID() != t.ID {
		return closedDone
	}
	done := r.done.Load()
	if done == nil {
		fresh := make(chan struct{})
		if r.done.CompareAndSwap(nil, &fresh) {
			done = &fresh
		} else if done = r.done.Load(); done == nil {
			return closedDone // the task ended between the two checks
		}
	}
	// The record may have been recycled for another task, which then closes a channel without
	// receivers.
	if r.TaskID() != t.ID {
		return closedDone
	}
	return *done
}

// Err returns the error of a finished task: nil or an *Error. Before the task has finished it
// returns nil.
func (t Task) Err() error {
	if t.Record == nil || t.Record.TaskID() == t.ID {
		return nil
	}
	return t.RT.Log.failureOf(t.ID)
}

// AwaitTask waits for a task on behalf of the body of s, or until enough is closed.
func (s *Scope) AwaitTask(t Task, enough <-chan struct{}) {
	done := t.Done()
	wait := func() {
		select {
		case <-done:
		case <-enough:
		}
	}
	select {
	case <-done:
	default:
		done := func() bool {
			select {
			case <-enough:
				return true
			default:
				return t.Finished()
			}
		}
		if s.Program() {
			s.RT.Virtual.Await(done, nil)
			wait()
		} else {
			s.Block(done, wait)
		}
	}
}
