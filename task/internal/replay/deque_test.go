package replay

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeque_OrderOfTakers(t *testing.T) {
	var d, thief deque
	require.False(t, d.nonEmpty())
	require.EqualValues(t, -1, d.pop())
	require.EqualValues(t, -1, d.popRoot())
	require.False(t, thief.stealHalf(&d))
	require.False(t, thief.stealRoots(&d))
	for i := range int32(5) {
		d.push(i)
	}
	require.True(t, d.nonEmpty())
	require.EqualValues(t, 4, d.pop(), "the worker takes the latest")
	require.True(t, thief.stealHalf(&d))
	require.EqualValues(t, 1, thief.pop(), "a thief takes the older half")
	require.EqualValues(t, 0, thief.pop())
	require.EqualValues(t, 3, d.pop())
	require.EqualValues(t, 2, d.pop())
	d.roots.Store(packRoots(0, 5))
	require.True(t, thief.stealRoots(&d))
	require.EqualValues(t, 2, thief.popRoot())
	require.EqualValues(t, 0, d.popRoot())
	require.EqualValues(t, 1, d.popRoot())
	require.EqualValues(t, -1, d.popRoot())
	require.True(t, thief.nonEmpty())
}

// Every step is taken once, whichever worker takes it.
func TestDeque_StepsAreTakenOnce(t *testing.T) {
	const roots, steps = 2000, 2000
	var deques [3]deque
	var taken [roots + steps]atomic.Int32
	deques[0].roots.Store(packRoots(0, roots))
	var all sync.WaitGroup
	var left atomic.Int32
	left.Store(roots + steps)
	for w := range deques {
		all.Go(func() {
			d := &deques[w]
			take := func(i int64) { taken[i].Add(1); left.Add(-1) }
			if w == 0 {
				for i := range int32(steps) {
					d.push(roots + i)
				}
			}
			for left.Load() > 0 {
				if i := d.popRoot(); i >= 0 {
					take(i)
				} else if i := d.pop(); i >= 0 {
					take(int64(i))
				} else if o := &deques[(w+1)%3]; !d.stealRoots(o) && !d.stealHalf(o) {
					o := &deques[(w+2)%3]
					_ = d.stealRoots(o) || d.stealHalf(o)
				}
			}
		})
	}
	all.Wait()
	for i := range taken {
		require.EqualValues(t, 1, taken[i].Load(), i)
	}
}
