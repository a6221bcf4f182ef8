//go:build linux && (amd64 || arm64)

package opencl

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/devicetest"
)

// countContexts counts the contexts that the driver makes and releases from here on.
func countContexts(t *testing.T) (made, released *atomic.Int64) {
	t.Helper()
	drv, err := theDriver()
	if err != nil {
		t.Skipf("no OpenCL: %v", err)
	}
	made, released = new(atomic.Int64), new(atomic.Int64)
	around := interception(func(which fn, _ []uintptr, call func() uintptr) uintptr {
		switch which {
		case clCreateContext:
			made.Add(1)
		case clReleaseContext:
			released.Add(1)
		}
		return call()
	})
	drv.around.Store(&around)
	t.Cleanup(func() { drv.around.Store(nil) })
	return made, released
}

// openOne opens the first device of the platform of the tests; the test closes it.
func openOne(t *testing.T) *Device {
	t.Helper()
	list, err := Open(1, devices.SpaceID{Device: 1}, faultOptions(t, "off"))
	if err != nil {
		t.Skipf("no device: %v", err)
	}
	return list[0]
}

// Whoever opens a device that is open shares its context, and the last one releases it.
func TestContext_IsSharedByThoseThatOpenADevice(t *testing.T) {
	made, released := countContexts(t)
	a := openOne(t)
	b := openOne(t)
	require.EqualValues(t, 1, made.Load())
	require.NoError(t, a.Close())
	require.Zero(t, released.Load())
	s := newStory()
	require.True(t, s.on(b), "%v", s.errs)
	require.Empty(t, s.errs)
	require.NoError(t, s.holds(1))
	require.NoError(t, b.Close())
	require.EqualValues(t, 1, released.Load())
	require.NoError(t, openOne(t).Close())
	require.EqualValues(t, 2, made.Load())
	require.EqualValues(t, 2, released.Load())
}

// A lost device shares its context with no device that is opened later.
func TestContext_OfALostDeviceIsNotTaken(t *testing.T) {
	made, released := countContexts(t)
	a := openOne(t)
	require.Error(t, a.lose("a test", errors.New("it is lost")))
	b := openOne(t)
	require.EqualValues(t, 2, made.Load())
	require.NoError(t, a.Close())
	c := openOne(t)
	require.EqualValues(t, 2, made.Load(), "the context of b is that of the device now")
	require.NoError(t, b.Prepare(devicetest.Twice()))
	require.NoError(t, b.Close())
	require.NoError(t, c.Prepare(devicetest.Twice()))
	require.NoError(t, c.Close())
	require.EqualValues(t, 2, released.Load())
}
