package taskbench

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPatterns reports the time of one empty task, from submission to the end of Wait: goal at
// most 300 ns.
func BenchmarkPatterns(b *testing.B) {
	for _, pattern := range Patterns() {
		b.Run(pattern, func(b *testing.B) {
			benchmark(b, Options{Pattern: pattern, Width: 16, Steps: 1000, Workers: 2, Submitters: 1})
		})
	}
}

// BenchmarkReplays reports the time of one task of a replayed iteration: goal at most 130 ns.
func BenchmarkReplays(b *testing.B) {
	for _, pattern := range Patterns() {
		b.Run(pattern, func(b *testing.B) {
			benchmark(b, Options{Pattern: pattern, Width: 16, Steps: 1000, Workers: 2, Submitters: 1, Replay: true})
		})
	}
}

// BenchmarkWidths is the width of the graph.
func BenchmarkWidths(b *testing.B) {
	for _, width := range []int{4, 16, 64} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			benchmark(b, Options{Pattern: "stencil1d", Width: width, Steps: 1000, Workers: 2, Submitters: 1})
		})
	}
}

// BenchmarkSubmitters has several goroutines submit at once: goal no slower a task than one.
func BenchmarkSubmitters(b *testing.B) {
	for _, n := range []int{1, 4} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchmark(b, Options{Pattern: "stencil1d", Width: 16, Steps: 1000, Workers: 2, Submitters: n})
		})
	}
}

// benchmark runs the graph as often as it takes; an operation is a task.
func benchmark(b *testing.B, o Options) {
	r, err := o.open(0)
	require.NoError(b, err)
	defer r.rt.Close()
	require.NoError(b, r.record(&o))
	_, err = r.once()
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += r.tasks {
		r.reset()
		require.NoError(b, submitAll(r.rt, r.programs))
		require.NoError(b, r.rt.Wait(context.Background()))
		b.StopTimer()
		require.NoError(b, r.check())
		b.StartTimer()
	}
}
