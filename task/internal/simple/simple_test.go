package simple

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStream_WakesForQueued(t *testing.T) {
	var qs Queues[int]
	qs.Open(2, nil, nil, nil)
	require.True(t, qs.WakesForQueued(-1, 5, true), "no stream")
	qs.stream.on.Store(true) // and no goroutine ends it
	qs.states[0].share.mean = time.Microsecond
	require.False(t, qs.WakesForQueued(0, 5, true), "5 us")
	require.True(t, qs.WakesForQueued(0, 11, true), "11 us")
	require.False(t, qs.WakesForQueued(-1, 5, true))
	require.True(t, qs.WakesForQueued(-1, 5, false), "by a body")
	require.True(t, qs.WakesForQueued(-1, 2*MaxShare, true), "a full share")
}

func TestRing_Stuck(t *testing.T) {
	var q ring[int]
	var first uint32
	require.False(t, q.stuck(&first), "empty")
	for range 40 {
		q.push(new(int))
	}
	require.True(t, q.stuck(&first))
	var room [MaxShare]*int
	list, left := q.take(&room, 2)
	require.Len(t, list, 20)
	require.EqualValues(t, 20, left)
	require.False(t, q.stuck(&first), "some were taken")
	require.True(t, q.stuck(&first))
}
