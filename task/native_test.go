package task_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
)

const nativeSource = `package k

//omp:target device(cuda) native("scale.cu") ndrange(2, hi-lo, len(x)/(hi-lo), 16, 4) shmem(4*hi)
//omp:task inout(x)
func ScaleNative(lo, hi int, x []float32) { panic("not read") }

//omp:target device(acc, smp)
//omp:task in(x[max(lo-1, 0):hi]) inout(y[lo:hi]) taskloop(lo:hi) grainsize(grain)
func Sums(lo, hi, grain int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		y[i] += x[i] + x[max(i-1, 0)]
	}
}
`

// Sums is the Go function of the kernel of that name in nativeSource.
func Sums(lo, hi, grain int, x, y []float32) {
	for i := lo; i < hi; i++ {
		y[i] += x[i] + x[max(i-1, 0)]
	}
}

// ScaleNative is the Go function of the kernel of that name.
func ScaleNative(lo, hi int, x []float32) {}

func TestNative_ShapeFollowsFromTheClauses(t *testing.T) {
	k, err := task.NewKernel(ScaleNative, task.SourceFile{Name: "k.go", Text: nativeSource})
	require.NoError(t, err)
	require.NoError(t, k.AddNative(task.Native{Kind: task.CUDA, Source: "text"}))
	require.ErrorContains(t, k.AddNative(task.Native{Kind: task.CUDA, Source: "text"}), "a native variant for cuda already")
	require.ErrorContains(t, k.AddNative(task.Native{Kind: task.OpenCL}), "a text or a binary")
	require.ErrorContains(t, k.Refused(), "its text for cuda is scale.cu")
	ir := k.IR()
	list := []devices.Arg{{Type: ir.Params[0].Type, Bits: 8}, {Type: ir.Params[1].Type, Bits: 108}, {Type: ir.Params[2].Type, Len: 300}}
	shape := task.NDRangeOf(k, &task.Args{List: list})
	require.Equal(t, devices.NDRange{Items: [3]int64{100, 3}, Team: [3]int64{16, 4}, Shared: 432}, shape)
	list[1].Bits = 8 // a division by zero
	empty := task.NDRangeOf(k, &task.Args{List: list})
	_, _, err = empty.Teams()
	require.ErrorContains(t, err, "want positive sizes")
}

func TestNative_NeedsADeviceOfItsKind(t *testing.T) {
	k, err := task.NewKernel(ScaleNative, task.SourceFile{Name: "k.go", Text: nativeSource})
	require.NoError(t, err)
	rt, err := task.New(task.Options{Devices: "smp:1,sim:1"})
	require.NoError(t, err)
	defer rt.Close()
	_, err = k.Submit(rt, 0, 1, make([]float32, 4))
	require.ErrorContains(t, err, "ScaleNative")
}

func TestTaskloop_CutsAKernelByItsRegions(t *testing.T) {
	k, err := task.NewKernel(Sums, task.SourceFile{Name: "k.go", Text: nativeSource})
	require.NoError(t, err)
	const n = 10_000
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i % 97)
	}
	for _, c := range []struct {
		devices string
		grain   int
		options []task.LoopOption
		tasks   int
	}{
		{"smp:2", 1, nil, 8},
		{"smp:2,sim:2", 1, nil, 16},
		{"sim:2(exec=simt)", 4000, nil, 2},
		{"smp:1,sim:1", 1, []task.LoopOption{task.Tasks(5)}, 5},
		{"smp:1,sim:1", 1, []task.LoopOption{task.Grain(3000), task.WithOptions(task.Label("part"))}, 3},
	} {
		rt, err := task.New(task.Options{Devices: c.devices})
		require.NoError(t, err)
		y, want := make([]float32, n), make([]float32, n)
		for range 3 { // each part follows the one of the round before
			tasks, err := k.Taskloop(rt, []any{0, n, c.grain, x, y}, c.options...)
			require.NoError(t, err)
			require.Len(t, tasks, c.tasks, c.devices)
			Sums(0, n, c.grain, x, want)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, y, c.devices)
		require.EqualValues(t, 3*c.tasks, rt.Stats().Submitted)
		require.NoError(t, rt.Close())
	}
}

