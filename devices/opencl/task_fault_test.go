//go:build linux && (amd64 || arm64)

package opencl

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
)

// countSource adds 1 to each element.
const countSource = `package k

//omp:target device(acc, smp)
//omp:task inout(x)
func Count(x []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i]++
	}
}
`

// TestFaults_OfTasks has calls fail while tasks run: a fault fails its task with the call and the
// line, skips what depends on it, leaves the rest alone, and only what the driver does not recover
// from retires the device.
func TestFaults_OfTasks(t *testing.T) {
	f := newFaults(t)
	o := faultOptions(t, t.TempDir())
	o.Timed = false
	f.clean(t, o.CacheDir)
	count := task.MustKernel(task.KernelSpec{Name: "Count", Files: []task.SourceFile{{Name: "faults.go", Text: countSource}}, Go: func(a *task.Args) {
		x := devices.SliceArg[int64](a, 0)
		for i := range x {
			x[i]++
		}
	}})
	for _, c := range []struct {
		name  string
		which fn
		code  int32
		fatal bool
	}{
		{"a copy to the device", clEnqueueWriteBuffer, -36, false},
		{"a copy to the host", clEnqueueReadBuffer, -36, false},
		{"a launch", clEnqueueNDRangeKernel, -36, false},
		{"an argument", clSetKernelArg, -36, false},
		{"an event", clGetEventInfo, -36, true},
		{"a flush", clFlush, -36, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := task.Options{Devices: "smp:1,opencl:1"}
			all.Machine.ByKind = map[devices.Kind]any{Kind: o}
			rt, err := task.New(all)
			require.NoError(t, err)
			x, y := make([]int64, 1000), make([]int64, 1000)
			on := count.With(task.OnDevice("opencl:0"))
			_, err = on.Submit(rt, y)
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			f.arm(c.which, 1, c.code)
			bad, err := count.With(task.OnDevice("opencl:0"), task.Label("the bad one")).Submit(rt, x)
			require.NoError(t, err)
			behind, err := on.Submit(rt, x)
			require.NoError(t, err)
			waited := rt.Wait(context.Background())
			require.True(t, f.fired())
			require.ErrorContains(t, waited, functions[c.which])
			if c.which != clEnqueueReadBuffer { // that is made when both are done
				var e *task.Error
				require.ErrorAs(t, bad.Err(), &e)
				require.Equal(t, []string{"the bad one", "Count", "opencl:0", "faults.go"}, []string{e.Label, e.Kernel, e.Device, e.Pos.File})
				require.ErrorIs(t, behind.Err(), task.ErrSkipped)
			}
			m := rt.Machine()
			require.Equal(t, c.fatal, m.Retired(m.SpaceOf(m.Accelerators()[0])) != nil)
			z := make([]int64, 1000)
			other, err := count.Submit(rt, z)
			require.NoError(t, err)
			require.NoError(t, other.Wait(context.Background()))
			require.NoError(t, rt.Wait(context.Background()), "the rest goes on")
			require.EqualValues(t, 1, z[999])
			closed := make(chan struct{})
			go func() { _ = rt.Close(); close(closed) }() // it tells of what is lost
			select {
			case <-closed:
			case <-time.After(time.Minute):
				t.Fatal("Close hangs")
			}
		})
	}
}
