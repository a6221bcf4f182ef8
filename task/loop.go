package task

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/engine"
)

// A LoopOption says how a loop is cut into tasks, or something about all of them.
type LoopOption struct {
	grain, tasks int
	each         func(lo, hi int) []Option
	option       Option
	every        bool // option is there
}

// Grain makes every task of a loop run at least n iterations, and less than twice as many, where
// there are so many.
func Grain(n int) LoopOption { return LoopOption{grain: n} }

// Tasks cuts a loop into n tasks, or as many as it has iterations if that is less.
func Tasks(n int) LoopOption { return LoopOption{tasks: n} }

// PerChunk gives the task of iterations lo to hi its own options: its accesses above all.
func PerChunk(options func(lo, hi int) []Option) LoopOption { return LoopOption{each: options} }

// WithOptions gives all tasks of a loop an option, such as a label or a reduction.
func WithOptions(o Option) LoopOption { return LoopOption{option: o, every: true} }

// tasksPerWorker is the default number of tasks of a loop for each worker: enough for chunks of
// different length to end together.
const tasksPerWorker = 4

// Taskloop submits tasks that run body for the iterations lo to hi-1, each for a part of them. They
// are tasks like others: ordered by their accesses, and only by those. A body that reduces into a
// variable (Reduce) gets at its copy with its scope (Private).
//
// It returns the tasks in the order of their iterations. Errors: those of Go, and then the tasks
// returned have been submitted; a grain or a number of tasks below 1, and both.
func Taskloop(at Submitter, lo, hi int, body func(s *Scope, lo, hi int) error, options ...LoopOption) ([]Task, error) {
	if c, ok := at.(*Collector); ok {
		return collected(c, "Taskloop", func(at Submitter) ([]Task, error) { return Taskloop(at, lo, hi, body, options...) })
	}
	s, g, err := submitterOf("Taskloop", at)
	if err != nil {
		return nil, err
	}
	var all loopOptions
	if err := all.set(options); err != nil {
		return nil, err
	}
	if body == nil {
		return nil, errNoBody
	}
	all.every = append(all.every, originOf(body))
	n := all.parts(hi-lo, s.RT)
	tasks := make([]Task, 0, n)
	for i := range n {
		from, to := cut(lo, hi, i, n), cut(lo, hi, i+1, n)
		t, err := goScope(s, g, func(s *Scope) error { return body(s, from, to) }, all.of(from, to))
		if err != nil {
			return tasks, fmt.Errorf("task: loop: iterations %d to %d: %w", from, to, err)
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// cut returns where part i of n parts of [lo, hi) begins: they differ by one iteration at most.
func cut(lo, hi, i, n int) int {
	size, rest := (hi-lo)/n, (hi-lo)%n
	return lo + i*size + min(i, rest)
}

type loopOptions struct {
	grain, tasks int
	each         func(lo, hi int) []Option
	every        []Option
}

func (l *loopOptions) set(options []LoopOption) error {
	for _, o := range options {
		switch {
		case o.each != nil:
			l.each = o.each
		case o.every:
			l.every = append(l.every, o.option)
		case o.grain != 0:
			l.grain = o.grain
		case o.tasks != 0:
			l.tasks = o.tasks
		default:
			return fmt.Errorf("task: loop: an option says nothing, or 0")
		}
	}
	if l.grain < 0 || l.tasks < 0 || l.grain > 0 && l.tasks > 0 {
		return fmt.Errorf("task: loop: grain %d, %d tasks: want one of them, above 0", l.grain, l.tasks)
	}
	return nil
}

// parts returns how many tasks n iterations become.
func (l *loopOptions) parts(n int, rt *engine.Runtime) int {
	switch {
	case n <= 0:
		return 0
	case l.grain > 0:
		return max(1, n/l.grain)
	case l.tasks > 0:
		return min(n, l.tasks)
	}
	return min(n, tasksPerWorker*max(1, rt.Pool.WorkerCount()))
}

func (l *loopOptions) of(lo, hi int) []Option {
	out := l.every[:len(l.every):len(l.every)]
	if l.each != nil {
		out = append(out, l.each(lo, hi)...)
	}
	return out
}

// Taskloop submits tasks that run k with args, each for a part of the iterations between the
// parameters that clause taskloop of k names. Their accesses are the regions of k for that part, so
// that parts whose regions do not conflict run at once, on all devices that k may run on: the
// policy shares them by the times that it has learned of each device.
//
// Without Grain or Tasks there are four tasks for each CPU worker and accelerator, none with fewer
// iterations than clause grainsize says. It returns the tasks in the order of their iterations.
// Errors: those of Kernel.Submit, and then the tasks returned have been submitted; a kernel without
// clause taskloop; options that are accesses.
func (k *Kernel) Taskloop(at Submitter, args []any, options ...LoopOption) ([]Task, error) {
	if k == nil {
		return nil, misuse("Kernel.Taskloop", errNilKernel)
	}
	if c, ok := at.(*Collector); ok {
		return collected(c, "Kernel.Taskloop", func(at Submitter) ([]Task, error) { return k.Taskloop(at, args, options...) })
	}
	s, _, err := submitterOf("Kernel.Taskloop of "+k.description.Name, at)
	if err != nil {
		return nil, err
	}
	var all loopOptions
	if err := all.set(options); err != nil {
		return nil, err
	}
	l := k.description.IR.Task.Loop
	if l == nil {
		return nil, fmt.Errorf("task: kernel %s (%s:%d): it has no clause taskloop: write //omp:task taskloop(lo:hi)", k.description.Name, k.description.Pos.File, k.description.Pos.Line)
	}
	if err := k.description.CheckArgs(args); err != nil {
		return nil, err
	}
	loAt, hiAt := k.description.Params[l.Lo].Of, k.description.Params[l.Hi].Of
	lo, hi := args[loAt].(int), args[hiAt].(int)
	grain, err := k.description.Grainsize(args)
	if err != nil {
		return nil, err
	}
	n := all.kernelParts(hi-lo, grain, s.RT)
	tasks := make([]Task, 0, n)
	for i := range n {
		part := slices.Clone(args)
		from, to := cut(lo, hi, i, n), cut(lo, hi, i+1, n)
		part[loAt], part[hiAt] = from, to
		t, err := k.submit(at, part, all.of(from, to))
		if err != nil {
			return tasks, fmt.Errorf("task: loop: iterations %d to %d: %w", from, to, err)
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// kernelParts returns how many tasks n iterations of a kernel become; grain is that of its clause.
func (l *loopOptions) kernelParts(n, grain int, rt *engine.Runtime) int {
	if l.grain > 0 || l.tasks > 0 {
		return l.parts(n, rt)
	}
	if n <= 0 {
		return 0
	}
	places := rt.Pool.WorkerCount() + rt.Topology.Accelerated
	return max(1, min(n/grain, tasksPerWorker*max(1, places)))
}

// ParallelFor submits one task that runs body for the iterations lo to hi-1, which workers without
// other work share, in chunks of at least grain iterations. The accesses are those of the whole
// loop. Iterations that have not begun when one fails do not run; the errors and panics of those
// that have are the task's.
func ParallelFor(at Submitter, lo, hi, grain int, body func(lo, hi int) error, options ...Option) (Task, error) {
	if c, ok := at.(*Collector); ok {
		return collected(c, "ParallelFor", func(at Submitter) (Task, error) { return ParallelFor(at, lo, hi, grain, body, options...) })
	}
	s, g, err := submitterOf("ParallelFor", at)
	if err != nil {
		return Task{}, err
	}
	if body == nil {
		return Task{}, errNoBody
	}
	if grain < 1 {
		return Task{}, fmt.Errorf("task: wide: grain %d: want 1 or more", grain)
	}
	options = append(options[:len(options):len(options)], originOf(body))
	w := &parallelFor{rt: s.RT, body: body}
	run := func(r *engine.Record) error { return w.run(r, int64(lo), int64(hi), int64(grain)) }
	if rec := recorderOf(s); rec != nil { // its step needs a task
		if reduces(options) {
			return Task{}, rec.stepError(errNoScope)
		}
		return Task{}, rec.goStep(nil, func(s *Scope) error { return run(s.core.Owner) }, g, options, false)
	}
	r, err := s.Begin(g, engine.GoBody)
	if err != nil {
		return Task{}, err
	}
	r.Need()
	r.Body = func() error { return run(r) }
	return submitGo(s, r, options)
}

// reduces reports whether one of options is an access that reduces.
func reduces(options []Option) bool {
	return slices.ContainsFunc(options, func(o Option) bool {
		return (o.what() == accessOption || o.what() == specialOption) && o.mode() == deps.Reduction
	})
}

// A parallelFor is the loop of a task that several workers run.
type parallelFor struct {
	rt     *engine.Runtime
	body   func(lo, hi int) error
	failed atomic.Bool
	mu     spin.Mutex
	errs   []error
}

func (w *parallelFor) run(r *engine.Record, lo, hi, grain int64) error {
	w.errs = nil // of an earlier run
	w.failed.Store(false)
	if w.rt.PageGuard.On { // on this goroutine alone, whose faults are looked for
		w.chunk(lo, hi)
		return errors.Join(w.errs...)
	}
	w.rt.Pool.Workers.ShareBlocking(lo, hi, grain, w.chunk, func(done func() bool, f func()) { runBlocking(w.rt, r, done, f) })
	return errors.Join(w.errs...)
}

func (w *parallelFor) chunk(lo, hi int64) {
	if w.failed.Load() {
		return
	}
	if err := w.body(int(lo), int(hi)); err != nil {
		w.failed.Store(true)
		w.mu.Lock()
		w.errs = append(w.errs, fmt.Errorf("iterations %d to %d: %w", lo, hi, err))
		w.mu.Unlock()
	}
}
