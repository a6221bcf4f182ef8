package task_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
)

// TestTrialsOnTheHostAreStopped runs a kernel that is much slower on the CPU workers beside an accelerator, on data that it reads and
// writes: it is tried there, what the trial has written counts for nothing, and nearly all of it runs on the accelerator.
func TestTrialsOnTheHostAreStopped(t *testing.T) {
	const blocks, size, rounds = 4, 512, 40
	source := task.SourceFile{Name: "slow.go", Text: `package slow

//omp:target device(acc, smp)
//omp:task inout(x)
func Slow(x []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = 2*x[i] + 1
	}
}
`}
	var whole, parts atomic.Int64
	step := func(x []int64) {
		for i := range x {
			x[i] = 2*x[i] + 1
		}
	}
	k := task.MustKernel(task.KernelSpec{Name: "Slow", Files: []task.SourceFile{source},
		Go:    func(a *task.Args) { whole.Add(1); step(devices.SliceArg[int64](a, 0)) },
		Trips: func(a *task.Args) int64 { return int64(len(devices.SliceArg[int64](a, 0))) },
		Split: func(a *task.Args, lo, hi int64) {
			time.Sleep(time.Duration(hi-lo) * 200 * time.Microsecond)
			parts.Add(hi - lo)
			step(devices.SliceArg[int64](a, 0)[lo:hi])
		},
	})
	for _, spec := range []string{"smp:1,sim:1(exec=simt)", "smp:2,sim:2(exec=simt)"} {
		parts.Store(0)
		rt, err := task.New(task.Options{Devices: spec, Vector: task.VectorOff})
		require.NoError(t, err)
		x, err := task.Alloc[int64](rt, blocks*size)
		require.NoError(t, err)
		for range rounds {
			for b := range blocks {
				_, err := k.Submit(rt, x[b*size:(b+1)*size])
				require.NoError(t, err)
			}
			require.NoError(t, rt.Wait(task.NoFlush()))
		}
		require.NoError(t, rt.Wait())
		for i, v := range x {
			require.EqualValues(t, 1<<rounds-1, v, "element %d on %s", i, spec)
		}
		t.Logf("%s: %d iterations of %d on workers", spec, parts.Load(), blocks*size*rounds)
		require.Positive(t, parts.Load(), "it was tried")
		require.Less(t, parts.Load(), int64(blocks*size*rounds/4))
		require.NoError(t, rt.Close())
	}
}
