package task

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
)

// This file is a runtime whose devices have a virtual time: the same program does the same in every
// run, whatever the speed of the host.
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

// virtual is what a Runtime has whose devices have a virtual time.
type virtual struct {
	rt    *Runtime
	line  devices.Timeline
	costs devices.HostCosts

	mu sync.Mutex
	currentTurn
	waiters []*waiter
	jobs    []func()
	stopped bool // what the end of the context does was done
	forced  int64
	ended   time.Duration // the last cost of a body

	passing int // bodies whose cost passes; guarded by readyQueues.mu

	poked   chan struct{}
	closing chan struct{}
	done    sync.WaitGroup
	outside bool // there are accelerators with no virtual time
}

// A currentTurn says which goroutines have their turn. It is guarded by virtual.mu.
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

// openVirtual makes the devices of rt wait for their turns, if they have a virtual time.
func (rt *Runtime) openVirtual() {
	line := rt.topology.machine.Timeline()
	if line == nil {
		return
	}
	v := &virtual{rt: rt, line: line, costs: line.Costs(), poked: make(chan struct{}, 1), closing: make(chan struct{})}
	for _, d := range rt.topology.machine.Accelerators() {
		s, ok := d.(devices.Simulated)
		v.outside = v.outside || !ok || s.Timeline() == nil
	}
	rt.virtual, rt.window.turns = v, v
	line.Govern(v.poke)
	rt.topology.machine.SetWait(func(over func() bool) { v.wait(over, nil) })
	rt.sweeps.state.closed = true // when the collector frees memory is not to be seen: it is kept
	v.done.Go(v.run)
}

// close ends the turns. Requires: nothing is in flight.
func (v *virtual) close() {
	if v == nil {
		return
	}
	close(v.closing)
	v.done.Wait()
}

// poke has run look whose turn it is.
func (v *virtual) poke() {
	select {
	case v.poked <- struct{}{}:
	default:
	}
}

// run gives turns until close.
func (v *virtual) run() {
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
func (v *virtual) loosen() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.loose = true; v.turn != clocksTurn && v.turn != controlsTurn {
		v.turn, v.looked = nobodysTurn, false // a body or a job has had it for too long
	}
}

// next gives the next turn, if there is one now, and reports whether it is through already.
func (v *virtual) next() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.turn != nobodysTurn:
		return false
	case !v.loose && !v.programWaits():
		return false
	case !v.stopped && v.rt.ctx.Err() != nil:
		v.stopped = true
		v.carryOut(controlsTurn, v.rt.stop)
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
		v.rt.cleaning.Go(func() { defer v.end(); job() })
		return false
	case !v.looked && v.rt.hasWorkersTurn():
		v.turn, v.worker, v.looked = workersTurn, smp.None, true
		v.rt.pool.workers.Begin()
		return false
	}
	return v.step()
}

