package task

import (
	"runtime"
	"time"
)

// spins is how often lock looks for a lock before it goes to sleep, longSpins how often where there are manyProcessors: who is woken may
// have to wait behind what runs on the processor of who has woken it for much longer.
const (
	spins          = 400
	longSpins      = 20000
	manyProcessors = 8
)

// lock locks mu, which is held for less time than it takes to be put to sleep and woken: it waits awake at first, also when
// other goroutines could run on this processor.
func lock(mu *mutex) {
	for range spins {
		if mu.TryLock() {
			return
		}
	}
	lockLate(mu)
}

// lockLate is what lock does when the lock is not to be had at once.
func lockLate(mu *mutex) {
	if runtime.NumCPU() >= manyProcessors {
		for range longSpins {
			if mu.TryLock() {
				return
			}
		}
	}
	mu.Lock()
}

// spinTime is how long somebody who has nothing to do looks for work before going to sleep: about what it takes to be woken.
const spinTime = 20 * time.Microsecond

// spin calls found again and again for about spinTime, until it returns true. Other goroutines run in between.
func spin(found func() bool) bool {
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
