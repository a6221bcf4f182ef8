package task_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

const us = time.Microsecond

// openVirtualTime opens a runtime whose one kernel takes 10 us on each of two devices.
func openVirtualTime(t *testing.T, spec string, o sim.Options) *task.Runtime {
	t.Helper()
	o.Clock = sim.Virtual
	o.Cost = func(*devices.Launch) time.Duration { return 10 * us }
	opened := task.Options{Devices: spec, Policy: "fifo"}
	opened.Machine.ByKind = map[devices.Kind]any{"sim": o}
	rt, err := task.New(opened)
	require.NoError(t, err)
	return rt
}

// Tasks that are submitted while devices work take what they take in virtual time, and nothing of what the host takes.
func TestVirtualTime_OfAsynchronousSubmission(t *testing.T) {
	for _, submit := range []time.Duration{0, 4 * us} {
		rt := openVirtualTime(t, "sim:2", sim.Options{Submit: submit})
		fill := kernelOf(t, Fill)
		var x [8][]uint32
		for i := range x {
			x[i] = make([]uint32, 64)
			time.Sleep(time.Duration(i%3) * time.Millisecond)
			_, err := fill.Submit(rt, 0, 64, uint32(i), x[i])
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
		stats := rt.Stats()
		require.NoError(t, rt.Close())
		require.Equal(t, map[string]int64{"sim:0": 4, "sim:1": 4}, stats.ByDevice)
		want := 40 * us // four kernels on each
		if submit > 0 { // the first two go to sim:0, which has two in flight; the third is submitted at 12 us, for sim:1
			want = 12*us + 40*us
		}
		require.Equal(t, want, stats.Makespan, "submit=%v", submit)
	}
}

// The cost of bodies passes on as many workers as there are, beside devices, and what bodies submit is submitted when they begin.
func TestVirtualTime_OfBodies(t *testing.T) {
	for _, workers := range []string{"smp:1", "smp:2", "smp:4"} {
		rt := openVirtualTime(t, workers+",sim:1", sim.Options{})
		for range 4 {
			_, err := rt.GoScope(func(s *task.Scope) error {
				_, err := s.Go(func() error { return nil }, task.HostCost(0))
				return err
			}, task.HostCost(30*us))
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		stats := rt.Stats()
		require.NoError(t, rt.Close())
		want := map[string]time.Duration{"smp:1": 120 * us, "smp:2": 60 * us, "smp:4": 30 * us}[workers]
		require.Equal(t, want, stats.Makespan, workers)
	}
}

// Bodies, kernels on workers and accelerators follow each other in virtual time.
func TestVirtualTime_OfAChain(t *testing.T) {
	rt := openVirtualTime(t, "sim:1(bandwidth=64MB/s),smp:1", sim.Options{HostSpeed: 128e6})
	x := make([]uint32, 256) // 1 KiB: 16 us over the link, 8 us for a worker
	fill := kernelOf(t, Fill)
	_, err := fill.With(task.OnDevice("sim")).Submit(rt, 0, 256, uint32(1), x)
	require.NoError(t, err)
	_, err = fill.With(task.OnDevice("smp")).Submit(rt, 0, 256, uint32(2), x)
	require.NoError(t, err)
	_, err = rt.Go(func() error { return nil }, task.In(x), task.HostCost(5*us))
	require.NoError(t, err)
	_, err = rt.Go(func() error { return nil }, task.InOut(x))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	stats := rt.Stats()
	require.NoError(t, rt.Close())
	require.Equal(t, 10*us+8*us+5*us+8*us, stats.Makespan, "kernel, kernel that writes only, body with a cost, body without")
}

// A device goes out of service at a moment of virtual time, and the tasks continue elsewhere.
func TestVirtualTime_OfALoss(t *testing.T) {
	rt := openVirtualTime(t, "sim:2", sim.Options{Faults: sim.Faults{LoseAt: []time.Duration{25 * us}}})
	fill := kernelOf(t, Fill)
	x := make([][]uint32, 8)
	for i := range x {
		x[i] = make([]uint32, 64)
		_, err := fill.Submit(rt, 0, 64, uint32(i), x[i])
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
	stats := rt.Stats()
	require.Equal(t, int64(2), stats.ByDevice["sim:0"], "%v", stats.ByDevice)
	require.Equal(t, int64(6), stats.ByDevice["sim:1"])
	require.Equal(t, 60*us, stats.Makespan)
	var lost *devices.LostError
	require.ErrorAs(t, rt.Wait(context.Background()), &lost, "what sim:0 wrote before is gone")
	_ = rt.Close()
}

// What the program does at a moment of virtual time happens at that moment: a cancellation after the second of four kernels in a chain.
func TestVirtualTime_OfACancellation(t *testing.T) {
	rt := openVirtualTime(t, "sim:1,smp:1", sim.Options{Latency: us})
	g := task.NewGroup(rt)
	fill := kernelOf(t, Fill)
	x, y := make([]uint32, 64), make([]uint32, 64)
	var tasks [4]task.Task
	for i := range tasks {
		if i == 2 {
			_, err := rt.Go(func() error { g.Cancel(errCancel); return nil }, task.In(x))
			require.NoError(t, err)
		}
		var err error
		tasks[i], err = fill.With(task.OnDevice("sim")).Submit(g, 0, 64, uint32(i), x)
		require.NoError(t, err)
	}
	_, err := fill.With(task.OnDevice("sim")).Submit(rt, 0, 64, uint32(1), y)
	require.NoError(t, err)
	require.ErrorIs(t, g.Wait(context.Background(), task.KeepOnDevice()), errCancel)
	for i := range tasks {
		require.Equal(t, i < 2, tasks[i].Err() == nil, "task %d: %v", i, tasks[i].Err())
	}
	require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
	require.NoError(t, rt.Close())
}

// Done lets time advance, and a wait outside of the runtime is found in the end and counted.
func TestVirtualTime_PassesOutsideOfTheRuntime(t *testing.T) {
	rt := openVirtualTime(t, "sim:1,smp:1", sim.Options{})
	fill := kernelOf(t, Fill)
	x := make([]uint32, 64)
	last, err := fill.With(task.OnDevice("sim")).Submit(rt, 0, 64, uint32(1), x)
	require.NoError(t, err)
	<-last.Done()
	require.Zero(t, rt.Stats().OutOfTurn)
	require.Equal(t, 10*us, rt.Stats().Makespan)
	if !testing.Short() {
		_, err = fill.With(task.OnDevice("sim")).Submit(rt, 0, 64, uint32(2), x)
		require.NoError(t, err)
		over := make(chan struct{})
		_, err = rt.Go(func() error { close(over); return nil }, task.In(x))
		require.NoError(t, err)
		<-over
		require.Positive(t, rt.Stats().OutOfTurn)
	}
	require.NoError(t, rt.Close())
}

// Options that need a virtual time, or real time, are refused elsewhere.
func TestVirtualTime_Options(t *testing.T) {
	for _, spec := range []string{"sim(submit=1us)", "sim(hostspeed=1GB/s)", "sim(clock=virtual,helper=on)"} {
		_, err := task.New(task.Options{Devices: spec})
		require.ErrorContains(t, err, "clock=virtual", spec)
	}
	rt, err := task.New(task.Options{Devices: "smp:1"})
	require.NoError(t, err)
	_, err = rt.Go(func() error { return nil }, task.HostCost(-1))
	require.ErrorContains(t, err, "host cost")
	_, err = rt.Go(func() error { return errors.ErrUnsupported }, task.HostCost(time.Hour))
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), errors.ErrUnsupported)
	require.NoError(t, rt.Close())
}
