package task

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/trace/clock"
	"github.com/gompss/gompss/trace/probe"
)

// What a device's clock says of a kernel lies between when it was given to the device and when the host has heard of its end, from when on
// its successors are ready.
func TestTimesOfADeviceLieWithinThoseOfTheHost(t *testing.T) {
	for _, times := range [][2]time.Duration{{time.Hour, 2 * time.Hour}, {1, 2}, {1, time.Hour}, {time.Hour, 1}} {
		rt := &Runtime{observers: observers{clock: clock.New(), recorder: probe.TeeRecorders(nil, nil)}}
		r := &record{detail: &detail{rt: rt}, holds: life.Holdings(life.HeldData)}
		r.set.Space.Device = 1
		time.Sleep(time.Microsecond)
		r.trace.Choice = rt.observers.now()
		r.set.Began, r.set.Ended = times[0], times[1]
		rt.observers.observeEnd(r)
		x := &r.trace
		require.Less(t, x.Release, time.Minute)
		require.LessOrEqual(t, x.Choice, x.Start)
		require.LessOrEqual(t, x.Start, x.End)
		require.LessOrEqual(t, x.End, x.Release)
	}
}
