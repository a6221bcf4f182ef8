package spin

import (
	"runtime"
	"time"
)

// Time is the time that an idle goroutine looks for work before it sleeps: about the cost of a
// wake-up.
const Time = 20 * time.Microsecond

// For calls found again and again for about Time, until it returns true. Other goroutines
// run in between.
func For(found func() bool) bool {
	if found() {
		return true
	}
	began := time.Now()
	for {
		for range 64 {
			if found() {
				return true
			}
		}
		runtime.Gosched()
		if time.Since(began) > Time {
			return false
		}
	}
}

// A Line keeps its neighbours in different cache lines, and in different pairs of lines that are
// fetched together.
type Line [128]byte
