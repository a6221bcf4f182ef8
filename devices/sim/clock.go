package sim

import (
	"fmt"
	"time"
)

// A Clock says how modelled time passes.
type Clock uint8

const (
	// Real spends modelled time by sleeping; without bandwidth, latency and speed there is none to
	// spend.
	Real Clock = iota
	// Virtual carries things out one at a time, in the order of their modelled moments
	// (Device.Elapsed): deterministic, and nothing sleeps.
	Virtual
)

func (c Clock) String() string { return [...]string{"real", "virtual"}[c] }

// parseClock reads "real" or "virtual".
func parseClock(s string) (Clock, error) {
	switch s {
	case "real":
		return Real, nil
	case "virtual":
		return Virtual, nil
	}
	return 0, fmt.Errorf("want real or virtual")
}

// spend makes d pass for something that began at began.
func spend(d time.Duration, began time.Time) {
	if rest := d - time.Since(began); d > 0 && rest > 0 {
		time.Sleep(rest)
	}
}
