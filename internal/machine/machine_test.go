package machine_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/internal/machine"
)

const kib = deps.Bytes(1 << 10)

func TestDataGoToTheDeviceAndBack(t *testing.T) {
	r := newRig(t, "smp:1,sim:1", sim.Options{Memory: 64 * kib, Granule: 4 * kib})
	b := r.filled(1000)
	r.submit(acc(0), []deps.Access{inout(r.whole(b))}, add(r.whole(b), 5))
	r.finish()
	for i, v := range r.buffers[b] {
		if v != int64(i+5) {
			require.EqualValues(t, i+5, v)
		}
	}
	c := r.m.Counters()
	require.EqualValues(t, 8000, c.HostToDevice)
	require.EqualValues(t, 8000, c.DeviceToHost)
	require.EqualValues(t, 2, c.Transfers)
}

func TestWhatIsOnlyWrittenIsNotCopied(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Memory: 64 * kib, Granule: 4 * kib})
	b := r.filled(1000)
	r.submit(acc(0), []deps.Access{out(r.whole(b))}, func(see func(deps.BufferID) []int64) {
		x := see(b)
		if uint32(x[0]) != sim.Poison || uint32(x[999]>>32) != sim.Poison {
			t.Errorf("fresh memory is not poisoned: %x", x[0])
		}
		for i := range x {
			x[i] = 7
		}
	})
	r.finish()
	require.EqualValues(t, 7, r.buffers[b][999])
	c := r.m.Counters()
	require.Zero(t, c.HostToDevice)
	require.EqualValues(t, 8000, c.DeviceToHost)
}

func TestACopyIsMadeOnceForAllReaders(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Memory: 64 * kib, Granule: 4 * kib})
	b, c := r.filled(1000), r.buffer(10)
	for i := range int64(10) {
		mine := deps.Interval(c, i, i+1)
		r.submit(acc(0), []deps.Access{in(r.whole(b)), out(mine)}, func(see func(deps.BufferID) []int64) {
			see(c)[i] = see(b)[i] + 1
		})
	}
	r.finish()
	for i, v := range r.buffers[c] {
		if v != int64(i+1) {
			require.EqualValues(t, i+1, v)
		}
	}
	require.EqualValues(t, 8000, r.m.Counters().HostToDevice)
}

func TestOnlyWhatIsDeclaredMoves(t *testing.T) {
	r := newRig(t, "sim:2", sim.Options{Memory: 1 << 20, Granule: 4 * kib})
	b := r.filled(128 * 128)
	tile := box(b, 128, 16, 48, 32, 64)    // 32 x 32
	overlap := box(b, 128, 40, 56, 48, 80) // 16 x 32, 8 x 16 of it shared
	r.submit(acc(0), []deps.Access{inout(tile)}, add(tile, 1000))
	r.submit(acc(1), []deps.Access{inout(overlap)}, add(overlap, 5))
	require.NoError(t, r.wait())
	c := r.m.Counters()
	require.EqualValues(t, 8*(32*32+16*32-8*16), c.HostToDevice)
	require.EqualValues(t, 8*8*16, c.DeviceToDevice, "exactly the shared elements come from the device that wrote them")
	r.finish()
	require.EqualValues(t, 8*(32*32+16*32-8*16), r.m.Counters().DeviceToHost, "the newest copy of each element, once")
	require.EqualValues(t, 45*128+50+1005, r.buffers[b][45*128+50])
}

