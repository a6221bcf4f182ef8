package machine

import (
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/trace/probe"
)

// A clock gives the times of the points that observer receives. observer may be nil.
type clock struct {
	now      func() time.Duration
	observer probe.Observer
}

// timesOf returns when the work of e, a completed event of p, began and ended, on clock c. If the
// device does not know, these are asked and the current time. Work cannot have begun before asked;
// began is corrected if an inexact comparison of the two clocks says so.
func (c *clock) timesOf(p *plugin, e devices.Event, asked time.Duration) (began, ended time.Duration) {
	now := c.now()
	t, ok := e.(devices.Timed)
	if !ok {
		return asked, now
	}
	b, f := p.timesOf(t)
	if b.IsZero() || f.IsZero() {
		return asked, now
	}
	now, at := c.bothClocks()
	began = max(asked, now-at.Sub(b))
	return began, max(began, now-at.Sub(f))
}

// bothClocks reads c and the system clock at the same moment. If the goroutine was preempted
// between the readings, it reads both again, at most five times.
func (c *clock) bothClocks() (now time.Duration, at time.Time) {
	for range 5 {
		before := c.now()
		at = time.Now()
		now = c.now()
		if now-before < 5*time.Microsecond {
			break
		}
	}
	return now, at
}

// watched returns a function that calls f and reports the call to the observer. f maps or unmaps
// bytes of a buffer in space s.
func (c *clock) watched(s *space, kind probe.Kind, f func(b deps.BufferID, lo, hi deps.Bytes) error) func(deps.BufferID, deps.Bytes, deps.Bytes) error {
	o := c.observer
	if o == nil {
		return f
	}
	return func(b deps.BufferID, lo, hi deps.Bytes) error {
		began := c.now()
		err := f(b, lo, hi)
		o.Observe(probe.Point{Kind: kind, Time: c.now(), Begin: began, Device: s.name, Other: deps.TaskID(b), Bytes: hi - lo, Err: err})
		return err
	}
}
