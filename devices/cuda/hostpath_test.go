//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices/cuda"
	"github.com/gompss/gompss/task"
)

func hostKernel(name string, files ...task.SourceFile) *task.Kernel {
	return task.MustKernel(task.KernelSpec{Name: name, Files: files, Go: func(*task.Args) { panic("it runs on the GPU") }})
}

// processorTime is what the process has used, with all its threads.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of oneself it does not fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkHostPath measures what the host does for a kernel task, on a driver that does nothing:
//
//	GOMPSS_TEST_NULL=1 go test -run - -bench HostPath -cpuprofile cpu ./devices/cuda
//
// NULL_LAUNCH_NS, NULL_RECORD_NS, NULL_QUERY_NS, NULL_NODE_NS and NULL_KERNEL_NS make its calls,
// and its kernels, take time. With GOMPSS_TEST_HOSTPATH=1 in place of GOMPSS_TEST_NULL it runs on
// the GPUs that are there.
func BenchmarkHostPath(b *testing.B) {
	if os.Getenv("GOMPSS_TEST_NULL") == "" && os.Getenv("GOMPSS_TEST_HOSTPATH") == "" {
		b.Skip("GOMPSS_TEST_NULL is not set: the driver would take most of the time")
	}
	there, _, why := cuda.Ground()
	if there == 0 {
		b.Skip(why)
	}
	source := task.SourceFile{Name: "three.go", Text: `package bench

//omp:target device(acc)
//omp:task in(x, y) inout(z)
func Three(x, y, z []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(z); i++ {
		z[i] += x[i] + y[i]
	}
}
`}
	sums := hostKernel("Sums", task.SourceFile{Name: "sums.go", Text: `package bench

//omp:target device(acc)
//omp:task in(x, y) inout(z)
func Sums(x, y, z []int64) {
	s := z[0]
	//omp:teams distribute parallel for reduction(+: s)
	for i := range x {
		s += x[i] * y[i]
	}
	z[0] = s
}
`})
	empty, three := hostKernel("Empty", task.SourceFile{Name: "bench.go", Text: taskSource}), hostKernel("Three", source)
	for _, c := range []struct {
		name                     string
		gpus, chains, submitters int
		kernel                   *task.Kernel
		window                   int
	}{{"chain", 1, 1, 1, empty, 0}, {"three", 1, 16, 1, three, 0}, {"sums", 1, 16, 1, sums, 0}, {"contended1", 1, 64, 8, empty, 0},
		{"contended2", 2, 64, 8, empty, 0}, {"contended4", 4, 64, 8, empty, 0}, {"contended4 no window", 4, 64, 8, empty, -1}} {
		b.Run(c.name, func(b *testing.B) {
			if c.gpus > there {
				b.Skipf("%d GPUs are there", there)
			}
			rt, err := task.New(task.Options{Devices: "cuda:" + strconv.Itoa(c.gpus), Window: c.window})
			require.NoError(b, err)
			defer func() { require.NoError(b, rt.Close()) }()
			var cells [][]int64
			for range c.chains + 2 {
				x, err := task.Alloc[int64](rt, 1)
				require.NoError(b, err)
				cells = append(cells, x)
			}
			submit := func(i int) error {
				var err error
				if c.kernel == empty {
					_, err = empty.Submit(rt, cells[i%c.chains])
				} else {
					_, err = c.kernel.Submit(rt, cells[c.chains], cells[c.chains+1], cells[i%c.chains])
				}
				return err
			}
			round := func(n int) time.Duration {
				began := time.Now()
				var all sync.WaitGroup
				for s := range c.submitters {
					all.Go(func() {
						for i := s; i < n; i += c.submitters {
							if err := submit(i); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				submitted := time.Since(began)
				require.NoError(b, rt.Wait(context.Background(), task.KeepOnDevice()))
				return submitted
			}
			round(20000) // mirrors, replicas, records
			used, before := processorTime(), rt.Stats()
			b.ReportAllocs()
			b.ResetTimer()
			submitted := round(b.N)
			b.StopTimer()
			b.ReportMetric(float64(submitted.Nanoseconds())/float64(b.N), "ns-to-submit/op")
			b.ReportMetric(float64((processorTime()-used).Nanoseconds())/float64(b.N), "cpu-ns/op")
			after, most := rt.Stats(), int64(0)
			for name, n := range after.ByDevice {
				most = max(most, n-before.ByDevice[name])
			}
			b.ReportMetric(float64(most)*float64(c.gpus)/float64(b.N), "most-of-even")
			b.ReportMetric(1e6*float64(after.Transfers-before.Transfers)/float64(b.N), "copies/Mop")
		})
	}
}
