package sched

import (
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
)

// The recorded candidates are what the policy went by: bytes, learned times, what places have
// to do, tokens, and the place that the item asks for.
func TestWhatThePolicySaw(t *testing.T) {
	for _, policy := range []string{"locality", "versioning"} {
		s, err := New(Options{Policy: policy, Watched: true, Places: []Place{{Name: "smp", Kind: devices.SMP, Width: 1, Host: true}, {Name: "sim:0", Kind: "sim", Width: 1}}})
		require.NoError(t, err)
		all := PlaceSet(0).With(0).With(1)
		item := func() *Item {
			it := &Item{Version: "K", Work: 1 << 10, Missing: []deps.Bytes{0, 4096}}
			require.NoError(t, s.Prepare(it, all, []Tokens{{Kind: devices.SMP, Count: 70}, {Kind: "sim", Count: 10}}))
			return it
		}
		for kind, took := range map[devices.Kind]time.Duration{devices.SMP: 9 * time.Millisecond, "sim": 2 * time.Millisecond} {
			for range 4 {
				s.Times.Learn(item(), kind, took)
			}
		}
		first, second := item(), item()
		require.True(t, s.Push(first))
		require.Same(t, first, s.Pop(first.Place()))
		require.True(t, s.Push(second))
		seen := second.Seen()
		require.Len(t, seen, 2)
		for i, c := range seen {
			require.EqualValues(t, i, c.Place)
			require.Equal(t, second.Missing[i], c.Missing)
			require.True(t, c.Known)
			require.Equal(t, PlaceID(i) == second.at, c.Meant)
		}
		require.Equal(t, 9*time.Millisecond, seen[0].Run)
		require.Equal(t, 2*time.Millisecond, seen[1].Run)
		at := first.Place()
		require.EqualValues(t, 1, seen[at].Load)
		require.Positive(t, seen[at].Ahead)
		require.EqualValues(t, []int32{70, 10}[at], seen[at].Need)
		require.EqualValues(t, DefaultTokens-[]int32{70, 10}[at], seen[at].Free)
		require.Zero(t, seen[1-at].Load)

		list := s.Times.List()
		require.Len(t, list, 2)
		require.Equal(t, Learned{Version: "K", Kind: "sim", Size: 1 << 10, Samples: 4, Kept: 4, Middle: 2 * time.Millisecond, Least: 2 * time.Millisecond, Most: 2 * time.Millisecond}, list[0])
	}
}

// Nothing is noted without an observer, nor of items that can run at one place only.
func TestNobodyAsksWhatThePolicySaw(t *testing.T) {
	for _, watched := range []bool{false, true} {
		s, err := New(Options{Watched: watched, Places: []Place{{Name: "smp", Kind: devices.SMP, Width: 1, Host: true}, {Name: "sim:0", Kind: "sim", Width: 1}}})
		require.NoError(t, err)
		it := &Item{}
		allowed := PlaceSet(0).With(0)
		if !watched {
			allowed = allowed.With(1)
		}
		require.NoError(t, s.Prepare(it, allowed, nil))
		require.True(t, s.Push(it))
		require.Equal(t, []probe.Candidate(nil), it.Seen())
	}
}
