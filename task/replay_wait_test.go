package task_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// As TestIterationsRunBesideEachOther, where steps wait as bodies with a Scope do: one worker is enough.
func TestIterationsRunBesideEachOtherOnOneWorker(t *testing.T) {
	for _, spec := range []string{"smp:1", "smp:2", "smp:1,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: spec})
		var here [2]task.Task // over when the step of that iteration runs
		var tell [2]*task.Event
		var its [2]*task.Iteration
		for i := range its {
			x := make([]int64, 1)
			var err error
			its[i], err = rt.Record(func(r *task.Recorder) error {
				return r.GoScope(func(s *task.Scope) error {
					return errors.Join(tell[i].Fulfill(nil), here[1-i].Wait(s.Context()))
				}, task.InOut(x))
			})
			require.NoError(t, err)
		}
		for range 20 {
			for i := range here {
				event := make(chan *task.Event, 1)
				var err error
				here[i], err = rt.GoScope(func(s *task.Scope) error {
					e, err := s.Event()
					event <- e
					return err
				})
				require.NoError(t, err)
				tell[i] = <-event
			}
			for _, it := range its {
				_, err := it.Replay()
				require.NoError(t, err)
			}
			require.NoError(t, rt.Wait(context.Background()))
		}
	}
}

// helps reports whether the caller is a worker that helps with what another one has begun.
func helps() bool {
	stack := string(debug.Stack())
	return !strings.Contains(stack, "engine.CPU.runBody(")
}

// A step that waits for a task keeps the one worker that runs it: whoever replays the other steps, and waits for this one, runs the task.
func TestAStepWaitsForATask(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y := make([]int64, 2), make([]int64, 1)
	require.NoError(t, task.Register(rt, x))
	ran := make(chan struct{}, 1)
	var both sync.WaitGroup
	it, err := rt.Record(func(r *task.Recorder) (err error) {
		for i := range x {
			err = errors.Join(err, r.Go(func() error {
				both.Done()
				both.Wait()
				if helps() {
					<-ran
				}
				x[i]++
				return nil
			}, task.InOut(x[i:i+1])))
		}
		return err
	})
	require.NoError(t, err)
	for i := range 100 {
		both.Add(2)
		_, err := it.Replay()
		require.NoError(t, err)
		both.Wait()
		delay(100 * (i % 2))
		_, err = rt.Go(func() error { ran <- struct{}{}; return nil }, task.InOut(y))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
	}
	require.Equal(t, []int64{100, 100}, x)
}

// A step that waits for another of the same replay finds that one run, wherever it was put: nobody keeps ready steps for himself.
func TestAStepWaitsForAnother(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	for _, n := range []int{2, 3, 17, 200} {
		for _, waits := range []int{0, (n - 1) / 2, n - 2} {
			x := make([]int64, n)
			ran := make(chan struct{}, 1)
			it, err := rt.Record(func(r *task.Recorder) (err error) {
				for i := range x {
					err = errors.Join(err, r.Go(func() error {
						switch i {
						case waits:
							<-ran
						case waits + 1:
							ran <- struct{}{}
						}
						return nil
					}, task.InOut(x[i:i+1])))
				}
				return err
			})
			require.NoError(t, err)
			for range 30 {
				_, err := it.Replay()
				require.NoError(t, err)
			}
			require.NoError(t, rt.Wait(context.Background()))
		}
	}
}

// A chunk of a wide task that waits for a task keeps one worker, also in a replay, and with tokens.
func TestAChunkWaitsForATask(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y := make([]int64, 2), make([]int64, 1)
	require.NoError(t, task.Register(rt, x))
	require.NoError(t, task.Register(rt, y))
	ran := make(chan struct{}, 1)
	var both sync.WaitGroup
	chunk := func(lo, _ int) error {
		both.Done()
		both.Wait()
		if helps() {
			<-ran
		}
		x[lo]++
		return nil
	}
	it, err := rt.Record(func(r *task.Recorder) error {
		_, err := task.ParallelFor(r, 0, len(x), 1, chunk, task.InOut(x))
		return err
	})
	require.NoError(t, err)
	for i := range 99 {
		both.Add(2)
		switch i % 3 {
		case 0:
			_, err = it.Replay()
		case 1:
			_, err = task.ParallelFor(rt, 0, len(x), 1, chunk, task.InOut(x))
		case 2:
			_, err = task.ParallelFor(rt, 0, len(x), 1, chunk, task.InOut(x), task.Resources("smp", 60))
		}
		require.NoError(t, err)
		both.Wait()
		_, err = rt.Go(func() error { ran <- struct{}{}; return nil }, task.InOut(y), task.Resources("smp", 40))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
	}
	require.Equal(t, []int64{99, 99}, x)
}

