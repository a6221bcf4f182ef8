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

// issue 16 3: the wait of a group returned nil where what its tasks wrote was still on devices, and reductions were not combined.

// filled returns whether fill has written k into all of x here.
func filled(k uint32, x []uint32) bool {
	want := make([]uint32, len(x))
	Fill(0, len(x), k, want)
	for i := range x {
		if x[i] != want[i] {
			return false
		}
	}
	return true
}

const simOnly = "smp:1,sim:2(exec=cpu)"

func TestGroupWait_BringsBackWhatItsTasksWrote(t *testing.T) {
	rt, fill := open(t, task.Options{Devices: simOnly}), kernelOf(t, Fill)
	for _, nested := range []bool{false, true} {
		x, y := make([]uint32, 1000), make([]uint32, 1000)
		outer := task.NewGroup(rt)
		g := outer
		if nested {
			g = task.NewGroup(outer)
		}
		_, err := fill.With(task.OnDevice("sim")).Submit(g, 0, 1000, uint32(3), x)
		require.NoError(t, err)
		_, err = fill.With(task.OnDevice("sim")).Submit(g, 0, 1000, uint32(4), y)
		require.NoError(t, err)
		if nested {
			require.NoError(t, g.Wait(context.Background(), task.KeepOnDevice()))
		}
		require.NoError(t, outer.Wait(context.Background()))
		require.True(t, filled(3, x) && filled(4, y))
	}
}

func TestGroupWait_CombinesReductions(t *testing.T) {
	sum := kernelOf(t, ModelSum)
	for _, devices := range []string{"smp:2", simOnly} {
		rt := open(t, task.Options{Devices: devices})
		x := make([]uint32, 100)
		g := task.NewGroup(rt)
		inner := task.NewGroup(g)
		for i := range 8 {
			at := task.Submitter(g)
			switch i % 4 {
			case 1:
				at = inner
			case 2:
				at = rt // outside, in the same reduction
			}
			_, err := sum.Submit(at, 0, 100, uint32(1), x)
			require.NoError(t, err)
		}
		require.NoError(t, inner.Wait(context.Background()))
		require.EqualValues(t, 8, x[99], devices)
		require.NoError(t, g.Wait(context.Background()))
		require.NoError(t, rt.Wait(context.Background()))
		require.EqualValues(t, 8, x[0], devices)
	}
}

func TestGroupWait_KeepsOnDevicesWhatItIsAskedTo(t *testing.T) {
	rt, fill := open(t, task.Options{Devices: simOnly}), kernelOf(t, Fill)
	x := make([]uint32, 1000)
	g := task.NewGroup(rt)
	_, err := fill.With(task.OnDevice("sim")).Submit(g, 0, 1000, uint32(3), x)
	require.NoError(t, err)
	require.NoError(t, g.Wait(context.Background(), task.KeepOnDevice()))
	require.Zero(t, x[999])
	require.Zero(t, rt.Stats().DeviceToHost)
	require.NoError(t, rt.Wait(context.Background(), task.ReadOnly()))
	require.True(t, filled(3, x))
	g = task.NewGroup(rt)
	mix, y := kernelOf(t, Mix), make([]uint32, 1000)
	_, err = mix.With(task.OnDevice("sim:1")).Submit(g, 0, 1000, 0, 1000, uint32(3), y, x)
	require.NoError(t, err)
	require.NoError(t, g.Wait(context.Background(), task.ReadOnly()))
	before := rt.Stats()
	_, err = mix.With(task.OnDevice("sim:1")).Submit(rt, 0, 1000, 0, 1000, uint32(3), x, y)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
	require.Equal(t, before.HostToDevice, rt.Stats().HostToDevice, "the device has its copies still")
}

// What a later task outside of the group overwrites is that task's: the wait neither waits for it nor takes its data from the device.
func TestGroupWait_LeavesWhatOthersOverwrite(t *testing.T) {
	rt, fill := open(t, task.Options{Devices: "smp:2,sim:1(exec=cpu)"}), kernelOf(t, Fill)
	x, y, z := make([]uint32, 1000), make([]uint32, 1000), make([]uint32, 1000)
	g := task.NewGroup(rt)
	for k, d := range [][]uint32{x, y, z} {
		_, err := fill.With(task.OnDevice("sim")).Submit(g, 0, 1000, uint32(k+3), d)
		require.NoError(t, err)
	}
	gate := make(chan struct{})
	_, err := rt.Go(func() error { <-gate; x[5] = 1; return nil }, task.InOut(x[:10]))
	require.NoError(t, err)
	_, err = rt.Go(func() error { <-gate; return nil }, task.In(y))
	require.NoError(t, err)
	ended := make(chan error)
	go func() { ended <- g.Wait(context.Background()) }()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the wait waits for a task outside of the group")
	}
	require.True(t, filled(4, y) && filled(5, z))
	want := make([]uint32, 1000)
	Fill(0, 1000, 3, want)
	require.Equal(t, want[10:], x[10:])
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
	want[5] = 1
	require.Equal(t, want, x)
}

