package devices

import "time"

// ParseSpec is parseSpec.
var ParseSpec = parseSpec

// EachGranules is eachGranules.
var EachGranules = eachGranules

// TimesOf is timesOf.
func (m *Machine) TimesOf(e Event, asked time.Duration) (began, ended time.Duration) {
	return m.timesOf(e, asked)
}

// StaysHere is Flight.staysHere.
func StaysHere(f *Flight, s SpaceID) bool { return f.staysHere(s) }
