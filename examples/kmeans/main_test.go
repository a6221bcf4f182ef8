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

// The result is one of k-means, whatever computed it: each point is in the cluster of the nearest
// centre, and each centre is the mean of its points. The sample's places are found again.
func TestCluster_IsAFixedPoint(t *testing.T) {
	const k, dims = 4, 2
	points := sample(2000, k, dims)
	centres, of, rounds, err := cluster("smp:2", k, dims, 300, points)
	require.NoError(t, err)
	require.Less(t, rounds, roundsMost)
	sums, counts := make([]float64, k*dims), make([]float64, k)
	for i, c := range of {
		distance := func(c int) (d float64) {
			for j := range dims {
				d += (points[i*dims+j] - centres[c*dims+j]) * (points[i*dims+j] - centres[c*dims+j])
			}
			return d
		}
		for other := range k {
			require.LessOrEqual(t, distance(int(c)), distance(other)+0.01, "point %d", i) // the centres moved by less than 1e-4 since
		}
		for j := range dims {
			sums[int(c)*dims+j] += points[i*dims+j]
		}
		counts[c]++
	}
	for i, sum := range sums {
		require.Positive(t, counts[i/dims])
		require.InDelta(t, sum/counts[i/dims], centres[i], 1e-6)
	}
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
