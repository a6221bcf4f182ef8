package goid_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/internal/goid"
)

func TestSet_HasThoseThatHaveNotLeft(t *testing.T) {
	var s goid.Set
	require.False(t, s.Has())
	first := s.Enter()
	second := s.Enter()
	first()
	require.True(t, s.Has(), "entered twice, left once")
	var wg sync.WaitGroup
	wg.Go(func() {
		require.False(t, s.Has(), "another goroutine has not entered")
		defer s.Enter()()
		require.True(t, s.Has())
		runtime.Goexit()
	})
	wg.Wait()
	second()
	require.False(t, s.Has())
	wg.Go(func() { require.False(t, s.Has(), "it may be told apart as the one that has ended") })
	wg.Wait()
}
