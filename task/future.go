package task

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gompss/gompss/task/internal/engine"
)

// A Future is the value that a task returns when it has finished.
type Future[T any] struct {
	Task
	value T
	it    *Iteration // it is a step of, nil where it is none
	step  int
	other bool // its task is on another rank
}

// GoValue submits a task that runs body, as Runtime.Go does, and returns its value as a Future.
func GoValue[T any](at Submitter, body func() (T, error), options ...Option) (*Future[T], error) {
	if c, ok := at.(*Collector); ok {
		return collected(c, "GoValue", func(at Submitter) (*Future[T], error) { return GoValue(at, body, options...) })
	}
	s, g, err := submitterOf("GoValue", at)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, errNoBody
	}
	f := &Future[T]{}
	options = append(options[:len(options):len(options)], originOf(body))
	run := func() (err error) { f.value, err = body(); return err }
	if rec := recorderOf(s); rec != nil {
		err := rec.goStep(run, nil, g, options, true)
		f.it, f.step = rec.it, rec.latest()
		return f, err
	}
	t, err := goTask(s, g, run, options)
	f.Task, f.other = t, t.h.Record == nil && s.RT.World != nil
	return f, err
}

// GoValueScope is GoValue for a body that submits tasks of its own, as Runtime.GoScope runs it.
func GoValueScope[T any](at Submitter, body func(*Scope) (T, error), options ...Option) (*Future[T], error) {
	if c, ok := at.(*Collector); ok {
		return collected(c, "GoValueScope", func(at Submitter) (*Future[T], error) { return GoValueScope(at, body, options...) })
	}
	s, g, err := submitterOf("GoValueScope", at)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, errNoBody
	}
	f := &Future[T]{}
	options = append(options[:len(options):len(options)], originOf(body))
	run := func(s *Scope) (err error) { f.value, err = body(s); return err }
	if rec := recorderOf(s); rec != nil {
		err := rec.goStep(nil, run, g, options, true)
		f.it, f.step = rec.it, rec.latest()
		return f, err
	}
	t, err := goScope(s, g, run, options)
	f.Task, f.other = t, t.h.Record == nil && s.RT.World != nil
	return f, err
}

// Get waits until the task has finished, or ctx is done, and returns the value, or the error of the
// task. In the body of a task, ctx must be that of its Scope, or be derived from it: then the
// worker runs other tasks meanwhile.
//
// A Future that was recorded has the value of the replay that was asked for last, for which Value
// waits; before the first it is ErrNotReplayed. In the body of a step of the same iteration, it is
// the value of the same replay. Its embedded Task is no task.
func (f *Future[T]) Get(ctx context.Context) (T, error) {
	var none T
	if f == nil {
		return none, misuse("Future.Get", errNilHandle)
	}
	if err := checkContext("Future.Get", ctx); err != nil {
		return none, err
	}
	if f.other {
		return none, errOtherRank
	}
	t := f.Task
	if f.it != nil {
		var err error
		if t, err = f.it.taskOf(ctx, f.step); err != nil {
			return none, err
		}
	}
	if err := t.waitContext("Future.Get", ctx); err != nil {
		return none, err
	}
	return f.value, nil
}

// ErrNotReplayed means that a recorded value was read before its first computation.
var ErrNotReplayed = errors.New("task: value: its iteration was not replayed yet")

// taskOf returns the task to wait for, for what step i does: in a step of the same replay the task
// of that step, else the replay.
func (it *Iteration) taskOf(ctx context.Context, i int) (Task, error) {
	for s := scopeOf(ctx); s != nil && !s.Program(); s = s.Owner.Scope {
		if s.Owner.Steps == nil {
			continue
		}
		if t, _ := s.Owner.Steps.Run.(*replayRun); t != nil && t.it == it {
			return t.graph.tasks[i], nil
		}
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	if it.last.h.Record == nil {
		return Task{}, ErrNotReplayed
	}
	return it.last, nil
}

// An Event keeps a task unfinished after its body has returned, until code outside the task says
// that it has happened.
type Event struct {
	scope     *engine.Scope
	fulfilled atomic.Bool
}

// ErrFulfilled means that an event was fulfilled before.
var ErrFulfilled = errors.New("task: event: fulfilled already")

// Event returns an event that the task waits for after its body: its successors do not start, and
// no wait for it continues, before Fulfill is called. It must be called before the body returns. A
// task that was cancelled waits for its events too: the code that fulfills them checks Context.
func (s *Scope) Event() (*Event, error) {
	if !s.usable() {
		return nil, misuse("Scope.Event", s.unusable())
	}
	if s.core.Program() {
		return nil, errors.New("task: event: of no task")
	}
	if err := s.core.LockSubmission(context.Background()); err != nil {
		return nil, err
	}
	s.core.AddUse()
	s.core.Submitted.Store(true)
	s.core.Submitting.Unlock()
	if s.core.RT.Check { // the goroutine that fulfills it may access what the task may
		s.core.RT.BeginUnguarded()
	}
	return &Event{scope: &s.core}, nil
}

// Fulfill completes the event; with an error the task fails. It may be called from any goroutine,
// and the task's successors see all writes before the call. Error: ErrFulfilled.
func (e *Event) Fulfill(err error) error {
	if e == nil || e.scope == nil {
		return misuse("Event.Fulfill", errNilHandle)
	}
	if e.fulfilled.Swap(true) {
		return ErrFulfilled
	}
	s := e.scope
	if err != nil {
		s.RT.Log.Failing.Lock()
		s.Outside = errors.Join(s.Outside, fmt.Errorf("event: %w", err))
		s.RT.Log.Failing.Unlock()
	}
	if s.RT.Check {
		s.RT.EndUnguarded()
	}
	engine.EndUse(s)
	s.RT.Complete(s.ChildFinished(engine.Holder))
	if v := s.RT.Virtual; v != nil {
		v.Poke()
	}
	return nil
}
