package task_test

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// spentTime returns what all threads of the process have used, to the nanosecond: getrusage counts ticks.
func spentTime(t testing.TB) time.Duration {
	var at unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &at))
	return time.Duration(at.Nano())
}

// The sorts of tasks that a recorder's price is measured of.
var costs = []struct {
	name   string
	submit func(rt *task.Runtime, x []float64, i int) error
}{
	{"empty", func(rt *task.Runtime, x []float64, i int) error { _, err := rt.Go(nothing); return err }},
	{"chained", func(rt *task.Runtime, x []float64, i int) error { // waits for the one before it, mostly
		_, err := rt.Go(nothing, task.InOut(x[:1]))
		return err
	}},
	{"accesses", func(rt *task.Runtime, x []float64, i int) error {
		c := i % 4
		_, err := rt.Go(nothing, task.In(x[c+1:c+2]), task.InOut(x[c:c+1]))
		return err
	}},
}

// costOf returns the processor time that a task takes, of all threads, with or without a recorder.
func costOf(t testing.TB, submit func(rt *task.Runtime, x []float64, i int) error, n int, sinks ...record.Sink) (each time.Duration, dropped uint64) {
	o := task.Options{Devices: "smp:1"}
	rec := record.New(record.Options{Sinks: sinks})
	if sinks != nil {
		o.Observer = rec
	}
	rt, err := task.New(o)
	require.NoError(t, err)
	x := make([]float64, 8)
	require.NoError(t, task.Register(rt, x))
	all := func(n int) {
		for i := range n {
			if err := submit(rt, x, i); err != nil {
				t.Fatal(err)
			}
		}
		require.NoError(t, rt.Wait())
	}
	all(n / 4)
	before := spentTime(t)
	all(n)
	cost := spentTime(t) - before
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())
	return cost / time.Duration(n), rec.Dropped()
}

type nowhere struct{ io.Writer }

// BenchmarkTrace is tasks without and with a recorder in turn, b.N pairs of runs; take the medians. ring is what tasks pay, and the goroutine
// that empties the rings; file and summary are with the work of that goroutine, which runs beside the tasks where there is a processor for it.
func BenchmarkTrace(b *testing.B) {
	const n = 100_000
	for _, c := range costs {
		for _, sink := range []struct {
			name string
			make func() []record.Sink
		}{
			{"ring", func() []record.Sink { return []record.Sink{} }},
			{"file", func() []record.Sink { return []record.Sink{record.NewWriter(nowhere{io.Discard})} }},
			{"summary", func() []record.Sink { return []record.Sink{run.New(1 << 14)} }},
		} {
			b.Run(c.name+"/"+sink.name, func(b *testing.B) {
				var off, extra []time.Duration
				lost := uint64(0)
				for range b.N {
					without, _ := costOf(b, c.submit, n)
					with, dropped := costOf(b, c.submit, n, sink.make()...)
					off, extra, lost = append(off, without), append(extra, with-without), lost+dropped
				}
				slices.Sort(off)
				slices.Sort(extra)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(extra[len(extra)/10]), "extra-p10-ns/task")
				b.ReportMetric(float64(off[len(off)/2]), "off-ns/task")
				b.ReportMetric(float64(extra[len(extra)/2]), "extra-ns/task")
				b.ReportMetric(float64(lost)/float64(b.N*n), "dropped/task")
			})
		}
	}
}
