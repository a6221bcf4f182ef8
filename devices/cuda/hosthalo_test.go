//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda"
	"github.com/gompss/gompss/task"
)

// BenchmarkHostHalo measures what the host does for a sweep of a halo exchange, eight blocks on
// four GPUs, on a driver that does nothing, as BenchmarkHostPath does for other tasks: alone, with
// tokens, and beside CPU workers, which the kernel may run on and which are too slow for it. Ten
// sweeps are one wait.
//
//	NULL_KERNEL_NS=20000 GOMPSS_TEST_NULL=1 go test -run - -bench HostHalo ./devices/cuda
func BenchmarkHostHalo(b *testing.B) {
	if os.Getenv("GOMPSS_TEST_NULL") == "" && os.Getenv("GOMPSS_TEST_HOSTPATH") == "" {
		b.Skip("GOMPSS_TEST_NULL is not set: the driver would take most of the time")
	}
	if there, _, why := cuda.Ground(); there < 4 {
		b.Skipf("%d GPUs are there: %s", there, why)
	}
	source := task.SourceFile{Name: "sweep.go", Text: `package bench

//omp:target device(acc, smp)
//omp:task in(x[lo-1:hi+1]) out(y[lo:hi])
func Sweep(lo, hi int, x, y []int64) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		var s int64
		for k := 0; k < 20000; k++ { // which takes workers a millisecond
			s ^= x[i-1] + x[i+1] + int64(k)
		}
		y[i] = s
	}
}
`}
	kernel := task.MustKernel(task.KernelSpec{Name: "Sweep", Files: []task.SourceFile{source}, Go: func(*task.Args) { panic("it has vector code") }})
	tokens := []task.Option{task.Resources(devices.SMP, 40), task.Resources(devices.Acc, 1)}
	for _, c := range []struct {
		name, devices string
		options       []task.Option
	}{{"alone", "cuda:4", nil}, {"tokens", "cuda:4", tokens}, {"beside", "cuda:4,smp:52", tokens}} {
		b.Run(c.name, func(b *testing.B) {
			rt, err := task.New(task.Options{Devices: c.devices, Window: -1})
			require.NoError(b, err)
			defer func() { require.NoError(b, rt.Close()) }()
			const blocks, size, sweeps = 8, 1 << 10, 10
			var x [2][]int64
			for i := range x {
				x[i], err = task.Alloc[int64](rt, blocks*size+2)
				require.NoError(b, err)
			}
			call := kernel.With(c.options...)
			round := func() {
				for s := range sweeps {
					for lo := 1; lo <= blocks*size; lo += size {
						_, err := call.Submit(rt, lo, lo+size, x[s%2], x[1-s%2])
						require.NoError(b, err)
					}
				}
				require.NoError(b, rt.Wait(context.Background(), task.KeepOnDevice()))
			}
			for range 50 { // mirrors, records, times
				round()
			}
			used := processorTime()
			b.ResetTimer()
			for range b.N {
				round()
			}
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(blocks*sweeps), "ns/task")
			b.ReportMetric(float64((processorTime()-used).Nanoseconds())/float64(b.N)/(blocks*sweeps), "cpu-ns/task")
			if n := rt.Stats().ByDevice["smp"]; n > 0 {
				b.ReportMetric(float64(n), "on-workers")
			}
		})
	}
}
