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

// A completionThread is the goroutine of a device that reports completions, so that the tasks which
// depend on them do not delay the enqueueing of others. While it polls for completions, it may also
// launch tasks for the runtime, as its launch helper.
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

// A completionState is the state of a completionThread.
type completionState uint32

const (
	parking  completionState = iota // it runs, and launches no task before it has reported an event
	polling                         // it polls for events, launches tasks meanwhile, and reports the events that it finds
	parked                          // it sleeps
	relieved                        // it sleeps, and another goroutine reports
	notified                        // it sleeps and will wake up, because more events are expected soon
)

var completionStates = [...]string{"parking", "polling", "parked", "relieved", "notified"}

func (s completionState) String() string { return completionStates[s] }

// completionNext lists the legal transitions of a completionThread.
var completionNext = [...][]completionState{
	parking:  {polling, parked},
	polling:  {parking},
	parked:   {relieved, parking}, // the second one when the device closes
	relieved: {notified},
	notified: {relieved, parking},
}

func (t *completionThread) now() completionState { return completionState(t.state.Load()) }

// to changes the state.
// Requires: mu held.
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

// push appends completed events. reportNow reports them, or the thread if it is running.
func (t *completionThread) push(list ...*event) {
	t.mu.Lock()
	t.events = append(t.events, list...)
	t.queued.Store(int32(len(t.events)))
	t.mu.Unlock()
}

// reportNow reports the queued events if the thread sleeps and no other goroutine reports, and
// returns whether there were any.
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
			t.engine.completed()
		}
		events[i] = nil
	}
}

// stop ends the goroutine.
// Requires: no operation is in flight.
func (t *completionThread) stop() {
	t.mu.Lock()
	t.stopping = true
	t.mu.Unlock()
	t.wake.Signal()
	t.done.Wait()
}

// take waits until events are queued, or expected soon, and returns them. ok is false if no more
// events will follow.
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

// launchDependents launches tasks that the runtime has queued for the device, and reports whether
// it launched one.
func (t *completionThread) launchDependents() bool {
	c := t.engine.launcher.call.Load()
	return c != nil && c.launch()
}

func (t *completionThread) run() {
	var events []*event
	for idle := int64(pollTime()); ; {
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

// poll polls for events and launches tasks until an event is queued, or neither has happened for
// idle nanoseconds.
func (t *completionThread) poll(idle int64) {
	if t.now() == parking { // no other goroutine changes this state
		t.mu.Lock()
		t.to(polling)
		t.mu.Unlock()
	}
	for until := monotonic() + idle; t.queued.Load() == 0 && monotonic() < until; {
		if !t.engine.launcher.contended() && t.launchDependents() {
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
	t.launchDependents() // the tasks that were queued meanwhile
}

// A launchThread is the goroutine of a device that launches dependent tasks for the runtime when
// several goroutines submit. Both a submitting goroutine and the completion thread would be delayed
// by this work. It polls without pause as long as it has launched a task recently. If only one
// goroutine submits, a third goroutine would only add a hand-over, so the completion thread
// launches the tasks while it polls for events. On a machine with few processors neither of them
// does, and the workers launch the tasks.
type launchThread struct {
	done  sync.WaitGroup
	when  LaunchThreadMode
	call  atomic.Pointer[launchCallback] // set by the runtime
	awake atomic.Bool                    // it will call launch again

	asleep   atomic.Bool // it sleeps and has not been woken
	mu       sync.Mutex
	wake     sync.Cond
	stopping bool
}

// A launchCallback contains the functions that the runtime passes to StartHelper.
type launchCallback struct{ launch, contended func() bool }

// contended reports whether the launch thread, and not the completion thread, launches tasks.
func (a *launchThread) contended() bool {
	c := a.call.Load()
	return c != nil && a.calls(c)
}

// calls reports whether the launch thread calls c.launch.
func (a *launchThread) calls(c *launchCallback) bool {
	switch a.when {
	case LaunchThreadAlways:
		return true
	case LaunchThreadNever:
		return false
	}
	return c.contended()
}

// A LaunchThreadMode selects when the launch thread, and not the completion thread, launches tasks.
type LaunchThreadMode uint8

// The zero value is the fastest in measurements; the other values serve to repeat these.
const (
	LaunchThreadContended LaunchThreadMode = iota // while several goroutines submit
	LaunchThreadAlways
	LaunchThreadNever
)

var launchThreadModes = map[string]LaunchThreadMode{"contended": LaunchThreadContended, "always": LaunchThreadAlways, "never": LaunchThreadNever}

// callsPerYield is the number of times that a launch thread calls launch before it yields its
// processor.
const callsPerYield = 32

func (a *launchThread) start() {
	a.wake.L = &a.mu
	if pollTime() > 0 {
		a.asleep.Store(true)
		a.done.Go(a.run)
	}
}

// rouse wakes the launch thread if it sleeps and is needed.
func (a *launchThread) rouse() {
	if a.asleep.Load() && a.contended() && a.asleep.CompareAndSwap(true, false) {
		a.mu.Lock()
		a.wake.Signal()
		a.mu.Unlock()
	}
}

// stop ends the goroutine.
// Requires: no operation is in flight.
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
		for until := monotonic() + int64(activePoll); a.calls(c) && monotonic() < until; {
			for range callsPerYield {
				if c.launch() {
					until = monotonic() + int64(activePoll)
				}
			}
			runtime.Gosched()
		}
		a.awake.Store(false)
		c.launch() // the tasks that were queued meanwhile
	}
}

// sleep waits until the thread is woken. It returns false when the device closes.
func (a *launchThread) sleep() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asleep.Store(true)
	for a.asleep.Load() && !a.stopping {
		a.wake.Wait()
	}
	return !a.stopping
}
