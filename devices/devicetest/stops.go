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
// what cannot be stopped in time fails them all. Where the machine is so busy that a loop of Go,
// tried in turn, is not stopped in time either, twice its time is the bound.
func StopsSoon(t *testing.T, run func()) {
	t.Helper()
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor: nothing can stop the world meanwhile")
	}
	best, plain := time.Hour, time.Hour
	for range 30 {
		if best = min(best, longestStop(t, run)); best < MostStop {
			break
		}
		plain = min(plain, longestStop(t, spin))
	}
	bound := MostStop
	if plain < time.Hour {
		bound = max(bound, 2*plain)
	}
	t.Logf("longest wait %v", best)
	require.Less(t, best, bound, "the longest wait for the world to stop")
}

var spun uint64

// spin is a loop of Go, which lets the world stop wherever it is.
func spin() {
	x := spun
	for i := range uint64(1e6) {
		x = x*6364136223846793005 + i
	}
	spun = x
}

// longestStop is the longest time that the runtime waited for all goroutines to stop, by its own
// account, while run ran again and again for a tenth of a second. The world was stopped several
// times meanwhile, for the collector and for others.
func longestStop(t *testing.T, run func()) time.Duration {
	t.Helper()
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
	var stats runtime.MemStats
	var count uint64
	var longest float64
	// others may have the processors meanwhile
	for began := time.Now(); time.Since(began) < 100*time.Millisecond || count <= 3 && time.Since(began) < time.Minute; {
		runtime.GC()
		runtime.ReadMemStats(&stats)
		count, longest = between(before, stops())
	}
	close(done)
	<-ended
	require.Greater(t, count, uint64(3), "the world was hardly ever stopped")
	return time.Duration(longest * 1e9)
}

// between is how often the world was stopped from one account to a later one, and the longest time
// in seconds.
func between(before, after []*metrics.Float64Histogram) (count uint64, longest float64) {
	for k := range after {
		for i, n := range after[k].Counts {
			if d := n - before[k].Counts[i]; d > 0 {
				count += d
				longest = max(longest, after[k].Buckets[i+1])
			}
		}
	}
	return count, longest
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
