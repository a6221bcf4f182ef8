package task

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task/internal/values"
	"github.com/gompss/gompss/trace/probe"
)

// This file is WaitOn: the wait for the tasks that use some memory.

// WaitOn waits until the tasks submitted so far that the accesses depend on have finished, and the
// data of the accesses are valid on the host: what In names may then be read, and what InOut names
// be written, until another task is submitted that uses it.
//
// Errors: the context's, and then the data are not to be touched; an *Error when a task it waits
// for failed; ErrInsideTask in the body of a task, which has Scope.WaitOn; ErrUnused for memory of
// which no task has used an element, which would be a wait for nothing.
func (rt *Runtime) WaitOn(ctx context.Context, accesses ...Option) error {
	const call = "Runtime.WaitOn"
	if !rt.usable() {
		return rt.unusable(call)
	}
	if rt.window.Live() > 0 && insideBody() {
		return misuse(call, errInBody)
	}
	if rt.observers.watched() {
		defer rt.observePhase(probe.PhaseWait, rt.observers.now(), rt.buffers.Sum())
	}
	if rt.world != nil {
		if err := rt.shareInWorld(accesses); err != nil {
			return err
		}
	}
	return rt.root.waitOn(call, ctx, accesses)
}

// WaitOn is Runtime.WaitOn for the children of a task and what it accesses. Errors: also those of
// Scope.Wait.
func (s *Scope) WaitOn(ctx context.Context, accesses ...Option) error {
	if !s.usable() {
		return misuse("Scope.WaitOn", s.unusable())
	}
	return s.waitOn("Scope.WaitOn", ctx, accesses)
}

func (s *Scope) waitOn(call string, ctx context.Context, accesses []Option) error {
	if err := checkContext(call, ctx); err != nil {
		return err
	}
	if err := s.wrongScopeIn(call); err != nil {
		return err
	}
	if err := checkWaitOptions(accesses); err != nil {
		return misuse(call, err)
	}
	t, err := s.submitWaitOn(accesses)
	switch {
	case errors.Is(err, ErrUnused):
		return misuse(call, err)
	case err != nil:
		return err
	}
	s.rt.awaits()
	if s.awaitUntil(t, ctx) {
		return s.rt.log.forgetError(t)
	}
	return s.rt.withStatus(fmt.Errorf("task: wait on %s: %w", values.Count(len(accesses), "access"), context.Cause(ctx)), 0)
}

// awaitUntil waits until t has finished or ctx, which may be nil, is done, and reports whether t
// has finished. The worker of a body is lent meanwhile.
func (s *Scope) awaitUntil(t Task, ctx context.Context) (over bool) {
	var ended <-chan struct{}
	if ctx != nil {
		ended = ctx.Done()
	}
	wait := func() {
		select {
		case <-t.done():
			over = true
		case <-ended:
		}
	}
	if s.program() || t.isOver() {
		t.awaitTurn(ctx)
		wait()
	} else {
		s.block(func() bool { return t.isOver() || ctx != nil && ctx.Err() != nil }, wait)
	}
	return over
}

var (
	errNoAccess   = errors.New("an option that is no access: it takes In, Out, InOut and the like, and NoCopyDeps")
	errNoAccesses = errors.New("no access is given, so that there is nothing to wait for: Wait waits for all tasks")
)

// checkWaitOptions checks the options of WaitOn.
func checkWaitOptions(accesses []Option) error {
	given := false
	for i := range accesses {
		o := &accesses[i]
		if !o.isAccess() && o.what() != orderOnlyOption {
			return errNoAccess
		}
		given = given || o.isAccess()
	}
	if !given {
		return errNoAccesses
	}
	return nil
}

// ErrUnused is the error of WaitOn for memory that no task has used, or that the runtime has
// forgotten: by Unregister, Free, or with the task in whose Scope it was used first.
var ErrUnused = errors.New("no task has used this memory")

// An unusedError is ErrUnused with the access that it is about.
type unusedError struct {
	number int // of the access, from 1
	mode   deps.Mode
	text   string // the memory
	known  bool   // other elements of its buffer were used, or it was registered
}

func (e *unusedError) Error() string {
	why := "it is in no buffer: check the slice; memory that was first used in the Scope of a task is forgotten with that task"
	if e.known {
		why = "it is in a buffer of which tasks have used other elements, or none: check the slice and its bounds"
	}
	return fmt.Sprintf("access %d (%s of %s): %v, so that there is nothing to wait for: %s", e.number, e.mode, e.text, ErrUnused, why)
}

func (e *unusedError) Unwrap() error { return ErrUnused }

// submitWaitOn submits an empty task that waits for its accesses, each of memory that tasks have
// used.
func (s *Scope) submitWaitOn(accesses []Option) (Task, error) {
	r, err := s.begin(nil, waitBody)
	if err != nil {
		return Task{}, err
	}
	for i := range accesses {
		if o := &accesses[i]; o.isAccess() {
			if err := s.usedBefore(i+1, o); err != nil {
				return s.abort(r, err)
			}
		}
	}
	return s.submitGo(r, accesses)
}

// usedBefore returns an error when no task of s has accessed an element of o, access number n of a
// wait, nor declares it for s. Requires: submitting held.
func (s *Scope) usedBefore(n int, o *Option) error {
	m := o.memory()
	if m.Len == 0 || o.box() != nil && o.box().empty() {
		return nil // no elements, which everybody is done with
	}
	b, first, err := s.rt.buffers.Find(m)
	switch {
	case err != nil:
		return nil // submitGo says what is wrong
	case b == nil:
		return &unusedError{n, o.mode(), m.String(), false}
	}
	if b, first, err = s.memory.View(&s.rt.buffers, m, b, first); err != nil {
		return nil
	}
	region := b.Span(first, first+m.Len)
	if box := o.box(); box != nil && box.err == nil {
		if region, err = deps.Box(b.ID, first, box.shape, box.lo, box.hi); err != nil {
			return nil
		}
	}
	d := s.graph.domain
	if d != nil && d.Known(&region) || !s.program() && s.declares(&region) {
		return nil
	}
	return &unusedError{n, o.mode(), m.String(), true}
}

// declares reports whether the task of s accesses an element of r.
func (s *Scope) declares(r *deps.Region) bool {
	return slices.ContainsFunc(s.owner.accesses, func(a deps.Access) bool { return a.Region.Overlaps(*r) })
}
