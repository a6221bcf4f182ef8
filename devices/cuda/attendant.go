//go:build linux && (amd64 || arm64)

package cuda

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// An attendant is the goroutine of a device that does for the runtime what has to be done soon, but neither by who submits nor by who
// tells of what is over: both would be held up by it. It looks without pause while there was something lately, as an engine does; on a
// machine with few processors it never does, and others do its work.
type attendant struct {
	done  sync.WaitGroup
	call  atomic.Pointer[func() bool] // of the runtime, once there is one
	awake atomic.Bool                 // it will call again

	asleep   atomic.Bool // nobody has roused it since it went to sleep
	mu       sync.Mutex
	wake     sync.Cond
	stopping bool
}

// looks is how often an attendant calls before it lets others have its processor.
const looks = 32

// Attend has f called by the attendant.
func (d *Device) Attend(f func() bool) { d.engine.beside.call.Store(&f) }

// Attends reports whether the attendant is awake.
func (d *Device) Attends() bool { return d.engine.beside.awake.Load() }

func (a *attendant) start() {
	a.wake.L = &a.mu
	if patience() > 0 {
		a.asleep.Store(true)
		a.done.Go(a.run)
	}
}

// rouse wakes the attendant, if it sleeps.
func (a *attendant) rouse() {
	if a.asleep.Load() && a.asleep.CompareAndSwap(true, false) {
		a.mu.Lock()
		a.wake.Signal()
		a.mu.Unlock()
	}
}

// stop ends the goroutine. Requires: nothing is in flight.
func (a *attendant) stop() {
	a.mu.Lock()
	a.stopping = true
	a.wake.Signal()
	a.mu.Unlock()
	a.done.Wait()
}

func (a *attendant) run() {
	for a.sleep() {
		call := a.call.Load()
		if call == nil {
			continue
		}
		a.awake.Store(true)
		for until := monotonic() + int64(eager); monotonic() < until; {
			for range looks {
				if (*call)() {
					until = monotonic() + int64(eager)
				}
			}
			runtime.Gosched()
		}
		a.awake.Store(false)
		(*call)() // what was left to it until now
	}
}

// sleep waits until it is roused, and reports whether there will be more to do.
func (a *attendant) sleep() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asleep.Store(true)
	for a.asleep.Load() && !a.stopping {
		a.wake.Wait()
	}
	return !a.stopping
}
