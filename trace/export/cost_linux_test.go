package export_test

import (
	"testing"
	"time"

	"github.com/gompss/gompss/trace/export"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// spentTime returns what all threads of the process have used.
func spentTime(t testing.TB) time.Duration {
	var at unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &at))
	return time.Duration(at.Nano())
}

// BenchmarkPerfetto writes a million tasks with two predecessors each. The least of several rounds
// is what the work takes with the processor's caches for itself; cpu is of all threads,
// collecting garbage included.
func BenchmarkPerfetto(b *testing.B) {
	const n = 1_000_000
	r := million(n)
	var out countWriter
	least := time.Hour
	for b.Loop() {
		out = 0
		before := spentTime(b)
		if err := export.Perfetto(&out, r); err != nil {
			b.Fatal(err)
		}
		least = min(least, spentTime(b)-before)
	}
	b.ReportMetric(float64(least)/n, "least-cpu-ns/task")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/task")
	b.ReportMetric(float64(out)/n, "B/task")
}
