//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/task"
)

// faultKernels are Count and Gather, which checks the indices it reads.
func faultKernels() (count, gather *task.Kernel) {
	files := []task.SourceFile{{Name: "faults.go", Text: `package faults

//omp:target device(acc)
//omp:task inout(x)
func Count(x []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i]++
	}
}

//omp:target device(acc)
//omp:task in(x, at) inout(y)
func Gather(y, x, at []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(y); i++ {
		y[i] = x[at[i]]
	}
}
`}}
	onGPU := func(*task.Args) { panic("it runs on the GPU") }
	return task.MustKernel(task.KernelSpec{Name: "Count", Files: files, Go: onGPU}),
		task.MustKernel(task.KernelSpec{Name: "Gather", Files: files, Go: onGPU})
}

func faultRuntime(t *testing.T, o Options) *task.Runtime {
	needFake(t)
	var options task.Options
	o.Memory = 32 << 20
	options.Devices = "cuda:2"
	options.Machine.ByKind = map[devices.Kind]any{Kind: o}
	rt, err := task.New(options)
	require.NoError(t, err)
	return rt
}

// Every fault fails its task with device, kernel, label and line, skips what depends on it, leaves
// the rest alone, and Close returns. Only what CUDA does not recover from takes the GPU out of
// service.
func TestFaultsOfTasks(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(t *testing.T)
		limit time.Duration
		fatal bool
		is    error
		says  string
	}{
		{name: "out of memory", fault: func(t *testing.T) { failNext(t, "cuMemCreate", 1, driver.CodeNoMemory) }, is: devices.ErrNoMemory, says: "map"},
		{name: "launch failure", fault: func(t *testing.T) { failNext(t, "cuLaunchKernel", 1, 1) }, says: "cuLaunchKernel"},
		{name: "illegal address", fault: func(t *testing.T) { failNext(t, "kernel", 1, 700) }, fatal: true, says: "illegal"},
		{name: "beyond the time limit", fault: func(t *testing.T) { fakeCall(t, "fakeSlow", 2_500_000) }, limit: 500 * time.Millisecond, fatal: true,
			is: ErrTimeLimit, says: "500ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rt := faultRuntime(t, Options{TimeLimit: c.limit})
			count, _ := faultKernels()
			x, y := make([]int64, 1000), make([]int64, 1000)
			warm, err := count.With(task.OnDevice("cuda:0")).Submit(rt, y) // compiled, and without pins or granules to make
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			require.NoError(t, warm.Err())
			c.fault(t)
			bad, err := count.With(task.OnDevice("cuda:0"), task.Label("the bad one")).Submit(rt, x)
			require.NoError(t, err)
			behind, err := count.With(task.OnDevice("cuda:0")).Submit(rt, x)
			require.NoError(t, err)
			waited := rt.Wait(context.Background())
			fakeCall(t, "fakeSlow", 0)
			fakeCall(t, "fakeRepair") // the fake has one context for all devices
			require.Error(t, waited)
			var e *task.Error
			require.ErrorAs(t, bad.Err(), &e)
			require.Equal(t, []string{"the bad one", "Count", "cuda:0"}, []string{e.Label, e.Kernel, e.Device})
			require.Equal(t, "faults.go", e.Pos.File)
			require.Equal(t, 5, e.Pos.Line)
			require.ErrorContains(t, bad.Err(), c.says)
			if c.is != nil {
				require.ErrorIs(t, bad.Err(), c.is)
			}
			require.ErrorIs(t, behind.Err(), task.ErrSkipped)
			machine := rt.Machine()
			require.Equal(t, c.fatal, machine.Retired(machine.SpaceOf(machine.Devices()[0])) != nil)
			other, err := count.With(task.OnDevice("cuda:1")).Submit(rt, y)
			require.NoError(t, err)
			require.NoError(t, other.Wait(context.Background()), "the other GPU goes on")
			closed := make(chan struct{})
			go func() { _ = rt.Close(); close(closed) }() // it tells of what is lost
			select {
			case <-closed:
			case <-time.After(10 * time.Second):
				t.Fatal("Close hangs")
			}
			if c.limit > 0 {
				time.Sleep(300 * time.Millisecond) // the fake's kernel ends
			}
		})
	}
}

