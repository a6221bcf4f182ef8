package task_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// This file is small programs that use a feature in the way in which it is most likely to break.

func TestTheSameRegionInEveryPairOfModes(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		x, twice := make([]int, 4), make([]int, 4)
		modes := []func([]int) task.Option{task.In[int], task.Out[int], task.InOut[int], task.Concurrent[int], task.Commutative[int]}
		n := 0
		for _, a := range modes {
			for _, b := range modes {
				_, err := rt.Go(func() error { n++; return nil }, a(x), b(x), b(x[1:3]), task.InOut(twice), task.InOut(twice))
				require.NoError(t, err)
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, len(modes)*len(modes), n)
		_, err := rt.GoScope(func(*task.Scope) error { return nil }, task.Reduce(x, task.Sum[int]()), task.In(x[1:2]))
		require.ErrorContains(t, err, "also accessed otherwise")
	})
}

func TestManyCommutativeAccesses(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		x := make([]int, 12)
		var inside [12]atomic.Int32
		for i := range 300 {
			var options []task.Option
			var mine []int
			for k := range 5 {
				at := (i*7 + k*(1+i%5)) % 12
				mine = append(mine, at)
				options = append(options, task.Commutative(x[at:at+1]))
			}
			_, err := rt.Go(func() error {
				seen := map[int]bool{}
				for _, at := range mine {
					if !seen[at] && inside[at].Add(1) != 1 {
						t.Errorf("two tasks have element %d", at)
					}
					seen[at] = true
				}
				delay(100)
				for at := range seen {
					x[at]++
					inside[at].Add(-1)
				}
				if i%50 == 49 {
					panic("with everything held")
				}
				return nil
			}, options...)
			require.NoError(t, err)
		}
		require.ErrorContains(t, rt.Wait(context.Background()), "with everything held")
		_, err := rt.Go(nothing, task.Commutative(x))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
	})
}

func TestPanicsOfOthersCode(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		x := make([]int, 4)
		broken := task.NewOperator("broken", 0, func(a, b int) int { panic("no sum") })
		for range 3 {
			_, err := rt.GoScope(func(s *task.Scope) error { task.Private(s, x)[0]++; return nil }, task.Reduce(x, broken))
			require.NoError(t, err)
		}
		after, err := rt.Go(nothing, task.In(x))
		require.NoError(t, err)
		require.ErrorContains(t, rt.Wait(context.Background()), "no sum")
		require.ErrorIs(t, after.Err(), task.ErrSkipped)
		_, err = task.Taskloop(rt, 0, 10, func(_ *task.Scope, lo, _ int) error {
			if lo == 5 {
				panic("in a loop")
			}
			return nil
		}, task.Grain(1))
		require.NoError(t, err)
		require.ErrorContains(t, rt.Wait(context.Background()), "in a loop")
		_, err = task.ParallelFor(rt, 0, 1000, 1, func(lo, _ int) error { panic("wide") })
		require.NoError(t, err)
		require.ErrorContains(t, rt.Wait(context.Background()), "wide")
	})
}

func TestFuturesInAChain(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		last, err := task.GoValue(rt, func() (int, error) { return 1, nil })
		require.NoError(t, err)
		for range 50 {
			before := last
			last, err = task.GoValueScope(rt, func(s *task.Scope) (int, error) {
				v, err := before.Get(s.Context())
				return v + 1, err
			})
			require.NoError(t, err)
		}
		v, err := last.Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, 51, v)
		v, err = last.Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, 51, v, "asked twice")
		bad, err := task.GoValue(rt, func() (int, error) { return 7, errBoom })
		require.NoError(t, err)
		v, err = bad.Get(t.Context())
		require.ErrorIs(t, err, errBoom)
		require.Zero(t, v)
		require.ErrorIs(t, rt.Wait(context.Background()), errBoom)
	})
}

func TestEventsInEveryOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		x := make([]int, 1)
		var late []*task.Event
		made := make(chan struct{})
		one, err := rt.GoScope(func(s *task.Scope) error {
			early, err := s.Event()
			if err != nil {
				return err
			}
			for range 10 {
				e, err := s.Event()
				if err != nil {
					return err
				}
				late = append(late, e)
			}
			defer close(made)
			return early.Fulfill(nil) // before the body has returned
		}, task.Out(x), task.Label("with events"))
		require.NoError(t, err)
		after, err := rt.Go(func() error { x[0]++; return nil }, task.InOut(x))
		require.NoError(t, err)
		<-made
		require.Zero(t, x[0])
		var all sync.WaitGroup
		var twice atomic.Int32
		for _, e := range late {
			for range 3 {
				all.Go(func() {
					if errors.Is(e.Fulfill(nil), task.ErrFulfilled) {
						twice.Add(1)
					}
				})
			}
		}
		all.Wait()
		require.NoError(t, one.Wait(context.Background()))
		require.NoError(t, after.Wait(context.Background()))
		require.EqualValues(t, 20, twice.Load())
		require.NoError(t, rt.Wait(context.Background()))
	})
}

