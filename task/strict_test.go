package task_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// What a variable of the environment says wrong is refused with its name.
func TestVariablesAreNamed(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{task.CheckVariable, "yes", "task: new: GOMPSS_CHECK=yes: want 0, off, 1, on or reads"},
		{task.DevicesVariable, "smp:x", `task: GOMPSS_DEVICES=smp:x: devices: column 5: smp: count "x"`},
		{task.TraceVariable, "sumary", `task: new: GOMPSS_TRACE=sumary: trace: "sumary": want`},
		{task.VectorVariable, "sse", "GOMPSS_VECTOR=sse: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			_, err := task.New(task.Options{})
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := task.New(task.Options{Devices: "smp:x"})
	require.ErrorContains(t, err, "task: devices: column 5")
}

// GOMPSS_CHECK=off is no check.
func TestCheckIsOff(t *testing.T) {
	for value, on := range map[string]bool{"0": false, "off": false, "1": true, "on": true} {
		t.Setenv(task.CheckVariable, value)
		rt := open(t, task.Options{Devices: "smp:1"})
		x := make([]int64, 4)
		require.NoError(t, task.Register(rt, x))
		_, err := rt.Go(func() error { x[0]++; return nil }, task.In(x))
		require.NoError(t, err)
		require.Equal(t, on, rt.Wait(context.Background()) != nil, value)
	}
}

// Options that say nothing, or what cannot be meant, are refused.
func TestOptionsThatSayNothing(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x := make([]int64, 4)
	for want, o := range map[string]task.Option{"retry: -1 times": task.Retry(-1), "an Option without a value": {}} {
		_, err := rt.Go(nothing, o)
		require.ErrorContains(t, err, want)
		_, err = rt.Record(func(r *task.Recorder) error { return r.Go(nothing, o) })
		require.ErrorContains(t, err, want)
	}
	for _, o := range []task.Option{task.Label("x"), task.Retry(1), task.Untied(), {}} {
		require.ErrorContains(t, rt.WaitOn(context.Background(), task.In(x), o), "an option that is no access")
	}
	_, err := rt.Go(nothing, task.InOut(x), task.Untied(), task.Retry(0))
	require.NoError(t, err)
	require.NoError(t, rt.WaitOn(context.Background(), task.In(x), task.NoCopyDeps()))
	_, err = rt.Go(nothing, task.Untied(), task.Retry(0))
	require.NoError(t, err)
	it, err := rt.Record(func(r *task.Recorder) error { return r.Go(nothing, task.Untied()) })
	require.NoError(t, err)
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
}

// A specification may ask for as many workers as there may be.
func TestManyWorkers(t *testing.T) {
	for _, n := range []int{100, 1024} {
		rt := open(t, task.Options{Devices: fmt.Sprintf("smp:%d", n)})
		var done atomic.Int64
		for range 10 * n {
			_, err := rt.GoScope(func(s *task.Scope) error {
				done.Add(1)
				_, err := s.Go(func() error { done.Add(1); return nil })
				return errors.Join(err, s.Wait(context.Background()))
			})
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.EqualValues(t, 20*n, done.Load())
		require.NoError(t, rt.Close())
	}
}

// Tasks that wait for a worker alone are ready.
func TestLiveCountsReadyTasks(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	began, goOn := make(chan struct{}), make(chan struct{})
	x := make([]int64, 1)
	_, err := rt.Go(func() error { close(began); <-goOn; return nil }, task.Out(x))
	require.NoError(t, err)
	<-began
	for range 4 {
		_, err = rt.Go(nothing)
		require.NoError(t, err)
	}
	_, err = rt.Go(nothing, task.In(x))
	require.NoError(t, err)
	live := rt.Live()
	close(goOn)
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, []int64{1, 4, 1}, []int64{live.Blocked, live.Ready, live.Running})
	require.Zero(t, rt.Live().Ready)
}
