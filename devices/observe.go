package devices

import (
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// timesOf returns when the work of an event that has happened ran, on the clock of the options; where its device does not
// say, it ran from asked until now. It cannot have begun before it was asked for, whatever happened between the readings of two clocks.
func (m *Machine) timesOf(e Event, asked time.Duration) (began, ended time.Duration) {
	now := m.options.Now()
	t, ok := e.(Timed)
	if !ok {
		return asked, now
	}
	b, f := t.Times()
	if b.IsZero() || f.IsZero() {
		return asked, now
	}
	now, at := m.bothClocks()
	began = max(asked, now-at.Sub(b))
	return began, max(began, now-at.Sub(f))
}

// bothClocks reads the clock of the options and the system's at one moment: where the processor was taken away between the two readings
// they are read again.
func (m *Machine) bothClocks() (now time.Duration, at time.Time) {
	for range 5 {
		before := m.options.Now()
		at = time.Now()
		now = m.options.Now()
		if now-before < 5*time.Microsecond {
			break
		}
	}
	return now, at
}

// watched returns f, which maps or unmaps bytes of a buffer at s, such that the observer is told.
func (m *Machine) watched(s *space, kind probe.Kind, f func(b deps.BufferID, lo, hi deps.Bytes) error) func(deps.BufferID, deps.Bytes, deps.Bytes) error {
	o := m.options.Observer
	if o == nil {
		return f
	}
	return func(b deps.BufferID, lo, hi deps.Bytes) error {
		began := m.options.Now()
		err := f(b, lo, hi)
		o.Observe(probe.Point{Kind: kind, Time: m.options.Now(), Begin: began, Device: s.name, Other: deps.TaskID(b), Bytes: hi - lo, Err: err})
		return err
	}
}
