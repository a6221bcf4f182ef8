package task

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// Submissions count as contended while goroutines alternate, and not where one continues after another
// has stopped.
func TestContention_GoroutinesThatAlternate(t *testing.T) {
	var c contention
	var s submitters
	pass := func(by uintptr, n int) {
		for range n {
			s.observe(by, &c)
		}
	}
	pass(1, 2*contentionLasts)
	require.False(t, c.contended(), "one alone")
	pass(2, 1)
	require.False(t, c.contended(), "another one goes on")
	pass(2, contentionLasts-1)
	pass(1, 1)
	require.True(t, c.contended(), "the first one comes back")
	pass(1, contentionLasts-1)
	require.True(t, c.contended())
	pass(2, 1)
	pass(1, 1)
	require.True(t, c.contended(), "they go on taking turns")
	pass(1, contentionLasts)
	require.False(t, c.contended(), "one is alone again")
	pass(2, contentionLasts+1)
	pass(3, contentionLasts+1)
	require.False(t, c.contended(), "one after the other")
}

// Who waits for those who have come in does so for all, in whatever room they are.
func TestGuestsAreWaitedFor(t *testing.T) {
	var g activeCallers
	const many = 100
	in, out, gone := make(chan bool), make(chan bool), make(chan bool)
	for range many {
		go func() {
			g.enter()
			in <- true
			<-out
			g.leave()
			gone <- true
		}()
	}
	for range many {
		<-in
	}
	waited := make(chan bool)
	go func() { g.wait(); close(waited) }()
	for left := many; left > 0; left-- {
		select {
		case <-waited:
			require.Fail(t, "waited for no more", "%d are there", left)
		default:
		}
		out <- true
		<-gone
	}
	<-waited
}

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
		found := 0
		for i := range rt.buffers.recent {
			if rt.buffers.recent[i].Load() != nil {
				found++
			}
		}
		require.Positive(t, found, n)
		require.NoError(t, Unregister(rt, x))
		for i := range rt.buffers.recent {
			require.Nil(t, rt.buffers.recent[i].Load(), n)
		}
	}
	require.NoError(t, rt.Close())
}
