package spin

import (
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Each way to lock excludes the others, also where the holder is slow and the lock sleeps.
func TestLock_OneHolderAtATime(t *testing.T) {
	var mu Mutex
	var holders, most, total int
	enter := func(lock func(*Mutex), held time.Duration) {
		lock(&mu)
		defer mu.Unlock()
		holders++
		most = max(most, holders)
		total++
		time.Sleep(held)
		holders--
	}
	var wg sync.WaitGroup
	for range 4 {
		for _, lock := range []func(*Mutex){Lock, LockLong, (*Mutex).Lock} {
			wg.Go(func() {
				for n := range 50 {
					enter(lock, time.Duration(n%25/24)*time.Millisecond)
				}
			})
		}
	}
	wg.Wait()
	require.Equal(t, 1, most)
	require.Equal(t, 600, total)
}

// Fewer calls than For makes before it looks at the time.
func TestFor_EndsWithTheFirstTrue(t *testing.T) {
	calls := 0
	require.True(t, For(func() bool { calls++; return calls == 50 }))
	require.Equal(t, 50, calls)
}

func TestFor_GivesUpAfterTime(t *testing.T) {
	began := time.Now()
	require.False(t, For(func() bool { return false }))
	require.GreaterOrEqual(t, time.Since(began), Time)
}

// Processors fetch lines of 64 bytes in pairs.
func TestLine_FillsAPairOfCacheLines(t *testing.T) {
	var padded struct {
		first Line
		next  byte
	}
	require.EqualValues(t, 128, unsafe.Offsetof(padded.next))
}
