package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// sequential is the program without tasks.
func sequential(k, dims int, points []float64) (centres []float64, of []int32, rounds int) {
	centres, of = append([]float64(nil), points[:k*dims]...), make([]int32, len(points)/dims)
	sums, counts := make([]int64, k*dims), make([]int64, k)
	moved := 1.0
	for rounds = 0; rounds < roundsMost && moved > moveLeast; rounds++ {
		Assign(k, dims, points, centres, of, sums, counts)
		Move(k, dims, centres, sums, counts, &moved)
	}
	return centres, of, rounds
}

func TestCluster_EqualsTheSequentialRun(t *testing.T) {
	const k, dims = 5, 3
	points := sample(3000, k, dims)
	centres, of, rounds := sequential(k, dims, points)
	require.Greater(t, rounds, 1)
	require.Less(t, rounds, roundsMost)
	for _, devices := range []string{"smp:2", "sim:2(exec=simt)", "smp:1,sim:1"} {
		t.Run(devices, func(t *testing.T) {
			c, o, r, err := cluster(devices, k, dims, 700, points)
			require.NoError(t, err)
			require.Equal(t, rounds, r)
			require.Equal(t, of, o)
			require.Equal(t, centres, c)
		})
	}
}
