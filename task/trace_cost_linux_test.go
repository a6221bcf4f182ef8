package task_test

import (
	"context"
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

// A watchedRuntime is a runtime with or without a recorder whose tasks are to be timed.
type watchedRuntime struct {
	rt  *task.Runtime
	rec *record.Recorder
	x   []float64
}

// watched opens one; sinks are those of its recorder, nil for none.
func watched(t testing.TB, sinks []record.Sink) *watchedRuntime {
	o := task.Options{Devices: "smp:1"}
	w := &watchedRuntime{rec: record.New(record.Options{Sinks: sinks}), x: make([]float64, 8)}
	if sinks != nil {
		o.Observer = w.rec
	}
	var err error
	w.rt, err = task.New(o)
	require.NoError(t, err)
	require.NoError(t, task.Register(w.rt, w.x))
	return w
}

// cost runs n tasks and returns the processor time of all threads, until the rings are empty too.
func (w *watchedRuntime) cost(t testing.TB, submit func(rt *task.Runtime, x []float64, i int) error, n int) time.Duration {
	before := spentTime(t)
	for i := range n {
		if err := submit(w.rt, w.x, i); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, w.rt.Wait(context.Background()))
	time.Sleep(50 * time.Millisecond) // longer than a recorder rests
	return spentTime(t) - before
}

func (w *watchedRuntime) close(t testing.TB) (dropped uint64) {
	require.NoError(t, w.rt.Close())
	require.NoError(t, w.rec.Close())
	return w.rec.Dropped()
}

type nowhere struct{ io.Writer }

// BenchmarkTrace is tasks without and with a recorder in turn, b.N rounds of each. extra is the lower quartile of the rounds with one less that of
// those without, which others on the machine hardly change; ring is what tasks pay, and the goroutine that empties the rings; file and
// summary are with the work of that goroutine, which runs beside the tasks where there is a processor for it.
func BenchmarkTrace(b *testing.B) {
	const n = 16384
	for _, c := range costs {
		for _, sink := range []struct {
			name  string
			sinks []record.Sink
		}{
			{"ring", []record.Sink{}},
			{"file", []record.Sink{record.NewWriter(nowhere{io.Discard})}},
			{"summary", []record.Sink{run.New(1 << 14)}},
		} {
			b.Run(c.name+"/"+sink.name, func(b *testing.B) {
				if b.N == 1 {
					return // the round that finds out how many: a sink serves one recorder
				}
				with, without := watched(b, sink.sinks), watched(b, nil)
				var on, off []time.Duration
				for range b.N {
					off, on = append(off, without.cost(b, c.submit, n)), append(on, with.cost(b, c.submit, n))
				}
				without.close(b)
				dropped := with.close(b)
				quarter := func(list []time.Duration) float64 {
					slices.Sort(list)
					return float64(list[len(list)/4]) / n
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(quarter(off), "off-ns/task")
				b.ReportMetric(quarter(on)-quarter(off), "extra-ns/task")
				b.ReportMetric(float64(dropped)/float64(b.N*n), "dropped/task")
			})
		}
	}
}
