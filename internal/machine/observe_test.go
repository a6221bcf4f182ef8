package machine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/internal/machine"
)

// A timed event is one that has happened, when is said.
type timed struct {
	devices.Event
	began, ended time.Time
}

func (e timed) Times() (began, ended time.Time) { return e.began, e.ended }

// A goroutine that loses its processor between the readings of two clocks does not shift what is
// told about a kernel.
func TestTimesOfKernelsWhereTheProcessorIsTakenAway(t *testing.T) {
	opened := time.Now().Add(-time.Second)
	away := 0
	m, err := machine.Open("sim", machine.Options{ByKind: map[devices.Kind]any{sim.Kind: sim.Options{}}, Now: func() time.Duration {
		now := time.Since(opened)
		if away > 0 {
			away--
			time.Sleep(20 * time.Millisecond)
		}
		return now
	}})
	require.NoError(t, err)
	e := timed{began: opened.Add(500 * time.Millisecond), ended: opened.Add(600 * time.Millisecond)}
	for away = range 4 {
		began, ended := m.TimesOf(e, 0)
		require.InDelta(t, 500*time.Millisecond, began, float64(10*time.Millisecond))
		require.InDelta(t, 600*time.Millisecond, ended, float64(10*time.Millisecond))
	}
	require.NoError(t, m.Close())
}
