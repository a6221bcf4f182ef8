//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/internal/spin"
)

// A completionThread is the goroutine of a device that reports completions, so that the work that
// follows them does not delay enqueueing. While it looks for more it attends: it does what the
// runtime has left to the device.
type completionThread struct {
	engine *engine
	done   sync.WaitGroup

	queued   atomic.Int32
	state    atomic.Uint32 // a completionState; written with mu held
	mu       spin.Mutex
	wake     sync.Cond
	events   []*event
	stopping bool
}

// A completionState says what the completionThread does.
type completionState uint32

const (
	parking  completionState = iota // it runs, and attends no more before it has found something
	polling                         // it looks for events, attends meanwhile, and reports those found
	parked                          // it waits
	relieved                        // it waits, and another goroutine reports
	notified                        // it waits, and will run, as more is to be expected soon
)

var completionStates = [...]string{"parking", "polling", "parked", "relieved", "notified"}

func (s completionState) String() string { return completionStates[s] }

// completionNext is the legal transitions of a completionThread.
var completionNext = [...][]completionState{
	parking:  {polling, parked},
	polling:  {parking},
	parked:   {relieved, parking}, // the second when the device closes
	relieved: {notified},
	notified: {relieved, parking},
}

func (t *completionThread) now() completionState { return completionState(t.state.Load()) }

// to changes the state. Requires: mu held.
func (t *completionThread) to(next completionState) {
	if from := t.now(); !slices.Contains(completionNext[from], next) {
		panic(fmt.Sprintf("gompss: bug: the completion thread of %s goes from %v to %v", t.engine.device.gpu.name, from, next))
	}
	t.state.Store(uint32(next))
}

func (t *completionThread) start(g *engine) {
	t.engine = g
	t.wake.L = &t.mu
	t.done.Go(t.run)
}

// push adds events; reportNow, or the thread if it runs, makes them happen.
func (t *completionThread) push(list ...*event) {
	t.mu.Lock()
	t.events = append(t.events, list...)
	t.queued.Store(int32(len(t.events)))
	t.mu.Unlock()
}

// reportNow makes the events happen that were pushed, if the thread waits and no other goroutine
// does, and reports whether there were any.
func (t *completionThread) reportNow() bool {
	t.mu.Lock()
	if s := t.now(); s != parked && s != notified || len(t.events) == 0 {
		t.mu.Unlock()
		return false
	}
	events := t.events
	t.events = nil
	t.queued.Store(0)
	t.to(relieved)
	t.mu.Unlock()
	t.report(events)
	t.mu.Lock()
	t.to(notified)
	t.mu.Unlock()
	t.wake.Signal()
	return true
}

func (t *completionThread) report(events []*event) {
	for i, e := range events {
		if e.finish() {
			t.engine.landed()
		}
		events[i] = nil
	}
}

// stop ends the goroutine. Requires: nothing is in flight.
func (t *completionThread) stop() {
	t.mu.Lock()
	t.stopping = true
	t.mu.Unlock()
	t.wake.Signal()
	t.done.Wait()
}

// take waits for events, or until some are to be expected, and returns them; not ok when there will
// be no more.
func (t *completionThread) take(spare []*event) (events []*event, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) == 0 && !t.stopping {
		t.to(parked)
		for s := t.now(); s != notified && (s != parked || !t.stopping); s = t.now() {
			t.wake.Wait()
		}
		t.to(parking)
	}
	events = t.events
	t.events = spare[:0]
	t.queued.Store(0)
	return events, len(events) > 0 || !t.stopping
}

// attend does what has been left to the device to do for the runtime, and reports whether there was
// something.
func (t *completionThread) attend() bool {
	c := t.engine.launcher.call.Load()
	return c != nil && c.attend()
}

func (t *completionThread) run() {
	var events []*event
	for idle := int64(patience()); ; {
		if idle > 0 {
			t.poll(idle)
		}
		var ok bool
		if events, ok = t.take(events); !ok {
			return
		}
		t.report(events)
	}
}

// poll looks for events, and attends, until there are some or there was neither for a while.
func (t *completionThread) poll(idle int64) {
	if t.now() == parking { // no other goroutine changes that
		t.mu.Lock()
		t.to(polling)
		t.mu.Unlock()
	}
	for until := monotonic() + idle; t.queued.Load() == 0 && monotonic() < until; {
		if !t.engine.launcher.crowded() && t.attend() {
			until = monotonic() + idle
		} else {
			runtime.Gosched()
		}
	}
	if t.queued.Load() > 0 {
		return
	}
	t.mu.Lock()
	t.to(parking)
	t.mu.Unlock()
	t.attend() // what was left to it until now
}

// A launchThread is the goroutine of a device that does for the runtime what has to be done soon,
// but neither by the submitting goroutine nor by the one that reports what has finished: where many
// submit, both would be held up by it. It looks without pause while there was something lately, as
// an engine does. Where one submits, a third goroutine is one more to wait for: the completion
// thread does this work then, while it looks for events. On a machine with few processors neither
// does, and others do it.
type launchThread struct {
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

// crowded reports whether the launch thread is to call, and not the completion thread.
func (a *launchThread) crowded() bool {
	c := a.call.Load()
	return c != nil && a.calls(c)
}

// calls reports whether the launch thread is to call c.
func (a *launchThread) calls(c *attention) bool {
	switch a.when {
	case AttendAlways:
		return true
	case AttendNever:
		return false
	}
	return c.crowded()
}

// An Attendance says when the launch thread works, and not the completion thread.
type Attendance uint8

// The zero value is what was measured to be best; the others are there to measure that again.
const (
	AttendCrowds Attendance = iota // where several goroutines submit
	AttendAlways
	AttendNever
)

var attendances = map[string]Attendance{"crowds": AttendCrowds, "always": AttendAlways, "never": AttendNever}

// looks is the number of times that a launch thread calls before it lets others have its processor.
const looks = 32

// Attend has f called by the launch thread or by the completion thread.
func (d *Device) Attend(f func() bool, crowded func() bool) {
	d.engine.launcher.call.Store(&attention{f, crowded})
}

// Attends reports whether the one of them that is to is awake: it calls once more before it sleeps,
// the goroutine in charge by then.
func (d *Device) Attends() bool {
	if d.engine.launcher.crowded() {
		return d.engine.launcher.awake.Load()
	}
	return d.engine.completions.now() == polling
}

func (a *launchThread) start() {
	a.wake.L = &a.mu
	if patience() > 0 {
		a.asleep.Store(true)
		a.done.Go(a.run)
	}
}

// rouse wakes the launch thread, if it sleeps and is needed.
func (a *launchThread) rouse() {
	if a.asleep.Load() && a.crowded() && a.asleep.CompareAndSwap(true, false) {
		a.mu.Lock()
		a.wake.Signal()
		a.mu.Unlock()
	}
}

// stop ends the goroutine. Requires: nothing is in flight.
func (a *launchThread) stop() {
	a.mu.Lock()
	a.stopping = true
	a.wake.Signal()
	a.mu.Unlock()
	a.done.Wait()
}

func (a *launchThread) run() {
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
func (a *launchThread) sleep() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asleep.Store(true)
	for a.asleep.Load() && !a.stopping {
		a.wake.Wait()
	}
	return !a.stopping
}
