package task

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// guards are the questions whether anybody watches that a plain task asks from its submission to its release.
const guards = 6

// between is written to between two questions, so that each has to look again.
var between [guards]int

//go:noinline
func (rt *Runtime) asks() (n int) {
	if rt.observers.watched() {
		n++
	}
	between[0]++
	if rt.observers.watched() {
		n++
	}
	between[1]++
	if rt.observers.watched() {
		n++
	}
	between[2]++
	if rt.observers.watched() {
		n++
	}
	between[3]++
	if rt.observers.watched() {
		n++
	}
	between[4]++
	if rt.observers.watched() {
		n++
	}
	between[5]++
	return n
}

//go:noinline
func (rt *Runtime) asksNothing() (n int) {
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
	rt := &Runtime{}
	nothing, asks := time.Hour.Seconds(), time.Hour.Seconds()
	for range b.N {
		nothing, asks = min(nothing, leastOf(rt.asksNothing)), min(asks, leastOf(rt.asks))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(max(0, asks-nothing), "ns/task")
}

// A runtime without observers, recorder and profile has nobody who watches.
func TestNobodyWatches(t *testing.T) {
	rt, err := New(Options{Devices: "smp:1", Trace: "off"})
	require.NoError(t, err)
	require.False(t, rt.observers.watched())
	require.Equal(t, 0, rt.asks())
	rt.observers.hasObserver = true
	require.Equal(t, guards, rt.asks())
	rt.observers.hasObserver = false
	require.NoError(t, rt.Close())
}
