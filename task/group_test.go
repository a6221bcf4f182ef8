package task_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

func TestAGroupIsWaitedForAlone(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	gate := make(chan struct{})
	_, err := rt.Go(func() error { <-gate; return nil })
	require.NoError(t, err)
	g := task.NewGroup(rt)
	var ran atomic.Int32
	for range 10 {
		_, err := g.GoScope(func(s *task.Scope) error {
			_, err := s.Go(func() error { ran.Add(1); return nil })
			return err
		})
		require.NoError(t, err)
	}
	require.NoError(t, g.Wait(context.Background()))
	require.EqualValues(t, 10, ran.Load())
	_, err = g.Go(nothing)
	require.ErrorIs(t, err, task.ErrFinished)
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
}

func TestAGroupTellsOfItsOwnFailures(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y := make([]int, 1), make([]int, 1)
	inside, outside := errors.New("inside"), errors.New("outside")
	g := task.NewGroup(rt)
	inner := task.NewGroup(g)
	_, err := g.Go(func() error { return inside }, task.Out(x))
	require.NoError(t, err)
	_, err = inner.Go(nothing, task.In(x))
	require.NoError(t, err)
	_, err = rt.Go(func() error { return outside }, task.Out(y))
	require.NoError(t, err)
	err = g.Wait(context.Background())
	require.ErrorIs(t, err, inside)
	require.NotErrorIs(t, err, outside)
	var failed *task.FailedError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 1, failed.Skipped, "the task of the inner group")
	again, err := rt.Go(nothing, task.InOut(x))
	require.NoError(t, err)
	require.NoError(t, again.Wait(context.Background()), "the failure has been told")
	err = rt.Wait(context.Background())
	require.ErrorIs(t, err, outside)
	require.NotErrorIs(t, err, inside)
	require.Error(t, inner.Wait(context.Background()), "its skipped task")
}

// taskflow#361: a part of the graph is cancelled, the rest continues.
func TestCancellationOfAGroup(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	enough := errors.New("enough")
	g := task.NewGroup(rt)
	x := make([]int, 2)
	require.NoError(t, task.Register(rt, x))
	started, running := make(chan struct{}), 0
	_, err := g.GoScope(func(s *task.Scope) error {
		close(started)
		child, err := s.Go(nothing)
		if err != nil {
			return err
		}
		<-s.Context().Done()
		if err := child.Wait(context.WithoutCancel(s.Context())); !errors.Is(err, enough) {
			t.Errorf("the child of a cancelled task ended with %v", err)
		}
		return context.Cause(s.Context())
	}, task.Out(x[:1]))
	require.NoError(t, err)
	var members []task.Task
	for range 20 {
		m, err := g.Go(func() error { running++; return nil }, task.InOut(x[1:]))
		require.NoError(t, err)
		members = append(members, m)
	}
	sibling := 0
	other, err := rt.Go(func() error { sibling++; return nil })
	require.NoError(t, err)
	<-started
	g.Cancel(enough)
	require.ErrorIs(t, g.Wait(context.Background()), enough)
	require.NoError(t, other.Wait(context.Background()))
	require.Equal(t, 1, sibling)
	require.Zero(t, running)
	for _, m := range members {
		require.ErrorIs(t, m.Err(), enough)
	}
	require.NoError(t, rt.Wait(context.Background()))
	free, err := rt.Go(func() error { x[1] = 7; return nil }, task.InOut(x))
	require.NoError(t, err)
	require.NoError(t, free.Wait(context.Background()))
}

func TestGroupsInsideTasks(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		sum := 0
		_, err := rt.GoScope(func(s *task.Scope) error {
			for range 3 {
				g := task.NewGroup(s)
				var part atomic.Int64
				for i := range 10 {
					if _, err := g.Go(func() error { part.Add(int64(i)); return nil }); err != nil {
						return err
					}
				}
				if err := g.Wait(context.Background()); err != nil {
					return err
				}
				sum += int(part.Load())
			}
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, 135, sum)
	})
}