// Memory is registered while its first task waits for its copy: where that fails the task fails
// with it, and the next one has it tried again.
func TestATaskWhoseMemoryCannotBeRegistered(t *testing.T) {
	rt := faultRuntime(t, Options{})
	count, _ := faultKernels()
	x := make([]int64, int(pinSize)/8)
	pinned := live(t, "pin")
	failNext(t, register, 1, 304)
	bad, err := count.With(task.OnDevice("cuda:0"), task.Label("the bad one")).Submit(rt, x)
	require.NoError(t, err)
	require.Error(t, rt.Wait(context.Background()))
	var e *task.Error
	require.ErrorAs(t, bad.Err(), &e)
	require.Equal(t, []string{"the bad one", "Count", "cuda:0"}, []string{e.Label, e.Kernel, e.Device})
	require.ErrorContains(t, bad.Err(), "cuda:0: pin: "+register)
	good, err := count.With(task.OnDevice("cuda:0")).Submit(rt, x)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, good.Err())
	require.EqualValues(t, 1, x[len(x)-1])
	require.Equal(t, pinned+1, live(t, "pin"))
	require.NoError(t, rt.Close())
	require.Equal(t, pinned, live(t, "pin"))
}

// A check that fails in a kernel fails its task with the line of the access; the GPU stays.
func TestAFailedCheckOfATask(t *testing.T) {
	rt := faultRuntime(t, Options{})
	_, gather := faultKernels()
	x, y, at := make([]int64, 100), make([]int64, 100), make([]int64, 100)
	at[42] = 100
	one, err := gather.With(task.Label("reads too far")).Submit(rt, y, x, at)
	require.NoError(t, err)
	require.Error(t, rt.Wait(context.Background()))
	require.ErrorIs(t, one.Err(), ir.ErrBounds)
	require.ErrorContains(t, one.Err(), "reads too far")
	require.ErrorContains(t, one.Err(), ": faults.go:17: Gather: x: index 100 out of range: length 100")
	require.NoError(t, rt.WaitOn(context.Background(), task.InOut(at)))
	at[42] = 99
	_, err = gather.Submit(rt, y, x, at)
	require.NoError(t, err)
	require.NoError(t, rt.Close())
}

// A sequence with checks is a graph too: a check that fails in one run is reported with its line,
// and the next run begins again. Runs that come while one is under way go step by step.
func TestSequencesWithChecks(t *testing.T) {
	needGround(t)
	rt, err := task.New(task.Options{Devices: "cuda:1"})
	require.NoError(t, err)
	count, gather := faultKernels()
	x, y, at := make([]int64, 100), make([]int64, 100), make([]int64, 100)
	for i := range at {
		at[i] = int64(99 - i)
	}
	it, err := rt.RecordKernels("gathered", func(r *task.KernelRecorder) error {
		for range 3 {
			if err := r.Submit(count, x); err != nil {
				return err
			}
			if err := r.Submit(gather, y, x, at); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	runs := 0
	replay := func(n int) (last task.Task) {
		for range n {
			runs++
			last, err = it.Replay()
			require.NoError(t, err)
		}
		return last
	}
	replay(5)
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 3*runs, x[0])
	require.EqualValues(t, 3*runs, y[0])
	at[7] = 1000
	bad := replay(1)
	require.Error(t, rt.Wait(context.Background()))
	require.ErrorIs(t, bad.Err(), ir.ErrBounds)
	require.ErrorContains(t, bad.Err(), ": faults.go:17: Gather: x: index 1000 out of range: length 100")
	at[7] = 0
	for i := range x { // what the failed run has left is undefined
		x[i] = 0
	}
	runs = 0
	replay(4)
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 3*runs, x[0])
	require.EqualValues(t, 3*runs, y[7])
	require.NoError(t, rt.Close())
}
