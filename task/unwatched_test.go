package task

import (
	"testing"
	"time"

	"github.com/gompss/gompss/task/internal/engine"
	"github.com/stretchr/testify/require"
)

// guards are the questions whether anybody watches that a plain task asks from its submission to its release.
const guards = 6

// between is written to between two questions, so that each has to look again.
var between [guards]int

//go:noinline
func asks(rt *engine.Runtime) (n int) {
	if rt.Observers.Watched() {
		n++
	}
	between[0]++
	if rt.Observers.Watched() {
		n++
	}
	between[1]++
	if rt.Observers.Watched() {
		n++
	}
	between[2]++
	if rt.Observers.Watched() {
		n++
	}
	between[3]++
	if rt.Observers.Watched() {
		n++
	}
	between[4]++
	if rt.Observers.Watched() {
		n++
	}
	between[5]++
	return n
}

//go:noinline
func asksNothing(rt *engine.Runtime) (n int) {
	between[0]++
	between[1]++
	between[2]++
	between[3]++
	between[4]++
	between[5]++
	return n
}

// leastOf returns the least time of many short stretches of calls of f, for each call: what they take when nobody interrupts.
func leastOf(f func() int) float64 {
	const calls = 10_000
	least := time.Hour
	for range 300 {
		began := time.Now()
		for range calls {
			f()
		}
		least = min(least, time.Since(began))
	}
	return float64(least) / calls
}

// BenchmarkUnwatched is what a task pays for being observable when nobody observes.
func BenchmarkUnwatched(b *testing.B) {
	rt := &engine.Runtime{}
	nothing, asking := time.Hour.Seconds(), time.Hour.Seconds()
	for range b.N {
		nothing, asking = min(nothing, leastOf(func() int { return asksNothing(rt) })), min(asking, leastOf(func() int { return asks(rt) }))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(max(0, asking-nothing), "ns/task")
}

// A runtime without observers, recorder and profile has nobody who watches.
func TestNobodyWatches(t *testing.T) {
	rt, err := New(Options{Devices: "smp:1", Trace: "off"})
	require.NoError(t, err)
	require.False(t, rt.core.Observers.Watched())
	require.Equal(t, 0, asks(&rt.core))
	rt.core.Observers.HasObserver = true
	require.Equal(t, guards, asks(&rt.core))
	rt.core.Observers.HasObserver = false
	require.NoError(t, rt.Close())
}
