// Package tune decides which of several candidates runs a kernel. It is pure: times come in, and
// which candidate to launch next goes out; what is stored on disk is text that it makes and checks.
//
// All candidates of a kernel leave the same bits. Candidates take turns on the real launches of a
// program: there is no launch of its own, and no launch waits for a candidate that is being
// compiled. The race ends when a candidate is faster than the model's choice by more than the noise
// of both, or when none is.
package tune

import "fmt"

// A Mode says how much is tried.
type Mode uint8

// The modes.
const (
	Auto Mode = iota // within a part of the time of the launches
	Off              // the model's choice runs
	Full             // every launch is a trial until the race has ended, short ones too
)

var modes = []string{Auto: "auto", Off: "off", Full: "full"}

func (m Mode) String() string { return modes[m] }

// ParseMode returns the mode of a word.
func ParseMode(s string) (Mode, error) {
	for m, word := range modes {
		if s == word {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("want auto, off or full")
}