// The parts go where the learned times say, in virtual time: a slow host has less than an even
// share, and one that is 16 times as fast as each accelerator nearly all.
func TestTaskloop_SharesByLearnedTimes(t *testing.T) {
	k, err := task.NewKernel(Sums, task.SourceFile{Name: "k.go", Text: nativeSource})
	require.NoError(t, err)
	const n, rounds, parts = 1 << 14, 20, 12
	host := func(policy, speeds string) int64 {
		rt, err := task.New(task.Options{Devices: "smp:1,sim:2(clock=virtual,exec=cpu,bandwidth=100GB/s," + speeds + ")", Policy: policy})
		require.NoError(t, err)
		defer rt.Close()
		x, y, want := make([]float32, n), make([]float32, n), make([]float32, n)
		for i := range x {
			x[i] = float32(i % 89)
		}
		for range rounds {
			_, err := k.Taskloop(rt, []any{0, n, 1, x, y}, task.Tasks(parts))
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
			Sums(0, n, 1, x, want)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, y)
		by := rt.Stats().ByDevice
		require.EqualValues(t, rounds*parts, by["sim:0"]+by["sim:1"]+by["smp"])
		return by["smp"]
	}
	slow, fast := "speed=160MB/s,hostspeed=10MB/s", "speed=10MB/s,hostspeed=160MB/s"
	require.Less(t, host("locality", slow), int64(rounds*parts/3)) // an even share
	require.Greater(t, host("locality", fast), int64(rounds*parts*5/6))
	require.Less(t, host("priority", fast), int64(rounds*parts*5/6)) // a policy that learns nothing
}

// rowsSource has bounds behind, between and before structs of slices, which are several parameters
// of the kernel each.
const rowsSource = `package k

type Rows struct {
	First  []int32
	Values []float32
	Scale  float32
}

//omp:target device(acc, smp)
//omp:task in(r.First, r.Values) out(y[lo:hi]) taskloop(lo:hi)
func SumRows(r Rows, lo int, s Rows, hi int, y []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		sum := float32(0)
		for k := r.First[i]; k < r.First[i+1]; k++ {
			sum += s.Scale * r.Values[k]
		}
		y[i] = sum
	}
}
`

type Rows struct {
	First  []int32
	Values []float32
	Scale  float32
}

// SumRows is the Go function of the kernel of that name in rowsSource.
func SumRows(r Rows, lo int, s Rows, hi int, y []float32) {
	for i := lo; i < hi; i++ {
		y[i] = 0
		for k := r.First[i]; k < r.First[i+1]; k++ {
			y[i] += s.Scale * r.Values[k]
		}
	}
}

// The bounds are those parameters, wherever structs with slices stand.
func TestTaskloop_BoundsBesideStructs(t *testing.T) {
	k, err := task.NewKernel(SumRows, task.SourceFile{Name: "k.go", Text: rowsSource})
	require.NoError(t, err)
	onEach(t, func(t *testing.T, spec string) {
		rt := open(t, task.Options{Devices: spec})
		r := Rows{Scale: 2}
		for i := range 101 {
			r.First = append(r.First, int32(2*i))
			r.Values = append(r.Values, float32(i), float32(3*i))
		}
		got, want := make([]float32, 100), make([]float32, 100)
		tasks, err := k.Taskloop(rt, []any{r, 0, r, 100, got}, task.Tasks(3))
		require.NoError(t, err)
		require.Len(t, tasks, 3)
		require.NoError(t, rt.Wait(context.Background()))
		SumRows(r, 0, r, 100, want)
		require.Equal(t, want, got)
	})
}

func TestTaskloop_Errors(t *testing.T) {
	k, err := task.NewKernel(Sums, task.SourceFile{Name: "k.go", Text: nativeSource})
	require.NoError(t, err)
	rt, err := task.New(task.Options{Devices: "smp:1"})
	require.NoError(t, err)
	defer rt.Close()
	x := make([]float32, 10)
	tasks, err := k.Taskloop(rt, []any{0, 0, 1, x, make([]float32, 10)})
	require.NoError(t, err)
	require.Empty(t, tasks)
	_, err = k.Taskloop(rt, []any{0, 1, x, x})
	require.ErrorContains(t, err, "4 arguments, want 5")
	_, err = k.Taskloop(rt, []any{0, 20, 1, x, make([]float32, 10)}, task.Tasks(2))
	require.ErrorContains(t, err, "iterations 10 to 20")
	require.NoError(t, rt.Wait(context.Background()))
	plain, err := task.NewKernel(Fill, task.SourceFile{Name: "kernels_test.go", Text: kernelsSource})
	require.NoError(t, err)
	_, err = plain.Taskloop(rt, []any{0, 1, uint32(1), []uint32{1}})
	require.ErrorContains(t, err, "no clause taskloop")
}
