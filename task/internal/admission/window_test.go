package admission

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices/smp"
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
		var w Window
		w.Open(1+r.IntN(40), workers)
		tasks := make(chan struct{}, 1<<10)
		var all sync.WaitGroup
		for i := range workers + 1 {
			all.Go(func() {
				for range tasks {
					w.Leave(i - 1) // the first is smp.None
				}
			})
		}
		var waits sync.WaitGroup
		for range 1 + r.IntN(3) {
			limit := int64(r.IntN(5))
			waits.Go(func() {
				for range 10 {
					require.NoError(t, w.Wait(limit, nil))
				}
			})
		}
		for range r.IntN(500) {
			for !w.HasCapacity() {
				require.NoError(t, w.WaitCapacity(context.Background()))
			}
			w.Enter()
			require.LessOrEqual(t, w.Live(), w.Limit, "seed %d", seed)
			tasks <- struct{}{}
		}
		waits.Wait()
		require.NoError(t, w.Wait(0, nil))
		require.Zero(t, w.Live())
		close(tasks)
		all.Wait()
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	var w Window
	w.Open(4, 2)
	w.Enter()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.Wait(0, ctx), context.DeadlineExceeded)
	w.Leave(smp.None)
	require.NoError(t, w.Wait(0, context.Background()))
	require.False(t, w.Full())
	for range 5 {
		w.Enter()
	}
	require.True(t, w.Full())
}
