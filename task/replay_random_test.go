package task_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// TestRandomWaits runs random programs of what can wait: replays whose steps wait for tasks outside, steps and tasks with children that are
// waited for, commutative accesses and tokens around such waits, wide tasks. On one, two and three workers; a program that hangs is a
// finding, and so are wrong values.
func TestRandomWaits(t *testing.T) {
	n := *waitSeeds
	if testing.Short() && n == defaultWaitSeeds {
		n /= 10
	}
	checked := isChecked()
	if checked && n == defaultWaitSeeds {
		n /= 20
	}
	for i := range n {
		seed := *firstSeed + uint64(i)
		require.NoError(t, newWaits(t, seed, checked).run(), "seed %d", seed)
	}
}

// isChecked reports whether the environment asks for the check of bodies.
func isChecked() bool {
	check := os.Getenv(task.CheckVariable)
	return check != "" && check != "0" && check != "off"
}

const (
	defaultWaitSeeds = 400
	// blocksChecked is how many bodies of a program block where bodies are checked, one at a time: the task that such a body waits for is
	// given the turn only when its patience, a fifth of a second, has run out.
	blocksChecked = 3
)

var waitSeeds = flag.Int("waitseeds", defaultWaitSeeds, "programs that TestRandomWaits runs")

const waitCells = 8

type waits struct {
	rt     *task.Runtime
	r      *rand.Rand
	x      []int64
	want   []int64
	blocks atomic.Int64  // how many bodies may still block
	slots  chan struct{} // for bodies that keep their worker: one worker is left
	asked  chan chan struct{}
	done   chan error
}

// An act is a task, or a step.
type act struct {
	move
	kind   actKind
	blocks bool
	tokens int
}

type actKind int

const (
	plainAct     actKind = iota
	nestedAct            // a child does it, which is waited for
	adds                 // a commutative access
	nestedAdds           // the same by two children
	wideAct              // all cells
	actKinds     = iota
	plainActs    = 1 // those that need no task in a replay
	addedByWides = 3
)

func newWaits(t *testing.T, seed uint64, checked bool) *waits {
	w := &waits{r: rand.New(rand.NewPCG(seed, 91)), x: make([]int64, waitCells), want: make([]int64, waitCells), asked: make(chan chan struct{}), done: make(chan error, 1)}
	workers := 1 + w.r.IntN(3)
	w.slots = make(chan struct{}, workers-1)
	policy := []string{"", "", "random", "fifo"}[w.r.IntN(4)]
	w.blocks.Store(math.MaxInt64)
	if checked {
		w.blocks.Store(blocksChecked)
	}
	window := 0
	if workers == 1 { // else who submits what a body waits for may have to wait for that body to make room
		window = []int{0, 3, 20}[w.r.IntN(3)]
	}
	w.rt = open(t, task.Options{Devices: fmt.Sprint("smp:", workers), Policy: policy, Window: window})
	require.NoError(t, task.Register(w.rt, w.x))
	return w
}

// unblock submits a task for each body that waits for one.
func (w *waits) unblock() {
	var failed error
	for gate := range w.asked {
		_, err := w.rt.Go(func() error { close(gate); return nil })
		failed = errors.Join(failed, err)
	}
	w.done <- failed
}

// block waits for a task, if another worker is left to run it.
func (w *waits) block() {
	select {
	case w.slots <- struct{}{}:
	default:
		return
	}
	if w.blocks.Add(-1) >= 0 {
		gate := make(chan struct{})
		w.asked <- gate
		<-gate
	}
	<-w.slots
}

func (w *waits) randomAct(kinds int) act {
	a := act{move: randomMoves(w.r, 1, waitCells)[0], kind: actKind(w.r.IntN(kinds)), blocks: w.r.IntN(4) == 0}
	if kinds > plainActs && w.r.IntN(3) == 0 {
		a.tokens = 1 + w.r.IntN(100)
	}
	return a
}

// do is what a has to do to x.
func (a *act) do(x []int64) {
	switch a.kind {
	case plainAct, nestedAct:
		a.apply(x)
	case adds, nestedAdds:
		x[a.to] += a.add
	case wideAct:
		for i := range x {
			x[i] += addedByWides
		}
	}
}

