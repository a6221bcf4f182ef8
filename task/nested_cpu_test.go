package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
)

// What follows runs kernels with nested(cpu): accelerators run iterations with short nested loops,
// and CPU workers the others.

// A nestedGraph is a sparse matrix of which every 13th row is long.
type nestedGraph struct {
	n, long    int
	start, col []int32
	val, x     []int64
}

func newNestedGraph(n int) *nestedGraph {
	g := &nestedGraph{n: n, start: make([]int32, n+1), x: make([]int64, n)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		length := r.IntN(9)
		if i%13 == 0 {
			length = 33 + r.IntN(900)
			g.long++
		}
		for range length {
			g.col = append(g.col, int32(r.IntN(n)))
			g.val = append(g.val, int64(r.IntN(50)))
		}
		g.start[i+1] = int32(len(g.col))
		g.x[i] = int64(i * 3)
	}
	return g
}

// A deferring holds kernels with nested(cpu), and counts the iterations that their Go functions for
// parts of the loop run.
type deferring struct {
	rows, reach *task.Kernel
	parts       atomic.Int64
	fail        atomic.Bool
}

func newDeferring(t *testing.T, change func(text string) string) *deferring {
	t.Helper()
	text := strings.NewReplacer("nested(auto)", "nested(cpu)", "concurrent(reached)", "inout(reached)").Replace(nestedSource)
	if change != nil {
		text = change(text)
	}
	d := &deferring{}
	files := []task.SourceFile{{Name: "nested_kernels_test.go", Text: text}}
	ints := func(a *task.Args, i int) []int64 { return devices.SliceArg[int64](a, i) }
	ranged := func(a *task.Args) (lo, hi int, start, col []int32) {
		return devices.ScalarArg[int](a, 0), devices.ScalarArg[int](a, 1), devices.SliceArg[int32](a, 2), devices.SliceArg[int32](a, 3)
	}
	count := func(from, to int64) {
		d.parts.Add(to - from)
		if d.fail.Load() {
			panic("a part fails")
		}
	}
	d.rows = task.MustKernel(task.KernelSpec{Name: "NestedRows", Files: files,
		Go: func(a *task.Args) {
			lo, hi, start, col := ranged(a)
			NestedRows(lo, hi, start, col, ints(a, 4), ints(a, 5), ints(a, 6))
		},
		Split: func(a *task.Args, from, to int64) {
			count(from, to)
			lo, _, start, col := ranged(a)
			NestedRows(lo+int(from), lo+int(to), start, col, ints(a, 4), ints(a, 5), ints(a, 6))
		},
		Trips: func(a *task.Args) int64 { lo, hi, _, _ := ranged(a); return int64(max(0, hi-lo)) },
	})
	d.reach = task.MustKernel(task.KernelSpec{Name: "NestedReach", Files: files,
		Go: func(a *task.Args) {
			lo, hi, start, col := ranged(a)
			NestedReach(lo, hi, start, col, ints(a, 4), ints(a, 5))
		},
		Part: func(a *task.Args, from, to int64) {
			count(from, to)
			lo, _, start, col := ranged(a)
			NestedReach(lo+int(from), lo+int(to), start, col, ints(a, 4), ints(a, 5))
		},
	})
	return d
}

// nestedRounds are the rounds of the programs of the tests, each with tasks for parts of the rows.
const nestedRounds, nestedParts = 2, 4

// submit submits the program to at; it returns the tasks.
func (d *deferring) submit(t *testing.T, at task.Submitter, g *nestedGraph, y, reached []int64, options ...task.Option) (out []task.Task) {
	for range nestedRounds {
		for p := range nestedParts {
			lo, hi := p*g.n/nestedParts, (p+1)*g.n/nestedParts
			a, err := d.rows.With(options...).Submit(at, lo, hi, g.start, g.col, g.val, g.x, y)
			require.NoError(t, err)
			b, err := d.reach.With(options...).Submit(at, lo, hi, g.start, g.col, y, reached)
			require.NoError(t, err)
			out = append(out, a, b)
		}
	}
	return out
}

