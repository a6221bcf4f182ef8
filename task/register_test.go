package task

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task/internal/values"
)

// TestRegisteringIsNoSquare: slices that are registered from the last to the first cost what the first one did, but for the logarithm: 8,000
// of them took 32 KiB of memory each, to copy a sorted list, and 64 KiB when they were given back.
func TestRegisteringIsNoSquare(t *testing.T) {
	const n = 8000
	rt, err := New(Options{Devices: "smp:1"})
	require.NoError(t, err)
	x := make([]float64, 8*n)
	perSlice := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / n
	}
	require.Less(t, perSlice(func() {
		for i := n - 1; i >= 0; i-- {
			require.NoError(t, Register(rt, x[8*i:8*i+8:8*i+8]))
		}
	}), uint64(4096), "bytes a slice")
	require.EqualValues(t, n, rt.Stats().Buffers)
	for i := range n {
		b, at, err := rt.core.Buffers.Find(values.MemoryOf(x[8*i+2 : 8*i+5]))
		require.NoError(t, err)
		require.EqualValues(t, 2, at)
		require.Equal(t, values.MemoryOf(x[8*i:]).Base, b.Host.At())
	}
	require.Less(t, perSlice(func() { require.NoError(t, rt.Close()) }), uint64(4096), "bytes to give one back")
}
