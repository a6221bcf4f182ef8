package sched

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A pair of places, a worker and an accelerator, runs items in virtual time.
type pair struct {
	s    *Scheduler
	took [2]time.Duration
	now  time.Duration
	busy [2]*Item
	ends [2]time.Duration
}

func newPair(t *testing.T, policy string, host, accelerator time.Duration) *pair {
	places := []Place{{Name: "smp", Kind: "smp", Width: 1, Host: true}, {Name: "sim:0", Kind: "sim", Width: 1}}
	s, err := New(Options{Policy: policy, Places: places})
	require.NoError(t, err)
	return &pair{s: s, took: [2]time.Duration{host, accelerator}}
}

// round pushes n items, runs all of them, and returns how many ran on each place and how long the
// round took.
func (b *pair) round(t *testing.T, n int) (ran [2]int, took time.Duration) {
	start := b.now
	for range n {
		it := &Item{Version: "Place", Work: 1 << 10}
		require.NoError(t, b.s.Prepare(it, 3, nil))
		require.True(t, b.s.Push(it))
	}
	for done := 0; done < n; done++ {
		next := -1
		for p := range b.busy {
			if b.busy[p] == nil {
				if b.busy[p] = b.s.Pop(PlaceID(p)); b.busy[p] != nil {
					b.ends[p] = b.now + b.took[p]
				}
			}
			if b.busy[p] != nil && (next < 0 || b.ends[p] < b.ends[next]) {
				next = p
			}
		}
		require.GreaterOrEqual(t, next, 0, "no place takes an item")
		it := b.busy[next]
		b.now, b.busy[next], it.Took = b.ends[next], nil, b.took[next]
		ran[next]++
		b.s.Done(it)
	}
	return ran, b.now - start
}

// TestSlowAccelerator_GetsFewItems submits pairs of items to one worker and an accelerator that is
// 12 times slower: one pair and one item run on the accelerator, one trial on the worker shows that
// it is faster, and the worker runs all others, since it finishes two of them earlier.
func TestSlowAccelerator_GetsFewItems(t *testing.T) {
	for _, policy := range []string{"versioning", "locality"} {
		b := newPair(t, policy, 480*time.Millisecond, 6*time.Second)
		slow := 0
		for i := range 20 {
			ran, took := b.round(t, 2)
			if slow += ran[1]; i >= 2 {
				require.Equal(t, [2]int{2, 0}, ran, "%s: round %d takes %v", policy, i, took)
			}
		}
		require.Positive(t, slow, "the accelerator is tried")
		require.LessOrEqual(t, slow, 3, policy)
	}
}

// TestSlowAccelerator_TakesWhatItFinishesEarlier submits so many items that both places finish
// together if the accelerator takes its part.
func TestSlowAccelerator_TakesWhatItFinishesEarlier(t *testing.T) {
	b := newPair(t, "versioning", 480*time.Millisecond, 6*time.Second)
	for range 4 {
		b.round(t, 2)
	}
	ran, took := b.round(t, 40)
	require.Positive(t, ran[1])
	require.Less(t, took, 40*480*time.Millisecond)
}
