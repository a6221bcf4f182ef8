package task_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// wrong is an access that no submission accepts: the region ends behind the memory.
func wrong(x []int64) task.Option { return task.In(x).Box([]int{len(x)}, []int{0}, []int{len(x) + 1}) }

// After the first error nothing runs until Wait has returned it, whatever submits.
func TestCollector_FirstErrorStays(t *testing.T) {
	fill := kernelOf(t, Fill)
	sums, err := task.NewKernel(Sums, task.SourceFile{Name: "k.go", Text: nativeSource})
	require.NoError(t, err)
	onEach(t, func(t *testing.T, spec string) {
		if spec == "sim:2(exec=cpu)" || spec == "sim:2(exec=simt)" {
			t.Skip("Go tasks need CPU workers")
		}
		rt := open(t, task.Options{Devices: spec})
		c := task.Collect(rt)
		x, a, ran := make([]int64, 4), make([]uint32, 8), make([]int, 8)
		y, z := []float32{1, 2, 3, 4}, make([]float32, 4)
		all := func() {
			c.Go(func() error { ran[0]++; return nil }, task.Label("one"))
			c.GoScope(func(s *task.Scope) error {
				_, err := s.Go(func() error { ran[1]++; return nil })
				return err
			})
			fill.Submit(c, 0, 8, uint32(1), a)
			sums.Taskloop(c, []any{0, 4, 1, y, z}, task.Tasks(2))
			task.Taskloop(c, 0, 1, func(*task.Scope, int, int) error { ran[2]++; return nil })
			task.ParallelFor(c, 0, 1, 1, func(int, int) error { ran[3]++; return nil })
			task.GoValue(c, func() (int, error) { ran[4]++; return 0, nil })
			task.GoValueScope(c, func(*task.Scope) (int, error) { ran[5]++; return 0, nil })
		}
		all()
		require.NoError(t, c.Err())
		require.NoError(t, c.Wait(context.Background()))
		require.Equal(t, []int{1, 1, 1, 1, 1, 1, 0, 0}, ran)
		require.NotZero(t, a[0])
		require.Equal(t, []float32{2, 3, 5, 7}, z)
		clear(a)
		c.Go(func() error { ran[6]++; return nil }, wrong(x))
		first := c.Err()
		require.ErrorContains(t, first, "[0:5] is outside of 0 to 4")
		fill.Submit(c, 0, 9, uint32(1), a)
		all()
		require.Equal(t, first, c.Err())
		require.Equal(t, first, errors.Unwrap(joined{c.Wait(context.Background())}))
		require.Equal(t, []int{1, 1, 1, 1, 1, 1, 0, 0}, ran)
		require.Zero(t, a[0])
		require.Equal(t, []float32{2, 3, 5, 7}, z)
		all()
		require.NoError(t, c.Wait(context.Background()))
		require.Equal(t, []int{2, 2, 2, 2, 2, 2, 0, 0}, ran)
	})
}

// joined unwraps to the only error that was joined.
type joined struct{ error }

func (j joined) Unwrap() error { return j.error.(interface{ Unwrap() []error }).Unwrap()[0] }

// Each way to submit keeps its error.
func TestCollector_EverySubmissionKeepsItsError(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	fill, x, a := kernelOf(t, Fill), make([]int64, 4), make([]uint32, 8)
	it, err := rt.Record(func(r *task.Recorder) error { return r.Go(nothing, task.Label("step")) })
	require.NoError(t, err)
	for name, submit := range map[string]func(c *task.Collector){
		"Go":           func(c *task.Collector) { c.Go(nil) },
		"GoScope":      func(c *task.Collector) { c.GoScope(nil) },
		"Submit":       func(c *task.Collector) { fill.With(task.Label("far")).Submit(c, 0, 9, uint32(1), a) },
		"Kernel loop":  func(c *task.Collector) { fill.Taskloop(c, []any{1}) },
		"Taskloop":     func(c *task.Collector) { task.Taskloop(c, 0, 1, nil) },
		"ParallelFor":  func(c *task.Collector) { task.ParallelFor(c, 0, 1, 0, func(int, int) error { return nil }) },
		"GoValue":      func(c *task.Collector) { task.GoValue(c, func() (int, error) { return 0, nil }, wrong(x)) },
		"GoValueScope": func(c *task.Collector) { task.GoValueScope[int](c, nil) },
	} {
		c := task.Collect(rt)
		submit(c)
		err := c.Err()
		require.Error(t, err, name)
		_, again := it.ReplayIn(c)
		require.Equal(t, err, again, name)
		require.ErrorIs(t, c.Wait(context.Background()), err, name)
		_, again = it.ReplayIn(c)
		require.NoError(t, again, name)
		require.NoError(t, c.Wait(context.Background()), name)
	}
}

