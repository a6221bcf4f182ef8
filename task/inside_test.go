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
				recorded, err := rt.Record(func(r *task.Recorder) error { return r.Go(nothing, task.InOut(y)) })
				require.NoError(t, err)
				group := task.NewGroup(rt)
				waits := map[string]func(context.Context) error{
					"replay":            func(context.Context) error { _, err := recorded.Replay(); return err },
					"replay of a group": func(context.Context) error { _, err := recorded.ReplayIn(group); return err },
					"wait":              func(context.Context) error { return rt.Wait(context.Background()) },
					"wait on":           func(ctx context.Context) error { return rt.WaitOn(ctx, task.In(x)) },
					"if":                func(context.Context) error { _, err := rt.Go(nothing, task.If(false)); return err },
					"if, with accesses": func(context.Context) error {
						_, err := rt.Go(nothing, task.If(false), task.InOut(x))
						return err
					},
					"if of a group": func(context.Context) error { _, err := task.NewGroup(rt).Go(nothing, task.If(false)); return err },
					"if of a loop": func(context.Context) error {
						_, err := task.Taskloop(rt, 0, 4, func(*task.Scope, int, int) error { return nil }, task.WithOptions(task.If(false)))
						return err
					},
					"if of a kernel": func(context.Context) error {
						_, err := fill.With(task.If(false)).Submit(rt, 0, 8, uint32(1), x)
						return err
					},
					"if of a clause": func(context.Context) error { _, err := now.Submit(rt, false, y); return err },
					"context": func(ctx context.Context) error {
						after, err := rt.Go(nothing, task.InOut(x))
						return errors.Join(err, after.Wait(ctx))
					},
					"value": func(ctx context.Context) error {
						after, err := task.GoValue(rt, func() (int, error) { return 1, nil }, task.InOut(x))
						_, failed := after.Get(ctx)
						return errors.Join(err, failed)
					},
				}
				for name, wait := range waits {
					var got error
					_, err := rt.GoContext(func(ctx context.Context) error {
						return deep(depth, func() error { got = wait(ctx); return nil })
					}, task.InOut(x))
					require.NoError(t, err)
					require.NoError(t, rt.Wait(context.Background()))
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
		got, failed := v.Get(s.Context())
		if err = errors.Join(err, wrong, failed, s.WaitOn(s.Context(), task.InOut(x))); err == nil && got != x[0] {
			err = fmt.Errorf("%d, and then %d", got, x[0])
		}
		return err
	}
	_, err := rt.GoScope(func(s *task.Scope) error { return down(s, 200) }, task.InOut(x))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 201, x[0])
}

// A body that waits with the scope of another task, or for itself, is told so: it hung, or took the worker of the other body away.
func TestWaitsForOneself(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, waiting := range []bool{true, false} { // whether the parent waits when its child does
			t.Run(fmt.Sprint(workers, waiting), func(t *testing.T) { waitForOneself(t, workers, waiting) })
		}
	}
}

