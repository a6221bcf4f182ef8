package task_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// What Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, says of tasks in section 2.2.1 and has no test
// elsewhere; docs/reference/ompss.md has all of it.

// Memory model: "a single address space". The program of figure 2.3: a task that runs anywhere makes what a task
// on the host checks, many times over, with nothing said about where anything lies.
func TestPaperOneAddressSpace(t *testing.T) {
	add := kernelOf(t, Add)
	for _, devices := range []string{"smp:1", "smp:2,sim:2(exec=cpu)"} {
		rt := open(t, task.Options{Devices: devices})
		const n, tile = 1 << 10, 1 << 8
		a, b, c := make([]float64, n), make([]float64, n), make([]float64, n)
		for _, x := range [][]float64{a, b, c} {
			require.NoError(t, task.Register(rt, x))
		}
		for i := range a {
			a[i], b[i] = 1, 2
		}
		var valid atomic.Int32
		for round := range 5 {
			for at := 0; at < n; at += tile {
				_, err := add.Submit(rt, c[at:at+tile], a[at:at+tile], b[at:at+tile])
				require.NoError(t, err)
				part, want := c[at:at+tile], 3+2*float64(round)
				_, err = rt.Go(func() error {
					if slices.ContainsFunc(part, func(v float64) bool { return v != want }) {
						return fmt.Errorf("not %v", want)
					}
					valid.Add(1)
					return nil
				}, task.In(part))
				require.NoError(t, err)
				_, err = rt.Go(func() error {
					for i := at; i < at+tile; i++ {
						a[i] += b[i]
					}
					return nil
				}, task.In(b[at:at+tile]), task.InOut(a[at:at+tile]))
				require.NoError(t, err)
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.EqualValues(t, 5*n/tile, valid.Load())
	}
}

// Task model: "list - scalar, array section, subregion or l-values" and "multiple dependencies - allow expressions that determine
// dependencies dynamically": the accesses of a Go task are values, as many as the program finds at run time.
func TestPaperAnyLValueAndAnyNumber(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	type cell struct {
		left int64
		_    [5]int64
	}
	cells := make([]cell, 40)
	require.NoError(t, task.Register(rt, cells))
	for i := range cells {
		_, err := rt.Go(func() error { cells[i].left = int64(i); return nil }, task.Out(cells[i:i+1]))
		require.NoError(t, err)
	}
	var sum int64
	for every := 1; every < 7; every++ {
		accesses := []task.Option{task.InOut(task.One(&sum))}
		for i := 0; i < len(cells); i += every { // what it reads is known here only
			accesses = append(accesses, task.In(cells[i:i+1]))
		}
		_, err := rt.Go(func() error {
			for i := 0; i < len(cells); i += every {
				sum += cells[i].left
			}
			return nil
		}, accesses...)
		require.NoError(t, err)
		_, err = rt.Go(func() error { cells[every].left *= 2; return nil }, task.InOut(cells[every:every+1]))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	want, plain := int64(0), make([]int64, len(cells))
	for i := range plain {
		plain[i] = int64(i)
	}
	for every := 1; every < 7; every++ {
		for i := 0; i < len(plain); i += every {
			want += plain[i]
		}
		plain[every] *= 2
	}
	require.Equal(t, want, sum)
}

// "taskwait in, out, inout - wait if and only if the data are specified": reading waits for the writer and not for who reads, writing
// waits for both, and neither for others.
func TestPaperTaskwaitOn(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:3"})
	x, y := make([]int64, 1), make([]int64, 1)
	read, other := make(chan struct{}), make(chan struct{})
	_, err := rt.Go(func() error { <-other; return nil }, task.Out(y))
	require.NoError(t, err)
	_, err = rt.Go(func() error { x[0] = 1; return nil }, task.Out(x))
	require.NoError(t, err)
	var saw int64
	_, err = rt.Go(func() error { <-read; saw = x[0]; return nil }, task.In(x))
	require.NoError(t, err)
	require.NoError(t, rt.WaitOn(t.Context(), task.In(x)))
	require.EqualValues(t, 1, x[0])
	close(read)
	require.NoError(t, rt.WaitOn(t.Context(), task.InOut(x)))
	x[0] = 2 // nobody reads it any more
	require.EqualValues(t, 1, saw)
	close(other)
	require.NoError(t, rt.WaitOn(t.Context(), task.Out(x), task.Out(y)))
	require.NoError(t, rt.Wait(context.Background()))
}

// "taskloop: in, reduction, num_tasks, grainsize, nogroup": a loop does not wait for its tasks; a group around it does.
func TestPaperTaskloop(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	const n = 1000
	x, sum := make([]int64, n), make([]int64, 1)
	require.NoError(t, task.Register(rt, x))
	gate := make(chan struct{})
	_, err := rt.Go(func() error {
		<-gate
		for i := range x {
			x[i] = int64(i)
		}
		return nil
	}, task.Out(x))
	require.NoError(t, err)
	for i, cut := range []task.LoopOption{task.Tasks(7), task.Grain(64)} {
		g := task.NewGroup(rt)
		tasks, err := task.Taskloop(g, 0, n, func(s *task.Scope, lo, hi int) error {
			for i := lo; i < hi; i++ {
				task.Private(s, sum)[0] += x[i]
			}
			return nil
		}, cut, task.WithOptions(task.Reduce(sum, task.Sum[int64]())), task.PerChunk(func(lo, hi int) []task.Option {
			return []task.Option{task.In(x[lo:hi])}
		}))
		require.NoError(t, err)
		require.Len(t, tasks, []int{7, n / 64}[i])
		if i == 0 { // no task has run: nobody has waited
			close(gate)
		}
		require.NoError(t, g.Wait(context.Background()))
	}
	require.NoError(t, rt.WaitOn(t.Context(), task.In(sum)))
	require.EqualValues(t, 2*n*(n-1)/2, sum[0])
	require.NoError(t, rt.Wait(context.Background()))
}