// want is what the Go functions compute, and how many iterations they are to run for accelerators.
func (g *nestedGraph) want() (y, reached []int64, deferred int64) {
	y, reached = make([]int64, g.n), make([]int64, g.n)
	for range nestedRounds {
		NestedRows(0, g.n, g.start, g.col, g.val, g.x, y)
		NestedReach(0, g.n, g.start, g.col, y, reached)
		deferred += int64(g.long)
		for i := range g.n {
			if g.start[i+1]-g.start[i] > 32 && y[i]&1 == 0 {
				deferred++
			}
		}
	}
	return y, reached, deferred
}

// The workers run just the iterations that are deferred, for one to four devices, whatever these
// run kernels with, where memory is short, and as children of a task.
func TestNestedCPU_OnDevices(t *testing.T) {
	g := newNestedGraph(104)
	wantY, wantReached, deferred := g.want()
	for _, spec := range []string{"smp:1,sim:1(exec=simt)", "smp:3,sim:2(exec=simt)", "smp:2,sim:4(exec=simt)", "smp:1,sim:2(exec=simt,memory=42KiB,granule=1KiB)", "smp:2,sim:4(exec=simt,memory=42KiB,granule=1KiB,peer=off)"} {
		for _, vector := range []string{"off", ""} {
			for _, inBody := range []bool{false, true} {
				t.Run(fmt.Sprint(spec, " ", vector, " ", inBody), func(t *testing.T) {
					d := newDeferring(t, nil)
					rt := open(t, task.Options{Devices: spec, Vector: vector})
					y, reached := make([]int64, g.n), make([]int64, g.n)
					if inBody {
						_, err := rt.GoScope(func(s *task.Scope) error { d.submit(t, s, g, y, reached); return nil }, task.In(g.start), task.In(g.col), task.In(g.val), task.In(g.x), task.InOut(y), task.InOut(reached))
						require.NoError(t, err)
					} else {
						d.submit(t, rt, g, y, reached)
					}
					require.NoError(t, rt.Wait(context.Background()))
					require.Equal(t, wantY, y)
					require.Equal(t, wantReached, reached)
					if vector == "off" {
						require.Equal(t, deferred, d.parts.Load(), "iterations that workers run")
					}
				})
			}
		}
	}
}

// Where the device is one that runs code of CPUs, and where there is none, the results are the same.
func TestNestedCPU_ByCode(t *testing.T) {
	g := newNestedGraph(104)
	wantY, wantReached, _ := g.want()
	for _, spec := range []string{"smp:1,sim:2(exec=cpu)", "smp:2", "smp:2,sim:1(exec=simt)"} {
		d := newDeferring(t, nil)
		rt := open(t, task.Options{Devices: spec})
		y, reached := make([]int64, g.n), make([]int64, g.n)
		var options []task.Option
		if strings.HasSuffix(spec, "simt)") {
			options = append(options, task.OnDevice("smp"))
		}
		d.submit(t, rt, g, y, reached, options...)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, wantY, y, spec)
		require.Equal(t, wantReached, reached, spec)
	}
}

// Where no iteration is deferred there is no task for workers, and of what the device has written
// only the number of deferred iterations comes to the host.
func TestNestedCPU_NothingDeferred(t *testing.T) {
	g := newNestedGraph(104)
	d := newDeferring(t, func(text string) string { return strings.ReplaceAll(text, "nested(cpu)", "nested(cpu) if(r < 0)") })
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=simt)", Vector: "off"})
	y, reached := make([]int64, g.n), make([]int64, g.n)
	tasks := d.submit(t, rt, g, y, reached)
	require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
	require.Zero(t, d.parts.Load())
	require.EqualValues(t, 8*len(tasks), rt.Stats().DeviceToHost)
	require.EqualValues(t, len(tasks), rt.Stats().ByDevice["sim:0"])
	wantY, wantReached, _ := g.want()
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, wantY, y)
	require.Equal(t, wantReached, reached)
}

