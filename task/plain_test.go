package task

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A crowd begins with a submission that finds the lock taken, and ends after many that do not.
func TestCrowd_BeginsAndEnds(t *testing.T) {
	var c crowd
	c.note(true)
	require.False(t, c.on.Load())
	c.note(false)
	require.True(t, c.on.Load())
	for range crowdLasts {
		c.note(true)
		require.True(t, c.on.Load())
	}
	c.note(true)
	require.False(t, c.on.Load())
}

// A plain task that was described before its buffer became a part of another one is described anew:
// it comes after the tasks that use the larger buffer.
func TestPlain_DescribedBeforeItsBufferGrows(t *testing.T) {
	for range 20 {
		rt, err := New(Options{Devices: "smp:2"})
		require.NoError(t, err)
		x := make([]int, 64)
		_, err = rt.Go(func() error { return nil }, InOut(x[8:16:16]))
		require.NoError(t, err)
		rt.root.submitting.Lock()
		rt.root.crowd.on.Store(true)
		var submitted sync.WaitGroup
		var at atomic.Int32
		submitted.Go(func() {
			at.Store(1)
			_, err := rt.Go(func() error { x[9]++; return nil }, InOut(x[8:16:16])) // described, and waits for the lock
			require.NoError(t, err)
		})
		for at.Load() == 0 {
			time.Sleep(50 * time.Microsecond)
		}
		time.Sleep(200 * time.Microsecond)
		require.NoError(t, Register(rt, x)) // the buffer of the part grows
		rt.root.submitting.Unlock()
		submitted.Wait()
		_, err = rt.Go(func() error { x[9] *= 10; return nil }, InOut(x))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, 10, x[9])
		require.NoError(t, rt.Close())
	}
}

// Several goroutines submit plain tasks, some on memory that is given back again and again: the
// tasks of each run in its order.
func TestPlain_SeveralSubmittersAndMemoryThatGoes(t *testing.T) {
	rt, err := New(Options{Devices: "smp:2"})
	require.NoError(t, err)
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for range rounds {
				x := make([]int, 8+g)
				require.NoError(t, Register(rt, x))
				for i := range 12 {
					_, err := rt.Go(func() error {
						if x[0] != i {
							t.Errorf("task %d sees %d", i, x[0])
						}
						x[0]++
						return nil
					}, InOut(x))
					require.NoError(t, err)
				}
				require.NoError(t, Unregister(rt, x))
				require.Equal(t, 12, x[0])
			}
		})
	}
	all.Wait()
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, rt.Close())
}
