package tune_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices/cuda/internal/tune"
)

// Launches that lead to the same form are looked at ever less, down to one of 64; another form
// begins anew.
func TestFeedback_LooksLessWhileNothingChanges(t *testing.T) {
	var f tune.Feedback
	looked := func(n, form int) (count int) {
		for range n {
			if f.Next() {
				require.False(t, f.Next(), "one at once")
				f.Met(form)
				count++
			}
		}
		return count
	}
	require.Equal(t, 1, looked(1, 1))
	require.Equal(t, 1, f.Form())
	require.Equal(t, 1, looked(1, 1), "a form that is new is looked at again")
	require.LessOrEqual(t, looked(640, 1), 17)
	require.GreaterOrEqual(t, looked(64, 2), 1)
	require.Equal(t, 2, f.Form())
	require.GreaterOrEqual(t, looked(8, 2), 2)
}

// A look that tells nothing is not repeated at once.
func TestFeedback_LostLooks(t *testing.T) {
	var f tune.Feedback
	require.True(t, f.Next())
	f.Lost()
	for range 63 {
		require.False(t, f.Next())
	}
	require.True(t, f.Next())
}
