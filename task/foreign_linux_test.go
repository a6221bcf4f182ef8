package task_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Address space that was given back may be anybody's.
func TestMemoryWhereAllocWas(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x, err := task.Alloc[byte](rt, 1<<20)
	require.NoError(t, err)
	require.NoError(t, task.Free(rt, x))
	at, err := unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(x)), uintptr(len(x)), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_FIXED)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.MunmapPtr(at, uintptr(len(x)))) }()
	again := unsafe.Slice((*byte)(at), len(x))
	_, err = rt.Go(func() error { again[5] = 7; return nil }, task.Out(again))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, byte(7), again[5])
	require.NoError(t, task.Unregister(rt, again))
}