func TestCloseInEveryWay(t *testing.T) {
	for _, spec := range []string{"smp:1", "smp:2,sim:1(exec=cpu)"} {
		rt, err := task.New(task.Options{Devices: spec, Window: 1})
		require.NoError(t, err)
		x := make([]int, 1)
		var all sync.WaitGroup
		for range 50 {
			_, err := rt.Go(func() error { x[0]++; return nil }, task.InOut(x))
			require.NoError(t, err)
		}
		for range 4 {
			all.Go(func() {
				if err := rt.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.NoError(t, rt.Close())
		require.Equal(t, 50, x[0])
		_, err = rt.Go(nothing)
		require.ErrorIs(t, err, task.ErrClosed)
		_, err = task.GoValue(rt, func() (int, error) { return 1, nil })
		require.ErrorIs(t, err, task.ErrClosed)
		_, err = task.Alloc[int](rt, 3)
		require.ErrorIs(t, err, task.ErrClosed)
		require.ErrorIs(t, rt.WaitOn(t.Context(), task.In(x)), task.ErrClosed)
		require.NoError(t, rt.Wait(context.Background()))
	}
}

func TestCloseInsideATask(t *testing.T) {
	rt, err := task.New(task.Options{Devices: "smp:1"})
	require.NoError(t, err)
	var inside error
	one, err := rt.Go(func() error { inside = rt.Close(); return nil })
	require.NoError(t, err)
	require.NoError(t, one.Wait(context.Background()))
	require.ErrorIs(t, inside, task.ErrInsideTask)
	_, err = rt.Go(nothing)
	require.NoError(t, err, "it is not closed by that")
	require.NoError(t, rt.Close())
}

func TestADamagedFileOfLearnedTimes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "noise": "\x00\xffnot json", "cut": `{"times":[{"var`, "other": `[1,2,3]`, "numbers": `{"times": 5}`} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		rt, err := task.New(task.Options{Devices: "smp:1", Policy: "versioning", Learned: path})
		if err == nil {
			require.NoError(t, rt.Close(), name)
			continue
		}
		require.ErrorContains(t, err, path, name)
	}
	path := filepath.Join(dir, "missing", "deeper")
	rt, err := task.New(task.Options{Devices: "smp:1", Policy: "versioning", Learned: path})
	if err == nil {
		require.ErrorContains(t, rt.Close(), path)
	}
}

func TestAWaitThatIsCancelled(t *testing.T) {
	for _, spec := range []string{"smp:1", "smp:3", "smp:1,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: spec})
		gate := make(chan struct{})
		x := make([]int, 1)
		_, err := rt.Go(func() error { <-gate; x[0] = 3; return nil }, task.Out(x))
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errBoom)
		require.ErrorIs(t, rt.Wait(ctx), errBoom)
		require.ErrorIs(t, rt.WaitOn(ctx, task.In(x)), errBoom)
		g := task.NewGroup(rt)
		_, err = g.Go(nothing, task.In(x))
		require.NoError(t, err)
		require.ErrorIs(t, g.Wait(ctx), errBoom)
		close(gate)
		require.NoError(t, g.Wait(context.Background()))
		require.NoError(t, rt.WaitOn(t.Context(), task.InOut(x)))
		x[0]++
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, 4, x[0])
	}
}

// A wait whose context is done does not wait for room in the window.
func TestAWaitThatIsCancelledInAFullWindow(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1", Window: 1})
	gate, x := make(chan struct{}), make([]int, 1)
	_, err := rt.Go(func() error { <-gate; return nil }, task.Out(x))
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBoom)
	require.ErrorIs(t, rt.WaitOn(ctx, task.In(x)), errBoom)
	close(gate)
	require.NoError(t, rt.WaitOn(t.Context(), task.In(x)))
	require.NoError(t, rt.Wait(context.Background()))
}

func TestGroupsThatAreCancelledWhileTheyRun(t *testing.T) {
	for _, spec := range []string{"smp:1", "smp:3", "smp:1,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: spec})
		for range 20 {
			outer := task.NewGroup(rt)
			inner := task.NewGroup(outer)
			x := make([]int, 1)
			began := make(chan struct{})
			_, err := inner.GoScope(func(s *task.Scope) error {
				close(began)
				<-s.Context().Done()
				_, err := s.Go(nothing)
				return err
			}, task.Out(x))
			require.NoError(t, err)
			_, err = inner.Go(nothing, task.In(x))
			require.NoError(t, err)
			free, err := rt.Go(nothing)
			require.NoError(t, err)
			<-began
			outer.Cancel(errBoom)
			require.ErrorIs(t, inner.Wait(context.Background()), errBoom)
			require.NoError(t, outer.Wait(context.Background()))
			require.NoError(t, free.Wait(context.Background()))
			_, err = inner.Go(nothing)
			require.Error(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
	}
}

func TestOneOfEverything(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)", Window: 1, Tokens: map[devices.Kind]int{"smp": 1, "sim": 1}})
	twice := kernelOf(t, Twice)
	x := make([]int32, 8)
	x[0] = 1
	for i := range 10 {
		_, err := twice.With(task.Resources("smp", 1), task.Resources("sim", 1), task.Priority(i-5)).Submit(rt, x)
		require.NoError(t, err)
		_, err = rt.GoScope(func(s *task.Scope) error {
			_, err := s.Go(func() error { x[1]++; return nil }, task.InOut(x[1:2]), task.Untied())
			return errors.Join(err, s.Wait(context.Background()))
		}, task.InOut(x), task.Final(i%2 == 0))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 1024, x[0])
	_, err := rt.Go(nothing, task.Resources("smp", 2))
	var never *sched.UnsatisfiableError
	require.ErrorAs(t, err, &never)
}