// grant resumes w. Requires: mu held.
func (v *virtual) grant(w *waiter) {
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
func (v *virtual) programWaits() bool {
	for _, w := range v.waiters {
		if w.of == programWaits {
			return true
		}
	}
	return false
}

// step has the next thing in virtual time happen, and reports whether there was one. Requires: mu
// held; it is given up meanwhile.
func (v *virtual) step() (some bool) {
	v.carryOut(clocksTurn, func() { some = v.line.Step() })
	if some && v.loose {
		v.forced++
	}
	return some
}

// carryOut calls f as a turn. Requires: mu held; it is given up meanwhile.
func (v *virtual) carryOut(turn turnOf, f func()) {
	v.turn, v.looked = turn, false
	v.mu.Unlock()
	f()
	v.mu.Lock()
	v.turn = nobodysTurn
}

// end ends the turn of the caller.
func (v *virtual) end() { v.endOf(jobsTurn, waitersTurn) }

// endOf ends the turn if it is one of some.
func (v *virtual) endOf(some ...turnOf) {
	v.mu.Lock()
	if slices.Contains(some, v.turn) {
		v.turn = nobodysTurn
	}
	v.mu.Unlock()
	v.poke()
}

// isTurnOf reports whether it is the turn of a worker, which it becomes where it is that of the
// workers and none has asked yet.
func (v *virtual) isTurnOf(worker int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.turn == workersTurn && v.worker == smp.None {
		v.worker = worker
	}
	return v.turn == workersTurn && v.worker == worker
}

// wait waits until over reports true, or ctx is done, if it is not nil: on behalf of the program,
// or of a job where it is the turn of one.
func (v *virtual) wait(over func() bool, ctx context.Context) {
	if ctx != nil {
		defer context.AfterFunc(ctx, v.poke)()
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
	v.poke()
	<-w.granted
}

// enter adds w. Requires: mu held.
func (v *virtual) enter(w *waiter) {
	v.waiters = append(v.waiters, w)
	v.looked = false
}

// orDone returns over, or that ctx is done.
func orDone(over func() bool, ctx context.Context) func() bool {
	return func() bool { return over() || ctx.Err() != nil }
}

// await is wait where it is not over already. It may be called where there is no virtual time.
func (v *virtual) await(over func() bool, ctx context.Context) {
	if v != nil && !over() {
		v.wait(over, ctx)
	}
}

// awaitTask waits until t has finished.
func (v *virtual) awaitTask(t Task, ctx context.Context) {
	if v != nil && t.record != nil {
		v.await(func() bool { return t.isOver() }, ctx)
	}
}

// bodyWaits is wait for a body, which has its worker until f has lent it. After it the body has its
// turn until end.
func (v *virtual) bodyWaits(over func() bool, ctx context.Context, lend func()) {
	if ctx != nil {
		defer context.AfterFunc(ctx, v.poke)()
		over = orDone(over, ctx)
	}
	w := &waiter{of: bodyWaits, over: over, granted: make(chan struct{})}
	v.mu.Lock()
	v.enter(w)
	v.mu.Unlock()
	lend()
	<-w.granted
}

// watch lets time advance until t has finished, as the program will wait for that by a channel.
func (v *virtual) watch(t Task) {
	v.mu.Lock()
	v.enter(&waiter{over: t.isOver})
	v.mu.Unlock()
	v.poke()
}

// spend lets the time pass that the program takes to submit a task.
func (v *virtual) spend() {
	if v == nil || v.costs.Submit <= 0 || insideBody() {
		return
	}
	passed := false // written and read when no other goroutine has the turn
	v.line.At(v.line.Now()+v.costs.Submit, func() { passed = true })
	v.wait(func() bool { return passed }, nil)
}

// aJob runs f beside the caller, which must not be kept.
func (rt *Runtime) aJob(f func()) {
	v := rt.virtual
	if v == nil {
		rt.cleaning.Go(f)
		return
	}
	v.mu.Lock()
	v.jobs = append(v.jobs, f)
	v.mu.Unlock()
	v.poke()
}

// endJobs waits until no job is left.
func (v *virtual) endJobs() {
	if v != nil {
		v.wait(func() bool { return len(v.jobs) == 0 }, nil) // no goroutine has the turn, and mu is held
	}
}

// A hostCost is what HostCost says of a task.
type hostCost struct {
	given bool
	time  time.Duration
}

// costOf returns how long the body of r takes in virtual time.
func (v *virtual) costOf(r *record) time.Duration {
	switch {
	case r.kind != goBody && r.kind != kernelBody && r.kind != combineBody || r.replayRun != nil:
		return 0
	case r.cost.given:
		return r.cost.time
	}
	return v.costs.During(r.work)
}

// afterBody calls end, which ends r, whose body has run, when its cost has passed. It reports false
// where there is none.
func (v *virtual) afterBody(r *record, end func()) bool {
	cost := v.costOf(r)
	if cost <= 0 {
		return false
	}
	v.pass(1)
	at := v.line.Now() + cost
	v.line.At(at, func() {
		v.mu.Lock()
		v.ended = max(v.ended, at)
		v.mu.Unlock()
		v.pass(-1)
		end()
	})
	return true
}

// pass counts bodies whose cost passes.
func (v *virtual) pass(n int) {
	v.rt.ready.mu.Lock()
	v.passing += n
	v.rt.ready.mu.Unlock()
}

// makespan returns when the last cost of a body has passed, and how often time went on although a
// goroutine seemed to run.
func (v *virtual) makespan() (ended time.Duration, forced int64) {
	if v == nil {
		return 0, 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ended, v.forced
}

// hasWorkersTurn reports whether a CPU worker would find something now.
func (rt *Runtime) hasWorkersTurn() bool {
	if rt.pool.workers == nil {
		return false
	}
	rt.ready.mu.Lock()
	defer rt.ready.mu.Unlock()
	return rt.hostHasRoom() && (rt.ready.handedOff.head != nil || rt.ready.arrived.head != nil || rt.ready.fetching < rt.topology.depth[rt.topology.host] && rt.ready.sched.Offers(rt.topology.host))
}

// hostHasRoom reports whether one more body may begin or continue in virtual time. Requires: mu
// held.
func (rt *Runtime) hostHasRoom() bool {
	return rt.virtual == nil || rt.virtual.passing < rt.topology.places[rt.topology.host].Width
}

// cpuInTurns is cpu for workers that have turns.
type cpuInTurns struct{ cpu }

// Turn implements smp.Turns.
func (w cpuInTurns) Turn(worker int) bool {
	return w.rt.virtual.isTurnOf(worker) || w.rt.pool.states[worker].next != nil
}

// End implements smp.Turns.
func (w cpuInTurns) End(worker int) {
	if w.rt.virtual.isTurnOf(worker) {
		w.rt.virtual.endOf(workersTurn)
	}
}

// startWorkers starts the CPU workers and returns how many there are.
func (rt *Runtime) startWorkers() (err error) {
	if rt.virtual != nil {
		rt.pool.workers, err = rt.topology.cpus.Start(cpuInTurns{cpu{rt}})
	} else {
		rt.pool.workers, err = rt.topology.cpus.Start(cpu{rt})
	}
	return err
}
