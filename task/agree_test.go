package task_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
)

// A chain whose kernels a device runs badly does not stay on that device: a launch before the predecessors are finished asks
// the policy, which tries the other kinds and hears of their times (issue 16, point 6).
func TestEarlyLaunch_AsksThePolicy(t *testing.T) {
	for _, c := range []struct {
		policy  string
		watched bool
	}{{"", false}, {"versioning", true}} {
		o := task.Options{Devices: "smp:2,sim:1(exec=cpu,latency=50ms)", Policy: c.policy}
		if c.watched {
			o.Observer = probe.Func(func(probe.Point) {})
		}
		rt, err := task.New(o)
		require.NoError(t, err)
		mix := kernelOf(t, Mix)
		x, want := make([]uint32, 256), make([]uint32, 256)
		const n = 120
		for k := range uint32(n) {
			Mix(0, 256, 0, 256, k, want, want)
			_, err := mix.Submit(rt, 0, 256, 0, 256, k, x, x)
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, x)
		ran := rt.Stats().ByDevice
		require.Greater(t, ran["smp"], int64(n/4), "policy %q, watched %v: on the simulated device each takes 50 ms: %v", c.policy, c.watched, ran)
		require.NoError(t, rt.Close())
	}
}

// pointLog keeps points in the order in which they came.
type pointLog struct {
	mu     sync.Mutex
	points []probe.Point
}

func (l *pointLog) Observe(p probe.Point) {
	l.mu.Lock()
	l.points = append(l.points, p)
	l.mu.Unlock()
}

// An observer of points changes nothing: tasks are launched behind their predecessors nevertheless, and their points come in
// order, each task between its predecessor and its successor (issue 16, point 6).
func TestObserver_LeavesEarlyLaunchOn(t *testing.T) {
	seen := &pointLog{}
	launches := make(chan struct{}, 100)
	o := task.Options{Devices: "sim:1(exec=cpu)", Observer: seen}
	o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Cost: func(*devices.Launch) time.Duration {
		launches <- struct{}{}
		return 0
	}}}
	rt, err := task.New(o)
	require.NoError(t, err)
	gate := make(chan struct{})
	held := kernelWith("Fill", func(a *task.Args) {
		<-gate
		Fill(devices.ScalarArg[int](a, 0), devices.ScalarArg[int](a, 1), devices.ScalarArg[uint32](a, 2), devices.SliceArg[uint32](a, 3))
	})
	mix := kernelOf(t, Mix)
	x := make([]uint32, 64)
	_, err = held.Submit(rt, 0, 64, uint32(7), x)
	require.NoError(t, err)
	const n = 20
	for k := range uint32(n) {
		_, err := mix.Submit(rt, 0, 64, 0, 64, k, x, x)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return len(launches) == n+1 }, 30*time.Second, time.Millisecond)
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, rt.Close())
	requireOrder(t, seen.points, n+1)
}

// requireOrder checks the points of a chain of n tasks on accelerators.
func requireOrder(t *testing.T, points []probe.Point, n int) {
	t.Helper()
	order := []probe.Kind{probe.Submit, probe.Ready, probe.Choice, probe.Launch, probe.Start, probe.End, probe.Release}
	next, at := map[deps.TaskID]int{}, map[deps.TaskID]map[probe.Kind]probe.Point{}
	ended := deps.TaskID(0)
	for _, p := range points {
		if p.Task == 0 || p.Kind == probe.Edge || p.Kind == probe.Transfer || p.Kind == probe.Arrive {
			continue
		}
		require.Equal(t, order[next[p.Task]], p.Kind, "task %d", p.Task)
		next[p.Task]++
		if at[p.Task] == nil {
			at[p.Task] = map[probe.Kind]probe.Point{}
		}
		at[p.Task][p.Kind] = p
		switch p.Kind {
		case probe.Ready:
			require.Equal(t, p.Task-1, ended, "task %d is ready when the one before it is finished", p.Task)
		case probe.End:
			ended = p.Task
		}
	}
	require.Len(t, at, n)
	for id, of := range at {
		require.Len(t, of, len(order), "task %d", id)
		for i := 1; i < len(order); i++ {
			require.LessOrEqual(t, of[order[i-1]].Time, of[order[i]].Time, "task %d: %v to %v", id, order[i-1], order[i])
		}
		if before := at[id-1]; before != nil {
			require.LessOrEqual(t, before[probe.End].Time, of[probe.Start].Time, "task %d", id)
		}
	}
}

// A task that was launched early and is skipped has no points between its submission and its failure.
func TestObserver_SkippedEarlyLaunch(t *testing.T) {
	seen := &pointLog{}
	o := task.Options{Devices: "sim:1(exec=cpu)", Observer: seen}
	o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Launch: 1}}}
	rt, err := task.New(o)
	require.NoError(t, err)
	mix := kernelOf(t, Mix)
	x := make([]uint32, 64)
	for k := range uint32(8) {
		_, err := mix.Submit(rt, 0, 64, 0, 64, k, x, x)
		require.NoError(t, err)
	}
	require.ErrorIs(t, rt.Wait(context.Background()), sim.ErrInjected)
	require.NoError(t, rt.Close())
	kinds := map[deps.TaskID][]probe.Kind{}
	for _, p := range seen.points {
		if p.Task > 1 && p.Kind != probe.Edge {
			kinds[p.Task] = append(kinds[p.Task], p.Kind)
		}
	}
	require.Len(t, kinds, 7)
	for id, list := range kinds {
		require.Equal(t, []probe.Kind{probe.Submit, probe.Failure, probe.Release}, list, "task %d", id)
	}
}
