//go:build linux && (amd64 || arm64) && !race

package cuda_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

// TestTasksAllocateLittle counts what tasks of one access allocate in the steady state, through the
// whole runtime: boxing the slice for Submit is one, and events come several at once. (Pools of the
// race detector's runtime forget things on purpose.)
func TestTasksAllocateLittle(t *testing.T) {
	gpus(t)
	rt, err := task.New(task.Options{Devices: "cuda:1"})
	require.NoError(t, err)
	defer func() { require.NoError(t, rt.Close()) }()
	k := emptyKernel()
	var cells [][]int64
	for range 16 {
		x, err := task.Alloc[int64](rt, 1)
		require.NoError(t, err)
		cells = append(cells, x)
	}
	const n = 8000
	round := func() (allocs, bytes float64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range n {
			_, err := k.Submit(rt, cells[i%len(cells)])
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / n, float64(after.TotalAlloc-before.TotalAlloc) / n
	}
	round()
	allocs, bytes := round()
	for range 3 { // a collection empties pools
		a, b := round()
		allocs, bytes = min(allocs, a), min(bytes, b)
	}
	t.Logf("%.2f allocations and %.0f bytes a task", allocs, bytes)
	require.Less(t, allocs, 2.0)
	require.Less(t, bytes, 600.0)
}
