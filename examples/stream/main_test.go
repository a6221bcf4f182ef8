package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gompss/gompss/examples/internal/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRunAgreesWithTheSequentialRun runs the demo on several machines, with -check: uneven blocks,
// one block, and the lowered program in the interpreter.
func TestRunAgreesWithTheSequentialRun(t *testing.T) {
	for _, f := range []demo.Flags{
		{N: 1000, Block: 96, Devices: "smp:2"},
		{N: 1000, Block: 1000, Devices: "smp:1,sim:1"},
		{N: 1024, Block: 64, Devices: "smp:2,sim:3"},
		{N: 333, Block: 50, Devices: "sim:2(exec=simt)"},
		{N: 1, Block: 7, Devices: "sim:1(exec=simt)"},
	} {
		t.Run(f.Devices, func(t *testing.T) {
			f.Rounds, f.Policy, f.Check, f.JSON = 3, "locality", true, true
			require.Zero(t, run(f))
		})
	}
}
