package task_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a runtime that the test closes; its tasks must all have been waited for.
func open(t testing.TB, o task.Options) *task.Runtime {
	t.Helper()
	rt, err := task.New(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		closed := make(chan error, 1)
		go func() { closed <- rt.Close() }()
		select {
		case err := <-closed:
			require.NoError(t, err)
		case <-time.After(2 * time.Minute): // where the test has panicked in a call that Close waits for, that is printed then
			t.Error("Close hangs")
		}
	})
	return rt
}

func TestTasksRunInTheOrderOfTheirAccesses(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int, 4)
	for i := range 1000 {
		_, err := rt.Go(func() error { x[0] = x[0]*3 + i; return nil }, task.InOut(x[:1]))
		require.NoError(t, err)
		_, err = rt.Go(func() error { x[1] += x[0]; return nil }, task.In(x[:1]), task.InOut(x[1:2]))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	a, b := 0, 0
	for i := range 1000 {
		a = a*3 + i
		b += a
	}
	require.Equal(t, []int{a, b, 0, 0}, x)
}

func TestFailureSkipsSuccessorsAndSaysWhy(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y := make([]int, 2), make([]int, 1)
	boom := errors.New("boom")
	gate := make(chan struct{})
	a, err := rt.Go(func() error { <-gate; return boom }, task.Out(x[:1]), task.Label("a"))
	require.NoError(t, err)
	b, err := rt.Go(func() error { x[1] = 1; return nil }, task.In(x[:1]), task.Out(x[1:]), task.Label("b"))
	require.NoError(t, err)
	c, err := rt.Go(func() error { x[0] = 1; return nil }, task.In(x[1:]), task.Label("c"))
	require.NoError(t, err)
	sibling, err := rt.Go(func() error { y[0] = 7; return nil }, task.Out(y))
	require.NoError(t, err)
	close(gate)
	err = rt.Wait(context.Background())
	require.ErrorIs(t, err, boom)
	require.Contains(t, err.Error(), "2 tasks that depend on it were skipped")
	require.ErrorIs(t, a.Err(), boom)
	require.NotErrorIs(t, a.Err(), task.ErrSkipped)
	for _, s := range []task.Task{b, c} {
		require.ErrorIs(t, s.Err(), task.ErrSkipped)
		require.ErrorIs(t, s.Err(), boom)
	}
	says(t, b.Err(), "task: b (LINE): skipped: predecessor failed: task: a (LINE) on smp: boom")
	says(t, c.Err(), "task: c (LINE): skipped: predecessor b was skipped: task: a (LINE) on smp: boom")
	require.NoError(t, sibling.Err())
	require.Equal(t, []int{0, 0, 7}, append(x, y...))
	require.NoError(t, rt.Wait(context.Background()), "what was told once is not told again")
}
