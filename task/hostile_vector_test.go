//go:build linux && amd64

package task_test

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/task"
)

//go:embed hostile_kernels_test.go
var hostileText string

// A hostileCall is a kernel and what makes it go wrong, or, with fine, what looks as if it did.
type hostileCall struct {
	name string
	fn   any
	args []any
	fine bool
}

func hostileCalls(t *testing.T) []hostileCall {
	ones := func(n int, v int64) []int64 {
		x := make([]int64, n)
		for i := range x {
			x[i] = v
		}
		return x
	}
	with := func(x []int64, i int, v int64) []int64 { x[i] = v; return x }
	gone := goneMemory(t)
	readOnly := readOnlyMemory(t)
	return []hostileCall{
		{"past the end", hostileSpan, []any{0, 1001, make([]int64, 1000)}, false},
		{"before the beginning", hostileSpan, []any{-1, 10, make([]int64, 1000)}, false},
		{"far before", hostileSpan, []any{math.MinInt, 10, make([]int64, 1000)}, false},
		{"all there is", hostileSpan, []any{math.MinInt, math.MaxInt, make([]int64, 1000)}, false},
		{"an end that wraps", hostileSpan, []any{5, math.MaxInt, make([]int64, 1000)}, false},
		{"nothing", hostileSpan, []any{math.MaxInt, math.MinInt, []int64(nil)}, true},
		{"a nil slice", hostileSpan, []any{0, 1, []int64(nil)}, false},
		{"many of a nil slice", hostileSpan, []any{0, 1 << 20, []int64(nil)}, false},
		{"an index of -1", hostileGather, []any{with(make([]int64, 9999), 9000, -1), make([]int64, 9999), make([]int64, 9999)}, false},
		{"a huge index", hostileGather, []any{with(make([]int64, 9999), 77, math.MaxInt64), make([]int64, 9999), make([]int64, 9999)}, false},
		{"the least index", hostileGather, []any{with(make([]int64, 9999), 9998, math.MinInt64), make([]int64, 9999), make([]int64, 9999)}, false},
		{"an index that fits in 32 bits", hostileGather, []any{with(make([]int64, 9999), 4000, 1<<32), make([]int64, 9999), make([]int64, 9999)}, false},
		{"nowhere to gather from", hostileGather, []any{make([]int64, 99), []int64(nil), make([]int64, 99)}, false},
		{"a place of -1", hostileScatter, []any{[]int32{0, 1, 2, -1}, make([]int8, 3)}, false},
		{"the least place", hostileScatter, []any{[]int32{math.MinInt32}, make([]int8, 3)}, false},
		{"zero", hostileDivide, []any{ones(9999, 5), with(ones(9999, 3), 9998, 0)}, false},
		{"the least by -1", hostileDivide, []any{with(ones(9999, 5), 7, math.MinInt64), ones(9999, -1)}, true},
		{"fewer divisors", hostileDivide, []any{ones(9999, 5), ones(9998, 1)}, false},
		{"zero for all", hostileDivideByOne, []any{make([]int32, 999), int32(0)}, false},
		{"zero for none", hostileDivideByOne, []any{[]int32{}, int32(0)}, true},
		{"the least of 32 bits by -1", hostileDivideByOne, []any{[]int32{math.MinInt32, 1}, int32(-1)}, true},
		{"a count below 0", hostileShift, []any{ones(99, 5), append(make([]int, 98), -1)}, false},
		{"counts past the width", hostileShift, []any{ones(2, 5), []int{64, math.MaxInt}}, true},
		{"a stride that wraps", hostileStride, []any{3, 1 << 62, make([]int64, 9)}, false},
		{"a stride that wraps to 0", hostileStride, []any{2, math.MinInt, make([]int64, 9)}, false},
		{"a stride below 0", hostileStride, []any{2, -1, make([]int64, 9)}, false},
		{"a part the wrong way round", hostilePart, []any{5, 4, make([]int64, 9)}, false},
		{"a part past the end", hostilePart, []any{0, 10, make([]int64, 9)}, false},
		{"a sum past the end", hostileSum, []any{ones(9999, 1), 2}, false},
		{"too many in steps", hostileSteps, []any{100001, make([]int64, 100000)}, false},
		{"memory that is gone", hostileSpan, []any{0, len(gone), gone}, false},
		{"memory that is gone, gathered", hostileGather, []any{ones(9999, 4000), gone, make([]int64, 9999)}, false},
		{"memory that is gone, summed", hostileSum, []any{gone, 1}, false},
		{"memory that is gone, in steps", hostileSteps, []any{len(gone), gone}, false},
		{"memory that cannot be written", hostileSpan, []any{0, len(readOnly), readOnly}, false},
	}
}

// goneMemory is a slice whose memory may not be touched any more, behind its first page.
func goneMemory(t *testing.T) []int64 { return protected(t, unix.PROT_NONE) }

func readOnlyMemory(t *testing.T) []int64 { return protected(t, unix.PROT_READ) }

func protected(t *testing.T, prot int) []int64 {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, 4<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(mem)) })
	require.NoError(t, unix.Mprotect(mem[unix.Getpagesize():], prot))
	return unsafe.Slice((*int64)(unsafe.Pointer(&mem[0])), len(mem)/8)
}

// TestNoFaultInAKernelEndsTheProgram calls kernels with what makes them go wrong, on one worker and on many, as vector code and as the Go
// function, while the collector runs: the task fails, another that waited for it is told, and the next one works.
func TestNoFaultInAKernelEndsTheProgram(t *testing.T) {
	file := task.SourceFile{Name: "hostile_kernels_test.go", Text: hostileText}
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !stop.Load() {
			runtime.GC()
		}
	}()
	defer func() { stop.Store(true); <-ended }()
	kernels := map[string]*task.Kernel{}
	calls := hostileCalls(t)
	for _, c := range calls {
		k, err := task.NewKernel(c.fn, file)
		require.NoError(t, err)
		kernels[c.name] = k
	}
	for _, vector := range []string{task.VectorAuto, task.VectorAVX2, task.VectorOff} {
		for _, spec := range []string{"smp:1", "smp:4"} {
			rt, err := task.New(task.Options{Devices: spec, Vector: vector})
			require.NoError(t, err)
			for _, c := range calls {
				t.Run(fmt.Sprint(vector, "/", spec, "/", c.name), func(t *testing.T) {
					one, err := kernels[c.name].Submit(rt, c.args...)
					if err != nil {
						require.False(t, c.fine, err) // what the regions of its clauses show is refused at once
						return
					}
					if waited := rt.Wait(context.Background()); c.fine {
						require.NoError(t, waited)
						return
					}
					require.Error(t, one.Err())
					x := make([]int64, 3000)
					_, err = kernels["past the end"].Submit(rt, 0, 3000, x)
					require.NoError(t, err)
					require.NoError(t, rt.Wait(context.Background()))
					require.Equal(t, int64(2999), x[2999])
				})
			}
			require.NoError(t, rt.Close())
		}
	}
}