func (a *act) options(x []int64) (out []task.Option) {
	switch a.kind {
	case plainAct, nestedAct:
		out = a.move.options(x)
	case adds, nestedAdds:
		out = []task.Option{task.Commutative(x[a.to : a.to+1])}
	case wideAct:
		out = []task.Option{task.InOut(x)}
	}
	if a.tokens > 0 {
		out = append(out, task.Resources("smp", a.tokens))
	}
	return out
}

// A submitter is a Runtime or a Recorder.
type submitter struct {
	at      task.Submitter
	goes    func(func() error, ...task.Option) error
	goScope func(func(*task.Scope) error, ...task.Option) error
}

func (w *waits) submit(s submitter, a act) error {
	options := a.options(w.x)
	switch a.kind {
	case plainAct, adds:
		return s.goes(func() error {
			if a.blocks {
				w.block()
			}
			a.do(w.x)
			return nil
		}, options...)
	case nestedAct:
		return s.goScope(func(s *task.Scope) error {
			_, err := s.Go(func() error { a.do(w.x); return nil }, a.move.options(w.x)...)
			if a.blocks {
				w.block()
			}
			return errors.Join(err, s.Wait(context.Background()))
		}, options...)
	case nestedAdds:
		return s.goScope(func(s *task.Scope) error {
			cell := w.x[a.to : a.to+1]
			first, err := s.Go(func() error { cell[0] += a.add / 2; return nil }, task.InOut(cell))
			if a.blocks {
				w.block()
			}
			err = errors.Join(err, first.Wait(s.Context()))
			_, second := s.GoScope(func(s *task.Scope) error {
				_, err := s.Go(func() error { cell[0] += a.add - a.add/2; return nil }, task.Commutative(cell))
				return errors.Join(err, s.Wait(context.Background()))
			}, task.InOut(cell))
			return errors.Join(err, second, s.Wait(context.Background()))
		}, options...)
	}
	_, err := task.ParallelFor(s.at, 0, waitCells, 1, func(lo, hi int) error {
		if a.blocks {
			w.block()
		}
		for i := lo; i < hi; i++ {
			w.x[i] += addedByWides
		}
		return nil
	}, options...)
	return err
}

func (w *waits) run() error {
	go w.unblock()
	err := w.program()
	err = errors.Join(err, w.rt.Wait(context.Background()))
	close(w.asked)
	err = errors.Join(err, <-w.done, w.rt.Wait(context.Background()))
	for i := range w.x {
		if w.x[i] != w.want[i] {
			err = errors.Join(err, fmt.Errorf("cell %d: %d, want %d", i, w.x[i], w.want[i]))
		}
	}
	return errors.Join(err, w.rt.Close())
}

func (w *waits) program() error {
	var its []*task.Iteration
	var acts [][]act
	for range 1 + w.r.IntN(3) {
		kinds := plainActs
		if w.r.IntN(3) == 0 {
			kinds = actKinds
		}
		list := make([]act, 1+w.r.IntN(30))
		for i := range list {
			list[i] = w.randomAct(kinds)
		}
		it, err := w.rt.Record(func(r *task.Recorder) (err error) {
			for _, a := range list {
				err = errors.Join(err, w.submit(submitter{r, r.Go, r.GoScope}, a))
			}
			return err
		})
		if err != nil {
			return err
		}
		its, acts = append(its, it), append(acts, list)
	}
	here := submitter{
		w.rt,
		func(f func() error, o ...task.Option) error { _, err := w.rt.Go(f, o...); return err },
		func(f func(*task.Scope) error, o ...task.Option) error { _, err := w.rt.GoScope(f, o...); return err },
	}
	for range 25 {
		var err error
		switch i := w.r.IntN(len(its)); w.r.IntN(5) {
		case 0, 1:
			for _, a := range acts[i] {
				a.do(w.want)
			}
			_, err = its[i].Replay()
		case 2, 3:
			a := w.randomAct(actKinds)
			a.do(w.want)
			err = w.submit(here, a)
		case 4:
			if w.r.IntN(3) == 0 {
				err = w.rt.Wait(context.Background())
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
