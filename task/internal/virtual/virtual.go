// Package virtual is the order in which things happen where devices have a virtual time: the same
// program does the same in every run, whatever the speed of the host.
//
// One thing is done at a time, and each one to its end: the program submits; a body runs; something
// ends on a device, with all that comes of it: completions, placements, launches, copies. Each has
// its turn. When no goroutine has the turn and all goroutines of the program that use the runtime
// wait in it, the next turn is, in this order: that of what waits no more, in the order in which
// the waits began; that of a job of the runtime; that of the CPU workers; and that of the next
// thing in virtual time. So time advances only when nothing else is to be done.
//
// One CPU worker is awake at a time, as bodies run one at a time in real time. In virtual time
// smp:N runs N at once: a body takes no time while it runs, and none begins or continues while the
// costs of N bodies pass.
package virtual

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
)

// A turnOf says whose turn it is.
type turnOf uint8

const (
	nobodysTurn  turnOf = iota
	workersTurn         // until they find nothing
	jobsTurn            // a job of the runtime, which may wait meanwhile
	waitersTurn         // a body that waits no more, until it has asked for a worker
	clocksTurn          // something that happens in virtual time
	controlsTurn        // the end of the runtime's context
)

// A waiter is a goroutine that waits for something that comes of the turns of others.
type waiter struct {
	of      waiterOf
	over    func() bool   // reports whether it no longer waits; called when no goroutine has the turn
	granted chan struct{} // closed when it continues; nil where nothing waits for that
}

type waiterOf uint8

const (
	programWaits waiterOf = iota
	bodyWaits
	jobWaits
)

// An Engine has the functions of the runtime that the turns need.
type Engine struct {
	Ended      func() bool  // its context has ended
	Stop       func()       // fails the tasks that have not started
	Background func(func()) // runs a function on a goroutine that Close waits for
	Offers     func() bool  // a CPU worker would find something now
	Begin      func()       // wakes the CPU workers for their turn
	InBody     func() bool  // the caller is the body of a task
}

// Turns say whose turn it is.
type Turns struct {
	engine Engine
	line   devices.Timeline
	costs  devices.HostCosts

	mu sync.Mutex
	currentTurn
	waiters []*waiter
	jobs    []func()
	stopped bool // the work at the end of the context was done
	forced  int64
	ended   time.Duration // the last cost of a body

	passing atomic.Int32 // bodies whose cost passes

	poked   chan struct{}
	closing chan struct{}
	done    sync.WaitGroup
	outside bool // there are accelerators with no virtual time
}

// A currentTurn says which goroutines have their turn. It is guarded by Turns.mu.
type currentTurn struct {
	turn   turnOf
	worker int  // whose turn it is of the workers, smp.None for the first that asks
	looked bool // the workers have looked for work since anything else has had its turn
	loose  bool // nothing has happened for turnPatience: time advances nevertheless, until a goroutine waits
}

// turnPatience is the time that nothing may happen before time advances although the program, or a
// body, seems to run: it may wait for something outside of the runtime, such as a channel that a
// body closes. glance is the interval between two polls of accelerators outside of the virtual
// time.
const (
	turnPatience = 10 * time.Second
	glance       = time.Millisecond
)

// Open returns the turns of a runtime with the time of line, which begin. outside says that it has
// accelerators without a virtual time.
func Open(line devices.Timeline, outside bool, e Engine) *Turns {
	v := &Turns{engine: e, line: line, costs: line.Costs(), outside: outside, poked: make(chan struct{}, 1), closing: make(chan struct{})}
	line.Govern(v.Poke)
	v.done.Go(v.run)
	return v
}

// Close ends the turns. Requires: nothing is in flight.
func (v *Turns) Close() {
	if v == nil {
		return
	}
	close(v.closing)
	v.done.Wait()
}

// Poke has run look whose turn it is.
func (v *Turns) Poke() {
	select {
	case v.poked <- struct{}{}:
	default:
	}
}

// run gives turns until close.
func (v *Turns) run() {
	every := turnPatience
	if v.outside {
		every = glance
	}
	timer := time.NewTimer(every)
	defer timer.Stop()
	idle := time.Now()
	for {
		for v.next() {
			idle = time.Now()
		}
		timer.Reset(every)
		select {
		case <-v.closing:
			return
		case <-v.poked:
		case <-timer.C:
			if time.Since(idle) >= turnPatience {
				v.loosen()
			}
		}
	}
}

// loosen lets time advance although a goroutine seems to run.
func (v *Turns) loosen() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.loose = true; v.turn != clocksTurn && v.turn != controlsTurn {
		v.turn, v.looked = nobodysTurn, false // a body or a job has had it for too long
	}
}

// next gives the next turn, if there is one now, and reports whether it is through already.
func (v *Turns) next() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.turn != nobodysTurn:
		return false
	case !v.loose && !v.programWaits():
		return false
	case !v.stopped && v.engine.Ended():
		v.stopped = true
		v.carryOut(controlsTurn, v.engine.Stop)
		return true
	}
	for i, w := range v.waiters {
		if w.over() {
			v.waiters = append(v.waiters[:i], v.waiters[i+1:]...)
			v.grant(w)
			return true
		}
	}
	switch {
	case len(v.jobs) > 0:
		job := v.jobs[0]
		v.jobs = v.jobs[1:]
		v.turn, v.looked = jobsTurn, false
		v.engine.Background(func() { defer v.End(); job() })
		return false
	case !v.looked && v.engine.Offers():
		v.turn, v.worker, v.looked = workersTurn, smp.None, true
		v.engine.Begin()
		return false
	}
	return v.step()
}