func fibValue(at task.Submitter, n int, final int) (*task.Future[int], error) {
	return task.GoValueScope(at, func(s *task.Scope) (int, error) {
		if n < 2 {
			return n, nil
		}
		a, err := fibValue(s, n-1, final)
		if err != nil {
			return 0, err
		}
		b, err := fibValue(s, n-2, final)
		if err != nil {
			return 0, err
		}
		x, err := a.Get(s.Context())
		if err != nil {
			return 0, err
		}
		y, err := b.Get(s.Context())
		return x + y, err
	}, task.Final(n <= final), task.If(n > 3))
}

func TestFuturesFinalAndIf(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		for _, final := range []int{0, 7} {
			f, err := fibValue(rt, 13, final)
			require.NoError(t, err)
			got, err := f.Get(context.Background())
			require.NoError(t, err)
			require.Equal(t, 233, got)
		}
		broken, err := task.GoValue(rt, func() (string, error) { return "half", errors.New("boom") })
		require.NoError(t, err)
		got, err := broken.Get(context.Background())
		require.ErrorContains(t, err, "boom")
		require.Empty(t, got)
		require.Error(t, rt.Wait(context.Background()))
	})
}

func TestIfIsInOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		var order []int
		x := make([]int, 1)
		add := func(i int) func() error { return func() error { order = append(order, i); return nil } }
		_, err := rt.Go(add(0), task.InOut(x))
		require.NoError(t, err)
		_, err = rt.Go(add(1), task.InOut(x), task.If(false))
		require.NoError(t, err)
		require.Equal(t, []int{0, 1}, order, "who submits goes on when it is over")
		_, err = rt.GoScope(func(s *task.Scope) error {
			for i := 2; i < 6; i++ {
				if _, err := s.Go(add(i), task.InOut(x), task.If(i%2 == 0)); err != nil {
					return err
				}
				if i%2 == 1 && !slices.Contains(order, i) {
					return errors.New("if(false) has not run")
				}
			}
			return nil
		}, task.InOut(x))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, []int{0, 1, 2, 3, 4, 5}, order)
	})
}

// A pipeline whose middle stage is done by something outside: the task is over when that says so.
func TestEventsFromOutside(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		type order struct {
			x     []int
			event *task.Event
		}
		server := make(chan order, 4)
		done := make(chan struct{})
		go func() { // not a worker
			defer close(done)
			for o := range server {
				o.x[0] *= 10
				if err := o.event.Fulfill(nil); err != nil {
					t.Error(err)
				}
			}
		}()
		const n = 30
		x := make([]int, n)
		require.NoError(t, task.Register(rt, x))
		sum := 0
		for i := range n {
			_, err := rt.Go(func() error { x[i] = i; return nil }, task.Out(x[i:i+1]))
			require.NoError(t, err)
			_, err = rt.GoScope(func(s *task.Scope) error {
				e, err := s.Event()
				if err != nil {
					return err
				}
				server <- order{x[i : i+1], e}
				return nil
			}, task.InOut(x[i:i+1]))
			require.NoError(t, err)
		}
		_, err := rt.Go(func() error {
			for _, v := range x {
				sum += v
			}
			return nil
		}, task.In(x))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		close(server)
		<-done
		require.Equal(t, 10*n*(n-1)/2, sum)
	})
}

func TestEventsThatFail(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	boom := errors.New("boom")
	var event *task.Event
	a, err := rt.GoScope(func(s *task.Scope) (err error) { event, err = s.Event(); return err }, task.Label("a"))
	require.NoError(t, err)
	other, err := rt.Go(nothing)
	require.NoError(t, err)
	require.NoError(t, other.Wait(context.Background()), "the worker is free")
	require.NoError(t, a.Err())
	require.NoError(t, event.Fulfill(boom))
	require.ErrorIs(t, event.Fulfill(nil), task.ErrFulfilled)
	require.ErrorIs(t, rt.Wait(context.Background()), boom)
	says(t, a.Err(), "task: a (LINE): event: boom")
}

