//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda"
	"github.com/gompss/gompss/task"
)

const nativeGo = `package k

//omp:target device(cuda)
//omp:task in(x) inout(y)
func Axpy(a float64, x, y []float64, small int16, n int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[i] += a*x[i] + float64(small)
	}
}
`

const nativeCUDA = `
extern "C" __global__ void
axpy_by_hand(double a, const double* x, double* y, short small, long long n)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] += a * x[i] + small;
}
`

func nativeKernel(n devices.Native) *task.Kernel {
	return task.MustKernel(task.KernelSpec{Name: "Axpy", Files: []task.SourceFile{{Name: "k.go", Text: nativeGo}},
		Go: func(*task.Args) { panic("it runs on the GPU") }, Natives: []devices.Native{n}})
}

func axpyShape(a *devices.Args) devices.NDRange {
	return devices.NDRange{Items: [3]int64{int64(devices.ScalarArg[int](a, 4))}, Team: [3]int64{128}}
}

// A kernel in CUDA C++ runs as a variant of a task, and what is wrong with it is said at
// submission.
func TestNativeKernelsRunAsTasks(t *testing.T) {
	gpus(t)
	rt, err := task.New(task.Options{Devices: "cuda:1"})
	require.NoError(t, err)
	x, y := make([]float64, 1000), make([]float64, 1000)
	for i := range x {
		x[i], y[i] = float64(i), math.Pi
	}
	k := nativeKernel(devices.Native{Kind: cuda.Kind, Entry: "axpy_by_hand", Source: nativeCUDA, Shape: axpyShape})
	for range 3 {
		_, err = k.Submit(rt, 2.0, x, y, int16(-3), 1000)
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	for i := range y {
		want := math.Pi
		for range 3 {
			want += 2*x[i] - 3
		}
		require.InDelta(t, want, y[i], 1e-9)
	}
	for _, bad := range []struct {
		native devices.Native
		want   string
	}{
		{devices.Native{Entry: "nothing_of_this_name", Source: nativeCUDA, Shape: axpyShape}, "nothing_of_this_name"},
		{devices.Native{Entry: "axpy_by_hand", Source: nativeCUDA}, "it has no Shape"},
		{devices.Native{Source: "#line 7 \"axpy.cu\"\nextern \"C\" __global__ void\nAxpy(double a)\n{\n\tnonsense;\n}\n", Shape: axpyShape}, "axpy.cu:10"},
		{devices.Native{Binary: []byte{}, Shape: axpyShape}, "binary is empty"},
	} {
		bad.native.Kind = cuda.Kind
		_, err := nativeKernel(bad.native).Submit(rt, 2.0, x, y, int16(0), 1000)
		require.ErrorContains(t, err, bad.want)
	}
	wide := nativeKernel(devices.Native{Kind: cuda.Kind, Entry: "axpy_by_hand", Source: nativeCUDA,
		Shape: func(*devices.Args) devices.NDRange {
			return devices.NDRange{Items: [3]int64{4096}, Team: [3]int64{4096}}
		}})
	one, err := wide.Submit(rt, 2.0, x, y, int16(0), 1000)
	require.NoError(t, err)
	require.Error(t, rt.Wait(context.Background()))
	require.ErrorContains(t, one.Err(), "teams of [4096 1 1] threads")
	require.NoError(t, rt.Close())
}
