package task_test

import (
	"context"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// A kernel that takes long in the virtual time of a device, and no time really, does not stay on that device: what is learned of it is
// its virtual time (issue 16, 19).
func TestVirtualClock_IsWhatIsLearned(t *testing.T) {
	for _, policy := range []string{"locality", "versioning"} {
		rt, err := task.New(task.Options{Devices: "smp:2,sim:1(exec=cpu,clock=virtual,speed=40KB/s)", Policy: policy})
		require.NoError(t, err)
		mix := kernelOf(t, Mix)
		x, y, want := make([]uint32, 256), make([]uint32, 256), make([]uint32, 256)
		const n = 120
		for k := range uint32(n) {
			Mix(0, 256, 0, 256, k, want, y)
			_, err := mix.Submit(rt, 0, 256, 0, 256, k, x, y)
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, x)
		stats := rt.Stats()
		require.Greater(t, stats.ByDevice["smp"], int64(n/2), "policy %q: on the simulated device each takes 50 ms: %v", policy, stats.ByDevice)
		require.GreaterOrEqual(t, stats.Makespan, time.Duration(stats.ByDevice["sim:0"])*50*time.Millisecond)
		require.NoError(t, rt.Close())
	}
}

// virtualRun runs rounds of kernels of three sizes over blocks that depend on each other, one after the other, and returns where they ran
// and for how long.
func virtualRun(t *testing.T, spec string) (map[string]int64, time.Duration) {
	rt, err := task.New(task.Options{Devices: spec})
	require.NoError(t, err)
	mix := kernelOf(t, Mix)
	var x, want [6][]uint32
	for b := range x {
		x[b], want[b] = make([]uint32, 4096<<(b%3)), make([]uint32, 4096<<(b%3))
	}
	for k := range uint32(40) {
		to := int(k*7) % len(x)
		from := int(k*5+1) % len(x)
		n := min(len(x[to]), len(x[from]))
		Mix(0, n, 0, n, k, want[to], want[from])
		_, err := mix.Submit(rt, 0, n, 0, n, k, x[to], x[from])
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, want, x)
	stats := rt.Stats()
	require.NoError(t, rt.Close())
	return stats.ByDevice, stats.Makespan
}

// A program that waits for each task has the same placement and the same makespan every time, wherever its memory lies and whatever has
// happened already when a task is submitted (issue 16, 19).
func TestVirtualClock_MakespanIsTheSame(t *testing.T) {
	const options = "(exec=cpu,clock=virtual,bandwidth=1GB/s,latency=2us,speed=2GB/s)"
	for _, devices := range []string{"sim:1", "sim:2", "sim:3"} {
		ran, makespan := virtualRun(t, devices+options)
		require.Greater(t, makespan, 100*time.Microsecond)
		for range 20 {
			again, took := virtualRun(t, devices+options)
			require.Equal(t, ran, again, devices)
			require.Equal(t, makespan, took, devices)
		}
	}
}
