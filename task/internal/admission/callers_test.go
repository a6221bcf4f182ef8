package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Submissions count as contended while goroutines alternate, and not where one continues after another
// has stopped.
func TestContention_GoroutinesThatAlternate(t *testing.T) {
	var c Contention
	var s Submitters
	pass := func(by uintptr, n int) {
		for range n {
			s.Observe(by, &c)
		}
	}
	pass(1, 2*contentionLasts)
	require.False(t, c.Contended(), "one alone")
	pass(2, 1)
	require.False(t, c.Contended(), "another one goes on")
	pass(2, contentionLasts-1)
	pass(1, 1)
	require.True(t, c.Contended(), "the first one comes back")
	pass(1, contentionLasts-1)
	require.True(t, c.Contended())
	pass(2, 1)
	pass(1, 1)
	require.True(t, c.Contended(), "they go on taking turns")
	pass(1, contentionLasts)
	require.False(t, c.Contended(), "one is alone again")
	pass(2, contentionLasts+1)
	pass(3, contentionLasts+1)
	require.False(t, c.Contended(), "one after the other")
}

// A wait for the callers that have entered covers all of them, in whatever room they are.
func TestGuestsAreWaitedFor(t *testing.T) {
	var g ActiveCallers
	const many = 100
	in, out, gone := make(chan bool), make(chan bool), make(chan bool)
	for range many {
		go func() {
			g.Enter()
			in <- true
			<-out
			g.Leave()
			gone <- true
		}()
	}
	for range many {
		<-in
	}
	waited := make(chan bool)
	go func() { g.Wait(); close(waited) }()
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