// grant resumes w. Requires: mu held.
func (v *Turns) grant(w *waiter) {
	v.looked = false
	switch w.of {
	case bodyWaits:
		v.turn = waitersTurn
	case jobWaits:
		v.turn = jobsTurn
	}
	if w.granted != nil {
		close(w.granted)
	}
}

// programWaits reports whether a goroutine of the program waits, and continues only because of what
// happens. Requires: mu held.
func (v *Turns) programWaits() bool {
	for _, w := range v.waiters {
		if w.of == programWaits {
			return true
		}
	}
	return false
}

// step has the next thing in virtual time happen, and reports whether there was one. Requires: mu
// held; it is given up meanwhile.
func (v *Turns) step() (some bool) {
	v.carryOut(clocksTurn, func() { some = v.line.Step() })
	if some && v.loose {
		v.forced++
	}
	return some
}

// carryOut calls f as a turn. Requires: mu held; it is given up meanwhile.
func (v *Turns) carryOut(turn turnOf, f func()) {
	v.turn, v.looked = turn, false
	v.mu.Unlock()
	f()
	v.mu.Lock()
	v.turn = nobodysTurn
}

// End ends the turn of the caller.
func (v *Turns) End() { v.endOf(jobsTurn, waitersTurn) }

// endOf ends the turn if it is one of some.
func (v *Turns) endOf(some ...turnOf) {
	v.mu.Lock()
	if slices.Contains(some, v.turn) {
		v.turn = nobodysTurn
	}
	v.mu.Unlock()
	v.Poke()
}

// IsTurnOf reports whether it is the turn of a worker, which it becomes where it is that of the
// workers and none has asked yet.
func (v *Turns) IsTurnOf(worker int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.turn == workersTurn && v.worker == smp.None {
		v.worker = worker
	}
	return v.turn == workersTurn && v.worker == worker
}

// Wait waits until over reports true, or ctx is done, if it is not nil: on behalf of the program,
// or of a job where it is the turn of one.
func (v *Turns) Wait(over func() bool, ctx context.Context) {
	if ctx != nil {
		defer context.AfterFunc(ctx, v.Poke)()
		over = orDone(over, ctx)
	}
	w := &waiter{over: over, granted: make(chan struct{})}
	v.mu.Lock()
	if v.turn == jobsTurn {
		w.of, v.turn = jobWaits, nobodysTurn
	}
	v.enter(w)
	v.loose = false
	v.mu.Unlock()
	v.Poke()
	<-w.granted
}

// enter adds w. Requires: mu held.
func (v *Turns) enter(w *waiter) {
	v.waiters = append(v.waiters, w)
	v.looked = false
}

// orDone returns over, or that ctx is done.
func orDone(over func() bool, ctx context.Context) func() bool {
	return func() bool { return over() || ctx.Err() != nil }
}

// Await is wait where it is not over already. It may be called where there is no virtual time.
func (v *Turns) Await(over func() bool, ctx context.Context) {
	if v != nil && !over() {
		v.Wait(over, ctx)
	}
}

// BodyWaits is wait for a body, which has its worker until f has lent it. After it the body has its
// turn until end.
func (v *Turns) BodyWaits(over func() bool, ctx context.Context, lend func()) {
	if ctx != nil {
		defer context.AfterFunc(ctx, v.Poke)()
		over = orDone(over, ctx)
	}
	w := &waiter{of: bodyWaits, over: over, granted: make(chan struct{})}
	v.mu.Lock()
	v.enter(w)
	v.mu.Unlock()
	lend()
	<-w.granted
}

// Watch lets time advance until over reports true, as the program will wait for that by a channel.
func (v *Turns) Watch(over func() bool) {
	v.mu.Lock()
	v.enter(&waiter{over: over})
	v.mu.Unlock()
	v.Poke()
}

// Spend lets the time pass that the program takes to submit a task.
func (v *Turns) Spend() {
	if v == nil || v.costs.Submit <= 0 || v.engine.InBody() {
		return
	}
	passed := false // written and read when no other goroutine has the turn
	v.line.At(v.line.Now()+v.costs.Submit, func() { passed = true })
	v.Wait(func() bool { return passed }, nil)
}

// Do runs f as a job, beside the caller.
func (v *Turns) Do(f func()) {
	v.mu.Lock()
	v.jobs = append(v.jobs, f)
	v.mu.Unlock()
	v.Poke()
}

// EndJobs waits until no job is left.
func (v *Turns) EndJobs() {
	if v != nil {
		v.Wait(func() bool { return len(v.jobs) == 0 }, nil) // no goroutine has the turn, and mu is held
	}
}

// During returns how long a body takes in virtual time that works on so many bytes.
func (v *Turns) During(work deps.Bytes) time.Duration { return v.costs.During(work) }

// After calls end when the cost of a body that has run has passed. It reports false where there is
// none.
func (v *Turns) After(cost time.Duration, end func()) bool {
	if cost <= 0 {
		return false
	}
	v.passing.Add(1)
	at := v.line.Now() + cost
	v.line.At(at, func() {
		v.mu.Lock()
		v.ended = max(v.ended, at)
		v.mu.Unlock()
		v.passing.Add(-1)
		end()
	})
	return true
}

// Passes returns the number of bodies whose cost passes.
func (v *Turns) Passes() int { return int(v.passing.Load()) }

// EndWorkers ends the turn of the workers if it is that of worker.
func (v *Turns) EndWorkers(worker int) {
	if v.IsTurnOf(worker) {
		v.endOf(workersTurn)
	}
}

// Makespan returns when the last cost of a body has passed, and how often time went on although a
// goroutine seemed to run.
func (v *Turns) Makespan() (ended time.Duration, forced int64) {
	if v == nil {
		return 0, 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ended, v.forced
}
