package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/examples/internal/demo"
	"github.com/gompss/gompss/examples/internal/demotest"
	"github.com/gompss/gompss/task"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

// One rank, and four, give the bits of the sequential run.
func TestRunAgreesWithTheSequentialRun(t *testing.T) {
	for _, devices := range []string{"smp:2", "smp:1,sim:2", "sim:1(exec=simt)"} {
		require.Zero(t, run(demo.Flags{N: 96, Block: 16, Rounds: 5, Devices: devices, Policy: "locality", Check: true, JSON: true}), devices)
	}
}

func TestRanks_AgreeWithTheSequentialRun(t *testing.T) {
	demotest.Launch(t, 4, "-n", "96", "-block", "16", "-devices", "smp:2")
}

// Blocks of 7 rows: the last one is smaller, and the ranks cannot share them evenly. Each rank has
// CPU workers, or two accelerators beside one.
func TestRanks_TheSameBitsAsOneRank(t *testing.T) {
	for _, devices := range []string{"smp:2", "smp:1,sim:2"} {
		sameBits(t, demo.Flags{N: 96, Block: 7, Rounds: 5, Devices: devices, Policy: "locality"})
	}
}

func sameBits(t *testing.T, f demo.Flags) {
	demotest.SameBits(t, f, func(rt *task.Runtime, f demo.Flags) ([]float64, error) {
		plates, err := allocate(rt, f.N, f.Block)
		if err != nil {
			return nil, err
		}
		if err := spread(rt, plates, f); err != nil {
			return nil, err
		}
		err = bring(rt, plates, f)
		return slices.Clone(plates[f.Rounds%2]), err
	})
}
