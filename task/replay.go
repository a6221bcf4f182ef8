package task

import (
	"errors"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/replay"
)

// A stepFailures keeps the errors of the steps of a replay. It implements replay.Failures.
type stepFailures struct {
	it         *Iteration
	failing    spin.Mutex
	skipCauses map[int32]*Error // steps that are to be skipped, and because of which failure
	failed     FailedError
}

// Skipped implements replay.Failures.
func (f *stepFailures) Skipped(i int32) error {
	f.failing.Lock()
	defer f.failing.Unlock()
	if via := f.skipCauses[i]; via != nil {
		return &SkippedError{Via: via.Label, First: via.first()}
	}
	return nil
}

// Fail implements replay.Failures.
func (f *stepFailures) Fail(i int32, cause error) {
	s := &f.it.steps[i]
	e := &Error{Task: deps.TaskID(i) + 1, Label: s.label, Device: "smp", Pos: s.position(), Cause: cause}
	f.failing.Lock()
	defer f.failing.Unlock()
	if errors.Is(cause, ErrSkipped) {
		f.failed.Skipped++
	} else {
		f.failed.Failed = append(f.failed.Failed, e)
	}
	for _, j := range f.it.succs[s.first:s.last] {
		if f.skipCauses[j] == nil {
			f.skipCauses[j] = e
		}
	}
}

// take returns what failed and forgets it.
func (f *stepFailures) take() error {
	clear(f.skipCauses)
	failed := f.failed
	f.failed = FailedError{}
	return &failed
}

// runSteps runs the steps of it on the worker of owner, the task of the replay, and on idle ones.
func (it *Iteration) runSteps(owner *record) (err error) {
	broken := true
	defer func() { // also when a step ended the goroutine
		if broken {
			err = it.failures.take()
		}
	}()
	broken = it.run.All(func(over func() bool, f func()) { it.rt.aside(owner, over, f) })
	return nil
}

// prepareRun makes the run ready for the steps.
func (it *Iteration) prepareRun() {
	g := replay.Graph{Steps: make([]replay.Step, len(it.steps)), Succs: it.succs, Roots: it.roots}
	for i := range it.steps {
		s := &it.steps[i]
		g.Steps[i] = replay.Step{Body: s.body, Preds: s.preds, First: s.first, Last: s.last}
	}
	it.failures = stepFailures{it: it, skipCauses: map[int32]*Error{}}
	it.run.Prepare(g, it.rt.pool.workers, &it.failures)
}
