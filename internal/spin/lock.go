// Package spin has the locks of the runtime: a mutex that a perturb build makes yield at random,
// and two ways to spin for it before the goroutine sleeps.
package spin

import "runtime"

// attempts is the number of times that Lock tries before the goroutine sleeps. longAttempts is that
// number of LockLong where there are manyProcessors: some 30 microseconds.
const (
	attempts       = 400
	longAttempts   = 20000
	manyProcessors = 8
)

// Lock locks mu, which is held for less time than it takes to put a goroutine to sleep and wake it:
// it spins at first, also when other goroutines could run on this processor.
func Lock(mu *Mutex) {
	for range attempts {
		if mu.TryLock() {
			return
		}
	}
	mu.Lock()
}

// LockLong is Lock for locks that accelerators wait for. A woken goroutine is queued behind the one
// that runs on the processor of its waker, for 10 to 100 microseconds, in which the accelerator
// gets nothing and all that sleep for the lock are kept from it; that is worse than a processor
// that spins for 30.
func LockLong(mu *Mutex) {
	for range attempts {
		if mu.TryLock() {
			return
		}
	}
	lockLate(mu)
}

// lockLate is LockLong after the first attempts have failed.
func lockLate(mu *Mutex) {
	if runtime.NumCPU() >= manyProcessors {
		for range longAttempts {
			if mu.TryLock() {
				return
			}
		}
	}
	mu.Lock()
}
