//go:build linux && (amd64 || arm64)

package opencl_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/devicetest"
	"github.com/gompss/gompss/devices/opencl"
	_ "github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/task"
)

//go:embed testdata/kernels.go.txt
var kernelSource string

func kernel(name string, run func(a *task.Args), natives ...devices.Native) *task.Kernel {
	return task.MustKernel(task.KernelSpec{Name: name, Files: []task.SourceFile{{Name: "kernels.go", Text: kernelSource}}, Go: run, Natives: natives})
}

func saxpy(a *task.Args) {
	x, y := devices.SliceArg[float32](a, 1), devices.SliceArg[float32](a, 2)
	for i := range x {
		y[i] += devices.ScalarArg[float32](a, 0) * x[i]
	}
}

// runtime opens a runtime on PoCL alone, or with CPU workers.
func runtime(t *testing.T, spec string) *task.Runtime {
	t.Helper()
	o := options(t)
	for _, d := range devicesOf(t, o) {
		require.NoError(t, d.Close())
	}
	all := task.Options{Devices: spec}
	all.Machine.ByKind = map[devices.Kind]any{opencl.Kind: o}
	rt, err := task.New(all)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt
}

// TestTask_Saxpy runs one task on the device, and the same as a plain Go function.
func TestTask_Saxpy(t *testing.T) {
	rt := runtime(t, "opencl:1")
	const n = 10007
	x, err := task.Alloc[float32](rt, n)
	require.NoError(t, err)
	y, err := task.Alloc[float32](rt, n)
	require.NoError(t, err)
	want := make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(i)*0.37, float32(i%100)-50
		want[i] = y[i] + float32(1.7)*x[i]
	}
	k := kernel("Saxpy", saxpy)
	_, err = k.Submit(rt, float32(1.7), x, y)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, want, y)
}

// TestTask_CheckNamesTheLine runs a kernel that fails on a device, and others behind it.
func TestTask_CheckNamesTheLine(t *testing.T) {
	rt := runtime(t, "opencl:1")
	index, err := task.Alloc[int64](rt, 1000)
	require.NoError(t, err)
	y, err := task.Alloc[float32](rt, 100)
	require.NoError(t, err)
	index[777] = 100
	k := kernel("Scatter", func(a *task.Args) {
		index, y := devices.SliceArg[int64](a, 0), devices.SliceArg[float32](a, 1)
		for i := range index {
			y[index[i]] = 1
		}
	})
	_, err = k.Submit(rt, index, y)
	require.NoError(t, err)
	err = rt.Wait(context.Background())
	var check *ir.CheckError
	require.True(t, errors.As(err, &check), "%v", err)
	require.EqualValues(t, []any{"y", int64(100), int64(100), 14}, []any{check.What, check.Index, check.Length, check.At.Line})
}

// TestTask_Mixed runs chains over blocks on CPU workers and up to two devices, with little memory,
// so that blocks are evicted.
func TestTask_Mixed(t *testing.T) {
	list := devicesOf(t, options(t))
	for _, d := range list {
		require.NoError(t, d.Close())
	}
	for _, spec := range []string{fmt.Sprintf("smp:2,opencl:%d", len(list)), fmt.Sprintf("opencl:%d(memory=64KiB,granule=4KiB)", len(list))} {
		t.Run(spec, func(t *testing.T) {
			rt := runtime(t, spec)
			const blocks, n, rounds = 20, 1000, 15
			var xs, ys [blocks][]float32
			k := kernel("Saxpy", saxpy)
			for b := range blocks {
				var err error
				xs[b], err = task.Alloc[float32](rt, n)
				require.NoError(t, err)
				ys[b], err = task.Alloc[float32](rt, n)
				require.NoError(t, err)
				for i := range n {
					xs[b][i] = float32(b + i)
				}
			}
			for range rounds {
				for b := range blocks {
					_, err := k.Submit(rt, float32(2), xs[b], ys[b])
					require.NoError(t, err)
				}
			}
			require.NoError(t, rt.Wait(context.Background()))
			for b := range blocks {
				for i := range n {
					require.Equal(t, float32(2*rounds*(b+i)), ys[b][i], fmt.Sprint(b, i))
				}
			}
		})
	}
}

