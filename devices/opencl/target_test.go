//go:build linux && (amd64 || arm64)

package opencl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
)

// Kernels are made by the numbers that the driver tells; what OpenCL has no query of is that of
// NVIDIA's compute capability, or of the default.
func TestTarget_HasTheNumbersOfTheDriver(t *testing.T) {
	told := map[uintptr]uint64{deviceClock: 1700, deviceCache: 8 << 20, deviceLine: 128, deviceLocalType: 1, deviceMajor: 9, deviceMinor: 0}
	number := func(what uintptr) uint64 { return told[what] }
	amd := Info{Name: "gfx90a", Type: "gpu", Units: 110, Threads: 256, TeamMemory: 64 << 10}
	got := amd.targetOf(number)
	require.Equal(t, []int{110, 256, target.Default().Team.Warps}, []int{got.Team.Multiprocessors, got.Team.Threads, got.Team.Warps})
	require.Equal(t, []deps.Bytes{64 << 10, 32 << 10, 8 << 20, 128},
		[]deps.Bytes{got.Memory.Shared, got.Memory.StaticShared, got.Memory.L2, got.Memory.Line})
	require.Equal(t, 1.7e9, got.Clock)

	nvidia := Info{Name: "H100", Type: "gpu", Units: 132, Threads: 1024, TeamMemory: 48 << 10, Extensions: []string{"cl_nv_device_attribute_query"}}
	got = nvidia.targetOf(number)
	require.Equal(t, target.ByName("sm_90").Memory.Shared, got.Memory.Shared)
	require.EqualValues(t, 48<<10, got.Memory.StaticShared)

	told[deviceLocalType] = 2
	cpu := Info{Name: "pthread", Type: "cpu", Units: 4, Threads: 4096, TeamMemory: 1 << 20}
	got = cpu.targetOf(number)
	require.Equal(t, residentOnCPU, got.Team.Warps*got.Team.Warp)
	require.EqualValues(t, 512<<10, got.Memory.StaticShared)
}

// A device and what it has told agree; it is kept for all kernels.
func TestTarget_OfAnOpenDevice(t *testing.T) {
	d := openAny(t, Options{})
	got := d.Target()
	require.Equal(t, d.Info().Units, got.Team.Multiprocessors)
	require.Equal(t, d.Info().TeamMemory, got.Memory.TeamShared)
	require.LessOrEqual(t, got.Memory.StaticShared, d.Info().TeamMemory)
	require.Positive(t, got.Clock)
	require.Same(t, got, d.Target())
}
