package devicetest

import (
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// MostStop is the longest that stopping the world may take.
const MostStop = 5 * time.Millisecond

// StopsSoon requires that the world is stopped within MostStop while run runs again and again.
// Another process may take the processor for longer at any time, so that there are several tries:
// what cannot be stopped in time fails them all.
func StopsSoon(t *testing.T, run func()) {
	t.Helper()
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor: nothing can stop the world meanwhile")
	}
	best := time.Hour
	for range 20 {
		if best = min(best, longestStop(run)); best < MostStop {
			break
		}
	}
	require.Less(t, best, MostStop, "the longest wait for the world to stop")
}

// longestStop is the longest time that the runtime waited for all goroutines to stop, by its own
// account, while the collector was called for a tenth of a second, and ten times at least.
func longestStop(run func()) time.Duration {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				run()
			}
		}
	}()
	before := stops()
	for began, n := time.Now(), 0; n < 10 || time.Since(began) < 100*time.Millisecond; n++ {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats) // stops the world alone
		time.Sleep(time.Millisecond)
	}
	longest := 0.0
	for k, after := range stops() {
		for i, n := range after.Counts {
			if n > before[k].Counts[i] {
				longest = max(longest, after.Buckets[i+1])
			}
		}
	}
	close(done)
	<-ended
	return time.Duration(longest * 1e9)
}

// stops are the times that stopping the world took so far, for the collector and for others.
func stops() []*metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}, {Name: "/sched/pauses/stopping/other:seconds"}}
	metrics.Read(s)
	var out []*metrics.Float64Histogram
	for _, x := range s {
		h := *x.Value.Float64Histogram()
		h.Counts = slices.Clone(h.Counts)
		out = append(out, &h)
	}
	return out
}
