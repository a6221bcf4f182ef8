package task

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A crowd is who takes turns, and not one that goes on where another has stopped.
func TestCrowdIsWhoTakesTurns(t *testing.T) {
	var c crowd
	var s turns
	pass := func(by uintptr, n int) {
		for range n {
			s.pass(by, &c)
		}
	}
	pass(1, 1000)
	require.False(t, c.is(), "one alone")
	pass(2, 1)
	require.False(t, c.is(), "another one goes on")
	pass(2, crowdLasts-1)
	pass(1, 1)
	require.True(t, c.is(), "the first one comes back")
	pass(1, crowdLasts-1)
	require.True(t, c.is())
	pass(2, 1)
	pass(1, 1)
	require.True(t, c.is(), "they go on taking turns")
	pass(1, crowdLasts)
	require.False(t, c.is(), "one is alone again")
	pass(2, crowdLasts+1)
	pass(3, crowdLasts+1)
	require.False(t, c.is(), "one after the other")
}

// Who waits for those who have come in does so for all, in whatever room they are.
func TestGuestsAreWaitedFor(t *testing.T) {
	var g guests
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
