//go:build linux && (amd64 || arm64)

package opencl

import (
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/devicetest"
)

// What waits for an event of another queue is enqueued when that queue was flushed behind it, as
// OpenCL wants it.
func TestQueue_FlushesWhatOthersWaitFor(t *testing.T) {
	d := openAny(t, Options{})
	var mu sync.Mutex
	of, flushed := map[uintptr]uintptr{}, map[uintptr]bool{} // events
	waits, early := 0, 0
	around := interception(func(which fn, args []uintptr, call func() uintptr) uintptr {
		enqueue := slices.Contains(enqueues, which)
		if enqueue {
			n := len(args)
			mu.Lock()
			for _, e := range unsafe.Slice(*(**uintptr)(unsafe.Pointer(&args[n-2])), args[n-3]) {
				if waits++; of[e] != args[0] && !flushed[e] {
					early++
				}
			}
			mu.Unlock()
		}
		out := call()
		mu.Lock()
		defer mu.Unlock()
		switch {
		case enqueue && out == 0 && args[len(args)-1] != 0:
			e := **(**uintptr)(unsafe.Pointer(&args[len(args)-1]))
			of[e], flushed[e] = args[0], false
		case which == clFlush || which == clFinish:
			for e, q := range of {
				flushed[e] = flushed[e] || q == args[0]
			}
		}
		return out
	})
	d.driver.around.Store(&around)
	defer d.driver.around.Store(nil)
	x, y := make([]int64, storySize), make([]int64, storySize)
	s := &story{x: x, y: y}
	for b, host := range [][]int64{x, y} {
		require.NoError(t, d.Reserve(devices.Buffer{ID: deps.BufferID(b), Host: devices.NewHostMemory(unsafe.Pointer(&host[0])), Size: 8 * storySize, Elem: 8}))
		require.NoError(t, d.Map(deps.BufferID(b), 0, 8*storySize))
	}
	k := devicetest.Twice()
	require.NoError(t, d.Prepare(k))
	for range 30 {
		first := s.copy(d, rows(0), true)
		for range 8 { // the queue enqueues them without a flush
			s.copy(d, rows(0), true)
		}
		run := s.launch(d, k, first)
		require.NoError(t, await(s.copy(d, whole(1), false, run)))
	}
	for b := range deps.BufferID(2) {
		require.NoError(t, d.Release(b))
	}
	mu.Lock()
	defer mu.Unlock()
	require.Positive(t, waits)
	require.Zero(t, early, "of %d waits", waits)
}
