package task_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
)

// followRuntime has one simulated device that counts launches as they are enqueued.
func followRuntime(t *testing.T, spec string, faults sim.Faults) (*task.Runtime, *atomic.Int64) {
	launched := new(atomic.Int64)
	var o task.Options
	o.Devices = spec
	o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: faults, Cost: func(*devices.Launch) time.Duration {
		launched.Add(1)
		return 0
	}}}
	rt, err := task.New(o)
	require.NoError(t, err)
	return rt, launched
}

// A task whose predecessors are on their way on a device is enqueued there before they are over: with the first kernel held
// up, as many as the device has room for are launched.
func TestDependentsAreEnqueuedBehindWhatRuns(t *testing.T) {
	rt, launched := followRuntime(t, "sim:1(exec=cpu)", sim.Faults{})
	gate := make(chan struct{})
	held := task.MustKernel(task.KernelSpec{Name: "Fill", Files: []task.SourceFile{kernelFile}, Go: func(a *task.Args) {
		<-gate
		Fill(devices.ScalarArg[int](a, 0), devices.ScalarArg[int](a, 1), devices.ScalarArg[uint32](a, 2), devices.SliceArg[uint32](a, 3))
	}})
	mix := kernelOf(t, Mix)
	x := make([]uint32, 64)
	first, err := held.Submit(rt, 0, 64, uint32(7), x)
	require.NoError(t, err)
	want := make([]uint32, 64)
	Fill(0, 64, 7, want)
	for k := range uint32(20) {
		Mix(0, 64, 0, 64, k, want, want)
		_, err := mix.Submit(rt, 0, 64, 0, 64, k, x, x)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return launched.Load() == 21 }, 30*time.Second, time.Millisecond)
	require.Less(t, rt.Machine().Devices()[0].Properties().Depth, 21, "followers do not take the places of ready tasks")
	select {
	case <-first.Done():
		t.Fatal("the first kernel cannot be over")
	default:
	}
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, want, x)
	require.NoError(t, rt.Close())
}

// What is enqueued behind a kernel that fails is skipped, with the cause, whether it was enqueued before or after.
func TestFollowersOfAFailureAreSkipped(t *testing.T) {
	for n := int64(1); n <= 4; n++ {
		rt, _ := followRuntime(t, "sim:1(exec=cpu)", sim.Faults{Launch: n})
		mix := kernelOf(t, Mix)
		x := make([]uint32, 64)
		var tasks []task.Task
		for k := range uint32(8) {
			one, err := mix.Submit(rt, 0, 64, 0, 64, k, x, x)
			require.NoError(t, err)
			tasks = append(tasks, one)
		}
		err := rt.Wait(context.Background())
		require.ErrorIs(t, err, sim.ErrInjected)
		for i, one := range tasks {
			switch {
			case i < int(n-1):
				require.NoError(t, one.Err())
			case i == int(n-1):
				require.ErrorIs(t, one.Err(), sim.ErrInjected)
				require.NotErrorIs(t, one.Err(), task.ErrSkipped)
			default:
				require.ErrorIs(t, one.Err(), task.ErrSkipped, "task %d behind %d", i, n)
				require.ErrorIs(t, one.Err(), sim.ErrInjected)
			}
		}
		_, err = mix.Submit(rt, 0, 64, 0, 64, uint32(1), x, x)
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()), "the device is as before")
		require.NoError(t, rt.Close())
	}
}

// When the device goes with the first kernel of a chain, the host still has what the chain began with, and the whole chain
// runs on the other device.
func TestAChainMovesWhenItsDeviceIsLost(t *testing.T) {
	rt, _ := followRuntime(t, "sim:2(exec=cpu)", sim.Faults{Launch: 1, Lose: true})
	mix := kernelOf(t, Mix)
	x, want := make([]uint32, 64), make([]uint32, 64)
	for i := range x {
		x[i], want[i] = uint32(i), uint32(i)
	}
	for k := range uint32(12) {
		Mix(0, 64, 0, 64, k, want, want)
		_, err := mix.Submit(rt, 0, 64, 0, 64, k, x, x)
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, want, x)
	require.NoError(t, rt.Close())
}

