package task_test

import (
	"context"
	"errors"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// One Arg in two iterations, as an argument of kernels and in bodies, has in each replay the value that was set when that was asked for.
func TestOneArgInTwoIterations(t *testing.T) {
	for _, spec := range []string{"smp:2", "smp:1,sim:1(exec=cpu)"} {
		fill := kernelOf(t, Fill)
		rt := open(t, task.Options{Devices: spec})
		x, y := make([]uint32, 4), make([]uint32, 4)
		var sum, sumOther uint32
		var k *task.Arg[uint32]
		one, err := rt.Record(func(r *task.Recorder) error {
			k = task.NewArg(r, uint32(1))
			_, err := fill.Submit(r, 0, 4, k, x)
			return errors.Join(err, r.Go(func() error { sum = sum*10 + k.Get(); return nil }, task.In(x), task.InOut(task.One(&sum))))
		})
		require.NoError(t, err)
		other := func(r *task.Recorder) error {
			_, err := fill.Submit(r, 0, 4, k, y)
			mine := k.In(r)
			require.Same(t, mine, k.In(r))
			return errors.Join(err, r.Go(func() error { sumOther = sumOther*10 + mine.Get(); return nil }, task.In(y), task.InOut(task.One(&sumOther))))
		}
		two, err := rt.Record(other)
		require.NoError(t, err)
		want, expect := uint32(0), make([]uint32, 4)
		for i := range uint32(6) {
			k.Set(i + 2)
			for _, it := range []*task.Iteration{one, two} {
				_, err = it.Replay() // in flight together
				require.NoError(t, err)
			}
			want = want*10 + i + 2
			if i%2 == 1 {
				_, changed, err := two.ReplayOrRecord(other)
				require.NoError(t, err)
				require.False(t, changed)
				require.NoError(t, rt.Wait(context.Background()))
				require.Equal(t, (want*10 + i + 2), sumOther)
				sumOther = want
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, sum)
		require.Equal(t, want, sumOther)
		Fill(0, 4, 7, expect)
		require.Equal(t, expect, x)
		require.Equal(t, expect, y)
	}
}

// An Arg that is read where no replay of its iteration runs has no value, and says so.
func TestAnArgOfAnotherIteration(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int, 1)
	var k *task.Arg[int]
	build := func(r *task.Recorder) error {
		k = task.NewArg(r, 1)
		return r.Go(func() error { x[0] += k.Get(); return nil }, task.InOut(x))
	}
	it, err := rt.Record(build)
	require.NoError(t, err)
	require.PanicsWithError(t, task.ErrNoReplay.Error(), func() { k.Get() })
	old := k
	wrong, err := rt.Record(func(r *task.Recorder) error {
		return r.Go(func() error { x[0] += old.Get(); return nil }, task.InOut(x), task.Label("sly"))
	})
	require.NoError(t, err)
	_, err = it.Replay()
	require.NoError(t, err)
	_, err = wrong.Replay() // behind it, as both write x
	require.NoError(t, err)
	require.ErrorContains(t, rt.Wait(context.Background()), task.ErrNoReplay.Error())
	require.Equal(t, 1, x[0])

	_, _, err = it.ReplayOrRecord(build)
	require.NoError(t, err)
	_, _, err = it.ReplayOrRecord(func(r *task.Recorder) error { // k is one that the call before made
		require.Same(t, k, k.In(r))
		one := k
		task.NewArg(r, 0)
		return r.Go(func() error { x[0] += one.Get(); return nil }, task.InOut(x))
	})
	require.NoError(t, err)
	k.Set(40)
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 43, x[0])
}

// Where what was equal so far cannot be recorded again, the bodies of the iteration are mixed: it must not be replayed.
func TestAnIterationThatCannotBeRecordedAnewIsBroken(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, err := task.Alloc[int](rt, 4)
	require.NoError(t, err)
	y, ran := make([]int, 4), 0
	count := func() error { ran++; return nil }
	it, err := rt.Record(func(r *task.Recorder) error {
		return errors.Join(r.Go(count, task.InOut(x)), r.Go(count, task.InOut(y)), r.Go(count, task.InOut(y)))
	})
	require.NoError(t, err)
	_, changed, err := it.ReplayOrRecord(func(r *task.Recorder) error { // one step less, of the old memory
		return errors.Join(r.Go(count, task.InOut(x)), r.Go(count, task.InOut(y)), task.Free(rt, x))
	})
	var gone *task.ChangedError
	require.ErrorAs(t, err, &gone)
	require.True(t, changed)
	for range 2 {
		_, err = it.Replay()
		require.ErrorAs(t, err, &gone)
		require.ErrorContains(t, err, "a call of ReplayOrRecord that failed")
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Zero(t, ran)
	_, changed, err = it.ReplayOrRecord(func(r *task.Recorder) error { return r.Go(count, task.InOut(y)) })
	require.NoError(t, err)
	require.True(t, changed)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 1, ran)
}
