package task

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

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
