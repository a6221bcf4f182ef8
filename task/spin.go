package task

import (
	"runtime"
	"time"

	"github.com/gompss/gompss/internal/spin"
)

// lock locks mu, which all goroutines share. Many workers sleep rather than spin: 8 submitting
// goroutines with 16 workers took a quarter longer with spinning.
func (rt *Runtime) lock(mu *spin.Mutex) {
	if rt.accelerators {
		spin.LockLong(mu)
	} else {
		spin.Lock(mu)
	}
}

// spinTime is how long an idle goroutine looks for work before it sleeps: about the cost of a
// wake-up.
const spinTime = 20 * time.Microsecond

// spinFor calls found again and again for about spinTime, until it returns true. Other goroutines
// run in between.
func spinFor(found func() bool) bool {
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
		if time.Since(began) > spinTime {
			return false
		}
	}
}
