package task

import (
	"runtime"
	"time"
)

// spins is how often lock looks for a lock before it goes to sleep.
const spins = 400

// lock locks mu, which is held for less time than it takes to be put to sleep and woken: it waits awake at first, also when
// other goroutines could run on this processor.
func lock(mu *mutex) {
	for range spins {
		if mu.TryLock() {
			return
		}
	}
	mu.Lock()
}

// longSpins is how often lockAwake looks where there are manyProcessors: some 30 microseconds.
const (
	longSpins      = 20000
	manyProcessors = 8
)

// lockAwake is lock where accelerators wait. Each of their threads does one thing for all tasks there, and who is woken has to wait behind
// what runs on the processor of who has woken it: 10 to 100 microseconds in which the accelerator gets nothing.
func lockAwake(mu *mutex) {
	for range spins {
		if mu.TryLock() {
			return
		}
	}
	if runtime.NumCPU() >= manyProcessors {
		for range longSpins {
			if mu.TryLock() {
				return
			}
		}
	}
	mu.Lock()
}

// lock locks mu, which is of all. Workers alone are many, and rather sleep: 8 who submitted to 16 workers took a quarter longer awake.
func (rt *Runtime) lock(mu *mutex) {
	if rt.accelerators {
		lockAwake(mu)
	} else {
		lock(mu)
	}
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