func TestGroupWait_InABody(t *testing.T) {
	rt, fill, sum := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)"}), kernelOf(t, Fill), kernelOf(t, ModelSum)
	x, y := make([]uint32, 500), make([]uint32, 500)
	_, err := rt.GoScope(func(s *task.Scope) error {
		g := task.NewGroup(s)
		_, err := fill.With(task.OnDevice("sim")).Submit(g, 0, 500, uint32(9), x)
		_, wrong := sum.With(task.OnDevice("sim")).Submit(g, 0, 500, uint32(2), y)
		if err = errors.Join(err, wrong, g.Wait(context.Background())); err != nil {
			return err
		}
		if !filled(9, x) || y[499] != 2 {
			return errors.New("the body sees old values")
		}
		x[0]++ // the host alone has it now
		_, err = fill.With(task.OnDevice("sim")).Submit(s, 1, 500, uint32(8), x)
		return err
	}, task.InOut(x), task.InOut(y))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	want := make([]uint32, 500)
	Fill(0, 500, 9, want)
	first := want[0] + 1
	Fill(1, 500, 8, want)
	want[0] = first
	require.Equal(t, want, x)
}

// A group with failures, or one that was cancelled, still brings back what its other tasks wrote.
func TestGroupWait_BringsBackBesideFailures(t *testing.T) {
	rt, fill := open(t, task.Options{Devices: simOnly}), kernelOf(t, Fill)
	x, y := make([]uint32, 400), make([]uint32, 400)
	failure := errors.New("on purpose")
	g := task.NewGroup(rt)
	_, err := fill.With(task.OnDevice("sim")).Submit(g, 0, 400, uint32(5), x)
	require.NoError(t, err)
	_, err = g.Go(func() error { return failure }, task.InOut(y))
	require.NoError(t, err)
	_, err = fill.With(task.OnDevice("sim")).Submit(g, 0, 400, uint32(5), y) // skipped
	require.NoError(t, err)
	outside, err := rt.Go(func() error { return failure }, task.InOut(x[:1]))
	require.NoError(t, err)
	<-outside.Done()
	err = g.Wait(context.Background())
	var failed *task.FailedError
	require.ErrorAs(t, err, &failed)
	require.Len(t, failed.Failed, 1)
	require.Equal(t, 1, failed.Skipped)
	require.True(t, filled(5, x), "the failure outside is not the group's")
	_, err = rt.Go(nothing, task.In(y))
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), failure)

	g = task.NewGroup(rt)
	_, err = fill.With(task.OnDevice("sim")).Submit(g, 0, 400, uint32(6), x)
	require.NoError(t, err)
	require.NoError(t, rt.WaitOn(t.Context(), task.In(x), task.NoCopyDeps()))
	g.Cancel(nil)
	require.NoError(t, g.Wait(context.Background()))
	require.True(t, filled(6, x))
}

func TestGroupWait_ByManyAtOnce(t *testing.T) {
	rt, fill, sum := open(t, task.Options{Devices: "smp:2,sim:2(exec=cpu)"}), kernelOf(t, Fill), kernelOf(t, ModelSum)
	for range 20 {
		var all sync.WaitGroup
		for range 3 {
			x, y := make([]uint32, 300), make([]uint32, 300)
			g := task.NewGroup(rt)
			for k := range 3 {
				_, err := fill.With(task.OnDevice("sim")).Submit(g, 0, 300, uint32(k), x)
				require.NoError(t, err)
				_, err = sum.Submit(g, 0, 300, uint32(1), y)
				require.NoError(t, err)
			}
			for range 2 {
				all.Go(func() {
					if err := g.Wait(context.Background()); err != nil || !filled(2, x) || y[7] != 3 {
						t.Errorf("a wait returned %v, with sum %d", err, y[7])
					}
				})
			}
		}
		all.Wait()
	}
	require.NoError(t, rt.Wait(context.Background()))
}

func TestGroupWait_UntilAContextEnds(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x, gate := make([]uint32, 10), make(chan struct{})
	g := task.NewGroup(rt)
	_, err := g.Go(func() error { <-gate; return nil }, task.Out(x))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, g.Wait(ctx), context.Canceled)
	close(gate)
	_, err = g.Go(nothing, task.In(x))
	require.NoError(t, err, "the group goes on")
	require.NoError(t, g.Wait(context.Background()))
}
