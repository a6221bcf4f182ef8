package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// sequential is the iteration without tasks and kernels.
func sequential(g Graph, tolerance float64) []float64 {
	n := len(g.Degree)
	rank, next := make([]float64, n), make([]float64, n)
	for i := range rank {
		rank[i] = 1 / float64(n)
	}
	for change := 1.0; change > tolerance; rank, next = next, rank {
		change = 0
		for i := range next {
			next[i] = (1 - damping) / float64(n)
			for _, from := range g.From[g.Start[i]:g.Start[i+1]] {
				next[i] += damping * rank[from] / float64(g.Degree[from])
			}
			change += max(next[i]-rank[i], rank[i]-next[i])
		}
	}
	return rank
}

func TestRanks_AgreeWithTheSequentialIterationOnEveryDevice(t *testing.T) {
	g := synthetic(700, 6)
	want := sequential(g, 1e-12)
	for _, devices := range []string{"smp:2", "sim:2(exec=simt)", "smp:1,sim:1"} {
		got, iterations, err := ranks(devices, g, 3, 1e-12)
		require.NoError(t, err)
		require.Greater(t, iterations, 10)
		require.InDeltaSlice(t, want, got, 1e-11, devices)
	}
}

func TestRanks_MorePartsThanNodes(t *testing.T) {
	got, _, err := ranks("smp:2", synthetic(2, 3), 5, 1e-9)
	require.NoError(t, err)
	require.Len(t, got, 2)
}
