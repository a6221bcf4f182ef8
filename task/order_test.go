package task

import (
	"testing"
	"time"

	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/trace/clock"
	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
)

// What a device's clock says of a kernel lies between when it was given to the device and when the host has heard of its end, from when on
// its successors are ready.
func TestTimesOfADeviceLieWithinThoseOfTheHost(t *testing.T) {
	for _, times := range [][2]time.Duration{{time.Hour, 2 * time.Hour}, {1, 2}, {1, time.Hour}, {time.Hour, 1}} {
		rt := &engine.Runtime{Observers: engine.Observers{Clock: clock.New(), Recorder: probe.TeeRecorders(nil, nil)}}
		r := &engine.Record{Detail: &engine.Detail{RT: rt}, Holds: life.Holdings(life.HeldData)}
		r.Set.Space.Device = 1
		time.Sleep(time.Microsecond)
		r.Trace.Choice = rt.Observers.Now()
		r.Set.Began, r.Set.Ended = times[0], times[1]
		rt.Observers.ObserveEnd(r)
		x := &r.Trace
		require.Less(t, x.Release, time.Minute)
		require.LessOrEqual(t, x.Choice, x.Start)
		require.LessOrEqual(t, x.Start, x.End)
		require.LessOrEqual(t, x.End, x.Release)
	}
}
