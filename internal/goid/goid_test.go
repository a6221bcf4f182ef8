package goid

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf_TellsLiveGoroutinesApart(t *testing.T) {
	const n = 50
	got, leave := make(chan [2]uintptr), make(chan struct{})
	for range n {
		go func() {
			first := Of()
			runtime.Gosched()
			got <- [2]uintptr{first, Of()}
			<-leave
		}()
	}
	seen := map[uintptr]bool{Of(): true}
	for range n {
		pair := <-got
		require.Equal(t, pair[0], pair[1], "one goroutine, two answers")
		seen[pair[0]] = true
	}
	close(leave)
	if Of() == 0 { // goroutines cannot be distinguished on this processor
		require.Len(t, seen, 1)
		return
	}
	require.Len(t, seen, n+1)
}
