package task

import (
	"runtime"
	"time"

	"github.com/gompss/gompss/internal/spin"
)

// lock locks mu, which is of all. Workers alone are many, and rather sleep: 8 who submitted to 16 workers took a quarter longer awake.
func (rt *Runtime) lock(mu *spin.Mutex) {
	if rt.accelerators {
		spin.LockLong(mu)
	} else {
		spin.Lock(mu)
	}
}

// spinTime is how long somebody who has nothing to do looks for work before going to sleep: about what it takes to be woken.
const spinTime = 20 * time.Microsecond

// spinFor calls found again and again for about spinTime, until it returns true. Other goroutines run in between.
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
