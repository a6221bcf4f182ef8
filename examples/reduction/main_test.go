package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSurvey_OnEveryDevice(t *testing.T) {
	x := readings(10_001) // the last block is short
	const limit = 30
	low, high, above, sum := []float64{math.Inf(1)}, []float64{math.Inf(-1)}, []int64{0}, 0.0
	Survey(limit, x, low, high, above)
	for _, v := range x {
		sum += v
	}
	mean, squares := sum/float64(len(x)), 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	require.Positive(t, above[0])
	for _, devices := range []string{"auto", "smp:2", "smp:1,sim:2(exec=simt)"} {
		s, err := survey(devices, x, 1000, limit)
		require.NoError(t, err, devices)
		require.Equal(t, low[0], s.low, devices)
		require.Equal(t, high[0], s.high, devices)
		require.Equal(t, above[0], s.above, devices)
		require.EqualValues(t, len(x), s.moments.N, devices)
		require.InEpsilon(t, mean, s.moments.Mean, 1e-12, devices) // the order of merging is free
		require.InEpsilon(t, math.Sqrt(squares/float64(len(x))), s.moments.deviation(), 1e-12, devices)
	}
}
