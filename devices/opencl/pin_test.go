//go:build linux && (amd64 || arm64)

package opencl

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// pinDevice opens PoCL's device, which makes memory objects of host memory as others do.
func pinDevice(t *testing.T, o Options) *Device {
	t.Helper()
	o.Platform, o.CacheDir = "Portable Computing Language", "off"
	list, err := Open(1, devices.SpaceID{Device: 1}, o)
	if err != nil {
		t.Skipf("no PoCL: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, list[0].Close()) })
	return list[0]
}

// hold makes buffer id of x on d, all of it mapped.
func hold(t *testing.T, d *Device, id deps.BufferID, x []byte) devices.Buffer {
	t.Helper()
	b := devices.Buffer{ID: id, Host: devices.NewHostMemory(unsafe.Pointer(&x[0])), Size: deps.Bytes(len(x)), Elem: 1}
	require.NoError(t, d.Reserve(b))
	require.NoError(t, d.Map(id, 0, b.Size))
	return b
}

// move copies all of b to the device, or back.
func move(t *testing.T, d *Device, b devices.Buffer, toDevice bool) {
	t.Helper()
	tr := devices.Transfer{Region: deps.Region{Buffer: b.ID, N: 1, Dims: [deps.MaxDims]deps.Dim{{Count: int64(b.Size), Stride: 1}}}, Elem: 1, To: d.space}
	if !toDevice {
		tr.From, tr.To = d.space, devices.Host
	}
	require.NoError(t, await(d.Copy(tr, nil)))
}

func (s *pins) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list)
}

func TestPin_LargeBuffersFromTheFirstCopyToTheRelease(t *testing.T) {
	d := pinDevice(t, Options{})
	small, large := make([]byte, pinSize/2), make([]byte, pinSize)
	before := d.driver.pins.count()
	a, b := hold(t, d, 1, small), hold(t, d, 2, large)
	require.Equal(t, before, d.driver.pins.count())
	for i := range large {
		large[i] = byte(i * 7)
	}
	for range 2 {
		move(t, d, a, true)
		move(t, d, b, true)
		require.Eventually(t, func() bool { return d.driver.pins.count() == before+1 }, time.Minute, time.Millisecond)
	}
	clear(large)
	move(t, d, b, false)
	for i := range large {
		if large[i] != byte(i*7) {
			t.Fatalf("byte %d is %d", i, large[i])
		}
	}
	require.NoError(t, d.Release(1))
	require.NoError(t, d.Release(2))
	require.Eventually(t, func() bool { return d.driver.pins.count() == before }, time.Minute, time.Millisecond)
}

func TestPin_Off(t *testing.T) {
	d := pinDevice(t, Options{NoPin: true})
	before := d.driver.pins.count()
	b := hold(t, d, 1, make([]byte, pinSize))
	move(t, d, b, true)
	require.Equal(t, before, d.driver.pins.count())
	require.NoError(t, d.Release(1))
}

// Memory that the collector has freed is unlocked before a copy from what is there now.
func TestPin_FreedMemoryIsUnlocked(t *testing.T) {
	d := pinDevice(t, Options{})
	x := make([]byte, 4*pinSize)
	b := hold(t, d, 1, x)
	move(t, d, b, true)
	m, err := d.mirrors.get(1)
	require.NoError(t, err)
	require.NotZero(t, m.pinned.object)
	freed := make(chan bool, 1)
	require.True(t, devices.Collectable(b.Host, func(bool) { freed <- true }, true))
	b.Host.Weaken()
	x = nil
	for at := time.Now(); len(freed) == 0 && time.Since(at) < time.Minute; {
		runtime.GC()
		runtime.Gosched()
	}
	require.Len(t, freed, 1)
	require.NoError(t, d.driver.pins.releaseFreed(m.pinned.hi, m.pinned.hi+1))
	require.NotZero(t, m.pinned.object, "it lies elsewhere")
	require.NoError(t, d.driver.pins.releaseFreed(m.pinned.lo, m.pinned.lo+1))
	require.Zero(t, m.pinned.object)
	require.NoError(t, d.Release(1))
}

// Memory that the driver did not release is still locked. A buffer that lies there later has it
// released first, or its copies fail: they would reach the pages that were there before.
func TestPin_AFailedReleaseIsTriedAgain(t *testing.T) {
	f := newFaults(t)
	d := pinDevice(t, Options{})
	before := d.driver.pins.count()
	x := make([]byte, pinSize)
	b := hold(t, d, 1, x)
	move(t, d, b, true)
	m, err := d.mirrors.get(1)
	require.NoError(t, err)
	locked := m.pinned
	require.Eventually(t, func() bool { locked.mu.Lock(); defer locked.mu.Unlock(); return locked.users == 1 }, time.Minute, time.Millisecond)
	f.arm(clReleaseMemObject, 1, -36)
	require.ErrorContains(t, m.unpin(), "clReleaseMemObject")
	require.NotZero(t, locked.object)
	require.Equal(t, before+1, d.driver.pins.count())
	require.NoError(t, d.Release(1))

	b = hold(t, d, 2, x)
	f.arm(clReleaseMemObject, 1, -36)
	transfer := devices.Transfer{Region: deps.Interval(2, 0, int64(b.Size)), Elem: 1, To: d.space}
	require.ErrorContains(t, await(d.Copy(transfer, nil)), "clReleaseMemObject")
	require.NoError(t, d.Release(2))

	b = hold(t, d, 3, x)
	move(t, d, b, true)
	require.Zero(t, locked.object)
	require.NoError(t, d.Release(3))
	require.Eventually(t, func() bool { return d.driver.pins.count() == before }, time.Minute, time.Millisecond)
}