func TestPeerOffGoesThroughTheHost(t *testing.T) {
	for _, peer := range []bool{true, false} {
		r := newRig(t, "sim:2", sim.Options{Memory: 64 * kib, Granule: 4 * kib, NoPeer: !peer})
		b := r.filled(1000)
		for i := range 6 {
			r.submit(acc(i%2), []deps.Access{inout(r.whole(b))}, add(r.whole(b), 1))
		}
		r.finish()
		for i, v := range r.buffers[b] {
			if v != int64(i+6) {
				require.EqualValues(t, i+6, v)
			}
		}
		c := r.m.Counters()
		if peer {
			require.EqualValues(t, []deps.Bytes{8000, 8000, 5 * 8000}, []deps.Bytes{c.HostToDevice, c.DeviceToHost, c.DeviceToDevice})
		} else {
			require.EqualValues(t, []deps.Bytes{6 * 8000, 6 * 8000, 0}, []deps.Bytes{c.HostToDevice, c.DeviceToHost, c.DeviceToDevice})
		}
	}
}

func TestWriteThroughKeepsTheHostValid(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Memory: 64 * kib, Granule: 4 * kib}, func(o *machine.Options) { o.WriteThrough = true })
	b := r.filled(1000)
	for range 3 {
		r.submit(acc(0), []deps.Access{inout(r.whole(b))}, add(r.whole(b), 1))
	}
	require.NoError(t, r.wait())
	require.Zero(t, r.m.MissingBytes([]deps.Access{in(r.whole(b))}, devices.Host))
	r.finish()
	require.EqualValues(t, 3*8000, r.m.Counters().DeviceToHost)
	require.EqualValues(t, 3+999, r.buffers[b][999])
}

func TestHostWritesInvalidateTheDevice(t *testing.T) {
	r := newRig(t, "smp:1,sim:1", sim.Options{Memory: 64 * kib, Granule: 4 * kib})
	b := r.filled(1000)
	half := deps.Interval(b, 0, 500)
	r.submit(acc(0), []deps.Access{in(r.whole(b))}, func(func(deps.BufferID) []int64) {})
	r.submit(devices.Host, []deps.Access{inout(half)}, add(half, 100))
	r.submit(acc(0), []deps.Access{inout(r.whole(b))}, add(r.whole(b), 1))
	r.finish()
	require.EqualValues(t, 101, r.buffers[b][0])
	require.EqualValues(t, 1000, r.buffers[b][999])
	require.EqualValues(t, 8000+4000, r.m.Counters().HostToDevice)
}

func TestBuffersComeAndGo(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Memory: 16 * kib, Granule: 4 * kib})
	for range 20 { // more than fits: dropped buffers give their memory back
		b := r.filled(1024)
		r.submit(acc(0), []deps.Access{inout(r.whole(b))}, add(r.whole(b), 1))
		require.NoError(t, r.wait())
		require.NoError(t, r.m.DropBuffer(b))
		require.ErrorIs(t, r.m.DropBuffer(b), devices.ErrUnknownBuffer)
	}
	require.Zero(t, r.m.Counters().Evictions)
	require.Empty(t, r.m.Leak())
	require.Zero(t, r.m.Accelerators()[0].(*sim.Device).Backed())
}

// A device gets a buffer that a kernel has among its arguments and no access names, also
// where the kernel is launched past the steps, and again when another buffer has its id.
func TestStartTellsTheDeviceOfItsBuffers(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Memory: 64 * kib, Granule: 4 * kib})
	x, y := r.filled(100), r.filled(100)
	device := r.m.Accelerators()[0].(*sim.Device)
	slice := &ir.Type{Kind: ir.Slice}
	done := make(chan error, 1)
	ws := &machine.WorkingSet{Accesses: []deps.Access{inout(r.whole(x))}, Space: acc(0)}
	ws.Done = func(ws *machine.WorkingSet, err error) {
		r.m.ReleaseSet(ws, err)
		done <- err
	}
	for range 3 {
		var at []unsafe.Pointer
		l := &devices.Launch{
			Kernel: &devices.Kernel{Name: "two", Go: func(a *devices.Args) { at = append(at, a.Address(0), a.Address(1)) }},
			Args:   &devices.Args{List: []devices.Arg{{Type: slice, Buffer: x, Len: 100, Cap: 100}, {Type: slice, Buffer: y, Len: 100, Cap: 100}}},
		}
		for range 3 {
			r.m.Start(ws, l)
			require.NoError(t, <-done)
		}
		require.Len(t, at, 6)
		require.NotContains(t, at, unsafe.Pointer(nil))
		r.m.WaitForTransfers()
		require.NoError(t, r.m.DropBuffer(y))
		require.NoError(t, r.m.AddBuffer(y, pointer(r.buffers[y]), 100*elem, elem))
	}
	require.NoError(t, r.fetch())
	require.Equal(t, deps.Bytes(4*kib), device.Backed())
}

