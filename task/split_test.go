package task_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// fillSpec is Fill as gompss gen describes it; onRange is told of the ranges that the CPU runs.
func fillSpec(onRange func(lo, hi int64)) task.KernelSpec {
	return task.KernelSpec{
		Name:  "Fill",
		Files: []task.SourceFile{kernelFile},
		Go: func(a *task.Args) {
			Fill(devices.ScalarArg[int](a, 0), devices.ScalarArg[int](a, 1), devices.ScalarArg[uint32](a, 2), devices.SliceArg[uint32](a, 3))
		},
		Split: func(a *task.Args, from, to int64) {
			onRange(from, to)
			lo := devices.ScalarArg[int](a, 0)
			Fill(lo+int(from), lo+int(to), devices.ScalarArg[uint32](a, 2), devices.SliceArg[uint32](a, 3))
		},
		Trips: func(a *task.Args) int64 {
			return int64(devices.ScalarArg[int](a, 1) - devices.ScalarArg[int](a, 0))
		},
	}
}

func TestAParallelLoopIsSharedByIdleWorkers(t *testing.T) {
	var inside atomic.Int64
	meet := make(chan struct{})
	var once sync.Once
	k := task.MustKernel(fillSpec(func(lo, hi int64) {
		if lo == 0 { // the trial: long enough to be worth sharing
			time.Sleep(5 * time.Millisecond)
			return
		}
		if inside.Add(1) == 2 {
			once.Do(func() { close(meet) })
		}
		<-meet // the loop ends only if two workers are in it at once
	}))
	rt := open(t, task.Options{Devices: "smp:3", Vector: task.VectorOff})
	x, want := make([]uint32, 100000), make([]uint32, 100000)
	_, err := k.Submit(rt, 10, 99990, uint32(4), x)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	Fill(10, 99990, 4, want)
	require.Equal(t, want, x)
}

func TestAPanicInASharedLoopIsTheTasks(t *testing.T) {
	k := task.MustKernel(fillSpec(func(lo, hi int64) { panic("in a chunk") }))
	rt := open(t, task.Options{Devices: "smp:2", Vector: task.VectorOff})
	one, err := k.Submit(rt, 0, 10000, uint32(4), make([]uint32, 10000))
	require.NoError(t, err)
	require.Error(t, rt.Wait(context.Background()))
	var p *task.PanicError
	require.ErrorAs(t, one.Err(), &p)
	require.Equal(t, "in a chunk", p.Value)
}

func TestShortLoopsAreNotShared(t *testing.T) {
	var ranges atomic.Int64
	k := task.MustKernel(fillSpec(func(lo, hi int64) { ranges.Add(1) }))
	rt := open(t, task.Options{Devices: "smp:2", Vector: task.VectorOff})
	x := make([]uint32, 20)
	for range 100 {
		_, err := k.Submit(rt, 0, 10, uint32(4), x)
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Zero(t, ranges.Load(), "not even cut")
	for range 100 {
		_, err := k.Submit(rt, 0, 20, uint32(4), x)
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Less(t, ranges.Load(), int64(300), "a trial and the rest, nearly always")
	require.NotZero(t, x[19])
}
