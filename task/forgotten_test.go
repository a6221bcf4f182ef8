package task

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is forgotten is kept alive by none of the places where buffers are found without a search.
func TestForgottenBuffersAreNotKept(t *testing.T) {
	rt, err := New(Options{Devices: "smp:1"})
	require.NoError(t, err)
	for _, n := range []int{1, 700, 2000, 1 << 20} { // of 8 bytes: within a page, over some, and over more than there are places
		x := make([]int64, n)
		require.NoError(t, Register(rt, x))
		for i := 0; i < n; i += 300 {
			_, err := rt.Go(func() error { return nil }, InOut(x[i:i+1]))
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Positive(t, rt.core.Buffers.CountRecent(), n)
		require.NoError(t, Unregister(rt, x))
		require.Zero(t, rt.core.Buffers.CountRecent(), n)
	}
	require.NoError(t, rt.Close())
}
