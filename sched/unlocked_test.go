package sched

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// knownItem is an item of a kernel that s knows takes so long on both kinds of places.
func knownItem(s *Scheduler) *Item {
	it := &Item{Version: "k", Work: 1 << 10}
	if err := s.Prepare(it, 0b110, nil); err != nil {
		panic(err)
	}
	return it
}

func newKnowing(t *testing.T, took time.Duration, times int) *Scheduler {
	s, err := New(Options{Places: []Place{{Name: "smp", Kind: "smp", Width: 2, Host: true}, {Name: "sim:0", Kind: "sim", Width: 1}, {Name: "sim:1", Kind: "sim", Width: 1}}})
	require.NoError(t, err)
	for range times {
		it := knownItem(s)
		s.Grant(it, 1)
		it.Took = took
		s.Done(it)
	}
	return s
}

// TestPastTheLock lets goroutines grant and end items of their places while others go the way of
// all: what is in flight comes out even.
func TestPastTheLock(t *testing.T) {
	s := newKnowing(t, 10*time.Microsecond, settled+1)
	var mu sync.Mutex
	var all sync.WaitGroup
	beside := [3]int{}
	for p := PlaceID(1); p <= 2; p++ {
		all.Go(func() {
			for range 2000 {
				it := knownItem(s)
				if !s.GrantUnlocked(it, p) {
					t.Error("it is known how long it takes")
					return
				}
				it.Took = 10 * time.Microsecond
				if s.DoneUnlocked(it) {
					beside[p]++
					continue
				}
				mu.Lock()
				s.Done(it)
				mu.Unlock()
			}
		})
	}
	for range 2000 {
		mu.Lock()
		it := knownItem(s)
		require.True(t, s.Push(it))
		for p := PlaceID(1); p <= 2; p++ {
			if o := s.Pop(p); o != nil {
				s.Done(o)
			}
		}
		mu.Unlock()
	}
	all.Wait()
	require.Zero(t, s.Len())
	for p := PlaceID(1); p <= 2; p++ {
		require.Zero(t, s.Load(p))
		require.Zero(t, s.inFlightLoad(p))
		require.Zero(t, s.inFlightRuns(p))
		require.Equal(t, 2000-2000/learnEach, beside[p], "each %d-th is learned", learnEach)
	}
	require.Equal(t, PlaceSet(0b111), s.Idle())
}

// TestWhatGoesPastIsLearned has the mean of times of which most are not told of the same as if all
// were.
func TestWhatGoesPastIsLearned(t *testing.T) {
	both := [2]*Scheduler{newKnowing(t, 10*time.Microsecond, settled+1), newKnowing(t, 10*time.Microsecond, settled+1)}
	for i := range 4000 {
		took := 20 * time.Microsecond
		if i%11 == 0 {
			took = 200 * time.Microsecond // outliers
		}
		for k, s := range both {
			it := knownItem(s)
			require.True(t, s.GrantUnlocked(it, 1))
			it.Took = took
			if k == 0 || !s.DoneUnlocked(it) {
				s.Done(it)
			}
		}
	}
	of := func(s *Scheduler) expected { return s.Times.of(knownItem(s), "sim").expected() }
	require.Equal(t, of(both[0]).samples, of(both[1]).samples)
	require.Equal(t, of(both[0]).median, of(both[1]).median)
	require.InEpsilon(t, float64(of(both[0]).run), float64(of(both[1]).run), 0.25)
}

// TestTheSchedulerHearsOf has the policy told of what it has to know: items with tokens, and those
// whose time is not known or learned each time.
func TestTheSchedulerHearsOf(t *testing.T) {
	s := newKnowing(t, 10*time.Microsecond, fewTimes-1)
	require.False(t, s.GrantUnlocked(knownItem(s), 1), "little is known")
	s = newKnowing(t, time.Millisecond, settled+1)
	it := knownItem(s)
	require.True(t, s.GrantUnlocked(it, 1))
	require.Equal(t, PlaceSet(0b101), s.Idle())
	require.Equal(t, time.Millisecond, s.inFlightRuns(1))
	it.Took = time.Millisecond
	require.False(t, s.DoneUnlocked(it), "few take so long")
	s.Done(it)
	tokens := &Item{Version: "k", Work: 1 << 10}
	require.NoError(t, s.Prepare(tokens, 0b110, []Tokens{{Kind: "sim", Count: 1}}))
	require.False(t, s.GrantUnlocked(tokens, 1))
	require.Zero(t, s.Load(1))
}