// Failures of tasks come with the error of a submission, and the tasks before it run.
func TestCollector_WaitJoinsFailures(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	boom := errors.New("boom")
	scopes := map[string]func(use func(at task.Submitter) error) error{
		"runtime": func(use func(at task.Submitter) error) error { return use(rt) },
		"group":   func(use func(at task.Submitter) error) error { return use(task.NewGroup(rt)) },
		"scope": func(use func(at task.Submitter) error) (err error) {
			_, failed := rt.GoScope(func(s *task.Scope) error { err = use(s); return nil })
			require.NoError(t, failed)
			require.NoError(t, rt.Wait(context.Background()))
			return err
		},
	}
	for name, in := range scopes {
		ran := false
		err := in(func(at task.Submitter) error {
			c := task.Collect(at)
			c.Go(func() error { ran = true; return boom }, task.Label("fails"))
			c.Go(nil)
			return c.Wait(context.Background())
		})
		require.True(t, ran, name)
		require.ErrorIs(t, err, boom, name)
		require.ErrorContains(t, err, "body is nil", name)
	}
}

// WaitOn waits for the memory alone, wherever the Collector submits to. It keeps the error of a
// submission for Wait.
func TestCollector_WaitOn(t *testing.T) {
	ctx, rt := context.Background(), open(t, task.Options{Devices: "smp:2"})
	check := func(at task.Submitter) (err error) {
		c, x, y, release := task.Collect(at), make([]int64, 4), make([]int64, 4), make(chan struct{})
		c.Go(func() error { <-release; y[0] = 2; return nil }, task.Out(y))
		c.Go(func() error { x[0] = 1; return nil }, task.Out(x))
		err = c.WaitOn(ctx, task.In(x))
		got := x[0]
		close(release)
		if err = errors.Join(err, c.Wait(ctx)); err != nil || got != 1 || y[0] != 2 {
			return fmt.Errorf("x is %d, y is %d: %w", got, y[0], err)
		}
		if err := c.WaitOn(ctx, task.In(make([]int64, 1))); !errors.Is(err, task.ErrUnused) {
			return fmt.Errorf("memory that no task uses: %w", err)
		}
		c.Go(nil)
		first := c.Err()
		if first == nil || c.WaitOn(ctx, task.In(x)) != first || c.Err() != first || !errors.Is(c.Wait(ctx), first) {
			return fmt.Errorf("the error of the submission is lost: %w", first)
		}
		return c.WaitOn(ctx, task.In(x))
	}
	require.NoError(t, check(rt))
	require.NoError(t, check(task.NewGroup(rt)))
	_, err := rt.GoScope(func(s *task.Scope) error { return errors.Join(check(s), check(task.NewGroup(s))) })
	require.NoError(t, err)
	require.NoError(t, rt.Wait(ctx))
	_, err = rt.Go(func() error {
		require.ErrorContains(t, task.Collect(rt).WaitOn(ctx), "Collector.WaitOn")
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, rt.Wait(ctx))
	var none *task.Collector
	require.ErrorContains(t, none.WaitOn(ctx), "Collect returns one")
}

// A group of a Collector is one of what it submits to.
func TestCollector_OfGroupsAndMisuse(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	g := task.NewGroup(task.Collect(rt))
	_, err := g.Go(nothing)
	require.NoError(t, err)
	require.NoError(t, g.Wait(context.Background()))
	require.ErrorContains(t, panicOf(func() { task.Collect(nil) }), "collect_test.go")
	require.ErrorContains(t, panicOf(func() { task.Collect(task.Collect(rt)) }), "Collector")
	_, err = rt.Record(func(r *task.Recorder) error {
		require.ErrorContains(t, panicOf(func() { task.Collect(r) }), "Recorder")
		return nil
	})
	require.NoError(t, err)
	var none *task.Collector
	require.ErrorContains(t, none.Wait(context.Background()), "Collect returns one")
	require.ErrorContains(t, none.Err(), "Collect returns one")
	_, err = task.GoValue(none, func() (int, error) { return 0, nil })
	require.ErrorContains(t, err, "Collect returns one")
}

// Goroutines may submit at once: one error is kept, and Wait clears it.
func TestCollector_ManyGoroutines(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	c := task.Collect(rt)
	for range 20 {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for range 50 {
					c.Go(nothing)
				}
				if i == 3 {
					c.Go(nil)
				}
			})
		}
		all.Wait()
		require.ErrorContains(t, c.Wait(context.Background()), "body is nil")
		require.NoError(t, c.Wait(context.Background()))
	}
}

func ExampleCollect() {
	rt := exampleRuntime()
	defer rt.Close()
	x, y := []float64{1, 2, 3, 4}, make([]float64, 4)
	c := task.Collect(rt) // the error of each submission stays in c
	c.Go(func() error {
		for i, v := range x {
			y[i] = v * v
		}
		return nil
	}, task.In(x), task.Out(y))
	c.Go(func() error { fmt.Println(y); return nil }, task.In(y))
	c.Go(nil, task.Out(y)) // a mistake
	c.Go(func() error { fmt.Println("does not run"); return nil }, task.In(y))
	fmt.Println(c.Wait(context.Background()))
	// Output:
	// [1 4 9 16]
	// task: go: body is nil
}
