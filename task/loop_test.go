package task_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestLoopsCoverTheirIterations cuts random ranges: every iteration runs once, and the parts have the sizes that were asked for.
func TestLoopsCoverTheirIterations(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:3"})
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.IntRange(-5, 5).Draw(t, "lo")
		n := rapid.IntRange(0, 200).Draw(t, "n")
		var option []task.LoopOption
		grain, tasks := 0, 0
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 1:
			grain = rapid.IntRange(1, 50).Draw(t, "grain")
			option = append(option, task.Grain(grain))
		case 2:
			tasks = rapid.IntRange(1, 50).Draw(t, "tasks")
			option = append(option, task.Tasks(tasks))
		}
		ran := make([]atomic.Int32, n)
		list, err := task.Taskloop(rt, lo, lo+n, func(_ *task.Scope, from, to int) error {
			if grain > 0 && n >= grain && (to-from < grain || to-from >= 2*grain) {
				return fmt.Errorf("%d iterations with grain %d", to-from, grain)
			}
			for i := from; i < to; i++ {
				ran[i-lo].Add(1)
			}
			return nil
		}, option...)
		require.NoError(t, err)
		if tasks > 0 {
			require.Len(t, list, min(n, tasks))
		}
		require.NoError(t, rt.Wait(context.Background()))
		for i := range ran {
			require.EqualValues(t, 1, ran[i].Load())
		}
	})
}

// TestLoopsDependByChunk runs a wavefront: chunks of one loop wait for those of the loop before that they touch, and no others.
func TestLoopsDependByChunk(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	const n = 64
	a, b := make([]int, n), make([]int, n)
	require.NoError(t, task.Register(rt, a))
	require.NoError(t, task.Register(rt, b))
	for round := range 20 {
		from, to := a, b
		if round%2 == 1 {
			from, to = b, a
		}
		halo := func(lo, hi int) []int { return from[max(0, lo-1):min(n, hi+1)] }
		_, err := task.Taskloop(rt, 0, n, func(_ *task.Scope, lo, hi int) error {
			for i := lo; i < hi; i++ {
				to[i] = from[i] + from[max(0, i-1)] + 1
			}
			return nil
		}, task.Grain(5), task.PerChunk(func(lo, hi int) []task.Option {
			return []task.Option{task.In(halo(lo, hi)), task.Out(to[lo:hi])}
		}), task.WithOptions(task.Label("wave")))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	want, next := make([]int, n), make([]int, n)
	for range 20 {
		for i := range want {
			next[i] = want[i] + want[max(0, i-1)] + 1
		}
		want, next = next, want
	}
	require.Equal(t, want, a)
}

func TestLoopsReduce(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	sum := []int{1000}
	_, err := task.Taskloop(rt, 1, 101, func(s *task.Scope, lo, hi int) error {
		own := task.Private(s, sum)
		for i := lo; i < hi; i++ {
			own[0] += i
		}
		return nil
	}, task.Tasks(7), task.WithOptions(task.Reduce(sum, task.Sum[int]())))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 6050, sum[0])
}

func TestLoopsInTasks(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x := make([]int, 100)
	_, err := rt.GoScope(func(s *task.Scope) error {
		_, err := task.Taskloop(s, 0, len(x), func(_ *task.Scope, lo, hi int) error {
			for i := lo; i < hi; i++ {
				x[i] = i
			}
			return nil
		}, task.PerChunk(func(lo, hi int) []task.Option { return []task.Option{task.Out(x[lo:hi])} }))
		return errors.Join(err, s.Wait(context.Background()))
	}, task.Out(x))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 99, x[99])
}

func TestWideTasks(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:3"})
	const n = 10_000
	ran := make([]atomic.Int32, n)
	x := make([]int, n)
	w, err := task.ParallelFor(rt, 0, n, 16, func(lo, hi int) error {
		for i := lo; i < hi; i++ {
			ran[i].Add(1)
			x[i] = i
		}
		return nil
	}, task.Out(x))
	require.NoError(t, err)
	require.NoError(t, w.Wait(context.Background()))
	for i := range ran {
		require.EqualValues(t, 1, ran[i].Load())
	}
	wrong := errors.New("wrong")
	w, err = task.ParallelFor(rt, 0, n, 1, func(lo, hi int) error {
		if lo <= 7 && 7 < hi {
			return wrong
		}
		return nil
	})
	require.NoError(t, err)
	require.ErrorIs(t, w.Wait(context.Background()), wrong)
	w, err = task.ParallelFor(rt, 0, n, 1, func(lo, hi int) error { panic("oh") })
	require.NoError(t, err)
	var panicked *task.PanicError
	require.ErrorAs(t, w.Wait(context.Background()), &panicked)
	require.Error(t, rt.Wait(context.Background()))
}

func TestLoopMistakes(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	body := func(*task.Scope, int, int) error { return nil }
	for _, options := range [][]task.LoopOption{{task.Grain(0)}, {task.Tasks(-1)}, {task.Grain(2), task.Tasks(2)}} {
		_, err := task.Taskloop(rt, 0, 10, body, options...)
		require.ErrorContains(t, err, "task: loop:")
	}
	_, err := task.Taskloop(rt, 0, 10, nil)
	require.Error(t, err)
	_, err = task.ParallelFor(rt, 0, 10, 0, func(int, int) error { return nil })
	require.ErrorContains(t, err, "grain 0")
	none, err := task.Taskloop(rt, 3, 3, body)
	require.NoError(t, err)
	require.Empty(t, none)
}
