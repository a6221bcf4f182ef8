package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/replay"
	"github.com/gompss/gompss/trace/probe"
)

// This file is what makes one replay of an iteration another than the next: the values of Args. A
// replay is a task that may have to wait for earlier ones of the same iteration, so what it was
// asked for with is kept until it begins.

// anyArg is an Arg of any type.
type anyArg interface {
	save(turn int) // the value, for a requested replay
	load(turn int) // that value, now that it begins
	deactivate()   // it has finished
	in(r *Recorder) anyArg
}

// An Arg is a value that the steps of an iteration read and that every replay may change. It may be
// an argument of a kernel that is recorded, in place of a T. It belongs to one iteration; see In.
type Arg[T any] struct {
	it        *Iteration
	set       *setting[T]
	now       T
	requested T      // for the latest replay
	saved     []T    // by turn
	latest    uint64 // of set, when it was kept
	changed   bool   // since the replay before
	active    atomic.Bool
}

// A setting is what was said last, to all Args that have it in common.
type setting[T any] struct {
	mu    spin.Mutex
	value T
	times uint64
}

// NewArg makes an argument of the iteration that r records. What Set says holds from the next
// Replay on.
func NewArg[T any](r *Recorder, value T) *Arg[T] {
	a := newArg(r, &setting[T]{value: value})
	r.args = append(r.args, a)
	return a
}

func newArg[T any](r *Recorder, set *setting[T]) *Arg[T] {
	return &Arg[T]{it: r.it, set: set, now: set.value, requested: set.value, latest: set.times}
}

// In returns the argument for another iteration, the one that r records: what is Set in one of the
// two is set in both, and each replay has the value that it was asked for with. A kernel may be
// given an Arg of another iteration as it is, a body that calls Get needs this.
func (a *Arg[T]) In(r *Recorder) *Arg[T] { return a.in(r).(*Arg[T]) }

// in finds the Arg of the iteration that r records, or makes it, and sees that it stays one of
// that.
func (a *Arg[T]) in(r *Recorder) anyArg {
	for _, list := range [][]anyArg{r.args, r.used, r.it.args, {a}} {
		for _, x := range list {
			if o, ok := x.(*Arg[T]); ok && o.set == a.set && o.it == r.it {
				r.use(o)
				return o
			}
		}
	}
	a.set.mu.Lock()
	defer a.set.mu.Unlock()
	o := newArg(r, a.set)
	r.use(o)
	return o
}

// use says that the steps of r use a.
func (r *Recorder) use(a anyArg) {
	if !slices.Contains(r.args, a) && !slices.Contains(r.used, a) {
		r.used = append(r.used, a)
	}
}

// finalArgs returns the Args of the iteration that was recorded: those that it had, where none was
// made.
func (r *Recorder) finalArgs() []anyArg {
	args := r.args
	if len(args) == 0 {
		args = r.it.args
	}
	for _, a := range r.used {
		if !slices.Contains(args, a) {
			args = append(args[:len(args):len(args)], a)
		}
	}
	return args
}

// ErrNoReplay means that an Arg was read where no replay of its iteration runs.
var ErrNoReplay = errors.New("task: arg: get: no replay of the iteration that it was made for runs: Arg.In makes one for another iteration")

// Get returns the value for this replay. It is for the bodies of steps of its iteration, and panics
// with ErrNoReplay where no replay of that runs.
func (a *Arg[T]) Get() T {
	if !a.active.Load() {
		panic(ErrNoReplay)
	}
	return a.now
}

// Set sets the value for the replays that are requested from now on.
func (a *Arg[T]) Set(value T) {
	a.set.mu.Lock()
	defer a.set.mu.Unlock()
	a.set.value = value
	a.set.times++
}

func (a *Arg[T]) save(run int) {
	a.set.mu.Lock()
	defer a.set.mu.Unlock()
	for len(a.saved) <= run {
		a.saved = append(a.saved, a.set.value)
	}
	a.requested, a.saved[run] = a.set.value, a.set.value
	a.changed, a.latest = a.latest != a.set.times, a.set.times
}

func (a *Arg[T]) load(run int) {
	a.set.mu.Lock()
	defer a.set.mu.Unlock()
	a.now = a.saved[run]
	a.active.Store(true)
}

func (a *Arg[T]) deactivate() { a.active.Store(false) }

func (a *Arg[T]) value() any { return a.requested }

func (a *Arg[T]) changedSinceReplay() bool { return a.changed }

// A replayRun is one replay, from its request to its end.
type replayRun struct {
	it        *Iteration
	index     int
	number    int32           // of the replays of the iteration, from 1
	contents  []stepContent   // of all steps, if they differ from those of the replay before
	version   int64           // of the contents
	templates []*taskTemplate // of the steps that are dynamic
	group     *engine.Group
	body      func() error // of the task, where the steps are none
	task      *engine.Record
	graph     graphReplay // where the steps are tasks
	submitted bool        // all steps were submitted; guarded by runsMu
	released  bool        // the predecessors have finished; guarded by runsMu
	next      *replayRun  // in the free list
}

