//go:build linux && (amd64 || arm64)

package opencl

import (
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/devicetest"
)

// A chain is launches of a kernel on small buffers, each behind the one before.
type chain struct {
	d     *Device
	y     []int64
	out   devices.Buffer
	one   *devices.Launch
	after []devices.Event // the last launch
}

func newChain(t testing.TB, k *devices.Kernel, d *Device) *chain {
	c := &chain{d: d, y: make([]int64, 8), one: &devices.Launch{Kernel: k, Args: &devices.Args{}}}
	x := make([]int64, len(c.y))
	for i := range x {
		x[i] = int64(i + 1)
	}
	for i, host := range [][]int64{x, c.y} {
		c.out = devices.Buffer{ID: deps.BufferID(i), Host: devices.NewHostMemory(unsafe.Pointer(&host[0])), Size: 8 * deps.Bytes(len(host)), Elem: 8}
		require.NoError(t, d.Reserve(c.out))
		require.NoError(t, d.Map(c.out.ID, 0, c.out.Size))
		require.NoError(t, c.copy(true))
		c.one.Args.List = append(c.one.Args.List, devices.Arg{Type: ir.SliceOf(ir.Int64Type), Buffer: c.out.ID, Len: int64(len(host)), Cap: int64(len(host))})
	}
	require.NoError(t, d.Prepare(k))
	return c
}

// copy copies the buffer that was reserved last.
func (c *chain) copy(toDevice bool) error {
	tr := devices.Transfer{Region: deps.Interval(c.out.ID, 0, int64(len(c.y))), Elem: 8, From: devices.Host, To: c.d.space}
	if !toDevice {
		tr.From, tr.To = tr.To, tr.From
	}
	return await(c.d.Copy(tr, c.after))
}

func (c *chain) run(n int) error {
	for range n {
		c.after = []devices.Event{c.d.Launch(c.one, c.after)}
	}
	return await(c.after[0])
}

// unchecked is devicetest.Twice without checks, as a kernel whose checks the host proves.
func unchecked() *devices.Kernel {
	k := devicetest.Twice()
	for _, l := range k.Program.Launches {
		ir.WalkExprs(l.Body, func(e ir.Expr) bool {
			if x, ok := e.(*ir.Index); ok {
				x.Checked = false
			}
			return true
		})
	}
	return k
}

// A link of a chain is enqueued with its event and nothing else: its arguments stay, and the host
// waits for many at once.
func TestChain_CallsOfALink(t *testing.T) {
	d := openAny(t, Options{})
	c := newChain(t, unchecked(), d)
	require.NoError(t, c.run(1)) // its arguments
	const n = 2000
	var mu sync.Mutex
	calls := map[fn]int{}
	around := interception(func(which fn, _ []uintptr, call func() uintptr) uintptr {
		mu.Lock()
		calls[which]++
		mu.Unlock()
		return call()
	})
	d.driver.around.Store(&around)
	err := c.run(n)
	d.driver.around.Store(nil)
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, n, calls[clEnqueueNDRangeKernel])
	require.Zero(t, calls[clSetKernelArg])
	require.Zero(t, calls[clRetainEvent]+calls[clEnqueueMarkerWithWaitList]+calls[clFinish])
	require.NoError(t, c.copy(false))
	for i, y := range c.y {
		require.Equal(t, 2*int64(i+1)*(n+1), y)
	}
	names := map[string]float64{}
	for which, k := range calls {
		names[functions[which]] = float64(k) / n
	}
	t.Logf("calls a link: %v", names)
}

// Arguments that stay are set again where the memory objects are others, though a driver may give
// them the same address.
func TestChain_ArgumentsOfNewMemory(t *testing.T) {
	d := openAny(t, Options{})
	k := unchecked()
	for range 20 {
		c := newChain(t, k, d)
		require.NoError(t, c.run(3))
		require.NoError(t, c.copy(false))
		for i, y := range c.y {
			require.Equal(t, 2*int64(i+1)*3, y)
		}
		for b := range deps.BufferID(2) {
			require.NoError(t, d.Release(b))
		}
	}
}

// Where the host waits for many at once and one has failed, that one has the error, and no other.
func TestChain_OneOfManyFails(t *testing.T) {
	d := openAny(t, Options{})
	c := newChain(t, unchecked(), d)
	const n, broken = 100, 90
	all := make(chan struct{}) // n are enqueued
	var mu sync.Mutex
	var bad uintptr
	var enqueued, together int
	around := interception(func(which fn, args []uintptr, call func() uintptr) uintptr {
		if which == clWaitForEvents {
			<-all
		}
		out := call()
		mu.Lock()
		defer mu.Unlock()
		switch which {
		case clEnqueueNDRangeKernel:
			if enqueued == broken {
				bad = **(**uintptr)(unsafe.Pointer(&args[len(args)-1]))
			}
			if enqueued++; enqueued == n {
				close(all)
			}
		case clWaitForEvents:
			list := unsafe.Slice(*(**uintptr)(unsafe.Pointer(&args[1])), args[0])
			if slices.Contains(list, bad) {
				together = max(together, len(list))
				failed := int32(-14)
				return uintptr(uint32(failed))
			}
		case clGetEventInfo:
			if args[0] == bad {
				**(**int32)(unsafe.Pointer(&args[3])) = codeNoResources
			}
		}
		return out
	})
	d.driver.around.Store(&around)
	defer d.driver.around.Store(nil)
	var events []devices.Event
	for range n {
		events = append(events, d.Launch(c.one, nil))
	}
	for i, e := range events {
		if err := await(e); i == broken {
			require.ErrorIs(t, err, devices.ErrNoMemory)
		} else {
			require.NoError(t, err, "launch %d", i)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	require.Greater(t, together, 1)
}

// BenchmarkHostPath measures what the host does for a launch behind another one. `chain` has no
// checks; those of `checked` are read before the next launch. With GOMPSS_OPENCL_PLATFORM=NVIDIA it
// runs on that platform.
func BenchmarkHostPath(b *testing.B) {
	for _, kind := range []struct {
		name string
		k    *devices.Kernel
	}{{"chain", unchecked()}, {"checked", devicetest.Twice()}} {
		b.Run(kind.name, func(b *testing.B) {
			c := newChain(b, kind.k, openAny(b, Options{}))
			require.NoError(b, c.run(100))
			b.ReportAllocs()
			b.ResetTimer()
			require.NoError(b, c.run(b.N))
		})
	}
	b.Run("launch and wait", func(b *testing.B) {
		c := newChain(b, unchecked(), openAny(b, Options{}))
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, c.run(1))
		}
	})
}
