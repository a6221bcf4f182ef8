package lib_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/lib"
	"github.com/gompss/gompss/task"
)

// onDevices runs f on CPU workers, on simulated accelerators, on both, and on the device that
// GOMPSS_TEST_DEVICE names.
func onDevices(t *testing.T, f func(t *testing.T, rt *task.Runtime)) {
	list := []string{"smp:2", "sim:2(exec=simt)", "smp:1,sim:1"}
	if device := os.Getenv("GOMPSS_TEST_DEVICE"); device != "" {
		list = append(list, device)
	}
	for _, devices := range list {
		t.Run(devices, func(t *testing.T) {
			rt, err := task.New(task.Options{Devices: devices})
			require.NoError(t, err)
			defer func() { require.NoError(t, rt.Close()) }()
			f(t, rt)
		})
	}
}

// numbers returns n whole numbers, whose sums are exact in every type.
func numbers[T lib.Number](n int, seed uint64) []T {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]T, n)
	for i := range out {
		out[i] = T(r.IntN(19) - 9)
	}
	return out
}

var lengths = []int{0, 1, 2, 3, 31, 100, 1000, 4099}

func TestVectors_EqualTheGoFunctions(t *testing.T) {
	onDevices(t, func(t *testing.T, rt *task.Runtime) {
		vectors[int32](t, rt)
		vectors[int64](t, rt)
		vectors[float32](t, rt)
		vectors[float64](t, rt)
	})
}

func vectors[T lib.Number](t *testing.T, rt *task.Runtime) {
	for _, n := range lengths {
		x, y := numbers[T](n, 1), numbers[T](n, 2)
		var sum, dot, wantSum, wantDot T
		scan, wantScan, sorted := make([]T, n), make([]T, n), slices.Clone(x)
		submit(t)(lib.SubmitSum(rt, x, &sum))
		submit(t)(lib.SubmitDot(rt, x, y, &dot))
		submit(t)(lib.SubmitScan(rt, x, scan))
		submit(t)(lib.SubmitSort(rt, sorted))
		require.NoError(t, rt.Wait(context.Background()))
		lib.Sum(x, &wantSum)
		lib.Dot(x, y, &wantDot)
		lib.Scan(x, wantScan)
		require.Equal(t, wantSum, sum, "Sum of %d", n)
		require.Equal(t, wantDot, dot, "Dot of %d", n)
		require.Equal(t, wantScan, scan, "Scan of %d", n)
		want := slices.Sorted(slices.Values(x))
		require.True(t, slices.Equal(want, sorted), "Sort of %d", n)
	}
}

// The network sorts every length up to 130, by the zero-one principle with random zeros and ones.
func TestSort_EveryLength(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 130 {
		for range 20 {
			x := make([]int32, n)
			for i := range x {
				x[i] = r.Int32N(2)
			}
			lib.Sort(x)
			require.True(t, slices.IsSorted(x), "%d", n)
		}
	}
}

func TestMatrices_EqualTheGoFunctions(t *testing.T) {
	onDevices(t, func(t *testing.T, rt *task.Runtime) {
		matrices[int32](t, rt)
		matrices[float64](t, rt)
	})
}

func matrices[T lib.Number](t *testing.T, rt *task.Runtime) {
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 2}, {40, 33, 70}} {
		n, k, m := s[0], s[1], s[2]
		a, b, x := numbers[T](n*k, 1), numbers[T](k*m, 2), numbers[T](k, 3)
		turned, c, y := make([]T, n*k), make([]T, n*m), make([]T, n)
		wantTurned, wantC, wantY := make([]T, n*k), make([]T, n*m), make([]T, n)
		submit(t)(lib.SubmitTranspose(rt, n, k, a, turned))
		submit(t)(lib.SubmitMatMul(rt, n, k, m, a, b, c))
		submit(t)(lib.SubmitGemv(rt, n, k, a, x, y))
		require.NoError(t, rt.Wait(context.Background()))
		lib.Transpose(n, k, a, wantTurned)
		lib.MatMul(n, k, m, a, b, wantC)
		lib.Gemv(n, k, a, x, wantY)
		require.Equal(t, wantTurned, turned)
		require.Equal(t, wantC, c)
		require.Equal(t, wantY, y)
		for i := range n { // the Go functions against the definition
			for j := range m {
				var sum T
				for l := range k {
					sum += a[i*k+l] * b[l*m+j]
				}
				require.Equal(t, sum, c[i*m+j])
			}
		}
	}
}

func TestSpMV_RowsOfEveryLength(t *testing.T) {
	onDevices(t, func(t *testing.T, rt *task.Runtime) {
		const n = 200
		rows, columns := []int32{0}, []int32(nil)
		for i := range n {
			for j := range (i * 7) % 90 {
				columns = append(columns, int32((i+j*13)%n))
			}
			rows = append(rows, int32(len(columns)))
		}
		values, x := numbers[float64](len(columns), 1), numbers[float64](n, 2)
		y, want := make([]float64, n), make([]float64, n)
		submit(t)(lib.SubmitSpMV(rt, rows, columns, values, x, y))
		require.NoError(t, rt.Wait(context.Background()))
		lib.SpMV(rows, columns, values, x, want)
		require.Equal(t, want, y)
	})
}

func TestHistogram_CountsAndChecks(t *testing.T) {
	onDevices(t, func(t *testing.T, rt *task.Runtime) {
		x := make([]uint32, 5000)
		for i := range x {
			x[i] = uint32(i * i % 17)
		}
		counts, want := make([]uint32, 17), make([]uint32, 17)
		submit(t)(lib.SubmitHistogram(rt, x, counts))
		require.NoError(t, rt.Wait(context.Background()))
		lib.Histogram(x, want)
		require.Equal(t, want, counts)
		x[77] = 17
		submit(t)(lib.SubmitHistogram(rt, x, counts))
		require.ErrorIs(t, rt.Wait(context.Background()), task.ErrBounds)
	})
}

func submit(t *testing.T) func(task.Task, error) {
	return func(_ task.Task, err error) {
		t.Helper()
		require.NoError(t, err)
	}
}

func Example() {
	rt, err := task.New(task.Options{Devices: "smp:2"})
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	x, y := []float64{3, 1, 2}, make([]float64, 3)
	var dot float64
	for _, submit := range []func() (task.Task, error){
		func() (task.Task, error) { return lib.SubmitSort(rt, x) },
		func() (task.Task, error) { return lib.SubmitScan(rt, x, y) }, // follows the sort
		func() (task.Task, error) { return lib.SubmitDot(rt, x, y, &dot) },
	} {
		if _, err := submit(); err != nil {
			panic(err)
		}
	}
	if err := rt.Wait(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println(x, y, dot)
	// Output: [1 2 3] [1 3 6] 25
}
