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

// A link of a chain is enqueued and nothing else: its arguments stay, and many have one event, for
// which the host waits.
func TestChain_CallsOfALink(t *testing.T) {
	d := openAny(t, Options{})
	c := newChain(t, unchecked(), d)
	require.NoError(t, c.run(1)) // its arguments
	const n = 125 * mostBehind
	submitted, enqueued := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	calls := map[fn]int{}
	around := interception(func(which fn, _ []uintptr, call func() uintptr) uintptr {
		switch which {
		case clEnqueueNDRangeKernel:
			<-submitted
		case clWaitForEvents:
			<-enqueued
		}
		mu.Lock()
		defer mu.Unlock()
		if calls[which]++; which == clEnqueueNDRangeKernel && calls[which] == n {
			close(enqueued)
		}
		return call()
	})
	d.driver.around.Store(&around)
	defer d.driver.around.Store(nil)
	d.launch.mu.Lock()
	d.launch.pace.short = true
	d.launch.mu.Unlock()
	for range n {
		c.after = []devices.Event{d.Launch(c.one, c.after)}
	}
	close(submitted)
	require.NoError(t, await(c.after[0]))
	require.NoError(t, c.copy(false))
	for i, y := range c.y {
		require.Equal(t, 2*int64(i+1)*(n+1), y)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, n, calls[clEnqueueNDRangeKernel])
	require.Zero(t, calls[clSetKernelArg])
	require.Zero(t, calls[clRetainEvent]+calls[clEnqueueMarkerWithWaitList]+calls[clFinish])
	if d.launch.share > 1 {
		require.LessOrEqual(t, calls[clReleaseEvent], n/mostBehind+2) // with those of the copy and the first launch
		require.LessOrEqual(t, calls[clWaitForEvents], n/mostBehind+2)
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
	d.launch.share = 1
	c := newChain(t, unchecked(), d)
	const n, broken = 100, 90
	together := 0
	for range 20 { // the host waits for many where it has seen that they are short
		var errs []error
		if errs, together = c.fail(n, broken); len(errs) != n {
			t.Fatalf("%d of %d launches have ended", len(errs), n)
		}
		for i, err := range errs {
			if i == broken {
				require.ErrorIs(t, err, devices.ErrNoMemory)
			} else {
				require.NoError(t, err, "launch %d", i)
			}
		}
		if together > 1 {
			break
		}
	}
	require.Greater(t, together, 1)
}

// Where several launches have one event, all of them have its error, and no others.
func TestChain_ManyFailTogether(t *testing.T) {
	d := openAny(t, Options{})
	if d.launch.share == 1 {
		t.Skip("each launch has its event on this device")
	}
	c := newChain(t, unchecked(), d)
	const n, broken = 200, 150
	failed := 0
	for try := 0; failed < 2 && try < 20; try++ {
		require.NoError(t, c.run(n)) // they are short
		errs, _ := c.fail(n, broken)
		failed = 0
		for i, err := range errs {
			if err != nil {
				require.ErrorIs(t, err, devices.ErrNoMemory)
				require.InDelta(t, broken, i, mostBehind)
				failed++
			}
		}
		require.Error(t, errs[broken])
	}
	require.Greater(t, failed, 1)
}

// fail launches n kernels, which wait for nothing, and has the event fail that tells of one of them.
// It returns what became of them, and for how many events the host has waited at once with it.
func (c *chain) fail(n, broken int) (errs []error, together int) {
	all := make(chan struct{}) // n are enqueued
	var mu sync.Mutex
	var bad uintptr
	var enqueued int
	around := interception(func(which fn, args []uintptr, call func() uintptr) uintptr {
		if which == clWaitForEvents {
			<-all
		}
		out := call()
		mu.Lock()
		defer mu.Unlock()
		switch which {
		case clEnqueueNDRangeKernel:
			if to := args[len(args)-1]; enqueued >= broken && bad == 0 && to != 0 {
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
	c.d.driver.around.Store(&around)
	defer c.d.driver.around.Store(nil)
	var events []devices.Event
	for range n {
		events = append(events, c.d.Launch(c.one, nil))
	}
	for _, e := range events {
		errs = append(errs, await(e))
	}
	return errs, together
}

// Launches before one that waits for another queue do not wait with it: a marker is their event.
func TestChain_ALinkBehindACopyIsApart(t *testing.T) {
	d := openAny(t, Options{})
	if d.launch.share == 1 {
		t.Skip("each launch has its event on this device")
	}
	c := newChain(t, unchecked(), d)
	submitted, enqueued := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var calls []string
	around := interception(func(which fn, args []uintptr, call func() uintptr) uintptr {
		switch which {
		case clEnqueueNDRangeKernel, clEnqueueMarkerWithWaitList:
			<-submitted
			mu.Lock()
			name := "kernel"
			if which == clEnqueueMarkerWithWaitList {
				name = "marker"
			} else if args[len(args)-3] > 0 {
				name = "waiting kernel"
			}
			if args[len(args)-1] != 0 {
				name += " with an event"
			}
			if calls = append(calls, name); len(calls) == 6 {
				close(enqueued)
			}
			mu.Unlock()
		case clWaitForEvents:
			<-enqueued // so the copy has not happened before
		}
		return call()
	})
	d.driver.around.Store(&around)
	defer d.driver.around.Store(nil)
	up := d.Copy(devices.Transfer{Region: deps.Interval(c.out.ID, 0, int64(len(c.y))), Elem: 8, From: devices.Host, To: d.space}, nil)
	d.launch.mu.Lock()
	d.launch.pace.short = true
	d.launch.mu.Unlock()
	var last devices.Event
	for _, after := range [][]devices.Event{nil, nil, {up}, nil, nil} {
		last = d.Launch(c.one, after)
	}
	close(submitted)
	require.NoError(t, await(last))
	require.Equal(t, []string{"kernel", "kernel", "marker with an event", "waiting kernel", "kernel", "kernel with an event"}, calls)
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
