package task

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/devices/smp"
	"github.com/stretchr/testify/require"
)

// TestNobodyWaitsInVain has tasks enter and leave on several workers while others wait for few enough in flight: all of them
// continue, and none too early.
func TestNobodyWaitsInVain(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 3))
		workers := 1 + r.IntN(4)
		var w window
		w.open(1+r.IntN(40), workers)
		tasks := make(chan struct{}, 1<<10)
		var all sync.WaitGroup
		for i := range workers + 1 {
			all.Go(func() {
				for range tasks {
					w.leave(i - 1) // the first is smp.None
				}
			})
		}
		var waits sync.WaitGroup
		for range 1 + r.IntN(3) {
			limit := int64(r.IntN(5))
			waits.Go(func() {
				for range 10 {
					require.NoError(t, w.wait(limit, nil))
				}
			})
		}
		for range r.IntN(500) {
			for !w.hasCapacity() {
				require.NoError(t, w.waitCapacity(context.Background()))
			}
			w.enter()
			require.LessOrEqual(t, w.live(), w.limit, "seed %d", seed)
			tasks <- struct{}{}
		}
		waits.Wait()
		require.NoError(t, w.wait(0, nil))
		require.Zero(t, w.live())
		close(tasks)
		all.Wait()
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	var w window
	w.open(4, 2)
	w.enter()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.wait(0, ctx), context.DeadlineExceeded)
	w.leave(smp.None)
	require.NoError(t, w.wait(0, context.Background()))
	require.False(t, w.full())
	for range 5 {
		w.enter()
	}
	require.True(t, w.full())
}
