//go:build linux && amd64

package task_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/task"
)

// TestFaultInVectorCodeIsTheTasksError fills a buffer one page of which may not be written, with a task that several workers share: the task
// fails, its successor is told so, and the next task runs.
func TestFaultInVectorCodeIsTheTasksError(t *testing.T) {
	const n = 4 << 20
	mem, err := unix.Mmap(-1, 0, n*4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(mem)) }()
	require.NoError(t, unix.Mprotect(mem[n*3:n*3+unix.Getpagesize()], unix.PROT_READ))
	x := unsafe.Slice((*uint32)(unsafe.Pointer(&mem[0])), n)
	fill := kernelOf(t, Fill)
	for _, spec := range []string{"smp:1", "smp:4"} {
		rt, err := task.New(task.Options{Devices: spec, Vector: task.VectorAVX2}) // with -race, too
		require.NoError(t, err)
		if err := rt.Vectorised(fill); err != nil {
			require.NoError(t, rt.Close())
			t.Skip(err)
		}
		for range 5 {
			one, err := fill.Submit(rt, 0, n, uint32(7), x)
			require.NoError(t, err)
			require.Error(t, rt.Wait(context.Background()))
			var fault *cpu.FaultError
			require.ErrorAs(t, one.Err(), &fault)
			require.Equal(t, "d", fault.Slice)
			two, err := fill.Submit(rt, 0, n/2, uint32(9), x)
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			require.NoError(t, two.Err())
			i := uint32(n/2 - 1)
			require.Equal(t, i*2654435761+9, x[i])
		}
		require.NoError(t, rt.Close())
	}
}
