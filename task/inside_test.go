package task_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// deep calls f at the end of a recursion.
func deep(n int, f func() error) error {
	if n == 0 {
		return f()
	}
	err := deep(n-1, f)
	return err // not a tail call
}

// What waits at the runtime is refused in a body, however deep its recursion: it would keep the only worker, and wait for what needs one.
func TestWaitsAtTheRuntimeInABody(t *testing.T) {
	for _, devices := range []string{"smp:1", "smp:1,sim:1(exec=cpu)"} {
		for _, depth := range []int{0, 5000} {
			t.Run(fmt.Sprint(devices, depth), func(t *testing.T) {
				rt := open(t, task.Options{Devices: devices})
				x := make([]uint32, 8)
				require.NoError(t, task.Register(rt, x))
				fill, now, y := kernelOf(t, Fill), kernelOf(t, SometimesNow), make([]int32, 8)
				require.NoError(t, task.Register(rt, y))
				waits := map[string]func(context.Context) error{
					"wait":    func(context.Context) error { return rt.Wait() },
					"wait on": func(ctx context.Context) error { return rt.WaitOn(ctx, task.In(x)) },
					"if":      func(context.Context) error { _, err := rt.Go(nothing, task.If(false)); return err },
					"if, with accesses": func(context.Context) error {
						_, err := rt.Go(nothing, task.If(false), task.InOut(x))
						return err
					},
					"if of a group": func(context.Context) error { _, err := task.NewGroup(rt).Go(nothing, task.If(false)); return err },
					"if of a loop": func(context.Context) error {
						_, err := task.Loop(rt, 0, 4, func(*task.Scope, int, int) error { return nil }, task.Every(task.If(false)))
						return err
					},
					"if of a kernel": func(context.Context) error {
						_, err := fill.With(task.If(false)).Submit(rt, 0, 8, uint32(1), x)
						return err
					},
					"if of a clause": func(context.Context) error { _, err := now.Submit(rt, false, y); return err },
					"context": func(ctx context.Context) error {
						after, err := rt.Go(nothing, task.InOut(x))
						return errors.Join(err, after.WaitContext(ctx))
					},
					"value": func(ctx context.Context) error {
						after, err := task.GoValue(rt, func() (int, error) { return 1, nil }, task.InOut(x))
						_, failed := after.Value(ctx)
						return errors.Join(err, failed)
					},
				}
				for name, wait := range waits {
					var got error
					_, err := rt.GoContext(func(ctx context.Context) error {
						return deep(depth, func() error { got = wait(ctx); return nil })
					}, task.InOut(x))
					require.NoError(t, err)
					require.NoError(t, rt.Wait())
					require.ErrorIs(t, got, task.ErrInsideTask, name)
				}
				require.Zero(t, x[0])
				require.Zero(t, y[0])
				for range 3 { // outside they wait
					_, err := fill.With(task.If(false)).Submit(rt, 0, 8, uint32(1), x)
					require.NoError(t, err)
					require.NoError(t, rt.WaitOn(t.Context(), task.In(x)))
				}
				require.NotZero(t, x[7])
			})
		}
	}
}

// The same at the scope of the body lends the worker, at any depth.
func TestWaitsAtTheScopeOnOneWorker(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x := make([]int64, 1)
	require.NoError(t, task.Register(rt, x))
	var down func(s *task.Scope, depth int) error
	down = func(s *task.Scope, depth int) error {
		x[0]++
		if depth == 0 {
			return nil
		}
		inner := func(s *task.Scope) error { return down(s, depth-1) }
		_, err := s.GoScope(inner, task.InOut(x), task.If(depth%2 == 0))
		v, wrong := task.GoValue(s, func() (int64, error) { return x[0], nil }, task.In(x))
		got, failed := v.Value(s.Context())
		if err = errors.Join(err, wrong, failed, s.WaitOn(s.Context(), task.InOut(x))); err == nil && got != x[0] {
			err = fmt.Errorf("%d, and then %d", got, x[0])
		}
		return err
	}
	_, err := rt.GoScope(func(s *task.Scope) error { return down(s, 200) }, task.InOut(x))
	require.NoError(t, err)
	require.NoError(t, rt.Wait())
	require.EqualValues(t, 201, x[0])
}
