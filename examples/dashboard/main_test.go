package main

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// A short simulation over all kinds of places leaves a whole trace file: no task has failed, the
// accelerators compute and the CPU draws.
func TestAShortSimulation(t *testing.T) {
	s := shortRun(t, options{rows: 130, columns: 32, block: 16, every: 2, devices: "smp:2,sim:2", addr: "127.0.0.1:0"}, func(s *run.Summary) bool { return s.Tasks >= 80 })
	require.GreaterOrEqual(t, s.Tasks, int64(80))
	require.NotEmpty(t, s.Links)
	kinds := map[string]string{}
	for _, k := range s.Kernels {
		kinds[k.Sort] = k.Kind
	}
	require.Equal(t, map[string]string{"Diffuse": "sim", "Draw": "smp"}, kinds)
	for _, p := range s.Places {
		require.Zero(t, p.Evictions, p.Name)
	}
}

// With too little memory the same simulation evicts, and its data come again.
func TestTooLittleMemory(t *testing.T) {
	device := func(s *run.Summary) run.PlaceUse {
		return s.Places[slices.IndexFunc(s.Places, func(p run.PlaceUse) bool { return p.Name == "sim:0" })]
	}
	s := shortRun(t, options{rows: 258, columns: 256, block: 32, every: 2, devices: "smp:1,sim:1(memory=256KiB,granule=4KiB)", addr: "127.0.0.1:0"},
		func(s *run.Summary) bool { return device(s).Again > 0 })
	require.Positive(t, device(s).Evictions)
	require.Positive(t, device(s).Again)
}

// shortRun simulates for a fifth of a second, and longer where that is too little for what is
// wanted: on a processor that others use, or that is emulated, kernels take long to compile.
func shortRun(t *testing.T, o options, enough func(*run.Summary) bool) *run.Summary {
	for o.length = 200 * time.Millisecond; ; o.length *= 4 {
		o.file = filepath.Join(t.TempDir(), "heat.gtrace")
		require.NoError(t, simulate(o))
		r, err := run.ReadFile(o.file)
		require.NoError(t, err)
		require.True(t, r.Damage.Whole())
		s := r.Summary()
		require.Zero(t, s.Failed+s.Skipped)
		if enough(s) || o.length > 10*time.Second {
			return s
		}
	}
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

// Cold is black, and what is hotter has no less of any colour.
func TestDraw(t *testing.T) {
	heat := []float32{0, 5, 20, 50, 100}
	picture := make([]int32, len(heat))
	Draw(1, len(heat), 0, 1, heat, picture)
	require.Zero(t, picture[0])
	for i, c := range picture[1:] {
		before := picture[i]
		require.Greater(t, c, before)
		require.True(t, c>>16 >= before>>16 && c>>8&255 >= before>>8&255 && c&255 >= before&255)
		require.Less(t, c, int32(1<<24))
	}
}