// endings keeps what a recorder is told of tasks that are over.
type endings struct {
	probe.Recorder
	mu    sync.Mutex
	tasks []probe.Task
}

func (o *endings) Observe(probe.Point)                                 {}
func (o *endings) Open(*probe.Machine)                                 {}
func (o *endings) Submitted(deps.TaskID, []deps.Access, []deps.TaskID) {}
func (o *endings) Considered(deps.TaskID, int, []probe.Candidate)      {}
func (o *endings) Ended(t *probe.Task) {
	o.mu.Lock()
	o.tasks = append(o.tasks, *t)
	o.mu.Unlock()
}

// Tasks follow while a recorder looks on, and it is told that each was ready when the one before it was over on the device.
func TestARecorderSeesWhatFollows(t *testing.T) {
	seen := &endings{}
	gate := make(chan struct{})
	rt, err := task.New(task.Options{Devices: "sim:1(exec=cpu)", Observer: seen})
	require.NoError(t, err)
	held := task.MustKernel(task.KernelSpec{Name: "Fill", Files: []task.SourceFile{kernelFile}, Go: func(a *task.Args) {
		<-gate
		Fill(devices.ScalarArg[int](a, 0), devices.ScalarArg[int](a, 1), devices.ScalarArg[uint32](a, 2), devices.SliceArg[uint32](a, 3))
	}})
	mix := kernelOf(t, Mix)
	x := make([]uint32, 64)
	_, err = held.Submit(rt, 0, 64, uint32(7), x)
	require.NoError(t, err)
	for k := range uint32(12) {
		_, err := mix.Submit(rt, 0, 64, 0, 64, k, x, x)
		require.NoError(t, err)
	}
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, rt.Close())
	require.Len(t, seen.tasks, 13)
	followed := 0
	for i := range seen.tasks {
		one := &seen.tasks[i]
		require.LessOrEqual(t, one.Submit, one.Ready, "task %d", one.ID)
		require.LessOrEqual(t, one.Ready, one.Choice)
		require.LessOrEqual(t, one.Start, one.End)
		if i == 0 {
			continue
		}
		before := &seen.tasks[i-1]
		require.Equal(t, before.ID+1, one.ID)
		if one.Launch < before.End {
			followed++
			require.Equal(t, before.ID, one.Last)
			require.LessOrEqual(t, before.End, one.Ready)
		}
	}
	require.Positive(t, followed, "all but the first were enqueued before the one before them was over")
}

// What may run again has the host keep its inputs first, which it cannot while a kernel is under way that writes them: if that fails, the
// task is skipped, and what was there before is there still.
func TestWhatMayRunAgainIsSkippedBehindAFailure(t *testing.T) {
	mix := kernelOf(t, Mix)
	for range 20 {
		rt, _ := followRuntime(t, "smp:1,sim:1(exec=cpu)", sim.Faults{Launch: 1})
		x, gate := make([]uint32, 64), make(chan struct{})
		_, err := rt.Go(func() error { <-gate; return nil }, task.InOut(x))
		require.NoError(t, err)
		failing, err := mix.With(task.OnDevice("sim")).Submit(rt, 0, 64, 0, 64, uint32(1), x, x)
		require.NoError(t, err)
		again, err := mix.With(task.OnDevice("sim"), task.Retry(2)).Submit(rt, 0, 64, 0, 64, uint32(2), x, x)
		require.NoError(t, err)
		close(gate)
		require.ErrorIs(t, rt.Wait(context.Background()), sim.ErrInjected)
		require.NotErrorIs(t, failing.Err(), task.ErrSkipped)
		require.ErrorIs(t, again.Err(), task.ErrSkipped)
		require.Equal(t, make([]uint32, 64), x)
		require.NoError(t, rt.Close())
	}
}
