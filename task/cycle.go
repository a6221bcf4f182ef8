package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/state"
)

// This file is the life of a task after submission: ready -> granted to a place -> over ->
// successors are ready.

// A recordList is a list of records in order.
type recordList struct {
	head, tail *record
}

func (l *recordList) push(r *record) {
	r.link = nil
	if l.tail == nil {
		l.head = r
	} else {
		l.tail.link = r
	}
	l.tail = r
}

func (l *recordList) pop() *record {
	r := l.head
	if r != nil {
		if l.head = r.link; l.head == nil {
			l.tail = nil
		}
		r.link = nil
	}
	return r
}

// retire ends r, and all tasks that are skipped because of that, and starts those that become
// ready. For a worker, that is not smp.None, it returns what to run next.
func (rt *Runtime) retire(r *record, worker int) *record {
	var over, ready recordList
	done := r
	rt.release(r)
	rt.graphRelease(r, &over, &ready)
	for s := over.pop(); s != nil; s = over.pop() {
		rt.graphRelease(s, &over, &ready)
		rt.complete(rt.conclude(s, smp.None))
	}
	if worker == smp.None && ready.head == nil && rt.finishOutsideScheduler(done) {
		rt.complete(rt.conclude(done, smp.None))
		return nil
	}
	next := rt.schedule(done, &ready, worker)
	if !done.traits.Is(life.Simple) {
		worker = smp.None // and its place has counted it
	} else if worker == smp.None {
		rt.ready.countRun()
	}
	rt.complete(rt.conclude(done, worker))
	return next
}

// release gives back what r holds of the machine: what it wrote is valid where it ran, and nowhere
// else.
func (rt *Runtime) release(r *record) {
	if rt.observers.watched() {
		rt.observers.observeEnd(r)
	}
	if r.holds.Has(life.HeldData) {
		rt.topology.machine.ReleaseSet(&r.set, r.cause())
	}
	if r.holds.Has(life.HeldPrivates) {
		rt.returnPrivates(r)
		r.holds.Drop(life.HeldPrivates)
	}
}

// makeReady puts s, whose predecessors have finished, on the list of those that run or those that
// do not. by is the last of them, nil if there was none.
func (rt *Runtime) makeReady(s, by *record, over, ready *recordList) {
	if via := s.poison.Load(); via != nil && !s.traits.Is(life.IgnoresFailures) {
		s.skip(via)
		over.push(s)
		return
	}
	if rt.eagerQueues == nil && !s.traits.Is(life.Simple) { // else the release was needed to know that it goes here
		s.life.Enter(state.Release)
	}
	if rt.ready.admit(s) {
		rt.queue(s, by, over, ready)
	}
}

// queue puts s, which nothing keeps back, among the ready tasks.
func (rt *Runtime) queue(s, by *record, over, ready *recordList) {
	if !s.kind.waits() && s.Context().Err() != nil {
		s.fail("", context.Cause(s.Context()))
		over.push(s)
		return
	}
	rt.topology.estimate(s)
	ready.push(s)
	if rt.observers.watched() && !s.kind.waits() {
		rt.observers.observeReady(s, by)
	}
}

// schedule takes done out of flight, makes the records of ready ready, starts what accelerators can
// take and, for a worker, returns what it should run. Each of them may be nil; smp.None is no
// worker.
func (rt *Runtime) schedule(done *record, ready *recordList, worker int) *record {
	if rt.ready.fastPath {
		return rt.scheduleFast(done, ready, worker)
	}
	return rt.scheduleAll(done, ready, worker)
}