func TestRetry(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y := []int{1, 2, 3}, make([]int, 1)
	flaky, runs := errors.New("flaky"), 0
	body := func() error {
		runs++
		x[1] *= 10
		x[2] = 99
		if runs == 2 {
			panic("flaky too")
		}
		if runs < 4 {
			return flaky
		}
		y[0] = x[1]
		return nil
	}
	ok, err := rt.Go(body, task.InOut(x), task.Out(y), task.Retry(3))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, ok.Err())
	require.Equal(t, 4, runs)
	require.Equal(t, []int{1, 20, 99}, x, "what was read was put back before each run")
	require.Equal(t, 20, y[0])

	never, err := rt.Go(func() error { return flaky }, task.InOut(x), task.Retry(2), task.Label("never"))
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), flaky)
	says(t, never.Err(), "task: never (LINE) on smp: run 3 times: flaky")
	var r *task.RetriedError
	require.ErrorAs(t, never.Err(), &r)

	runs = 0
	_, err = rt.GoScope(func(s *task.Scope) error { runs++; _, err := s.Go(nothing); return errors.Join(err, flaky) }, task.Retry(5))
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), flaky)
	require.Equal(t, 1, runs, "a task with children is not run again")

	_, err = rt.Go(nothing, task.Concurrent(x), task.Retry(1))
	require.ErrorContains(t, err, "cannot be put back")
}

func TestRetryOnAnAccelerator(t *testing.T) {
	fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
	o := task.Options{Devices: "smp:1,sim:1(exec=cpu)"}
	o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Launch: 1}}}
	rt := open(t, o)
	x, want := make([]uint32, 100), make([]uint32, 100)
	Fill(0, 100, 7, want)
	_, err := fill.With(task.OnDevice("sim"), task.Retry(1)).Submit(rt, 0, 100, uint32(7), x)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, want, x)
	_, err = mix.With(task.OnDevice("sim"), task.Retry(1)).Submit(rt, 0, 50, 50, 100, uint32(7), x, x)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
}

// harmful returns Twice, which fails n times in the middle of what it reads and writes, and counts its runs.
func harmful(n int64) (*task.Kernel, *atomic.Int64) {
	runs := &atomic.Int64{}
	k := kernelWith("Twice", func(a *task.Args) {
		x := devices.SliceArg[int32](a, 0)
		for i := range x {
			if i == len(x)/2 && runs.Add(1) <= n {
				panic("half of it is written")
			}
			x[i] *= 2
		}
	})
	return k, runs
}

// A kernel that reads what it writes finds its input as it was before, on the same device or on another one.
func TestRetryOfWhatReadsAndWrites(t *testing.T) {
	for _, spec := range []string{"sim:1(exec=cpu)", "smp:1,sim:1(exec=cpu)", "smp:1,sim:3(exec=cpu)", "smp:1,sim:2(exec=cpu,peer=off)"} {
		for _, through := range []bool{false, true} {
			t.Run(fmt.Sprint(spec, through), func(t *testing.T) {
				o := task.Options{Devices: spec, Vector: task.VectorOff}
				o.Machine.WriteThrough = through
				rt := open(t, o)
				x, want := make([]int32, 1000), make([]int32, 1000)
				for i := range x {
					x[i], want[i] = int32(i), int32(4*i)
				}
				sane, _ := harmful(0)
				_, err := sane.With(task.OnDevice("sim")).Submit(rt, x) // valid on a device alone
				require.NoError(t, err)
				k, runs := harmful(2)
				one, err := k.With(task.OnDevice("sim"), task.Retry(2)).Submit(rt, x)
				require.NoError(t, err)
				require.NoError(t, rt.Wait(context.Background()))
				require.NoError(t, one.Err())
				require.EqualValues(t, 3, runs.Load())
				require.Equal(t, want, x)

				k, _ = harmful(1 << 40)
				never, err := k.With(task.Retry(2), task.Label("never")).Submit(rt, x)
				require.NoError(t, err)
				require.Error(t, rt.Wait(context.Background()))
				var r *task.RetriedError
				require.ErrorAs(t, never.Err(), &r)
				require.Equal(t, 3, r.Times)
			})
		}
	}
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)"})
	_, err := kernelOf(t, Histogram).With(task.Retry(1)).Submit(rt, 0, 1, make([]int32, 1), make([]int32, 10))
	require.ErrorContains(t, err, "cannot be put back")
}

