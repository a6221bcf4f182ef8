package machine_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/devicetest"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/trace/probe"
)

// Copies take 2 us and kernels 2 us; ten tasks on different data take eleven times that, not
// twenty.
func TestCopiesHideBehindKernels(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Clock: sim.Virtual, Bandwidth: 8e9, Latency: time.Microsecond,
		Cost: func(*devices.Launch) time.Duration { return 2 * time.Microsecond }})
	for range 10 {
		b := r.filled(1000)
		r.submit(acc(0), []deps.Access{in(r.whole(b))}, func(func(deps.BufferID) []int64) {})
	}
	r.finish()
	require.Equal(t, 22*time.Microsecond, r.m.Accelerators()[0].(*sim.Device).Elapsed())
}

// A stencil in two halves on two devices: after the first iteration only the borders move.
func TestIterationsMoveOnlyBorders(t *testing.T) {
	r := newRig(t, "sim:2", sim.Options{Memory: 1 << 20, Granule: 4 * kib})
	const n = 8192
	a, b := r.filled(n), r.filled(n)
	step := func(from, to deps.BufferID, half int64) {
		lo, hi := half*n/2, (half+1)*n/2
		read := deps.Interval(from, max(lo-1, 0), min(hi+1, n))
		r.submit(acc(int(half)), []deps.Access{in(read), out(deps.Interval(to, lo, hi))}, func(see func(deps.BufferID) []int64) {
			x, y := see(from), see(to)
			for i := lo; i < hi; i++ {
				y[i] = x[max(i-1, 0)] + x[i] + x[min(i+1, n-1)]
			}
		})
	}
	x, y := a, b
	for range 10 {
		step(x, y, 0)
		step(x, y, 1)
		x, y = y, x
	}
	require.NoError(t, r.wait())
	c := r.m.Counters()
	// The first borders come from the host, or from the other device when its copy has landed by
	// then.
	require.EqualValues(t, (n+2+9*2)*elem, c.HostToDevice+c.DeviceToDevice, "the input, once, and two border elements an iteration")
	require.GreaterOrEqual(t, c.DeviceToDevice, deps.Bytes(9*2*elem))
	require.Zero(t, c.DeviceToHost)
	r.finish()
	wantX, wantY := make([]int64, n), make([]int64, n)
	for i := range wantX {
		wantX[i] = int64(i)
	}
	for range 10 {
		for i := range wantY {
			wantY[i] = wantX[max(i-1, 0)] + wantX[i] + wantX[min(i+1, n-1)]
		}
		wantX, wantY = wantY, wantX
	}
	require.Equal(t, wantX, r.buffers[x])
}

func TestTransfersAreObserved(t *testing.T) {
	var mu sync.Mutex
	var seen []probe.Point
	r := newRig(t, "sim:1", sim.Options{}, func(o *machine.Options) {
		o.Now = func() time.Duration { return 5 }
		o.Observer = probe.Func(func(p probe.Point) {
			mu.Lock()
			defer mu.Unlock()
			if p.Kind == probe.Arrive {
				require.LessOrEqual(t, p.Begin, p.Time)
				p.Begin, p.Time = 0, 0
			}
			seen = append(seen, p)
		})
	})
	b := r.filled(1000)
	r.submit(acc(0), []deps.Access{inout(deps.Interval(b, 0, 10))}, add(deps.Interval(b, 0, 10), 1))
	r.finish()
	part := deps.Interval(b, 0, 10)
	size := r.m.Accelerators()[0].Properties().Granule
	require.Equal(t, []probe.Point{
		{Kind: probe.Alloc, Time: 5, Begin: 5, Device: "sim:0", Other: deps.TaskID(b), Bytes: min(size, 8000)},
		{Kind: probe.Transfer, Time: 5, From: "host", To: "sim:0", Bytes: 80, Region: part},
		{Kind: probe.Arrive, From: "host", To: "sim:0", Bytes: 80, Region: part},
		{Kind: probe.Transfer, Time: 5, From: "sim:0", To: "host", Bytes: 80, Region: part},
		{Kind: probe.Arrive, From: "sim:0", To: "host", Bytes: 80, Region: part},
	}, seen)
}

