package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// A submittedTask is a task of a program that several goroutines submit: elements [lo, hi) of some buffers, in one mode each.
type submittedTask struct {
	id       deps.TaskID
	fails    bool
	uses     []taskUse
	ran      atomic.Bool
	seen     [][]deps.TaskID // by use and element: the latest writer that the task has seen
	expected bool            // it runs
}

type taskUse struct {
	buffer, lo, hi int
	mode           deps.Mode
}

func (u taskUse) conflicts(o taskUse) bool {
	return u.buffer == o.buffer && u.lo < o.hi && o.lo < u.hi && (u.mode != deps.In || o.mode != deps.In)
}

// A manySubmitters has goroutines submit tasks to one runtime. Each element holds the number of its latest writer.
type manySubmitters struct {
	t       *testing.T
	rt      *task.Runtime
	buffers [][]deps.TaskID
	faults  bool
}

var errSubmitted = errors.New("made to fail")

func (p *manySubmitters) option(u taskUse) task.Option {
	x := p.buffers[u.buffer][u.lo:u.hi]
	switch u.mode {
	case deps.In:
		return task.In(x)
	case deps.Out:
		return task.Out(x)
	}
	return task.InOut(x)
}

func (p *manySubmitters) draw(r *rand.Rand) *submittedTask {
	t := &submittedTask{fails: p.faults && r.IntN(25) == 0}
	for range r.IntN(4) {
		u := taskUse{buffer: r.IntN(len(p.buffers)), mode: []deps.Mode{deps.In, deps.In, deps.Out, deps.InOut}[r.IntN(4)]}
		n := len(p.buffers[u.buffer])
		u.lo = r.IntN(n)
		u.hi = u.lo + 1 + r.IntN(n-u.lo)
		t.uses = append(t.uses, u)
	}
	return t
}

// submit submits t: as a plain task, or with an option, or as one that has a Scope. Its body writes its number, which it gets from a channel,
// as it may run before the submission returns.
func (p *manySubmitters) submit(r *rand.Rand, t *submittedTask) error {
	number := make(chan deps.TaskID, 1)
	body := func() error {
		id := <-number
		t.ran.Store(true)
		for _, u := range t.uses { // what the task sees is there before it writes
			var seen []deps.TaskID
			if u.mode != deps.Out {
				seen = slices.Clone(p.buffers[u.buffer][u.lo:u.hi])
			}
			t.seen = append(t.seen, seen)
		}
		for _, u := range t.uses {
			if u.mode != deps.In {
				for i := u.lo; i < u.hi; i++ {
					p.buffers[u.buffer][i] = id
				}
			}
		}
		if r := id % 3; r == 0 {
			runtime.Gosched()
		}
		if t.fails {
			return errSubmitted
		}
		return nil
	}
	var options []task.Option
	for _, u := range t.uses {
		options = append(options, p.option(u))
	}
	var handle task.Task
	var err error
	switch r.IntN(40) {
	case 0:
		handle, err = p.rt.Go(body, append(options, task.Label("labelled"))...)
	case 1:
		handle, err = p.rt.GoScope(func(*task.Scope) error { return body() }, options...)
	default:
		handle, err = p.rt.Go(body, options...)
	}
	t.id = handle.ID()
	number <- t.id
	return err
}

// check compares what the tasks of a phase have seen, and which of them ran, with the sequence of their numbers.
func (p *manySubmitters) check(all []*submittedTask, before [][]deps.TaskID) error {
	slices.SortFunc(all, func(a, b *submittedTask) int { return int(a.id) - int(b.id) })
	values, failed := before, []*submittedTask(nil)
	for _, t := range all {
		t.expected = true
		for _, f := range failed {
			for _, u := range t.uses {
				t.expected = t.expected && !slices.ContainsFunc(f.uses, u.conflicts)
			}
		}
		if t.ran.Load() != t.expected {
			return fmt.Errorf("task %d ran: %v, uses %v", t.id, t.ran.Load(), t.uses)
		}
		if !t.expected || t.fails {
			failed = append(failed, t)
		}
		if !t.expected {
			continue
		}
		for k, u := range t.uses {
			if u.mode != deps.Out && !slices.Equal(values[u.buffer][u.lo:u.hi], t.seen[k]) {
				return fmt.Errorf("task %d sees %v in %v, want %v", t.id, t.seen[k], u, values[u.buffer][u.lo:u.hi])
			}
		}
		for _, u := range t.uses {
			for i := u.lo; i < u.hi && u.mode != deps.In; i++ {
				values[u.buffer][i] = t.id
			}
		}
	}
	for b := range values {
		if !slices.Equal(values[b], p.buffers[b]) {
			return fmt.Errorf("buffer %d is %v, want %v", b, p.buffers[b], values[b])
		}
	}
	return nil
}

