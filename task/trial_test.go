package task_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
)

// TestTrialsOnTheHostAreStopped runs a kernel that is much slower on the CPU workers beside an accelerator, on data that it reads and
// writes: it is tried there, what the trial has written counts for nothing, and nearly all of it runs on the accelerator.
func TestTrialsOnTheHostAreStopped(t *testing.T) {
	const blocks, size, rounds = 4, 512, 40
	source := task.SourceFile{Name: "slow.go", Text: `package slow

//omp:target device(acc, smp)
//omp:task inout(x)
func Slow(x []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = 2*x[i] + 1
	}
}
`}
	var whole, parts atomic.Int64
	step := func(x []int64) {
		for i := range x {
			x[i] = 2*x[i] + 1
		}
	}
	k := task.MustKernel(task.KernelSpec{Name: "Slow", Files: []task.SourceFile{source},
		Go:    func(a *task.Args) { whole.Add(1); step(devices.SliceArg[int64](a, 0)) },
		Trips: func(a *task.Args) int64 { return int64(len(devices.SliceArg[int64](a, 0))) },
		Split: func(a *task.Args, lo, hi int64) {
			time.Sleep(time.Duration(hi-lo) * 200 * time.Microsecond)
			parts.Add(hi - lo)
			step(devices.SliceArg[int64](a, 0)[lo:hi])
		},
	})
	for _, spec := range []string{"smp:1,sim:1(exec=simt)", "smp:2,sim:2(exec=simt)"} {
		parts.Store(0)
		var running, stopped atomic.Int64
		rt, err := task.New(task.Options{Devices: spec, Vector: task.VectorOff, Observer: probe.Func(func(p probe.Point) {
			switch p.Kind {
			case probe.Start:
				running.Add(1)
			case probe.End:
				running.Add(-1)
				if p.Err != nil {
					stopped.Add(1)
				}
			}
		})})
		require.NoError(t, err)
		x, err := task.Alloc[int64](rt, blocks*size)
		require.NoError(t, err)
		for range rounds {
			for b := range blocks {
				_, err := k.Submit(rt, x[b*size:(b+1)*size])
				require.NoError(t, err)
			}
			require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
		}
		require.NoError(t, rt.Wait(context.Background()))
		for i, v := range x {
			require.EqualValues(t, 1<<rounds-1, v, "element %d on %s", i, spec)
		}
		t.Logf("%s: %d iterations of %d on workers", spec, parts.Load(), blocks*size*rounds)
		require.Positive(t, parts.Load(), "it was tried")
		require.Less(t, parts.Load(), int64(blocks*size*rounds/4))
		require.NoError(t, rt.Close())
		require.Zero(t, running.Load(), "each run of a body has a Start and an End")
		require.Positive(t, stopped.Load(), "the End of a trial that was stopped says so")
	}
}

// TestNothingIsTriedThatCannotBeStopped: blocks that a kernel changes and that nobody but the host has yet are not tried on workers, as what
// a trial writes there could not be undone.
func TestNothingIsTriedThatCannotBeStopped(t *testing.T) {
	const blocks, size = 24, 512
	source := task.SourceFile{Name: "once.go", Text: `package once

//omp:target device(acc, smp)
//omp:task inout(x)
func Once(x []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = 2*x[i] + 1
	}
}
`}
	var onHost atomic.Int64
	step := func(x []int64) {
		onHost.Add(1)
		for i := range x {
			x[i] = 2*x[i] + 1
		}
	}
	k := task.MustKernel(task.KernelSpec{Name: "Once", Files: []task.SourceFile{source},
		Go:    func(a *task.Args) { step(devices.SliceArg[int64](a, 0)) },
		Trips: func(a *task.Args) int64 { return int64(len(devices.SliceArg[int64](a, 0))) },
		Split: func(a *task.Args, lo, hi int64) { step(devices.SliceArg[int64](a, 0)[lo:hi]) },
	})
	for _, spec := range []string{"smp:2,sim:1(exec=simt)", "smp:2,sim:2(exec=simt)"} {
		rt, err := task.New(task.Options{Devices: spec, Vector: task.VectorOff})
		require.NoError(t, err)
		x, err := task.Alloc[int64](rt, blocks*size)
		require.NoError(t, err)
		for b := range blocks {
			_, err := k.Submit(rt, x[b*size:(b+1)*size])
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		for i, v := range x {
			require.EqualValues(t, 1, v, "element %d on %s", i, spec)
		}
		require.Zero(t, onHost.Load(), spec)
		require.NoError(t, rt.Close())
	}
}

// A trial that is stopped runs again elsewhere, unless it has written what it must not: that is in no way undone, and the task fails.
func TestAStoppedTrialIsCheckedToo(t *testing.T) {
	source := task.SourceFile{Name: "sly.go", Text: `package sly

//omp:target device(acc, smp)
//omp:task inout(x) in(y)
func Sly(x, y []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = 2*x[i] + y[i]
	}
}
`}
	const size, rounds = 512, 40
	var lie atomic.Bool
	var parts atomic.Int64
	step := func(x, y []int64) {
		for i := range x {
			x[i] = 2*x[i] + y[i]
		}
	}
	k := task.MustKernel(task.KernelSpec{Name: "Sly", Files: []task.SourceFile{source},
		Go:    func(a *task.Args) { step(devices.SliceArg[int64](a, 0), devices.SliceArg[int64](a, 1)) },
		Trips: func(a *task.Args) int64 { return int64(len(devices.SliceArg[int64](a, 0))) },
		Split: func(a *task.Args, lo, hi int64) {
			time.Sleep(time.Duration(hi-lo) * 200 * time.Microsecond)
			x, y := devices.SliceArg[int64](a, 0), devices.SliceArg[int64](a, 1)
			parts.Add(hi - lo)
			step(x[lo:hi], y[lo:hi])
			if lie.Load() {
				y[lo]++
			}
		},
	})
	for _, lies := range []bool{false, true} {
		lie.Store(lies)
		parts.Store(0)
		rt, err := task.New(task.Options{Devices: "smp:1,sim:1(exec=simt)", Vector: task.VectorOff, Check: true})
		require.NoError(t, err)
		x, err := task.Alloc[int64](rt, size)
		require.NoError(t, err)
		y, err := task.Alloc[int64](rt, size)
		require.NoError(t, err)
		for i := range y {
			y[i] = 1
		}
		var failed error
		before := rt.Stats()
		for range rounds {
			before = rt.Stats()
			_, err := k.Submit(rt, x, y)
			require.NoError(t, err)
			if failed = rt.Wait(context.Background(), task.KeepOnDevice()); failed != nil {
				break
			}
		}
		require.Positive(t, parts.Load(), "it was tried")
		require.Less(t, parts.Load(), int64(size*rounds/4), "and stopped")
		if lies {
			var v *task.ViolationError
			require.ErrorAs(t, failed, &v)
			require.Equal(t, "Sly", v.Label)
			require.Equal(t, before.ByDevice["sim:0"], rt.Stats().ByDevice["sim:0"], "it did not run again")
		} else {
			require.NoError(t, failed)
			require.NoError(t, rt.Wait(context.Background()))
			require.EqualValues(t, 1<<rounds-1, x[size-1])
		}
		require.NoError(t, rt.Close())
	}
}
