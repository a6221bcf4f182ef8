package task

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/life"
)

// blocksWorker returns ErrInsideTask when r, which is about to be submitted, is waited for where
// the body of a task submits it to the runtime, or to the scope of another task: that would keep a
// worker.
func blocksWorker(r *engine.Record) error {
	switch {
	case !r.Traits.Is(life.Undeferred):
		return nil
	case r.Scope.Program() && smp.InBody():
		return misuse("If(false)", engine.ErrInBody)
	}
	return wrongScopeIn(r.Scope, "If(false)")
}

// wrongScopeIn is misplaced for a call of the program, which its error names.
func wrongScopeIn(s *engine.Scope, call string) error {
	if err := s.WrongScope(); err != nil {
		return misuse(call, err)
	}
	return nil
}

// refusesWait returns an error when the caller must not wait with s for t.
func refusesWait(s *engine.Scope, call string, t Task) error {
	if err := wrongScopeIn(s, call); err != nil {
		return err
	}
	for o := s; !o.Program(); o = o.Owner.Scope {
		if o.Owner == t.h.Record && o.Owner.TaskID() == t.h.ID {
			return misuse(call, engine.InsideError(fmt.Sprintf("for task %d: in its own body, or in that of a task inside it: it would wait for itself", t.h.ID)))
		}
	}
	return nil
}

// What follows makes the errors of calls that a program must not make: each names the call and its
// line.

// A misuseError is a call that the program must not make.
type misuseError struct {
	call string
	pos  ir.Pos // of the call in the program; zero where that is not known
	why  error
}

func (e *misuseError) Error() string {
	why := strings.TrimPrefix(e.why.Error(), "task: ")
	if e.pos.File == "" {
		return fmt.Sprintf("task: %s: %s", e.call, why)
	}
	return fmt.Sprintf("task: %s (%s:%d): %s", e.call, e.pos.File, e.pos.Line, why)
}

func (e *misuseError) Unwrap() error { return e.why }

// misuse returns the error of a call. It looks at the stack, and must be called below the function
// that the program has called.
func misuse(call string, why error) error { return &misuseError{call, callerPos(), why} }

// ownPackage and ownInternal are how runtime.Frame.Function begins for this package and for those
// below it.
var (
	ownPackage  = reflect.TypeFor[Runtime]().PkgPath() + "."
	ownInternal = reflect.TypeFor[Runtime]().PkgPath() + "/internal/"
)

// callerPos returns the line of the program that has called this package, and not that of a
// generated wrapper.
func callerPos() ir.Pos {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		ours := (strings.HasPrefix(f.Function, ownPackage) || strings.HasPrefix(f.Function, ownInternal)) && !strings.HasSuffix(f.File, "_test.go") || strings.HasSuffix(f.File, "_gompss.go")
		switch {
		case f.File == "", strings.HasPrefix(f.Function, "runtime."): // a goroutine of the runtime
			return ir.Pos{}
		case !ours:
			return ir.Pos{File: filepath.Base(f.File), Line: f.Line}
		case !more:
			return ir.Pos{}
		}
	}
}

var (
	errNilRuntime    = errors.New("the Runtime is nil: New returns one, unless it returns an error")
	errZeroRuntime   = errors.New("the Runtime is a zero value: New returns one")
	errNilSubmitter  = errors.New("nil is no place to submit to: want a Runtime of New, a Scope of GoScope or a Group of NewGroup")
	errZeroScope     = errors.New("the Scope is a zero value: GoScope gives one to the body of a task")
	errZeroGroup     = errors.New("the Group is a zero value: NewGroup returns one")
	errZeroCollector = errors.New("the Collector is nil or a zero value: Collect returns one")
	errZeroRecorder  = errors.New("the Recorder is nil or a zero value: Runtime.Record gives one to the function that it calls")
	errNilKernel     = errors.New("the Kernel is nil: NewKernel and MustKernel return one")
	errNilContext    = errors.New("the context is nil: context.Background() is one that never ends")
	errNilHandle     = errors.New("it is called on nil: want what the submission has returned")
)

// usable reports whether New has returned rt.
func (rt *Runtime) usable() bool { return rt != nil && rt.core.Topology.Machine != nil }

// unusable returns why nothing can be done with rt, nil when New has returned it.
func (rt *Runtime) unusable(call string) error {
	switch {
	case rt.usable():
		return nil
	case rt == nil:
		return misuse(call, errNilRuntime)
	}
	return misuse(call, errZeroRuntime)
}

// mustBeUsable panics where unusable returns an error: for calls that return none.
func (rt *Runtime) mustBeUsable(call string) {
	if err := rt.unusable(call); err != nil {
		panic(err)
	}
}

// submitterOf returns the scope and the group that at submits to.
func submitterOf(call string, at Submitter) (*engine.Scope, *engine.Group, error) {
	var why error
	switch at := at.(type) {
	case nil:
		why = errNilSubmitter
	case *Runtime:
		if err := at.unusable(call); err != nil {
			return nil, nil, err
		}
		return &at.core.Root, nil, nil
	case *Scope:
		if why = at.unusable(); why == nil {
			return &at.core, at.core.Group, nil
		}
	case *Group:
		if why = at.unusable(); why == nil {
			return at.core.Scope, &at.core, nil
		}
	case *Recorder:
		if at != nil && at.rt != nil {
			s, g := at.submitter()
			return s, g, nil
		}
		why = errZeroRecorder
	case *Collector: // a group, or what does not keep errors, of where it submits to
		if at.usable() {
			return submitterOf(call, at.at)
		}
		why = errZeroCollector
	}
	return nil, nil, misuse(call, why)
}

func (s *Scope) usable() bool { return s != nil && s.core.RT != nil }

func (s *Scope) unusable() error {
	switch {
	case s.usable():
		return nil
	case s == nil:
		return errNilSubmitter
	}
	return errZeroScope
}

func (g *Group) usable() bool { return g != nil && g.core.Scope != nil }

func (g *Group) unusable() error {
	switch {
	case g.usable():
		return nil
	case g == nil:
		return errNilSubmitter
	}
	return errZeroGroup
}

// checkContext returns an error for the nil context.
func checkContext(call string, ctx context.Context) error {
	if ctx == nil {
		return misuse(call, errNilContext)
	}
	return nil
}
