package task_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
)

// lengths is a kernel that uses the length of y alone: no access of it orders the task.
func lengths() *task.Kernel {
	return task.MustKernel(task.KernelSpec{Name: "Lengths", Go: func(a *task.Args) {
		x, y := devices.SliceArg[int64](a, 0), devices.SliceArg[int64](a, 1)
		for i := range x {
			x[i] += int64(len(y))
		}
	}, Files: []task.SourceFile{{Name: "lengths.go", Text: `package p

//omp:target device(acc, smp)
//omp:task inout(x)
func Lengths(x, y []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] += int64(len(y))
	}
}
`}}})
}

// Free and Unregister wait for the tasks that use the memory without an access, and replays that
// use it so are refused afterwards.
func TestFree_WaitsForTasksWithoutAnAccess(t *testing.T) {
	for _, spec := range []string{"smp:1", "sim:1(exec=cpu,latency=2ms)", "smp:1,sim:1(exec=cpu)"} {
		t.Run(spec, func(t *testing.T) {
			rt, k := open(t, task.Options{Devices: spec}), lengths()
			x := make([]int64, 600)
			y, err := task.Alloc[int64](rt, 60)
			require.NoError(t, err)
			z := make([]int64, 3)
			require.NoError(t, task.Register(rt, z))
			for range 20 {
				for _, length := range [][]int64{y, z} {
					_, err := k.Submit(rt, x, length)
					require.NoError(t, err)
				}
			}
			require.NoError(t, task.Free(rt, y))
			require.NoError(t, task.Unregister(rt, z))
			require.NoError(t, rt.Wait(context.Background()))
			require.EqualValues(t, 20*63, x[7])
		})
	}
}

func TestFree_RefusesReplaysWithoutAnAccess(t *testing.T) {
	for _, spec := range []string{"smp:1", "sim:1(exec=cpu,latency=1ms)"} {
		for _, asOne := range []bool{false, true} {
			if asOne && spec == "smp:1" {
				continue // a sequence runs on an accelerator
			}
			rt, k := open(t, task.Options{Devices: spec}), lengths()
			x := make([]int64, 600)
			y, err := task.Alloc[int64](rt, 60)
			require.NoError(t, err)
			var replay func() error
			if asOne {
				it, err := rt.RecordKernels("lengths", func(r *task.KernelRecorder) error { return r.Submit(k, x, y) })
				require.NoError(t, err)
				replay = func() error { _, err := it.Replay(); return err }
			} else {
				it, err := rt.Record(func(r *task.Recorder) error { _, err := k.Submit(r, x, y); return err })
				require.NoError(t, err)
				replay = func() error { _, err := it.Replay(); return err }
			}
			for range 10 {
				require.NoError(t, replay())
			}
			require.NoError(t, task.Free(rt, y))
			require.ErrorContains(t, replay(), "was given back by Free since it was recorded")
			require.NoError(t, rt.Wait(context.Background()))
			require.EqualValues(t, 600, x[7])
		}
	}
}
