package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_EvictsAndLosesNothing(t *testing.T) {
	want := 0.0
	for i := range 8 * block {
		want += 3 * float64(i%3) // three passes of two rounds of one half
	}
	for _, c := range []struct {
		devices string
		evicts  bool
	}{{"sim:1(memory=512KiB)", true}, {"sim:2(memory=512KiB,exec=simt)", true}, {"sim:1(memory=64MiB)", false}} {
		r, err := run(c.devices, 8)
		require.NoError(t, err)
		require.Equal(t, want, r.sum, c.devices)
		require.Equal(t, c.evicts, r.stats.Evictions > 0, c.devices)
	}
}

func TestRun_RefusesATaskThatNeverFits(t *testing.T) {
	_, err := run("sim:1(memory=64KiB)", 1)
	require.Error(t, err)
}
