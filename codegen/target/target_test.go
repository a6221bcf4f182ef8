package target

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTarget_EveryNumberIsGiven(t *testing.T) {
	require.Equal(t, []string{"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}, Names())
	for _, name := range Names() {
		g := ByName(name)
		require.NotEmpty(t, g.Source, name)
		for what, n := range map[string]float64{"clock": g.Clock, "bandwidth": g.Memory.Bandwidth, "in flight": float64(g.Memory.InFlight), "L1": float64(g.Memory.L1 - g.Memory.Shared),
			"shared": float64(g.Memory.TeamShared), "float32": float64(g.Rates.Float32), "float64": float64(g.Rates.Float64),
			"shared rate": float64(g.Rates.Shared), "grid barrier": float64(g.Cost.GridBarrier), "addition": float64(g.Cost.Addition)} {
			require.Positive(t, n, "%s: %s", name, what)
		}
		require.Less(t, g.Memory.TeamShared, g.Memory.Shared+1, name)
	}
	require.Nil(t, ByName("sm_1"))
	for number, want := range map[int]string{75: "sm_75", 87: "sm_86", 90: "sm_90", 103: "sm_100", 121: "sm_120"} {
		require.Equal(t, want, Nearest(number/10, number%10).Name)
	}
	require.Nil(t, Nearest(7, 0))
}

// The occupancy calculator of CUDA gives these.
func TestResidentWarps(t *testing.T) {
	h := ByName("sm_90")
	require.Equal(t, 64, h.ResidentWarps(256, 32, 0))
	require.Equal(t, 16, h.ResidentWarps(256, 128, 0))
	require.Equal(t, 40, h.ResidentWarps(256, 48, 0))
	require.Equal(t, 8, h.ResidentWarps(256, 32, 120<<10))
	require.Equal(t, 0, h.ResidentWarps(256, 32, 228<<10))
	require.Equal(t, 32, h.ResidentWarps(32, 32, 0))
	require.Equal(t, 32, ByName("sm_75").ResidentWarps(1024, 64, 0))
}

// The unit that is busiest counts: loads of one clock each against sums that four warps begin at once.
func TestClocks(t *testing.T) {
	h := ByName("sm_90")
	require.InDelta(t, 98, h.Clocks(Work{Loads: 98, Float32: 98}), 1e-9)
	require.InDelta(t, 29, h.Clocks(Work{Loads: 18, Float32: 98}), 1e-9)
	require.InDelta(t, 2, h.Clocks(Work{Float64: 4}), 1e-9)
}

// A copy is bound by memory where enough is on its way, and slower in proportion where less is.
func TestEstimate_FewBytesInFlight(t *testing.T) {
	h := ByName("sm_90")
	w := Work{Loads: 1, Stores: 1, Bytes: 8}
	full, few := h.Estimate(1<<28, w, 64, 16), h.Estimate(1<<28, w, 4, 16)
	require.Equal(t, "memory", full.Bound)
	require.InDelta(t, 0.71e6, float64(full.Time.Nanoseconds()), 0.1e6)
	require.Greater(t, few.Time, 10*full.Time)
}
