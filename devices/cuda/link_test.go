//go:build linux && (amd64 || arm64)

package cuda

import (
	"math"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/stretchr/testify/require"
)

// TestLink_IsMeasuredAtOpen: a device knows the rate and the latency of its link, with pinned
// memory and without, and gives the memory back that it measures with (issue 16, 19).
func TestLink_IsMeasuredAtOpen(t *testing.T) {
	needFake(t)
	fakeCall(t, "fakeSlow", 3000)
	fakeCall(t, "fakeLink", 100) // bytes a microsecond
	defer fakeCall(t, "fakeSlow", 0)
	defer fakeCall(t, "fakeLink", 0)
	for _, noPin := range []bool{false, true} {
		host, scratch := live(t, "host"), live(t, "scratch")
		var l devices.Link
		for range 5 { // a loaded machine delays copies: one of five measurements is to fit
			list, err := Open(1, devices.SpaceID{Device: 1}, Options{NoPin: noPin})
			require.NoError(t, err)
			l = devices.LinkOf(list[0])
			require.Equal(t, []int{host, scratch}, []int{live(t, "host"), live(t, "scratch")})
			require.NoError(t, list[0].Close())
			if math.Abs(float64(l.Rate)-100e6) <= 30e6 && l.Latency <= 6*time.Millisecond {
				break
			}
		}
		require.InDelta(t, 100e6, float64(l.Rate), 30e6)
		require.InDelta(t, float64(3*time.Millisecond), float64(l.Latency), float64(3*time.Millisecond))
	}
}

// TestLink_OfNoMemoryIsNotKnown: a device without memory to measure with is opened nevertheless,
// and any other failure is an error.
func TestLink_OfNoMemoryIsNotKnown(t *testing.T) {
	needFake(t)
	defer fakeCall(t, "fakeRepair")
	for _, function := range []string{"cuMemHostAlloc", "cuMemAllocAsync"} {
		host := live(t, "host")
		failNext(t, function, 1, driver.CodeNoMemory)
		list, err := Open(1, devices.SpaceID{Device: 1}, Options{})
		require.NoError(t, err)
		require.False(t, devices.LinkOf(list[0]).Known())
		require.Equal(t, host, live(t, "host"))
		require.NoError(t, list[0].Close())
	}
	failNext(t, "cuMemcpyHtoDAsync_v2", 1, 304)
	_, err := Open(1, devices.SpaceID{Device: 1}, Options{})
	require.ErrorContains(t, err, "cuMemcpyHtoDAsync")
}

func TestLink_FitsRateAndLatency(t *testing.T) {
	sizes := []deps.Bytes{1000, 2000, 5000}
	us := time.Microsecond
	l := fitLink(sizes, []time.Duration{20 * us, 30 * us, 60 * us})
	require.InDelta(t, 100e6, float64(l.Rate), 10)
	require.InDelta(t, 10e3, float64(l.Latency), 10)
	require.False(t, fitLink(sizes, []time.Duration{30 * us, 30 * us, 30 * us}).Known(), "larger copies take no longer")
	l = fitLink(sizes, []time.Duration{5 * us, 30 * us, 60 * us})
	require.Positive(t, l.Rate, "a copy that was interrupted")
	require.GreaterOrEqual(t, l.Latency, time.Duration(0))
}
