package devices

import (
	"time"

	"github.com/gompss/gompss/deps"
)

// A Timeline is the virtual time of devices that are simulated: a list of things that happen at
// moments, carried out one at a time, in the order of their moments and, of those with the same
// one, in the order in which they were put there.
//
// The Timeline carries them out itself, as soon as they are there, until Govern is called. From
// then on nothing happens but in Step: the caller decides when all that came of the last thing is
// through, and nothing else is to be done before time advances.
type Timeline interface {
	// Govern makes the caller the one that calls Step. It is called once, before the first work.
	// woken is called, from any goroutine, where something was put there because of work outside of
	// the timeline.
	Govern(woken func())
	// Step carries out what comes next, and reports whether there was something. Calls do not
	// overlap.
	Step() bool
	// Now returns the moment of the last Step.
	Now() time.Duration
	// At has f called at a moment, or now where that has passed. f must not block.
	At(moment time.Duration, f func())
	// Costs returns what the options of the devices say of the host.
	Costs() HostCosts
}

// HostCosts is what the program and its CPU workers take in a virtual time.
type HostCosts struct {
	Submit time.Duration // of each task that the program submits
	Speed  deps.Bytes    // bytes that a CPU worker works through in a second; 0: no time
}

// During returns how long a CPU worker works through n bytes.
func (c HostCosts) During(n deps.Bytes) time.Duration {
	if c.Speed <= 0 {
		return 0
	}
	return time.Duration(float64(n) / float64(c.Speed) * float64(time.Second))
}

// Simulated is what a Modelled device also implements whose work is on a Timeline, which it may
// share with others.
type Simulated interface {
	// Timeline returns nil where the device has no time of its own.
	Timeline() Timeline
}
