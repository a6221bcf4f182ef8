package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// A short simulation over all kinds of places leaves a whole trace file, and no task has failed.
func TestAShortSimulation(t *testing.T) {
	name := filepath.Join(t.TempDir(), "heat.gtrace")
	require.NoError(t, simulate(options{rows: 130, columns: 32, block: 16, devices: "smp:2,sim:2", addr: "127.0.0.1:0", file: name, length: 200 * time.Millisecond}))
	r, err := run.ReadFile(name)
	require.NoError(t, err)
	s := r.Summary()
	require.True(t, r.Damage.Whole())
	require.Zero(t, s.Failed+s.Skipped)
	require.GreaterOrEqual(t, s.Tasks, int64(80))
	require.NotEmpty(t, s.Links)
}

// What tasks compute is what plain Go does.
func TestDiffuse(t *testing.T) {
	const n, m = 10, 8
	now, next := make([]float32, n*m), make([]float32, n*m)
	for j := range m {
		now[j] = 100
	}
	Diffuse(n, m, 1, n-1, 0.25, now, next)
	for j := 1; j < m-1; j++ {
		require.Equal(t, float32(25), next[m+j], "a quarter of the difference comes down")
		require.Zero(t, next[2*m+j])
	}
}