// phase has goroutines submit each so many tasks, waits for all, and checks.
func (p *manySubmitters) phase(submitters, each int, seed uint64) error {
	var before [][]deps.TaskID
	for _, x := range p.buffers {
		before = append(before, slices.Clone(x))
	}
	tasks := make([][]*submittedTask, submitters)
	var all sync.WaitGroup
	for s := range submitters {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(s)))
			for i := range each {
				t := p.draw(r)
				if err := p.submit(r, t); err != nil {
					p.t.Errorf("submitter %d, task %d: %v", s, i, err)
					return
				}
				if i > 0 && t.id <= tasks[s][i-1].id {
					p.t.Errorf("submitter %d: task %d after task %d", s, t.id, tasks[s][i-1].id)
				}
				tasks[s] = append(tasks[s], t)
				if len(t.uses) > 0 && r.IntN(60) == 0 {
					u := t.uses[0]
					if err := p.rt.WaitOn(context.Background(), p.option(u)); err != nil && !p.faults {
						p.t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	if err := p.rt.Wait(context.Background()); (err != nil) != p.faults && !p.faults {
		return err
	}
	return p.check(slices.Concat(tasks...), before)
}

// TestSubmitters_SequenceOfNumbers has several goroutines submit tasks on buffers that they share, most of them plain, some that fail, beside
// waits and tasks that need the scope to themselves: each sees what the tasks with smaller numbers have written, and no task runs that
// comes after one that failed.
func TestSubmitters_SequenceOfNumbers(t *testing.T) {
	each := 400
	if testing.Short() {
		each = 120
	}
	for _, window := range []int{0, 40, 3} {
		for _, buffers := range []int{1, 3, 20} {
			for _, faults := range []bool{false, true} {
				seed := rand.Uint64()
				t.Run(fmt.Sprintf("window %d, %d buffers, faults %v", window, buffers, faults), func(t *testing.T) {
					rt, err := task.New(task.Options{Devices: "smp:3", Window: window})
					require.NoError(t, err)
					p := &manySubmitters{t: t, rt: rt, faults: faults}
					for range buffers {
						p.buffers = append(p.buffers, make([]deps.TaskID, 12))
						require.NoError(t, task.Register(rt, p.buffers[len(p.buffers)-1]))
					}
					for phase := range uint64(3) {
						require.NoError(t, p.phase(4, each, seed+phase), "seed %d", seed)
					}
					require.NoError(t, rt.Close())
				})
			}
		}
	}
}

// TestSubmitters_NewMemory: memory that is first used, and grows, while several goroutines submit.
func TestSubmitters_NewMemory(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(rand.Uint64(), uint64(g)))
			for range 40 {
				x := make([]int, 64)
				want := make([]int, 64)
				for i := range 60 {
					lo := r.IntN(64)
					hi := lo + 1 + r.IntN(64-lo) // without a registration: the buffer grows
					for k := lo; k < hi; k++ {
						want[k] = want[k]*3 + i
					}
					if _, err := rt.Go(func() error {
						for k := lo; k < hi; k++ {
							x[k] = x[k]*3 + i
						}
						return nil
					}, task.InOut(x[lo:hi:hi])); err != nil {
						t.Error(err)
						return
					}
				}
				if err := rt.WaitOn(context.Background(), task.In(x)); err != nil || !slices.Equal(want, x) {
					t.Errorf("%v: %v, want %v", err, x, want)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestWaitOn_FailureReachesTasksBehindTheWait: a task that another goroutine submits behind a wait for memory, while a task before that
// is running, does not run where that one fails.
func TestWaitOn_FailureReachesTasksBehindTheWait(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int, 1)
	gate := make(chan struct{})
	_, err := rt.Go(func() error { <-gate; return errSubmitted }, task.InOut(x))
	require.NoError(t, err)
	waited := make(chan error)
	go func() { waited <- rt.WaitOn(context.Background(), task.InOut(x)) }()
	for rt.Stats().InFlight < 2 {
		runtime.Gosched()
	}
	ran := false
	_, err = rt.Go(func() error { ran = true; return nil }, task.InOut(x))
	require.NoError(t, err)
	close(gate)
	require.ErrorIs(t, <-waited, errSubmitted)
	require.ErrorIs(t, rt.Wait(context.Background()), errSubmitted)
	require.False(t, ran)
}

// TestWaitOn_FailureReachesNoOtherTasks: of the tasks behind a wait, those run that do not touch what the failed task has accessed.
func TestWaitOn_FailureReachesNoOtherTasks(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int, 9)
	require.NoError(t, task.Register(rt, x))
	gate := make(chan struct{})
	_, err := rt.Go(func() error { <-gate; return errSubmitted }, task.InOut(x[0:5]))
	require.NoError(t, err)
	waited := make(chan error)
	go func() { waited <- rt.WaitOn(context.Background(), task.InOut(x[3:9])) }()
	for rt.Stats().InFlight < 2 {
		runtime.Gosched()
	}
	var ran [3]bool
	for i, part := range [][]int{x[6:9], x[5:6], x[4:6]} {
		_, err = rt.Go(func() error { ran[i] = true; return nil }, task.In(part))
		require.NoError(t, err)
	}
	close(gate)
	require.ErrorIs(t, <-waited, errSubmitted)
	require.ErrorIs(t, rt.Wait(context.Background()), errSubmitted)
	require.Equal(t, [3]bool{true, true, false}, ran)
}
