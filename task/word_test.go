package task

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
		var l life
		l.submit(7)
		require.Equal(t, state.Begin, l.enter(state.Launch))
		var wg sync.WaitGroup
		var ends [2]bool
		for k, e := range []state.Event{state.KernelEnd, state.Release} {
			wg.Go(func() { ends[k] = l.race(e) == state.End })
		}
		wg.Wait()
		require.NotEqual(t, ends[0], ends[1], i)
		require.Equal(t, state.Caught, l.state())
		l.end(state.Finish)
		require.Zero(t, l.id())
	}
}

// A task in the queue of an accelerator is either taken from there or released, never both.
func TestLife_OfferIsTakenOrReleased(t *testing.T) {
	taken := 0
	for range 2000 {
		var l life
		l.submit(9)
		l.enter(state.Offer)
		var wg sync.WaitGroup
		var moved, queued bool
		wg.Go(func() { moved = l.move(9, state.Offered, state.Launch) })
		wg.Go(func() { queued = l.release() })
		wg.Wait()
		require.NotEqual(t, moved, queued)
		if moved {
			taken++
			require.Equal(t, state.Enqueued, l.state())
		} else {
			require.Equal(t, state.Ready, l.state())
			require.False(t, l.move(9, state.Offered, state.Launch))
			require.Equal(t, state.Ready, l.state())
		}
	}
	t.Log("taken:", taken)
}

// What is illegal is a bug, and says which event in which state.
func TestLife_Bug(t *testing.T) {
	var l life
	require.PanicsWithValue(t, "gompss: bug: task state: event resume in state free", func() { l.enter(state.Resume) })
	l.submit(1)
	require.PanicsWithValue(t, "gompss: bug: task state: event submit in state blocked", func() { l.submit(2) })
}
