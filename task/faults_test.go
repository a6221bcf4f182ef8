package task_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// TestEveryFaultFailsCleanly makes the n-th allocation, copy or launch fail, or take its device with it, for every n that
// the program gets to. The program ends; what says that it has run is right; what has not says why.
func TestEveryFaultFailsCleanly(t *testing.T) {
	mix := kernelOf(t, Mix)
	for _, lose := range []bool{false, true} {
		for name, set := range map[string]func(*sim.Faults, int64){
			"alloc":    func(f *sim.Faults, n int64) { f.Alloc = n },
			"transfer": func(f *sim.Faults, n int64) { f.Transfer = n },
			"launch":   func(f *sim.Faults, n int64) { f.Launch = n },
		} {
			t.Run(fmt.Sprintf("%s,lose=%v", name, lose), func(t *testing.T) {
				hurt := 0
				for n := int64(1); n <= 40; n++ {
					faults := sim.Faults{Lose: lose}
					set(&faults, n)
					if runWithFaults(t, mix, faults) {
						hurt++
					}
				}
				require.Positive(t, hurt, "no fault was ever met")
			})
		}
	}
}

// runWithFaults reports whether any task failed.
func runWithFaults(t *testing.T, mix *task.Kernel, faults sim.Faults) bool {
	var o task.Options
	o.Devices = "sim:2(memory=16KiB,granule=4KiB),smp:1"
	o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: faults}}
	rt, err := task.New(o)
	require.NoError(t, err)
	const vectors, length, rounds = 6, 1024, 3
	var x, want [vectors][]uint32
	var tasks [vectors][]task.Task
	for v := range x {
		x[v], want[v] = make([]uint32, length), make([]uint32, length)
	}
	for round := range rounds {
		for v := range x {
			k := uint32(round*vectors + v)
			Mix(0, length, 0, length, k, want[v], want[v])
			one, err := mix.With(task.OnDevice("sim")).Submit(rt, 0, length, 0, length, k, x[v], x[v])
			require.NoError(t, err)
			tasks[v] = append(tasks[v], one)
		}
	}
	waited := rt.Wait(context.Background())
	hurt := false
	for v := range x {
		ok := true
		for _, one := range tasks[v] {
			if err := one.Err(); err != nil {
				ok, hurt = false, true
				requireTyped(t, err)
			}
		}
		// what the machine says is there must be right
		if err := rt.WaitOn(context.Background(), task.In(x[v])); ok && err == nil {
			require.Equal(t, want[v], x[v], "faults %+v: vector %d", faults, v)
		}
	}
	if hurt {
		require.Error(t, waited)
	}
	var leak *task.LeakError // what is lost is told again
	require.False(t, errors.As(rt.Close(), &leak), "faults %+v: %v", faults, leak)
	return hurt || waited != nil
}

// requireTyped checks that a failure says what it is in a way that programs can use.
func requireTyped(t *testing.T, err error) {
	var e *task.Error
	require.ErrorAs(t, err, &e)
	var device *devices.DeviceError
	var lost *devices.LostError
	typed := errors.As(err, &device) || errors.As(err, &lost) || errors.Is(err, devices.ErrRetired)
	require.True(t, typed, "%v", err)
}

// A device that is lost before it held the only copy of anything costs nothing: its tasks run on the others.
func TestTasksOfALostDeviceRunElsewhere(t *testing.T) {
	fill := kernelOf(t, Fill)
	var o task.Options
	o.Devices = "sim:2"
	o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Launch: 1, Lose: true}}}
	rt := open(t, o)
	x := make([]uint32, 64*16)
	require.NoError(t, task.Register(rt, x))
	for i := 0; i < len(x); i += 16 {
		_, err := fill.Submit(rt, i, i+16, uint32(3), x)
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	want := make([]uint32, len(x))
	Fill(0, len(x), 3, want)
	require.Equal(t, want, x)
	s := rt.Stats()
	require.EqualValues(t, 64, s.ByDevice["sim:0"]+s.ByDevice["sim:1"])
	require.Zero(t, min(s.ByDevice["sim:0"], s.ByDevice["sim:1"]), "the lost one ran nothing")
}

// When the last device that may run a task is lost, the task fails and says so.
func TestTasksThatNoDeviceIsLeftForFail(t *testing.T) {
	fill := kernelOf(t, Fill)
	var o task.Options
	o.Devices = "smp:1,sim:1"
	o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Launch: 1, Lose: true}}}
	rt := open(t, o)
	x := make([]uint32, 64*16)
	require.NoError(t, task.Register(rt, x))
	var tasks []task.Task
	for i := 0; i < len(x); i += 16 {
		one, err := fill.With(task.OnDevice("sim")).Submit(rt, i, i+16, uint32(3), x)
		require.NoError(t, err)
		tasks = append(tasks, one)
	}
	require.Error(t, rt.Wait(context.Background()))
	for _, one := range tasks {
		require.Error(t, one.Err())
	}
	anywhere, err := fill.Submit(rt, 0, 16, uint32(3), x)
	require.NoError(t, err)
	require.NoError(t, anywhere.Wait(context.Background()))
	require.Positive(t, rt.Stats().ByDevice["smp"])
}

// TestWhoWaitsForALostDeviceRunsOnTheHost queues a kernel for an accelerator that is lost under those before it. It may run on the CPU worker
// too, who has looked before and sleeps.
func TestWhoWaitsForALostDeviceRunsOnTheHost(t *testing.T) {
	ks := loadModelKernels(t)
	for range 20 {
		var o task.Options
		o.Devices, o.Policy = "smp:1,sim(exec=cpu,bandwidth=80MB/s,latency=30us)", "locality"
		o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Launch: 1, Lose: true}}}
		rt, err := task.New(o)
		require.NoError(t, err)
		x, y, z := make([]uint32, 240), make([]uint32, 240), make([]uint32, 240)
		for _, d := range [][]uint32{x, y} {
			_, err = ks.sum.With(task.OnDevice("sim")).Submit(rt, 0, 40, uint32(1), d)
			require.NoError(t, err)
		}
		last, err := ks.add.With(task.Resources("smp", 44)).Submit(rt, 100, 105, uint32(1), z)
		require.NoError(t, err)
		select {
		case <-last.Done():
		case <-time.After(20 * time.Second):
			t.Fatal("nobody runs what may run on the host")
		}
		require.NoError(t, last.Err())
		require.Error(t, rt.Wait(context.Background()))
		require.NoError(t, rt.Close())
	}
}
