package sim

import (
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/stretchr/testify/require"
)

// TestUsage_DelaysWhatConflicts: what is put behind work that is done already starts after what it conflicts with, and only that
// (issue 16, 19).
func TestUsage_DelaysWhatConflicts(t *testing.T) {
	var u usageTable
	region := func(lo, hi int64) deps.Region { return deps.Interval(3, lo, hi) }
	u.note(usage{region(0, 10), true, 5 * time.Microsecond})
	u.note(usage{region(5, 10), false, 9 * time.Microsecond})
	for _, c := range []struct {
		lo, hi int64
		write  bool
		want   time.Duration
	}{{0, 5, false, 5}, {5, 10, false, 5}, {5, 10, true, 9}, {0, 5, true, 5}, {10, 20, true, 0}} {
		require.Equal(t, c.want*time.Microsecond, u.since(usage{region: region(c.lo, c.hi), write: c.write}), "%+v", c)
	}
	u.note(usage{region(0, 20), true, 12 * time.Microsecond})
	require.Len(t, u.of[3], 1, "what nothing can start after is forgotten")
	require.Equal(t, 12*time.Microsecond, u.since(usage{region: region(19, 20)}))
	u.drop(3)
	require.Zero(t, u.since(usage{region: region(0, 20), write: true}))
}
