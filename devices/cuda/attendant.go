//go:build linux && (amd64 || arm64)

package cuda

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// An attendant is the goroutine of a device that does for the runtime what has to be done soon, but
// neither by the submitting goroutine nor by the one that reports what has finished: where many
// submit, both would be held up by it. It looks without pause while there was something lately, as
// an engine does. Where one submits, a third goroutine is one more to wait for: the finisher does
// this work then, while it looks for events. On a machine with few processors neither does, and
// others do it.
type attendant struct {
	done  sync.WaitGroup
	when  Attendance
	call  atomic.Pointer[attention] // of the runtime, once there is one
	awake atomic.Bool               // it will call again

	asleep   atomic.Bool // it has not been woken since it went to sleep
	mu       sync.Mutex
	wake     sync.Cond
	stopping bool
}

// An attention is what a runtime has given to Attend.
type attention struct{ attend, crowded func() bool }

// crowded reports whether the attendant is to call, and not the finisher.
func (a *attendant) crowded() bool {
	c := a.call.Load()
	return c != nil && a.calls(c)
}

// calls reports whether the attendant is to call c.
func (a *attendant) calls(c *attention) bool {
	switch a.when {
	case AttendAlways:
		return true
	case AttendNever:
		return false
	}
	return c.crowded()
}

// An Attendance says when the attendant works, and not the finisher.
type Attendance uint8

// The zero value is what was measured to be best; the others are there to measure that again.
const (
	AttendCrowds Attendance = iota // where several goroutines submit
	AttendAlways
	AttendNever
)

var attendances = map[string]Attendance{"crowds": AttendCrowds, "always": AttendAlways, "never": AttendNever}

// looks is the number of times that an attendant calls before it lets others have its processor.
const looks = 32

// Attend has f called by the attendant or by the finisher.
func (d *Device) Attend(f func() bool, crowded func() bool) {
	d.engine.beside.call.Store(&attention{f, crowded})
}

// Attends reports whether the one of them that is to is awake: it calls once more before it sleeps,
// the goroutine in charge by then.
func (d *Device) Attends() bool {
	if d.engine.beside.crowded() {
		return d.engine.beside.awake.Load()
	}
	return d.engine.over.awake.Load()
}

func (a *attendant) start() {
	a.wake.L = &a.mu
	if patience() > 0 {
		a.asleep.Store(true)
		a.done.Go(a.run)
	}
}

// rouse wakes the attendant, if it sleeps and is needed.
func (a *attendant) rouse() {
	if a.asleep.Load() && a.crowded() && a.asleep.CompareAndSwap(true, false) {
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
		c := a.call.Load()
		if c == nil {
			continue
		}
		a.awake.Store(true)
		for until := monotonic() + int64(eager); a.calls(c) && monotonic() < until; {
			for range looks {
				if c.attend() {
					until = monotonic() + int64(eager)
				}
			}
			runtime.Gosched()
		}
		a.awake.Store(false)
		c.attend() // what was left to it until now
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
