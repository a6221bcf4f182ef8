package life

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task/internal/state"
)

// Of the two events that end a task which was launched behind its predecessors exactly one has the
// action End, whichever goroutine is later, and the loser of a move changes nothing.
func TestLife_RacesHaveOneEnd(t *testing.T) {
	for i := range 2000 {
		var l Life
		l.Submit(7)
		require.Equal(t, state.Begin, l.Enter(state.Launch))
		var wg sync.WaitGroup
		var ends [2]bool
		for k, e := range []state.Event{state.KernelEnd, state.Release} {
			wg.Go(func() { ends[k] = l.Race(e) == state.End })
		}
		wg.Wait()
		require.NotEqual(t, ends[0], ends[1], i)
		require.Equal(t, state.Caught, l.State())
		l.End(state.Finish)
		require.Zero(t, l.ID())
	}
}

// A task in the queue of an accelerator is either taken from there or released, never both.
func TestLife_OfferIsTakenOrReleased(t *testing.T) {
	taken := 0
	for range 2000 {
		var l Life
		l.Submit(9)
		l.Enter(state.Offer)
		var wg sync.WaitGroup
		var moved, queued bool
		wg.Go(func() { moved = l.Move(9, state.Offered, state.Launch) })
		wg.Go(func() { queued = l.Release() })
		wg.Wait()
		require.NotEqual(t, moved, queued)
		if moved {
			taken++
			require.Equal(t, state.Enqueued, l.State())
		} else {
			require.Equal(t, state.Ready, l.State())
			require.False(t, l.Move(9, state.Offered, state.Launch))
			require.Equal(t, state.Ready, l.State())
		}
	}
	t.Log("taken:", taken)
}

// What is illegal is a bug, and says which event in which state.
func TestLife_Bug(t *testing.T) {
	var l Life
	require.PanicsWithValue(t, "gompss: bug: task state: event resume in state free", func() { l.Enter(state.Resume) })
	l.Submit(1)
	require.PanicsWithValue(t, "gompss: bug: task state: event submit in state blocked", func() { l.Submit(2) })
}