// A device that is lost takes a kernel with it that reads what it writes, and was there alone: with Retry it runs elsewhere.
func TestRetryAfterALostDevice(t *testing.T) {
	for n := int64(1); n < 6; n++ {
		o := task.Options{Devices: "sim:2(exec=cpu)"}
		o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Launch: n, Lose: true}}}
		rt := open(t, o)
		k, _ := harmful(0)
		x, want := make([]int32, 100), make([]int32, 100)
		for i := range x {
			x[i], want[i] = int32(i), int32(32*i)
		}
		for range 5 {
			_, err := k.With(task.Retry(1)).Submit(rt, x)
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, x)
	}
}

func TestVersions(t *testing.T) {
	first, second := kernelOf(t, Twice), kernelOf(t, TwiceOnHost)
	require.NoError(t, first.AddVersion(second))
	require.ErrorContains(t, first.AddVersion(kernelOf(t, Fill)), "implements(), not Twice")
	// A package of its own names a Twice with other parameters.
	wrong := task.MustKernel(task.KernelSpec{Name: "TwiceWrong", Go: func(*task.Args) {}, Files: []task.SourceFile{{Name: "other.go", Text: `package other

//omp:task inout(x)
func Twice(x []int32, n int) { x[0] *= 2 }

//omp:target device(smp) implements(Twice)
//omp:task inout(x)
func TwiceWrong(x []int32, n int) { x[0] *= 2 }
`}}})
	require.ErrorContains(t, first.AddVersion(wrong), "1 parameters, with 2")
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)"})
	x := make([]int32, 10)
	for _, device := range []string{"smp", "sim"} {
		x[0] = 5
		_, err := first.With(task.OnDevice(device)).Submit(rt, x)
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, map[string]int32{"smp": 1010, "sim": 10}[device], x[0])
	}
}

func TestNoCopyDeps(t *testing.T) {
	bump := kernelOf(t, Bump)
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)"})
	x := make([]int32, 4)
	_, err := bump.With(task.OnDevice("sim")).Submit(rt, x)
	require.NoError(t, err)
	require.NoError(t, rt.WaitOn(t.Context(), task.In(x), task.NoCopyDeps()))
	require.Zero(t, rt.Stats().DeviceToHost, "waited, not copied")
	require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
	require.Zero(t, rt.Stats().DeviceToHost)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, []int32{0, 1, 0, 0}, x)
}

// What the wait of a group has told, no wait of a group around it tells again, however deep it lies.
func TestAFailureIsToldOnce(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	outer := task.NewGroup(rt)
	middle := task.NewGroup(outer)
	inner := task.NewGroup(middle)
	x := make([]int, 1)
	_, err := inner.Go(func() error { return errors.New("boom") }, task.Out(x))
	require.NoError(t, err)
	_, err = inner.Go(nothing, task.In(x))
	require.NoError(t, err)
	require.ErrorContains(t, inner.Wait(context.Background()), "boom")
	require.NoError(t, middle.Wait(context.Background()))
	require.NoError(t, outer.Wait(context.Background()))
	require.NoError(t, rt.Wait(context.Background()))
}
