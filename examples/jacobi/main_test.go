package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSolve_EqualsTheSequentialRun(t *testing.T) {
	const n, pairs = 50, 6
	from, to, changes := start(n), start(n), make([]float64, n)
	for range 2 * pairs {
		Relax(1, n-1, n, from, to, changes)
		from, to = to, from
	}
	want := 0.0
	Largest(changes, &want)
	for _, devices := range []string{"smp:2", "sim:2(exec=simt)", "smp:1,sim:2"} {
		t.Run(devices, func(t *testing.T) {
			grid, change, err := solve(devices, n, 13, pairs)
			require.NoError(t, err)
			require.Equal(t, from, grid)
			require.Equal(t, want, change)
		})
	}
}
