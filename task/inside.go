package task

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/gompss/gompss/internal/goid"
	"github.com/gompss/gompss/task/internal/life"
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

// insideBody reports whether the body of a task is on the stack of the caller.
func insideBody() bool {
	var few [64]uintptr
	pcs := few[:]
	n := runtime.Callers(2, pcs)
	for n == len(pcs) { // a body may recurse
		pcs = make([]uintptr, 4*len(pcs))
		n = runtime.Callers(2, pcs)
	}
	for _, pc := range pcs[:n] {
		f := runtime.FuncForPC(pc - 1)
		if f == nil {
			continue
		}
		if _, name, ok := strings.Cut(f.Name(), "/gompss/task"); ok && slices.Contains(callsBodies[:], name) {
			return true
		}
	}
	return false
}

// blocksWorker returns ErrInsideTask when r, which is about to be submitted, is waited for where
// the body of a task submits it to the runtime, or to the scope of another task: that would keep a
// worker.
func (r *record) blocksWorker() error {
	switch {
	case !r.traits.Is(life.Undeferred):
		return nil
	case r.scope.program() && insideBody():
		return misuse("If(false)", errInBody)
	}
	return r.scope.wrongScopeIn("If(false)")
}

// callsBodies are what calls bodies: of tasks, of steps of a replay, of chunks of a ParallelFor.
var callsBodies = [...]string{".(*Runtime).runBody", "/internal/replay.(*Run).call", ".(*parallelFor).chunk"}

// bodyFinished is the Scope.body of a body that has returned.
const bodyFinished = ^uintptr(0)

// An insideError is ErrInsideTask with the reason.
type insideError string

func (e insideError) Error() string { return string(e) }
func (insideError) Unwrap() error   { return ErrInsideTask }

const (
	errElsewhere insideError = "with the Scope of another task, which may be waiting for the one whose body calls it: use the Scope that GoScope gives this body"
	errInBody    insideError = "called in the body of a task, whose worker it would keep: use the Scope that GoScope gives the body, or its Context"
)

// wrongScopeIn is misplaced for a call of the program, which its error names.
func (s *Scope) wrongScopeIn(call string) error {
	if err := s.wrongScope(); err != nil {
		return misuse(call, err)
	}
	return nil
}

// wrongScope returns an error when the caller must not wait with s: it is in the body of another
// task, such as a child of s, or the body of s has returned. The goroutine of the body, which
// nearly always asks, is known at once; for others their stack says whether they run a body.
func (s *Scope) wrongScope() error {
	if s.program() {
		return nil
	}
	g := goid.Of()
	if g == 0 {
		return nil
	}
	at := s.body.Load()
	switch {
	case at == g && s.above.Load() != g:
		return nil
	case insideBody():
		return errElsewhere
	case at == bodyFinished:
		return errScopeFinished
	}
	return nil
}

// refuses returns an error when the caller must not wait with s for t.
func (s *Scope) refuses(call string, t Task) error {
	if err := s.wrongScopeIn(call); err != nil {
		return err
	}
	for o := s; !o.program(); o = o.owner.scope {
		if o.owner == t.record && o.owner.taskID() == t.id {
			return misuse(call, insideError(fmt.Sprintf("for task %d: in its own body, or in that of a task inside it: it would wait for itself", t.id)))
		}
	}
	return nil
}
