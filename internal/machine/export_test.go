package machine

import (
	"time"

	"github.com/gompss/gompss/devices"
)

// TimesOf is timesOf.
func (m *Machine) TimesOf(e devices.Event, asked time.Duration) (began, ended time.Duration) {
	return m.clock.timesOf(e, asked)
}