// A kernel that fits no accelerator runs on the workers, where its directive permits that and the
// program does not ask for another device.
func TestNestedCPU_FitsNoAccelerator(t *testing.T) {
	g := newNestedGraph(104)
	wantY, wantReached, _ := g.want()
	d := newDeferring(t, nil)
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=simt,memory=16KiB,granule=1KiB)"})
	y, reached := make([]int64, g.n), make([]int64, g.n)
	d.submit(t, rt, g, y, reached)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, wantY, y)
	require.Equal(t, wantReached, reached)
	_, err := d.rows.With(task.OnDevice("sim")).Submit(rt, 0, g.n, g.start, g.col, g.val, g.x, y)
	require.NoError(t, err)
	var none *task.NoDeviceError
	require.ErrorAs(t, rt.Wait(context.Background()), &none)
}

// A failure of either part is the failure of the task, and later tasks of its data are skipped.
func TestNestedCPU_Failures(t *testing.T) {
	g := newNestedGraph(104)
	d := newDeferring(t, nil)
	d.fail.Store(true)
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=simt)", Vector: "off"})
	y, reached := make([]int64, g.n), make([]int64, g.n)
	tasks := d.submit(t, rt, g, y, reached)
	require.ErrorContains(t, rt.Wait(context.Background()), "a part fails")
	require.ErrorContains(t, tasks[0].Err(), "NestedRows behind nested(cpu)")
	var skipped *task.SkippedError
	require.ErrorAs(t, tasks[1].Err(), &skipped)
	g.col[5] = -1
	d.fail.Store(false)
	_, err := d.rows.Submit(rt, 0, g.n, g.start, g.col, g.val, g.x, make([]int64, g.n))
	require.NoError(t, err)
	require.ErrorContains(t, rt.Wait(context.Background()), "-1")
}

// What runs no tasks of its own refuses such a kernel with the reason.
func TestNestedCPU_Refusals(t *testing.T) {
	g := newNestedGraph(26)
	acc := newDeferring(t, func(text string) string { return strings.ReplaceAll(text, "device(acc, smp)", "device(acc)") })
	y := make([]int64, g.n)
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=simt)"})
	_, err := rt.Record(func(r *task.Recorder) error {
		_, err := acc.rows.Submit(r, 0, g.n, g.start, g.col, g.val, g.x, y)
		return err
	})
	require.ErrorContains(t, err, "nested(cpu): accelerators run it as a task of its own")
	_, err = rt.RecordKernels("rows", func(r *task.KernelRecorder) error {
		return r.Submit(acc.rows, 0, g.n, g.start, g.col, g.val, g.x, y)
	})
	require.ErrorContains(t, err, "nested(cpu): accelerators run it as a task of its own")
	_, err = acc.rows.With(task.OnDevice("smp")).Submit(rt, 0, g.n, g.start, g.col, g.val, g.x, y)
	require.Error(t, err)
	text := strings.ReplaceAll(nestedSource, "nested(auto)", "nested(cpu)")
	k, err := task.NewKernel(NestedRows, task.SourceFile{Name: "nested_kernels_test.go", Text: text})
	require.NoError(t, err)
	require.ErrorContains(t, k.Refused(), "the wrapper that gompss gen writes")
	k, err = task.NewKernel(NestedReach, task.SourceFile{Name: "nested_kernels_test.go", Text: text})
	require.NoError(t, err)
	require.ErrorContains(t, k.Refused(), "clause concurrent")
	require.NoError(t, acc.rows.Refused())
	only := open(t, task.Options{Devices: "sim:1(exec=simt)"})
	_, err = acc.rows.Submit(only, 0, g.n, g.start, g.col, g.val, g.x, y)
	require.ErrorContains(t, err, "add the device smp:1")
	require.False(t, errors.Is(err, task.ErrClosed))
}