// scheduleAll is schedule for tasks that are not plain.
func (rt *Runtime) scheduleAll(done *record, ready *recordList, worker int) *record {
	spin.Perturb()
	var starts, orphans, waits recordList
	wake := 0
	rt.topology.lock(&rt.ready.mu)
	if done != nil && !done.kind.waits() {
		wake += rt.removeScheduled(done)
	}
	var after *sched.Item
	if ready != nil {
		n, first := rt.ready.pushReady(ready, &orphans, &waits)
		wake, after = wake+n, first
		rt.ready.publishWaiting() // before it looks for capacity: a caller that leaves without the lock checks this afterwards
	}
	var next *record
	if worker != smp.None {
		if next = rt.ready.takeHost(after); next != nil && (next.holds.Has(life.HeldData) || next.life.State().Wants()) {
			wake += min(rt.ready.sched.Len(), 1) // there is room for another fetch
		} else if next != nil {
			wake--
		}
	}
	rt.takeAccelerators(&starts)
	if wake = min(wake, rt.ready.sched.Len()); wake > 0 && rt.topology.accelerators && !rt.ready.hasHostWork() {
		wake = 0
	}
	rt.ready.unlock()

	if next != nil && !next.holds.Has(life.HeldData) && !next.life.State().Wants() && rt.observers.watched() {
		rt.observeChoice(next)
	}
	if wake > 0 && rt.pool.workers != nil {
		rt.pool.workers.Wake(wake)
	}
	for r := starts.pop(); r != nil; r = starts.pop() {
		rt.startOn(r)
	}
	for r := waits.pop(); r != nil; r = waits.pop() {
		rt.startWait(r)
	}
	for r := orphans.pop(); r != nil; r = orphans.pop() {
		r.fail("", errNoDevice)
		rt.retireUnscheduled(r)
	}
	return next
}

var errNoDevice = fmt.Errorf("no device that may run it is in service any more: %w", devices.ErrRetired)

// retireUnscheduled ends a task that the scheduler does not hold.
func (rt *Runtime) retireUnscheduled(r *record) {
	var over, ready recordList
	over.push(r)
	for s := over.pop(); s != nil; s = over.pop() {
		rt.graphRelease(s, &over, &ready)
		rt.complete(rt.conclude(s, smp.None))
	}
	if ready.head != nil {
		rt.schedule(nil, &ready, smp.None)
	}
}

// removeScheduled takes r out of flight. It returns how many sleeping workers that gives work to.
// Requires: mu held.
func (rt *Runtime) removeScheduled(r *record) int {
	p := r.item.Place()
	if rt.ready.learned.On && p != rt.topology.host && r.item.Took == 0 {
		r.item.Took = rt.backlogs[p].timeOf(r, &rt.observers)
	}
	rt.ready.sched.Done(&r.item)
	rt.ready.counts.end(p)
	rt.ready.counts.ran[p].n.Add(1)
	if len(r.settings.tokens) > 0 {
		return min(rt.ready.sched.Len(), 1) // its tokens may be what another waits for
	}
	return 0
}

// pushReady pushes ready records. It returns how many of them a worker may run, and the first of
// these. Requires: mu held.
func (hq *readyQueues) pushReady(ready, orphans, waits *recordList) (n int, first *sched.Item) {
	for r := ready.pop(); r != nil; r = ready.pop() {
		switch {
		case r.kind.waits() || r.kind == replayBody || r.kind == combineBody && hq.topology.combinesUnscheduled():
			waits.push(r)
		case !hq.sched.Push(&r.item):
			orphans.push(r)
		case hq.topology.host >= 0 && r.item.Allowed.Has(hq.topology.host):
			if n++; n == 1 {
				first = &r.item
			}
			if r.item.Priority < 0 {
				hq.lowItems++
			}
		}
	}
	return n, first
}

// takeHost returns what a CPU worker should run that has just made after ready, if it has: first
// those whose data have arrived. Requires: mu held.
func (hq *readyQueues) takeHost(after *sched.Item) *record {
	if !hq.hostHasRoom() {
		return nil
	}
	if r := hq.takeHandedOff(); r != nil {
		return r
	}
	if r := hq.arrived.pop(); r != nil {
		hq.fetching--
		return r
	}
	if hq.fetching >= hq.topology.depth[hq.topology.host] {
		return nil // enough is on its way
	}
	it := hq.sched.PopAfter(hq.topology.host, after)
	if it == nil {
		return nil
	}
	return hq.granted(it)
}