// TestTask_AcrossDevices has two devices work on the same elements in turn: what one has written
// reaches the other through the host.
func TestTask_AcrossDevices(t *testing.T) {
	list := devicesOf(t, options(t))
	for _, d := range list {
		require.NoError(t, d.Close())
	}
	if len(list) < 2 {
		t.Skip("one device")
	}
	rt := runtime(t, "opencl:2")
	const n, rounds = 5000, 12
	x, err := task.Alloc[float32](rt, n)
	require.NoError(t, err)
	y, err := task.Alloc[float32](rt, n)
	require.NoError(t, err)
	for i := range x {
		x[i] = float32(i)
	}
	k := kernel("Saxpy", saxpy)
	for r := range rounds {
		_, err := k.With(task.OnDevice(fmt.Sprintf("opencl:%d", r%2))).Submit(rt, float32(1), x, y)
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	for i := range y {
		require.Equal(t, float32(rounds*i), y[i])
	}
	m := rt.Machine()
	a := m.Accelerators()
	require.False(t, a[0].Reaches(m.SpaceOf(a[1])))
}

// TestTask_Native runs a variant in OpenCL C, and one that the compiler refuses.
func TestTask_Native(t *testing.T) {
	rt := runtime(t, "opencl:1")
	x, err := task.Alloc[float32](rt, 1000)
	require.NoError(t, err)
	y, err := task.Alloc[float32](rt, 1000)
	require.NoError(t, err)
	for i := range x {
		x[i] = float32(i)
	}
	native := devices.Native{Kind: opencl.Kind, Entry: "saxpy", Shape: func(a *devices.Args) devices.NDRange {
		return devices.NDRange{Items: [3]int64{a.List[1].Len}, Team: [3]int64{50}}
	}, Source: `kernel void saxpy(float s, global float *x, long xat, global float *y, long yat)
{
	x = (global float *)((global char *)x + xat);
	y = (global float *)((global char *)y + yat);
	y[get_global_id(0)] += s * x[get_global_id(0)] + 1;
}`}
	_, err = kernel("Saxpy", saxpy, native).Submit(rt, float32(3), x[100:], y[100:])
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, float32(3*500+1), y[500])
	require.Zero(t, y[99])

	native.Source = "kernel void saxpy(float s) { undeclared = 1; }"
	_, err = kernel("Saxpy", saxpy, native).Submit(rt, float32(3), x, y)
	if err == nil {
		err = rt.Wait(context.Background())
	}
	var refused *opencl.CompileError
	require.True(t, errors.As(err, &refused), "%v", err)
	require.Contains(t, refused.Log, "undeclared")
}

// TestCache_SecondOpen finds the code of a kernel on disk, and not where the file was changed.
func TestCache_SecondOpen(t *testing.T) {
	o := options(t)
	open := func() bool {
		list := devicesOf(t, o)
		defer func() {
			for _, d := range list {
				require.NoError(t, d.Close())
			}
		}()
		k := devicetest.Twice()
		require.NoError(t, list[0].Prepare(k))
		return list[0].FromCache(k)
	}
	require.False(t, open())
	require.True(t, open())
	files, err := filepath.Glob(filepath.Join(o.CacheDir, "*.bin"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	code, err := os.ReadFile(files[0])
	require.NoError(t, err)
	code[len(code)/2]++
	require.NoError(t, os.WriteFile(files[0], code, 0o600))
	require.False(t, open(), "a damaged entry counts as absent")
	require.NoError(t, os.Chmod(files[0], 0o666))
	require.False(t, open(), "others may have written it")
}

// TestTimeLimit_EndsTheDevice runs a kernel for longer than allowed: that device is out of service,
// another one is not.
func TestTimeLimit_EndsTheDevice(t *testing.T) {
	o := options(t)
	o.TimeLimit = 50 * time.Millisecond
	list := devicesOf(t, o)
	spin := &devices.Kernel{Name: "Spin", Natives: []devices.Native{{Kind: opencl.Kind, Entry: "spin",
		// The loop changes memory, so that no compiler may remove it.
		Source: "kernel void spin(void) { local volatile ulong out; ulong x = 3; for (int i = 0; i < 100000000; i++) x = x * x + (x >> 7); out = x; }",
		Shape: func(*devices.Args) devices.NDRange {
			return devices.NDRange{Items: [3]int64{1}, Team: [3]int64{1}}
		}}}}
	require.NoError(t, list[0].Prepare(spin))
	done := make(chan error, 1)
	launch := &devices.Launch{Kernel: spin, Args: &devices.Args{}}
	list[0].Launch(launch, nil).Then(func(err error) { done <- err })
	err := <-done
	require.ErrorIs(t, err, opencl.ErrTimeLimit)
	var lost *devices.DeviceError
	require.ErrorAs(t, err, &lost)
	require.True(t, lost.Fatal)
	require.ErrorIs(t, list[0].Prepare(devicetest.Twice()), opencl.ErrTimeLimit, "it takes nothing more")
	list[0].Launch(launch, nil).Then(func(err error) { done <- err })
	require.ErrorIs(t, <-done, opencl.ErrTimeLimit)
	if len(list) > 1 {
		require.NoError(t, list[1].Prepare(devicetest.Twice()))
	}
	for _, d := range list {
		require.NoError(t, d.Close())
	}
}