// A kernel may take a slice that it does not touch, for its length.
func TestArgumentsThatAreNotTouched(t *testing.T) {
	for _, exec := range []sim.Exec{sim.CPU, sim.SIMT} {
		r := newRig(t, "sim:1", sim.Options{Exec: exec})
		b, c := r.filled(100), r.filled(100)
		done := make(chan error, 1)
		ws := &machine.WorkingSet{Space: acc(0), Accesses: []deps.Access{in(r.whole(b)), inout(r.whole(c))}}
		ws.Done = func(ws *machine.WorkingSet, err error) {
			r.m.ReleaseSet(ws, err)
			done <- err
		}
		slice := func(b deps.BufferID, n int64) devices.Arg {
			return devices.Arg{Type: ir.SliceOf(ir.Int64Type), Buffer: b, Len: n, Cap: 100}
		}
		untouched := r.filled(100)
		k := devicetest.Twice()
		r.m.Acquire(ws)
		r.m.Launch(ws, &devices.Launch{Kernel: k, Args: &devices.Args{List: []devices.Arg{slice(b, 100), slice(c, 100)}}})
		require.NoError(t, <-done)
		// With an empty x nothing of either is touched.
		ws.Accesses = nil
		r.m.Acquire(ws)
		r.m.Launch(ws, &devices.Launch{Kernel: k, Args: &devices.Args{List: []devices.Arg{slice(untouched, 0), slice(c, 100)}}})
		require.NoError(t, <-done)
		r.finish()
		require.EqualValues(t, 3*99, r.buffers[c][99])
	}
}

func TestDropWaitsForCopiesUnderWay(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Latency: 5 * time.Millisecond}, func(o *machine.Options) { o.WriteThrough = true })
	b := r.filled(1000)
	r.submit(acc(0), []deps.Access{inout(r.whole(b))}, add(r.whole(b), 1))
	require.NoError(t, r.wait())
	require.NoError(t, r.m.DropBuffer(b))
	require.EqualValues(t, 1000, r.buffers[b][999], "what was under way to the host has arrived")
	require.Empty(t, r.m.Leak())
}

// Many goroutines at disjoint buffers, on all spaces, with too little room for all.
func TestHammer(t *testing.T) {
	r := newRig(t, "smp:1,sim:2", sim.Options{Memory: 32 * kib, Granule: 1 * kib})
	var buffers []deps.BufferID
	for range 16 {
		buffers = append(buffers, r.filled(512))
	}
	var all sync.WaitGroup
	for _, b := range buffers {
		all.Go(func() {
			for round := range 60 {
				r.once(devices.SpaceID{Device: uint16((round + int(b)) % 3)}, inout(r.whole(b)), add(r.whole(b), 1))
			}
		})
	}
	all.Wait()
	r.finish()
	for _, b := range buffers {
		for i, v := range r.buffers[b] {
			if v != int64(i+60) {
				require.EqualValues(t, i+60, v)
			}
		}
	}
}

// once runs one task from any goroutine and waits for it.
func (r *rig) once(space devices.SpaceID, a deps.Access, body func(func(deps.BufferID) []int64)) {
	done := make(chan error, 1)
	tell := func(_ *machine.WorkingSet, err error) { done <- err }
	ws := &machine.WorkingSet{Space: space, Accesses: []deps.Access{a}}
	if space == devices.Host {
		ws.Ready = tell
		if r.m.Acquire(ws) {
			done <- nil
		}
	} else {
		ws.Done = tell
		r.m.Acquire(ws)
		r.m.Launch(ws, &devices.Launch{Kernel: &devices.Kernel{Name: "k", Go: func(a *devices.Args) { body(r.seer(a.At)) }}, Args: &devices.Args{}})
	}
	err := <-done
	if space == devices.Host && err == nil {
		body(r.seer(r.m.HostAt))
	}
	r.m.ReleaseSet(ws, err)
	if err != nil {
		r.t.Error(err)
	}
}
