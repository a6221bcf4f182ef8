package task_test

import (
	"runtime"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// BenchmarkRecord records 16,000 functions that write an element each, which are independent, and those of a stencil.
// ns/step is for one of them.
func BenchmarkRecord(b *testing.B) {
	const width, steps = 16, 1000
	for name, reads := range map[string]bool{"independent": false, "stencil": true} {
		b.Run(name, func(b *testing.B) {
			rt := open(b, task.Options{Devices: "smp:2"})
			x := make([]int64, width*steps)
			require.NoError(b, task.Register(rt, x))
			body := func() error { return nil }
			b.ReportAllocs()
			for range b.N {
				_, err := rt.Record(func(r *task.Recorder) error {
					for i := range x {
						options := append(make([]task.Option, 0, 2), task.Out(x[i:i+1]))
						if at := i - width; reads && at >= 0 {
							options = append(options, task.In(x[at:at+2]))
						}
						if err := r.Go(body, options...); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/step")
		})
	}
}

// A function that is recorded takes the memory of its step and of its place in the graph, but none that is given up at once.
func TestRecorder_KeepsWhatItAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const n = 4096
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int64, n)
	require.NoError(t, task.Register(rt, x))
	options := make([]task.Option, n)
	for i := range options {
		options[i] = task.InOut(x[i : i+1])
	}
	body := func() error { return nil }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := rt.Record(func(r *task.Recorder) error {
		for i := range options {
			if err := r.Go(body, options[i:i+1]...); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.Less(t, float64(after.Mallocs-before.Mallocs)/n, 2.5, "allocations of a step")
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/n, uint64(3000), "bytes of a step")
}