// What fails in one replay, or one try, of a wide task is forgotten in the next.
func TestAWideTaskRunsAgain(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int64, 64)
	require.NoError(t, task.Register(rt, x))
	var fails atomic.Bool
	chunk := func(lo, hi int) error {
		if fails.Swap(false) {
			return errBoom
		}
		for i := lo; i < hi; i++ {
			x[i]++
		}
		return nil
	}
	fails.Store(true)
	_, err := task.ParallelFor(rt, 0, len(x), 1, chunk, task.InOut(x), task.Retry(1))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	it, err := rt.Record(func(r *task.Recorder) error {
		_, err := task.ParallelFor(r, 0, len(x), 1, chunk, task.InOut(x))
		return err
	})
	require.NoError(t, err)
	fails.Store(true)
	_, err = it.Replay()
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), errBoom)
	clear(x)
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	for i := range x {
		require.EqualValues(t, 1, x[i])
	}
	_, err = rt.Record(func(r *task.Recorder) error {
		_, err := task.ParallelFor(r, 0, len(x), 1, chunk, task.Reduce(x, task.Sum[int64]()))
		return err
	})
	require.ErrorContains(t, err, "Scope")
}

// Wait in a step or a chunk is refused, whoever runs it.
func TestWaitInsideStepsAndChunks(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int64, 16)
	require.NoError(t, task.Register(rt, x))
	var both sync.WaitGroup
	body := func() error {
		both.Done()
		both.Wait() // one of the two is run by a helper
		if err := rt.Wait(context.Background()); !errors.Is(err, task.ErrInsideTask) {
			return fmt.Errorf("wait: %v", err)
		}
		return nil
	}
	it, err := rt.Record(func(r *task.Recorder) error {
		return errors.Join(r.Go(body, task.InOut(x[:1])), r.Go(body, task.InOut(x[1:2])))
	})
	require.NoError(t, err)
	for range 10 {
		both.Add(2)
		_, err = it.Replay()
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		both.Add(2)
		_, err = task.ParallelFor(rt, 0, 2, 1, func(int, int) error { return body() }, task.InOut(x))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
	}
}

// What waits for tasks is refused where it would keep the only worker, and what submits does not wait for room.
func TestWaitsThatWouldKeepTheWorker(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1", Window: 4})
	x, y, z := make([]int64, 1), make([]int64, 1), make([]int64, 1)
	for _, b := range [][]int64{x, y, z} {
		require.NoError(t, task.Register(rt, b))
	}
	it, err := rt.Record(func(r *task.Recorder) error { return r.Go(nothing, task.In(y)) }) // not ordered: one replay waits for the other
	require.NoError(t, err)
	var waited [4]error
	_, err = rt.Go(func() error {
		var after task.Task
		for range 10 { // more than the window has room for
			var err error
			if after, err = rt.Go(nothing, task.InOut(x)); err != nil {
				return err
			}
		}
		g := task.NewGroup(rt)
		_, err := g.Go(nothing, task.InOut(x))
		_, replayed := it.Replay()
		waited = [...]error{after.Wait(context.Background()), g.Wait(context.Background()), replayed, task.Unregister(rt, z)}
		return err
	}, task.InOut(x))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	for i, err := range waited {
		require.ErrorIs(t, err, task.ErrInsideTask, "wait %d", i)
	}
	require.NoError(t, task.Unregister(rt, z))
}
