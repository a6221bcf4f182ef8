package task_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// Memory of Alloc is refused where it does not belong: in another runtime, and after it was given back.
func TestMemoryOfAllocElsewhere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("memory that was given back is ordinary memory there")
	}
	for _, devices := range []string{"smp:2", "smp:1,sim:2"} {
		a, b := open(t, task.Options{Devices: devices}), open(t, task.Options{Devices: devices})
		x, err := task.Alloc[float32](a, 5000)
		require.NoError(t, err)
		submit := func(rt *task.Runtime, x []float32) error {
			_, err := rt.Go(nothing, task.InOut(x))
			return err
		}
		refused := func(rt *task.Runtime, want string) {
			t.Helper()
			for _, part := range [][]float32{x, x[10:20:20], x[4999:]} {
				require.ErrorContains(t, submit(rt, part), want)
				require.ErrorContains(t, task.Register(rt, part), want)
			}
			require.NoError(t, rt.Wait(context.Background()))
		}
		refused(b, "memory of Alloc of another runtime")
		require.NoError(t, submit(a, x[10:20]))
		require.NoError(t, task.Free(a, x))
		refused(a, "memory of Alloc that was freed")
		refused(b, "memory of Alloc that was freed")
		y, err := task.Alloc[float32](b, 5000) // most likely in the same place
		require.NoError(t, err)
		require.NoError(t, submit(b, y[:7]))
		c := open(t, task.Options{Devices: devices})
		x, err = task.Alloc[float32](c, 70000)
		require.NoError(t, err)
		refused(b, "memory of Alloc of another runtime")
		require.NoError(t, c.Close())
		refused(b, "memory of Alloc that was freed")
	}
}