func waitForOneself(t *testing.T, workers int, waiting bool) {
	rt := open(t, task.Options{Devices: fmt.Sprintf("smp:%d", workers)})
	x := make([]int64, 8)
	require.NoError(t, task.Register(rt, x))
	type at struct {
		parent, child   *task.Scope
		parentTask, own task.Task
		group           *task.Group // of the parent, with the child
		outer           *task.Group // of the program, with the parent
	}
	waits := map[string]func(at) error{
		"parent's scope":    func(a at) error { return a.parent.Wait(context.Background()) },
		"wait on":           func(a at) error { return a.parent.WaitOn(a.child.Context(), task.InOut(x)) },
		"parent's task":     func(a at) error { return a.parentTask.Wait(a.child.Context()) },
		"own task":          func(a at) error { return a.own.Wait(a.child.Context()) },
		"parent's context":  func(a at) error { return a.own.Wait(a.parent.Context()) },
		"own group":         func(a at) error { return a.group.Wait(context.Background()) },
		"group of parent":   func(a at) error { return a.outer.Wait(context.Background()) },
		"plain wait":        func(a at) error { return a.own.Wait(context.Background()) },
		"close":             func(at) error { return rt.Close() },
		"if at the parent":  func(a at) error { _, err := a.parent.Go(nothing, task.If(false)); return err },
		"grandchild":        func(a at) error { return below(a.child, func() error { return a.parent.Wait(context.Background()) }) },
		"grandchild, child": func(a at) error { return below(a.child, func() error { return a.child.Wait(context.Background()) }) },
	}
	for name, wait := range waits {
		var got error
		var a at
		known := make(chan struct{})
		a.outer = task.NewGroup(rt)
		parent, err := a.outer.GoScope(func(s *task.Scope) error {
			a.parent = s
			a.group = task.NewGroup(s)
			begun := make(chan struct{})
			own, err := a.group.GoScope(func(c *task.Scope) error {
				<-begun
				a.child = c
				got = wait(a)
				return nil
			}, task.InOut(x))
			a.own = own
			<-known
			close(begun)
			if !waiting {
				return err
			}
			return errors.Join(err, s.Wait(context.Background()))
		}, task.InOut(x))
		require.NoError(t, err)
		a.parentTask = parent
		close(known)
		require.NoError(t, rt.Wait(context.Background()), name)
		if !waiting && errors.Is(got, task.ErrFinished) { // also true: the parent has returned
			continue
		}
		require.ErrorIs(t, got, task.ErrInsideTask, name)
	}
}

// below calls f in a child of s and waits for it.
func below(s *task.Scope, f func() error) (got error) {
	_, err := s.Go(func() error { got = f(); return nil })
	return errors.Join(err, s.Wait(context.Background()), got)
}

// Who is no body may wait with a scope, as may the body where a child has run on its stack; when the body has returned nobody may.
func TestWhoMayWaitWithAScope(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	var left *task.Scope
	_, err := rt.GoScope(func(s *task.Scope) error {
		left = s
		for range 3 {
			_, err := s.Go(nothing)
			if err = errors.Join(err, s.Wait(context.Background())); err != nil {
				return err
			}
		}
		_, err := s.Go(nothing, task.If(false))
		beside := make(chan error)
		go func() {
			_, err := s.Go(nothing)
			beside <- errors.Join(err, s.Wait(context.Background()))
		}()
		return errors.Join(err, <-beside)
	})
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.ErrorIs(t, left.Wait(context.Background()), task.ErrFinished)
	require.ErrorIs(t, left.WaitOn(t.Context()), task.ErrFinished)
}

// The body of a task is one on whichever goroutine it runs: one that its parent has started, a worker that shares a loop, or the
// one that replays an iteration. A goroutine that a body starts is none.
func TestInsideTask_OnEveryGoroutine(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	refused := func(got *error) func() error {
		return func() error { *got = rt.Wait(context.Background()); return nil }
	}
	var aside, shared, step, started error
	_, err := rt.GoScope(func(s *task.Scope) error {
		beside := make(chan error)
		go func() {
			_, err := s.Go(refused(&aside), task.If(false)) // on this goroutine, which has the worker meanwhile
			beside <- err
		}()
		return <-beside
	})
	require.NoError(t, err)
	_, err = task.ParallelFor(rt, 0, 64, 1, func(lo, hi int) error {
		if lo == 0 {
			return refused(&shared)()
		}
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, rt.Wait(t.Context()))
	it, err := rt.Record(func(r *task.Recorder) error {
		return r.Go(refused(&step))
	})
	require.NoError(t, err)
	_, err = it.Replay()
	require.NoError(t, err)
	_, err = rt.Go(func() error {
		beside := make(chan error)
		go func() { _, err := rt.Go(nothing, task.If(false)); beside <- err }()
		started = <-beside // which another worker runs
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, rt.Wait(t.Context()))
	for what, got := range map[string]error{"a child on a goroutine of its parent": aside, "a chunk": shared, "a step": step} {
		require.ErrorIs(t, got, task.ErrInsideTask, what)
	}
	require.NoError(t, started)
}
