package task_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// A replay that was refused is not the last one: who records anew waits for the one before, whose steps are in use.
func TestARefusedReplayHidesNobody(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	gate, x := make(chan struct{}), make([]int, 1)
	build := func(digit int) func(*task.Recorder) error {
		return func(r *task.Recorder) error {
			return errors.Join(
				r.Go(func() error { <-gate; return nil }, task.InOut(x)),
				r.Go(func() error { x[0] = x[0]*10 + digit; return nil }, task.InOut(x)))
		}
	}
	it, err := rt.Record(build(1))
	require.NoError(t, err)
	_, err = it.Replay()
	require.NoError(t, err)
	g := task.NewGroup(rt)
	g.Cancel(errBoom)
	_, err = it.ReplayIn(g)
	require.ErrorIs(t, err, errBoom)
	time.AfterFunc(20*time.Millisecond, func() { close(gate) })
	_, _, err = it.ReplayOrRecord(build(2))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 12, x[0])
}

// Where one step accesses something else and another one must not have what it was given, Replay is refused; the order among the steps
// that is found when it is given something right is that of what they access then.
func TestARefusedArgumentHidesNoChange(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	fill, x, y := kernelOf(t, Fill), make([]uint32, 16), make([]uint32, 16)
	var to, hi *task.Arg[int]
	it, err := rt.Record(func(r *task.Recorder) error {
		to, hi = task.NewArg(r, 8), task.NewArg(r, 8)
		_, err := fill.Submit(r, 0, to, uint32(7), x)
		_, two := fill.Submit(r, 8, 16, uint32(7), x)
		_, more := fill.Submit(r, 0, hi, uint32(7), y)
		return errors.Join(err, two, more)
	})
	require.NoError(t, err)
	require.Equal(t, 0, it.Edges())
	to.Set(12)
	hi.Set(17)
	_, err = it.Replay()
	require.ErrorContains(t, err, "step 2")
	hi.Set(8)
	_, err = it.Replay()
	require.NoError(t, err)
	require.Equal(t, 1, it.Edges())
	require.NoError(t, rt.Wait(context.Background()))
}

// What a body that failed used first is nobody's when it runs again.
func TestARetryForgetsTheMemoryOfItsScope(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	y, tries := make([]int, 4), 0
	_, err := rt.GoScope(func(s *task.Scope) error {
		if tries++; tries == 1 {
			_, err := s.Go(nothing, task.Out(y), task.OnDevice("nowhere"))
			return err
		}
		_, err := s.Go(func() error { y[0] = 5; return nil }, task.Out(y))
		return err
	}, task.Retry(1))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 5, y[0])
}

// A body that has waited has perhaps another worker, and so has its next run: no worker is lost, and none is two.
func TestARetryKeepsTheWorkerThatItHas(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	for range 50 {
		gate, again, tries := make(chan struct{}), make(chan struct{}), 0
		blocker, err := rt.Go(func() error { <-gate; return nil })
		require.NoError(t, err)
		_, err = rt.GoScope(func(s *task.Scope) error {
			if tries++; tries == 1 {
				if err := blocker.Wait(s.Context()); err != nil {
					return err
				}
				return errBoom
			}
			close(again)
			return nil
		}, task.Retry(1))
		require.NoError(t, err)
		_, err = rt.Go(func() error { close(gate); <-again; return nil }) // on the worker that was lent, and keeps it
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		var both sync.WaitGroup
		both.Add(2)
		for range 2 {
			_, err = rt.Go(func() error { both.Done(); both.Wait(); return nil })
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
	}
}
