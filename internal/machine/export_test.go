package machine

import (
	"time"

	"github.com/gompss/gompss/devices"
)

// TimesOf is timesOf.
func (m *Machine) TimesOf(e devices.Event, asked time.Duration) (began, ended time.Duration) {
	return m.clock.timesOf(m.planner.spaces[1].device, e, asked)
}
