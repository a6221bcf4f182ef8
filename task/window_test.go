package task_test

import (
	"flag"
	"runtime"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

var manyTasks = flag.Int("manytasks", 1_000_000, "tasks to run through a window in constant memory")

// TestManyTasksInConstantMemory runs tasks with accesses through a window: what the runtime keeps depends on the window, not
// on how many tasks there have been. `go test ./task -run ManyTasks -manytasks 10000000` is the long run.
func TestManyTasksInConstantMemory(t *testing.T) {
	n := *manyTasks
	if testing.Short() || raceEnabled {
		n = min(n, 100_000)
	}
	rt := open(t, task.Options{Devices: "smp:2", Window: 1000})
	x := make([]int64, 64)
	require.NoError(t, task.Register(rt, x))
	bodies := make([]func() error, len(x))
	for i := range bodies {
		bodies[i] = func() error { x[i] += x[(i+1)%len(x)] + 1; return nil }
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	submit := func(from, to int) {
		for i := from; i < to; i++ {
			k := i % len(x)
			next := (k + 1) % len(x)
			_, err := rt.Go(bodies[k], task.InOut(x[k:k+1]), task.In(x[next:next+1]))
			require.NoError(t, err)
		}
	}
	submit(0, n/10)
	require.NoError(t, rt.Wait())
	before := heap()
	submit(n/10, n)
	grown := int64(heap()) - int64(before) // with up to a window of tasks in flight
	require.NoError(t, rt.Wait())
	require.Less(t, grown, int64(2<<20))
	var got, want [64]int64
	copy(got[:], x)
	for i := range n {
		want[i%64] += want[(i%64+1)%64] + 1
	}
	require.Equal(t, want, got)
}

func TestNestedTasksInConstantMemory(t *testing.T) {
	n := 60_000
	if testing.Short() || raceEnabled {
		n = 4800
	}
	rt := open(t, task.Options{Devices: "smp:2", Window: 100})
	x := make([]int, 8)
	require.NoError(t, task.Register(rt, x))
	run := func(n int) uint64 {
		for i := range n {
			k := i % len(x)
			_, err := rt.GoScope(func(s *task.Scope) error {
				for range 2 {
					if _, err := s.Go(func() error { x[k]++; return nil }, task.InOut(x[k:k+1])); err != nil {
						return err
					}
				}
				return nil
			}, task.InOut(x[k:k+1]))
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait())
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := run(n / 10)
	require.Less(t, int64(run(n))-int64(before), int64(1<<20))
	require.Equal(t, 2*(n+n/10)/len(x), x[0])
}

func TestWaitInABodyIsAnError(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	_, err := rt.Go(func() error { return rt.Wait() })
	require.ErrorIs(t, rt.Wait(), task.ErrInsideTask)
	require.NoError(t, err)
}