// takeRun returns an unused replayRun.
func (it *Iteration) takeRun() *replayRun {
	it.runsMu.Lock()
	defer it.runsMu.Unlock()
	t := it.freeRuns
	if t == nil {
		t = &replayRun{it: it, index: it.runsMade}
		t.body = func() error {
			t.begin()
			defer t.end()
			return it.runSteps(t.task)
		}
		it.runsMade++
		return t
	}
	it.freeRuns, t.next = t.next, nil
	return t
}

// Release implements replayTask.
func (t *replayRun) Release() {
	t.it.runsMu.Lock()
	defer t.it.runsMu.Unlock()
	t.it.pipeline.leave(t)
	t.submitted, t.released = false, false
	t.next, t.it.freeRuns = t.it.freeRuns, t
}

// begin makes the steps those of this replay: the one before has finished.
func (t *replayRun) begin() {
	it := t.it
	for _, a := range it.args {
		a.load(t.index)
	}
	for i := range t.contents {
		if it.current[i] = t.contents[i]; !it.tasks {
			it.run.SetBody(i, t.contents[i].body)
		}
	}
	clear(t.contents)
	for k, i := range it.dynamic {
		it.current[i].template = t.templates[k]
	}
	it.contents.begun.Store(t.version)
	it.run.Context = it.rt.ContextOf(t.group)
	it.renewGroups(it.run.Context)
	if !it.tasks {
		it.run.Observe(t.trace())
	}
}

// end is called when the steps have finished.
func (t *replayRun) end() {
	for _, a := range t.it.args {
		a.deactivate()
	}
}

// renewGroups lets groups that were cancelled in the replay before begin again, inside ctx.
func (it *Iteration) renewGroups(ctx context.Context) {
	fresh := it.within == ctx
	for _, g := range it.groups {
		fresh = fresh && g.Ctx.Err() == nil
	}
	if fresh {
		return
	}
	it.within = ctx
	for _, g := range it.groups { // the outer ones are first
		outer := ctx
		if g.Outer != nil {
			outer = g.Outer.Ctx
		}
		cancelGroup(g, nil)
		g.Mu.Lock()
		g.Ctx, g.Cancel = context.WithCancelCause(outer)
		g.Mu.Unlock()
	}
}

// trace returns where the steps of t are reported; nil where nothing records them.
// Requires: t begins, and its steps are no tasks.
func (t *replayRun) trace() *replay.Trace {
	rt, r := t.it.rt, t.task
	rec := rt.Observers.Recorder
	if rec == nil {
		return nil
	}
	steps := t.it.tracedSteps()
	of := &probe.Replay{Task: r.TaskID(), First: deps.TaskID(rt.Window.Reserve(int64(len(steps)))), Submit: r.Trace.Submit,
		Number: t.number, Place: int16(rt.Topology.Host), Steps: steps}
	return &replay.Trace{Clock: rt.Observers.Clock, Begin: rt.Observers.Now(), Owner: r.OnWorker,
		Ran: func(s *probe.StepRun) { probe.StepRan(rec, of, s) }}
}

// tracedSteps returns the steps for a recorder.
func (it *Iteration) tracedSteps() []probe.ReplayStep {
	same := len(it.traced) == len(it.current)
	for i := range it.traced {
		same = same && it.traced[i].Label == it.current[i].label
	}
	if same {
		return it.traced
	}
	it.traced = make([]probe.ReplayStep, len(it.steps))
	for i := range it.traced {
		it.traced[i] = probe.ReplayStep{Label: it.current[i].label, Accesses: slices.Clone(it.steps[i].accesses), Before: it.before(int32(i))}
	}
	return it.traced
}

// Number implements replayTask.
func (t *replayRun) Number() (number, steps int32) { return t.number, int32(len(t.it.steps)) }

// Waits implements replayTask.
func (t *replayRun) Waits(live func() bool) (what string, finished int64) {
	t.it.runsMu.Lock()
	defer t.it.runsMu.Unlock()
	if t.it.tasks {
		return "", 0
	}
	p := t.it.run.Progress()
	var step stepContent
	number := int32(0)
	if len(p.Running) > 0 {
		step, number = t.contentOf(p.Running[0])
	}
	if !live() || len(p.Running) == 0 { // what was read may be of another replay
		return "", p.Completed
	}
	what = fmt.Sprintf("%s: %s", engine.StepName(p.Running[0], int32(len(t.it.steps)), number), step.label)
	if at := lineOf(step.position()); at != "" {
		what += " (" + at + ")"
	}
	if more := len(p.Running) - 1; more > 0 {
		what += fmt.Sprintf(", and %d more", more)
	}
	return what, p.Completed
}

// contentOf returns the content of a step, and the number of the replay. A replay that begins
// may change them meanwhile.
//
//go:norace
func (t *replayRun) contentOf(i int32) (stepContent, int32) { return t.it.current[i], t.number }
