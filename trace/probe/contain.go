package probe

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
)

// An ObserverError means that a method of an observer of the program panicked. The observer is not
// called any more; the tasks continue.
type ObserverError struct {
	Observer string // its type: "*main.meter"
	Method   string // "Observe"
	Value    any    // of the panic
	Stack    []byte
}

func (e *ObserverError) Error() string {
	return fmt.Sprintf("probe: observer %s: %s: panic: %v", e.Observer, e.Method, e.Value)
}

// Unwrap returns the value of the panic, if that is an error.
func (e *ObserverError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Contain returns an observer that passes everything on to o until a method of o panics: an
// observer is called under locks of the runtime, which a panic would leave locked. Then broke is
// called, once, and o is not called any more. The result is a Recorder, or a Collector, where o is
// one. broke must not block, and is called under the same locks.
func Contain(o Observer, broke func(*ObserverError)) Observer {
	c := contained{state: &containment{of: o, broke: broke}}
	switch o := o.(type) {
	case Collector:
		return containedCollector{containedRecorder{c, o}, o}
	case Recorder:
		return containedRecorder{c, o}
	}
	return c
}

// A containment is the state that the methods of one contained observer share.
type containment struct {
	of     Observer
	broken atomic.Bool
	broke  func(*ObserverError)
}

// recovered ends a panic in a method. It must be deferred itself.
func (s *containment) recovered(method string) {
	if v := recover(); v != nil && !s.broken.Swap(true) {
		s.broke(&ObserverError{Observer: fmt.Sprintf("%T", s.of), Method: method, Value: v, Stack: debug.Stack()})
	}
}

type contained struct{ state *containment }

func (c contained) Observe(p Point) {
	if c.state.broken.Load() {
		return
	}
	defer c.state.recovered("Observe")
	c.state.of.Observe(p)
}

type containedRecorder struct {
	contained
	of Recorder
}

func (c containedRecorder) Open(m *Machine) {
	defer c.state.recovered("Open")
	c.of.Open(m)
}

func (c containedRecorder) Submitted(id deps.TaskID, accesses []deps.Access, predecessors []deps.TaskID) {
	if c.state.broken.Load() {
		return
	}
	defer c.state.recovered("Submitted")
	c.of.Submitted(id, accesses, predecessors)
}

func (c containedRecorder) Considered(id deps.TaskID, place int, candidates []Candidate) {
	if c.state.broken.Load() {
		return
	}
	defer c.state.recovered("Considered")
	c.of.Considered(id, place, candidates)
}

func (c containedRecorder) Ended(t *Task) {
	if c.state.broken.Load() {
		return
	}
	defer c.state.recovered("Ended")
	c.of.Ended(t)
}

// StepRan passes a step on in the form that the contained recorder takes.
func (c containedRecorder) StepRan(r *Replay, s *StepRun) {
	if c.state.broken.Load() {
		return
	}
	defer c.state.recovered("StepRan")
	StepRan(c.of, r, s)
}

type containedCollector struct {
	containedRecorder
	of Collector
}

func (c containedCollector) Collect(l *Briefs) {
	defer c.state.recovered("Collect")
	c.of.Collect(l)
}
