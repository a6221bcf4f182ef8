package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSimulate_AgreesWithTheFormulaOnEveryDevice(t *testing.T) {
	for _, devices := range []string{"smp:2", "sim:2(exec=simt)", "smp:1,sim:1"} {
		t.Run(devices, func(t *testing.T) {
			price, deviation, err := simulate(devices, 1<<15, 5000)
			require.NoError(t, err)
			require.InDelta(t, blackScholes(), price, standardErrorsMax*deviation)
			require.InDelta(t, 0.08, deviation, 0.02)
		})
	}
}

func TestSimulate_BlocksDoNotChangeThePaths(t *testing.T) {
	one, _, err := simulate("smp:2", 1<<12, 1<<12)
	require.NoError(t, err)
	many, _, err := simulate("smp:2", 1<<12, 100)
	require.NoError(t, err)
	require.InEpsilon(t, one, many, 1e-12) // the order of the sum differs
}