// granted counts an item that was popped. Requires: mu held.
func (hq *readyQueues) granted(it *sched.Item) *record {
	r := it.Owner.(*record)
	if r.life.State() == state.Ready { // else it is an early launch, or a body that continues
		r.life.Enter(state.Place)
	}
	hq.counts.grant(it.Place())
	if it.Priority < 0 && it.Place() == hq.topology.host {
		hq.lowItems--
	}
	return r
}

// takeAccelerators pops what accelerators with room in flight should start. Requires: mu held.
func (rt *Runtime) takeAccelerators(starts *recordList) {
	if !rt.topology.accelerators {
		return
	}
	for took := true; took; {
		took = false
		for p := range rt.topology.places {
			id := sched.PlaceID(p)
			if id == rt.topology.host {
				continue
			}
			if rt.inFlightNotEager(id) < rt.topology.depth[p] {
				if it := rt.ready.sched.Pop(id); it != nil {
					r := rt.ready.granted(it)
					rt.ready.placedOn(r, id)
					starts.push(r)
					took = true
					continue
				}
			}
			if rt.eagerQueues != nil && rt.backlogs[p].launchThreadAwake() {
				rt.backlogs[p].recheck.Store(true)
			} else if r := rt.takeEager(id); r != nil {
				rt.ready.sched.Grant(&r.item, id)
				starts.push(rt.ready.granted(&r.item))
				took = true
			}
		}
	}
}

// hasHostWork reports whether a sleeping worker would get a task if it were woken. Most of what may
// run on the host beside accelerators is taken by these at once, or kept for them; a worker that is
// woken for that costs the waking goroutine more than starting a kernel does, and then asks for the
// lock that all accelerators are waited on with. Requires: mu held.
func (hq *readyQueues) hasHostWork() bool {
	return hq.pool.workers != nil && hq.pool.workers.Idle() > 0 && hq.sched.Offers(hq.topology.host)
}

// dataArrived hands a task whose data have arrived on the host to the workers.
func (hq *readyQueues) dataArrived(r *record) {
	hq.mu.Lock()
	hq.arrived.push(r)
	hq.unlock()
	hq.pool.workers.Wake(1)
}

// startOn starts r on the accelerator that it was granted to: its data are fetched and the kernel
// is enqueued behind them.
func (rt *Runtime) startOn(r *record) {
	if rt.beginStart(r) {
		rt.launchOn(r)
	}
}

// beginStart does what comes before the launch of r, and reports false when another goroutine
// continues r.
func (rt *Runtime) beginStart(r *record) bool {
	if rt.observers.watched() {
		rt.observeChoice(r)
		rt.observers.observeLaunch(r)
	}
	if !rt.bindPrivates(r, rt.topology.spaces[r.item.Place()]) {
		rt.retire(r, smp.None)
		return false
	}
	return r.retries == 0 || !rt.keepInputs(r)
}

// launchOn is startOn from the point on where nothing is left to do first.
func (rt *Runtime) launchOn(r *record) {
	rt.describeLaunch(r)
	rt.topology.machine.Start(&r.set, &r.launch)
}

// describeLaunch says what is to be launched for r, and with what.
func (rt *Runtime) describeLaunch(r *record) {
	p := r.item.Place()
	if rt.ready.learned.On {
		r.began = rt.observers.now()
	}
	r.setUp(rt.topology.spaces[p])
	r.set.Done = kernelFinished
	if rt.eagerQueues != nil && r.retries == 0 { // no task is launched behind one that may run again
		r.set.Launched = kernelEnqueued
	}
	r.holds.Take(life.HeldData)
	r.launch = devices.Launch{Kernel: &r.running(p).Device, Args: &r.args, Label: r.name(), Accesses: r.set.Accesses}
}

