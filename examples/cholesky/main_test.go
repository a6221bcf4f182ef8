package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/examples/internal/demo"
	"github.com/gompss/gompss/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

// One rank, and four, give the bits of the sequential run.
func TestRunAgreesWithTheSequentialRun(t *testing.T) {
	require.Zero(t, run(demo.Flags{N: 96, Block: 16, Rounds: 5, Devices: "smp:2", Policy: "locality", Check: true, JSON: true}))
}

func TestRanks_AgreeWithTheSequentialRun(t *testing.T) {
	demotest.Launch(t, 4, "-n", "96", "-block", "16", "-devices", "smp:2")
}
