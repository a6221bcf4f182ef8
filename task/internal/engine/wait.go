package engine

import (
	"errors"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/goid"
)

// This file refuses waits of a body that would never end, or would take away the worker of another
// one.

// ErrInsideTask means that what waits for tasks was called by the body of a task, which it may wait
// for, and which keeps a worker: Wait, WaitOn and Close of a Runtime, submission to it with
// If(false), Task.Wait and Future.Get with a context that is no Scope's, Wait of a Group of the
// program, Replay, Free and Unregister. A body that waits with the Scope of another task, as that
// of a child may do with the one of its parent, or for its own task, gets the same error. In a
// body, Scope.Wait and Scope.WaitOn wait for the tasks of its own; to wait for those of another
// runtime there, call Wait on another goroutine.
var ErrInsideTask = errors.New("task: wait or close: called in the body of a task: use its Scope, as GoScope gives it")

// BodyFinished is the Scope.body of a body that has returned.
const BodyFinished = ^uintptr(0)

// An InsideError is ErrInsideTask with the reason.
type InsideError string

func (e InsideError) Error() string { return string(e) }

func (InsideError) Unwrap() error { return ErrInsideTask }

const (
	errElsewhere InsideError = "with the Scope of another task, which may be waiting for the one whose body calls it: use the Scope that GoScope gives this body"
	ErrInBody    InsideError = "called in the body of a task, whose worker it would keep: use the Scope that GoScope gives the body, or its Context"
)

// WrongScope returns an error when the caller must not wait with s: it is in the body of another
// task, such as a child of s, or the body of s has returned. The goroutine of the body, which
// nearly always asks, is known at once; of others the workers know whether they run a body.
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

// A Task names a submitted task: it is the one of Record as long as that has the same number.
type Task struct {
	RT     *Runtime
	Record *Record
	ID     deps.TaskID
}

// closedDone is the Done of tasks that have finished.
var closedDone = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// IsOver reports whether the task has finished.
func (t Task) IsOver() bool { return t.Record == nil || t.Record.TaskID() != t.ID }

// Done is Done for waits of the runtime.
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
			return closedDone // it ended between the two looks
		}
	}
	// The record may have gone to another task meanwhile, which then closes a channel without
	// receivers.
	if r.TaskID() != t.ID {
		return closedDone
	}
	return *done
}

// Err returns the error of a task that has finished: nil, or an *Error. It is nil before.
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
				return t.IsOver()
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