// startWait makes the accesses of a wait valid on the host, combines a reduction where there are no
// CPU workers, or submits the steps of an iteration.
func (rt *Runtime) startWait(r *record) {
	if r.kind == combineBody {
		rt.startCombination(r)
		return
	}
	if r.kind == replayBody {
		rt.background.run(func() { rt.submitSteps(r) }) // the caller may be one that others wait for
		return
	}
	if rt.topology.accelerators && len(r.data()) > 0 {
		r.life.Enter(state.Acquire)
		r.setUp(devices.Host)
		r.set.Ready = fetched
		r.holds.Take(life.HeldData)
		if !rt.topology.machine.Acquire(&r.set) {
			return
		}
	}
	rt.endWait(r)
}

func (rt *Runtime) endWait(r *record) {
	if r.holds.Has(life.HeldData) {
		rt.topology.machine.ReleaseSet(&r.set, r.cause())
	}
	rt.retireUnscheduled(r)
}

// kernelFinished is called by the machine when a kernel has finished, or could not be run.
func kernelFinished(ws *machine.WorkingSet, err error) {
	r := ws.Owner.(*record)
	r.outcome = err
	if r.life.Race(state.KernelEnd) == state.End {
		r.rt.finishTask(r)
	}
}

// retryElsewhere reports whether r failed because its device went out of service, and is ready
// again for the others. What it wrote is in no replica, so its inputs are as they were; if some
// were on that device alone, it will fail there with a devices.LostError.
func (rt *Runtime) retryElsewhere(r *record, p sched.PlaceID, err error) bool {
	if rt.topology.machine.Retired(rt.topology.spaces[p]) == nil {
		return false
	}
	rt.ready.mu.Lock()
	orphans := rt.ready.sched.Retire(p)
	others := rt.ready.sched.Len()
	rt.ready.unlock()
	if others > 0 && rt.pool.workers != nil {
		rt.pool.workers.Wake(others) // tasks that waited for p may run on the host now, and its workers have looked before
	}
	for _, it := range orphans {
		o := it.Owner.(*record)
		o.fail(rt.topology.places[p].Name, err)
		rt.retireUnscheduled(o)
	}
	if r.item.Allowed.Without(p) == 0 || errors.Is(err, devices.ErrLost) {
		return false
	}
	rt.unhold(r, err)
	rt.requeue(r)
	return true
}

// requeue puts a granted record back among the ready ones.
func (rt *Runtime) requeue(r *record) {
	var starts recordList
	rt.ready.mu.Lock()
	rt.ready.counts.end(r.item.Place())
	rt.ready.sched.Done(&r.item)
	r.item.Took = 0
	r.life.Enter(state.Requeue)
	rt.ready.unlock()
	rt.topology.estimate(r)
	starts.push(r)
	rt.schedule(nil, &starts, smp.None)
}

// countRun counts a plain task that ran on no worker to its end.
func (hq *readyQueues) countRun() { hq.counts.ran[hq.topology.host].n.Add(1) }

// conclude closes the books on a task that has finished and lets its record go. It returns the
// parent if that has finished too. worker is the one that has run it as a plain task, if there is
// one.
func (rt *Runtime) conclude(r *record, worker int) *record {
	spin.Perturb()
	id, scope, member, others := r.taskID(), r.scope, r.member, r.others()
	if r.kind == combineBody {
		rt.dropPrivates(r.uses[0].group)
	} else if r.kind == mergeBody {
		rt.endMerge(scope, r.mergeTarget)
	}
	if r.err != nil {
		rt.noteFailure(r)
	}
	if rt.observers.watched() {
		rt.observers.observeRelease(r, id)
	}
	r.life.End(r.ending())
	if r.done.Load() != nil { // later callers find that the id has gone
		if done := r.done.Swap(nil); done != nil {
			close(*done)
		}
	}
	r.clear()
	scope.putRecord(r, worker)
	rt.window.Leave(worker)
	member.leave()
	for _, o := range others {
		o.leave()
	}
	if scope.program() {
		return nil
	}
	return scope.childFinished(1)
}

// cause returns the error of r, untyped.
func (r *record) cause() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

func (r *record) taskID() deps.TaskID { return r.life.ID() }