func TestHostPathIsFree(t *testing.T) {
	for _, spec := range []string{"smp:1", "smp:1,sim:2"} {
		r := newRig(t, spec, sim.Options{})
		ws := &machine.WorkingSet{}
		for range 4 {
			b := r.buffer(1000)
			ws.Accesses = append(ws.Accesses, inout(r.whole(b)))
		}
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			if !r.m.Acquire(ws) || r.m.MissingBytes(ws.Accesses, devices.Host) != 0 {
				t.Error("the host has it all")
			}
			r.m.ReleaseSet(ws, nil)
		}))
	}
}

// After accelerators have been at a buffer, a host task that finds all valid costs no allocation
// either.
func TestHostPathIsFreeWhenAllIsValid(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{})
	b := r.filled(1000)
	r.submit(acc(0), []deps.Access{inout(r.whole(b))}, add(r.whole(b), 1))
	r.finish()
	ws := &machine.WorkingSet{Accesses: []deps.Access{in(r.whole(b))}}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if !r.m.Acquire(ws) {
			t.Error("the host has it all")
		}
		r.m.ReleaseSet(ws, nil)
	}))
}

func BenchmarkHostPath(b *testing.B) {
	for _, spec := range []string{"smp:1", "smp:1,sim:2"} {
		b.Run(spec, func(b *testing.B) {
			r := newRig(b, spec, sim.Options{})
			ws := &machine.WorkingSet{}
			for range 4 {
				ws.Accesses = append(ws.Accesses, inout(r.whole(r.buffer(1000))))
			}
			for b.Loop() {
				r.m.Acquire(ws)
				r.m.ReleaseSet(ws, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4, "ns/access")
		})
	}
}

func BenchmarkHostPathAskingTheDirectory(b *testing.B) {
	r := newRig(b, "sim:1", sim.Options{})
	x := r.filled(1000)
	r.submit(acc(0), []deps.Access{inout(r.whole(x))}, add(r.whole(x), 1))
	r.finish()
	ws := &machine.WorkingSet{Accesses: []deps.Access{in(deps.Interval(x, 0, 100)), in(deps.Interval(x, 100, 200))}}
	for b.Loop() {
		r.m.Acquire(ws)
		r.m.ReleaseSet(ws, nil)
	}
}

func BenchmarkResidentLaunch(b *testing.B) {
	r := newRig(b, "sim:1", sim.Options{})
	x := r.filled(1000)
	ws := &machine.WorkingSet{Accesses: []deps.Access{inout(r.whole(x))}, Space: acc(0)}
	done := make(chan struct{}, 1)
	ws.Done = func(ws *machine.WorkingSet, err error) {
		r.m.ReleaseSet(ws, err)
		done <- struct{}{}
	}
	l := &devices.Launch{Kernel: &devices.Kernel{Name: "empty", Go: func(*devices.Args) {}}, Args: &devices.Args{}}
	for b.Loop() {
		r.m.Acquire(ws)
		r.m.Launch(ws, l)
		<-done
	}
}

func TestBuffersAreChecked(t *testing.T) {
	r := newRig(t, "smp:1", sim.Options{})
	b := r.buffer(10)
	require.ErrorContains(t, r.m.AddBuffer(b, nil, 80, 8), "was added already")
	require.ErrorContains(t, r.m.AddBuffer(b+1, nil, 81, 8), "not whole elements of 8 bytes")
}
