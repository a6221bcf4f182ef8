package task_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// A counted policy gives items in the order in which they came, and counts how often the host asks.
type counted struct {
	state *sched.State
	items []*sched.Item
}

var hostAsks atomic.Int64

func (c *counted) Push(it *sched.Item) { c.items = append(c.items, it) }

func (c *counted) Pop(p sched.PlaceID) *sched.Item {
	if c.state.Places[p].Host {
		hostAsks.Add(1)
	}
	for _, it := range c.items {
		if c.state.Admit(it, p) {
			c.Remove(it)
			return it
		}
	}
	return nil
}

func (c *counted) Remove(it *sched.Item) {
	for i, x := range c.items {
		if x == it {
			c.items = append(c.items[:i:i], c.items[i+1:]...)
			return
		}
	}
}

func (c *counted) Each(f func(*sched.Item)) {
	for _, it := range c.items {
		f(it)
	}
}

func (c *counted) Len() int { return len(c.items) }

var registerCounted = sync.OnceFunc(func() {
	sched.Register("counted", func(s *sched.State) sched.Policy { return &counted{state: s} })
})

// TestNoWorkerIsWokenForWhatAnAcceleratorTakes: tasks that may run on workers too, and are taken by an accelerator as soon as they are
// ready, wake nobody. Three workers were woken for each block of a halo exchange on four GPUs before its kernel was started.
func TestNoWorkerIsWokenForWhatAnAcceleratorTakes(t *testing.T) {
	registerCounted()
	const workers = 4
	hostAsks.Store(0)
	rt, err := task.New(task.Options{Devices: "smp:4,sim:2", Policy: "counted"})
	require.NoError(t, err)
	for hostAsks.Load() < 2*workers { // each asks before it goes to bed, and once more when it is there
		runtime.Gosched()
	}
	fill := kernelOf(t, Fill)
	x := make([]uint32, 256)
	for i := range 50 {
		for lo := 0; lo < len(x); lo += 64 {
			_, err := fill.With(task.Resources("smp", 40), task.Resources("acc", 1)).Submit(rt, lo, lo+64, uint32(i), x)
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
	}
	require.EqualValues(t, 2*workers, hostAsks.Load())
	require.Zero(t, rt.Stats().ByDevice["smp"])
	require.NoError(t, rt.Close())
}
