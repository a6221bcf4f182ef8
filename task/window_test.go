package task_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
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
	require.NoError(t, rt.Wait(context.Background()))
	before, resident := heap(), residentSize(t)
	submit(n/10, n)
	grown := int64(heap()) - int64(before) // with up to a window of tasks in flight
	resident = residentSize(t) - resident
	require.NoError(t, rt.Wait(context.Background()))
	require.Less(t, grown, int64(2<<20))
	most := int64(16 << 20)
	if raceEnabled {
		most *= 5 // the detector keeps four bytes for each that is touched, also of what the collector has not looked at yet
	}
	require.Less(t, resident, most)
	var got, want [64]int64
	copy(got[:], x)
	for i := range n {
		want[i%64] += want[(i%64+1)%64] + 1
	}
	require.Equal(t, want, got)
}

// residentSize returns how much memory the process takes, 0 where the system does not say in a file.
func residentSize(t *testing.T) (size int64) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var all, pages int64
	_, err = fmt.Sscan(string(text), &all, &pages)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// Buffers that come and go leave nothing behind, on the host or in the books of the devices.
func TestManyBuffersInConstantMemory(t *testing.T) {
	n := *manyTasks / 50
	if testing.Short() || raceEnabled {
		n = min(n, 2000)
	}
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)"})
	fill := kernelOf(t, Fill)
	round := func(n int) {
		for i := range n {
			x, err := task.Alloc[uint32](rt, 100+i%50)
			require.NoError(t, err)
			y := make([]uint32, 100)
			_, err = fill.Submit(rt, 0, 100, uint32(i), x)
			require.NoError(t, err)
			_, err = rt.Go(func() error { copy(y, x); return nil }, task.In(x[:100]), task.Out(y))
			require.NoError(t, err)
			require.NoError(t, task.Unregister(rt, y))
			require.Equal(t, uint32(i), y[0])
			require.NoError(t, task.Free(rt, x))
		}
	}
	measure := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	round(200)
	before := measure()
	round(n)
	require.Less(t, measure()-before, int64(1<<20))
}

// Failures that nobody asks for are kept up to a number; of older ones it stays known that they were.
func TestManyFailuresInConstantMemory(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	boom := errors.New("boom")
	var tasks []task.Task
	for range 40 {
		for range 1000 {
			one, err := rt.Go(func() error { return boom })
			require.NoError(t, err)
			tasks = append(tasks, one)
		}
		fine, err := rt.Go(nothing)
		require.NoError(t, err)
		require.ErrorIs(t, rt.Wait(context.Background()), boom)
		require.NoError(t, fine.Err())
	}
	require.ErrorIs(t, tasks[len(tasks)-1].Err(), boom)
	for _, one := range tasks[:1000] {
		require.ErrorIs(t, one.Err(), task.ErrForgotten)
	}
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
		require.NoError(t, rt.Wait(context.Background()))
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
	_, err := rt.Go(func() error { return rt.Wait(context.Background()) })
	require.ErrorIs(t, rt.Wait(context.Background()), task.ErrInsideTask)
	require.NoError(t, err)
}
