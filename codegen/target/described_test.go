package target

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a driver tells is taken, and the rest is that of the target which the device is like.
func TestDescription_Of(t *testing.T) {
	gpu := Description{Name: "gfx90a", Units: 110, Clock: 1.7e9, Threads: 256, TeamMemory: 64 * kib, Cache: 8 * mib, Line: 64}
	g := gpu.Of(Default())
	require.Equal(t, "gfx90a", g.Name)
	require.Equal(t, []int{110, 256, 64}, []int{g.Team.Multiprocessors, g.Team.Threads, g.Team.Warps})
	require.Equal(t, []any{1.7e9, Default().Rates}, []any{g.Clock, g.Rates})
	require.EqualValues(t, 64*kib, g.Memory.TeamShared)
	require.EqualValues(t, 64*kib, g.Memory.Shared)
	require.EqualValues(t, 32*kib, g.Memory.StaticShared)
	require.EqualValues(t, 8*mib, g.Memory.L2)
	require.EqualValues(t, 64, g.Memory.Line)
	require.InEpsilon(t, Default().Memory.Bandwidth*110/132, g.Memory.Bandwidth, 1e-9)

	gpu.UnitMemory, gpu.TeamMemory = 228*kib, 48*kib
	g = gpu.Of(Default())
	require.EqualValues(t, 48*kib, g.Memory.StaticShared)
	require.EqualValues(t, 228*kib, g.Memory.Shared)

	cpu := Description{Name: "pthread", Units: 2, Resident: 256, TeamMemory: 1 * mib, Cached: true, Cache: 1 * mib}
	g = cpu.Of(Default())
	require.Equal(t, 8, g.Team.Warps)
	require.EqualValues(t, 256*kib, g.Memory.StaticShared)

	small := Description{Name: "small", TeamMemory: 8 * kib}
	g = small.Of(Default())
	require.EqualValues(t, 4*kib, g.Memory.StaticShared)
	require.EqualValues(t, 4*kib, g.Tuning.Slabs.Bytes)
	require.Zero(t, g.TeamShare(256))
	require.Equal(t, *Default(), func() Target {
		t := *Description{}.Of(Default())
		t.Name, t.Chip, t.Source = "sm_90", "H100", Default().Source
		return t
	}())
}

// Eight teams of 256 threads share the team memory of a multiprocessor.
func TestTeamShare(t *testing.T) {
	require.EqualValues(t, 228*kib/8-1*kib, Default().TeamShare(256))
}
