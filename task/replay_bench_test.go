package task_test

import (
	"context"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// BenchmarkIterationOfKernels is an iteration of 256 small kernels in 16 chains, submitted again each time and replayed, waited
// for each time and queued behind each other. ns/step is for one kernel.
func BenchmarkIterationOfKernels(b *testing.B) {
	fill := kernelOf(b, Shuffle)
	for _, spec := range []string{"smp:2", "sim:1(exec=cpu)", "smp:2,sim:2(exec=cpu)"} {
		rt := open(b, task.Options{Devices: spec})
		x := make([]uint32, 16*64)
		require.NoError(b, task.Register(rt, x))
		all := func(at task.Submitter) error {
			for i := range 256 {
				lo := i % 16 * 64
				if _, err := fill.Submit(at, lo, lo+64, uint32(i), x); err != nil {
					return err
				}
			}
			return nil
		}
		it, err := rt.Record(func(r *task.Recorder) error { return all(r) })
		require.NoError(b, err)
		replay := func() error { _, err := it.Replay(); return err }
		for name, run := range map[string]func() error{"submitted": func() error { return all(rt) }, "replayed": replay} {
			for _, queued := range []bool{false, true} {
				b.Run(spec+"/"+name+map[bool]string{false: "", true: ",queued"}[queued], func(b *testing.B) {
					b.ReportAllocs()
					for range b.N {
						if err := run(); err != nil {
							b.Fatal(err)
						}
						if !queued {
							require.NoError(b, rt.Wait(context.Background(), task.KeepOnDevice()))
						}
					}
					require.NoError(b, rt.Wait(context.Background(), task.KeepOnDevice()))
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/step")
				})
			}
		}
	}
}
