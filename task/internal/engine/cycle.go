package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/state"
)

// This file implements the life of a task after submission: it becomes ready, is granted to a
// place, runs, and finishes; then its successors become ready.

// A RecordList is a list of records in order.
type RecordList struct {
	head, tail *Record
}

func (l *RecordList) Push(r *Record) {
	r.Link = nil
	if l.tail == nil {
		l.head = r
	} else {
		l.tail.Link = r
	}
	l.tail = r
}

func (l *RecordList) pop() *Record {
	r := l.head
	if r != nil {
		if l.head = r.Link; l.head == nil {
			l.tail = nil
		}
		r.Link = nil
	}
	return r
}

// retire finishes r and all tasks that are skipped as a consequence, and schedules the tasks that
// become ready. It returns the next task for worker, unless worker is smp.None.
func (rt *Runtime) retire(r *Record, worker int) *Record {
	var ended, ready RecordList
	done := r
	rt.release(r)
	rt.graphRelease(r, &ended, &ready)
	for s := ended.pop(); s != nil; s = ended.pop() {
		rt.graphRelease(s, &ended, &ready)
		rt.Complete(rt.conclude(s, smp.None))
	}
	if worker == smp.None && ready.head == nil && rt.finishOutsideScheduler(done) {
		rt.Complete(rt.conclude(done, smp.None))
		return nil
	}
	next := rt.Schedule(done, &ready, worker)
	if !done.Traits.Is(life.Simple) {
		worker = smp.None // its place has counted it
	} else if worker == smp.None {
		rt.Ready.countRun()
	}
	rt.Complete(rt.conclude(done, worker))
	return next
}

// release frees the machine resources that r holds. The data that r has written are valid at its
// place only.
func (rt *Runtime) release(r *Record) {
	if rt.Observers.Watched() {
		rt.Observers.ObserveEnd(r)
	}
	if r.Holds.Has(life.HeldData) {
		rt.Topology.Machine.ReleaseSet(&r.Set, cause(r))
	}
	if r.Holds.Has(life.HeldPrivates) {
		rt.returnPrivates(r)
		r.Holds.Drop(life.HeldPrivates)
	}
}

// makeReady appends s, whose predecessors have finished, to ready, or to ended if it will not run.
// by is the last predecessor, nil if there was none.
func (rt *Runtime) makeReady(s, by *Record, ended, ready *RecordList) {
	if s.Kind == ReplayBody && s.Life.State().Early() {
		replayReleased(s, by)
		return
	}
	if via := s.poison.Load(); via != nil && !s.Traits.Is(life.IgnoresFailures) {
		s.skip(via)
		ended.Push(s)
		return
	}
	if rt.EagerQueues == nil && !s.Traits.Is(life.Simple) { // otherwise s has been released already
		s.Life.Enter(state.Release)
	}
	if rt.Ready.admit(s) {
		rt.queue(s, by, ended, ready)
	}
}

// queue appends s to ready, or to ended if its context has been cancelled.
func (rt *Runtime) queue(s, by *Record, ended, ready *RecordList) {
	if !s.Kind.Waits() && s.Context().Err() != nil {
		s.Fail("", context.Cause(s.Context()))
		ended.Push(s)
		return
	}
	rt.Topology.estimate(s)
	ready.Push(s)
	if rt.Observers.Watched() && !s.Kind.Waits() {
		rt.Observers.observeReady(s, by)
	}
}

// Schedule retires done, queues the records of ready, starts tasks on accelerators with capacity
// and returns the next task for worker. done and ready may be nil; worker may be smp.None.
func (rt *Runtime) Schedule(done *Record, ready *RecordList, worker int) *Record {
	if rt.Ready.FastPath {
		return rt.scheduleFast(done, ready, worker)
	}
	return rt.scheduleAll(done, ready, worker)
}

// scheduleAll is Schedule without the fast path for simple tasks.
func (rt *Runtime) scheduleAll(done *Record, ready *RecordList, worker int) *Record {
	spin.Perturb()
	var starts, orphans, waits RecordList
	wake := 0
	rt.Topology.lock(&rt.Ready.Mu)
	if done != nil && !done.Kind.Waits() {
		wake += rt.removeScheduled(done)
	}
	var after *sched.Item
	if ready != nil {
		n, first := rt.Ready.pushReady(ready, &orphans, &waits)
		wake, after = wake+n, first
		rt.Ready.publishWaiting() // before the check for capacity: a goroutine that returns without the lock reads this afterwards
	}
	var next *Record
	if worker != smp.None {
		if next = rt.Ready.takeHost(after); next != nil && (next.Holds.Has(life.HeldData) || next.Life.State().Wants()) {
			wake += min(rt.Ready.Sched.Len(), 1) // there is capacity for another fetch
		} else if next != nil {
			wake--
		}
	}
	rt.takeAccelerators(&starts)
	if wake = min(wake, rt.Ready.Sched.Len()); wake > 0 && rt.Topology.Accelerators && !rt.Ready.hasHostWork() {
		wake = 0
	}
	rt.Ready.Unlock()

	if next != nil && !next.Holds.Has(life.HeldData) && !next.Life.State().Wants() && rt.Observers.Watched() {
		rt.observeChoice(next)
	}
	if wake > 0 && rt.Pool.Workers != nil {
		rt.Pool.Workers.Wake(wake)
	}
	for r := starts.pop(); r != nil; r = starts.pop() {
		rt.StartOn(r)
	}
	for r := waits.pop(); r != nil; r = waits.pop() {
		rt.startWait(r)
	}
	for r := orphans.pop(); r != nil; r = orphans.pop() {
		r.Fail("", errNoDevice)
		rt.RetireUnscheduled(r)
	}
	return next
}

var errNoDevice = fmt.Errorf("no device that may run it is in service any more: %w", devices.ErrRetired)

// RetireUnscheduled finishes a task that the scheduler does not hold.
func (rt *Runtime) RetireUnscheduled(r *Record) {
	var ended, ready RecordList
	ended.Push(r)
	for s := ended.pop(); s != nil; s = ended.pop() {
		rt.graphRelease(s, &ended, &ready)
		rt.Complete(rt.conclude(s, smp.None))
	}
	if ready.head != nil {
		rt.Schedule(nil, &ready, smp.None)
	}
}

// removeScheduled removes r from the tasks in flight. It returns the number of sleeping workers
// that can run a task as a consequence.
// Requires: mu held.
func (rt *Runtime) removeScheduled(r *Record) int {
	p := r.Item.Place()
	if rt.Ready.Learned.On && p != rt.Topology.Host && r.Item.Took == 0 {
		r.Item.Took = rt.Backlogs[p].timeOf(r, &rt.Observers)
	}
	rt.Ready.Sched.Done(&r.Item)
	rt.Ready.Counts.End(p)
	rt.Ready.Counts.Ran[p].N.Add(1)
	if len(r.Settings.Tokens) > 0 {
		return min(rt.Ready.Sched.Len(), 1) // another task may wait for its tokens
	}
	return 0
}

// pushReady queues ready records. It returns the number of those that a CPU worker may run, and the
// first of these.
// Requires: mu held.
func (hq *readyQueues) pushReady(ready, orphans, waits *RecordList) (n int, first *sched.Item) {
	for r := ready.pop(); r != nil; r = ready.pop() {
		switch {
		case r.Kind.Waits() || r.Kind == ReplayBody || r.Kind == CombineBody && hq.Topology.CombinesUnscheduled():
			waits.Push(r)
		case !hq.Sched.Push(&r.Item):
			orphans.Push(r)
		case hq.Topology.Host >= 0 && r.Item.Allowed.Has(hq.Topology.Host):
			if n++; n == 1 {
				first = &r.Item
			}
			if r.Item.Priority < 0 {
				hq.LowItems++
			}
		}
	}
	return n, first
}

// takeHost returns the next task for a CPU worker; after is the first task that its last one has
// made ready, or nil. Tasks whose data have arrived come first.
// Requires: mu held.
func (hq *readyQueues) takeHost(after *sched.Item) *Record {
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
	if hq.fetching >= hq.Topology.depth[hq.Topology.Host] {
		return nil // enough fetches are in flight
	}
	it := hq.Sched.PopAfter(hq.Topology.Host, after)
	if it == nil {
		return nil
	}
	return hq.granted(it)
}

// granted counts an item that was popped.
// Requires: mu held.
func (hq *readyQueues) granted(it *sched.Item) *Record {
	r := it.Owner.(*Record)
	if r.Life.State() == state.Ready { // otherwise it is an early launch, or a body that continues
		r.Life.Enter(state.Place)
	}
	hq.Counts.Grant(it.Place())
	if it.Priority < 0 && it.Place() == hq.Topology.Host {
		hq.LowItems--
	}
	return r
}

// takeAccelerators pops the tasks that accelerators with capacity can start.
// Requires: mu held.
func (e *eagerLaunch) takeAccelerators(starts *RecordList) {
	rt := e.rt
	if !rt.Topology.Accelerators {
		return
	}
	for took := true; took; {
		took = false
		for p := range rt.Topology.Places {
			id := sched.PlaceID(p)
			if id == rt.Topology.Host {
				continue
			}
			if e.inFlightNotEager(id) < rt.Topology.depth[p] {
				if it := rt.Ready.Sched.Pop(id); it != nil {
					r := rt.Ready.granted(it)
					rt.Ready.placedOn(r, id)
					starts.Push(r)
					took = true
					continue
				}
			}
			if e.EagerQueues != nil && e.Backlogs[p].launchThreadAwake() {
				e.Backlogs[p].Recheck.Store(true)
			} else if r := e.takeEager(id); r != nil {
				rt.Ready.Sched.Grant(&r.Item, id)
				starts.Push(rt.Ready.granted(&r.Item))
				took = true
			}
		}
	}
}

// hasHostWork reports whether a sleeping worker would get a task. With accelerators, these take
// most tasks that may also run on the host, or the policy keeps the tasks for them. Waking a worker
// in vain costs more than starting a kernel, and the worker then contends for the scheduler's lock.
// Requires: mu held.
func (hq *readyQueues) hasHostWork() bool {
	return hq.Pool.Workers != nil && hq.Pool.Workers.Idle() > 0 && hq.Sched.Offers(hq.Topology.Host)
}

// dataArrived passes a task whose data have arrived on the host to the workers.
func (hq *readyQueues) dataArrived(r *Record) {
	hq.Mu.Lock()
	hq.arrived.Push(r)
	hq.Unlock()
	hq.Pool.Workers.Wake(1)
}

// StartOn starts r on the accelerator that it was granted to: it fetches the data and enqueues the
// kernel after them.
func (e *eagerLaunch) StartOn(r *Record) {
	if e.beginStart(r) {
		e.launchOn(r)
	}
}

// beginStart does the steps before the launch of r. It returns false if another goroutine continues
// with r.
func (e *eagerLaunch) beginStart(r *Record) bool {
	rt := e.rt
	if rt.Observers.Watched() {
		rt.observeChoice(r)
		rt.Observers.observeLaunch(r)
	}
	if !rt.bindPrivates(r, rt.Topology.spaces[r.Item.Place()]) {
		rt.retire(r, smp.None)
		return false
	}
	return r.Retries == 0 || !e.keepInputs(r)
}

// launchOn is StartOn without these first steps.
func (e *eagerLaunch) launchOn(r *Record) {
	e.describeLaunch(r)
	e.rt.Topology.Machine.Start(&r.Set, &r.launch)
}

// describeLaunch sets the kernel and the arguments of the launch of r.
func (e *eagerLaunch) describeLaunch(r *Record) {
	rt := e.rt
	p := r.Item.Place()
	if rt.Ready.Learned.On {
		r.began = rt.Observers.Now()
	}
	r.SetUp(rt.Topology.spaces[p])
	r.Set.Done = kernelFinished
	if e.EagerQueues != nil && r.Retries == 0 { // no eager task may follow a task that may be repeated
		r.Set.Launched = kernelEnqueued
	}
	r.Holds.Take(life.HeldData)
	r.launch = devices.Launch{Kernel: &r.running(p).Device, Args: &r.Args, Label: r.Name(), Accesses: r.Set.Accesses, Steps: r.Sequence}
}

// startWait executes a task without a worker: it makes the accesses of a wait valid on the host,
// combines a reduction if there are no CPU workers, or submits the steps of an iteration.
func (rt *Runtime) startWait(r *Record) {
	if r.Kind == CombineBody {
		rt.startCombination(r)
		return
	}
	if r.Kind == ReplayBody {
		rt.Background.run(func() { r.Replay.Start(r) }) // other goroutines may wait for the caller
		return
	}
	if rt.Topology.Accelerators && len(r.Data()) > 0 {
		r.Life.Enter(state.Acquire)
		r.SetUp(devices.Host)
		r.Set.Ready = fetched
		r.Holds.Take(life.HeldData)
		if !rt.Topology.Machine.Acquire(&r.Set) {
			return
		}
	}
	rt.endWait(r)
}

func (rt *Runtime) endWait(r *Record) {
	if r.Holds.Has(life.HeldData) {
		rt.Topology.Machine.ReleaseSet(&r.Set, cause(r))
	}
	rt.RetireUnscheduled(r)
}

// kernelFinished is the callback of the machine for a kernel that has finished, or could not run.
func kernelFinished(ws *machine.WorkingSet, err error) {
	r := ws.Owner.(*Record)
	r.outcome = err
	if r.Life.Race(state.KernelEnd) == state.End {
		r.RT.finishTask(r)
	}
}

// retryElsewhere makes r ready again for the other places if it failed because its device went out
// of service, and reports whether it did so. Its writes are in no replica, so its inputs are
// unchanged. If an input was on that device only, r will fail there with a devices.LostError.
func (e *eagerLaunch) retryElsewhere(r *Record, p sched.PlaceID, err error) bool {
	rt := e.rt
	if rt.Topology.Machine.Retired(rt.Topology.spaces[p]) == nil {
		return false
	}
	rt.Ready.Mu.Lock()
	orphans := rt.Ready.Sched.Retire(p)
	others := rt.Ready.Sched.Len()
	rt.Ready.Unlock()
	if others > 0 && rt.Pool.Workers != nil {
		rt.Pool.Workers.Wake(others) // tasks that waited for p may run on the host now, but its workers have already looked for work
	}
	for _, it := range orphans {
		o := it.Owner.(*Record)
		o.Fail(rt.Topology.Places[p].Name, err)
		rt.RetireUnscheduled(o)
	}
	if r.Item.Allowed.Without(p) == 0 || errors.Is(err, devices.ErrLost) {
		return false
	}
	unhold(rt, r, err)
	rt.requeue(r)
	return true
}

// requeue returns a granted record to the ready tasks.
func (rt *Runtime) requeue(r *Record) {
	var starts RecordList
	rt.Ready.Mu.Lock()
	rt.Ready.Counts.End(r.Item.Place())
	rt.Ready.Sched.Done(&r.Item)
	r.Item.Took = 0
	r.Life.Enter(state.Requeue)
	rt.Ready.Unlock()
	rt.Topology.estimate(r)
	starts.Push(r)
	rt.Schedule(nil, &starts, smp.None)
}

// countRun counts a simple task that finished without a worker.
func (hq *readyQueues) countRun() { hq.Counts.Ran[hq.Topology.Host].N.Add(1) }

// conclude does the accounting for a finished task and recycles its record. It returns the parent
// if that has finished as a consequence. worker is the worker that has run it as a simple task, or
// smp.None.
func (rt *Runtime) conclude(r *Record, worker int) *Record {
	spin.Perturb()
	id, scope, member, others := r.TaskID(), r.Scope, r.member, others(r)
	if r.Kind == CombineBody {
		rt.DropPrivates(r.Uses[0].Group)
	} else if r.Kind == mergeBody {
		endMerge(rt, scope, r.mergeTarget)
	}
	if r.err != nil {
		noteFailure(rt, r)
	}
	if rt.Observers.Watched() {
		rt.Observers.observeRelease(r, id)
	}
	r.Life.End(r.ending())
	if r.done.Load() != nil { // later callers see that the id has changed
		if done := r.done.Swap(nil); done != nil {
			close(*done)
		}
	}
	r.clear()
	PutRecord(scope, r, worker)
	rt.Window.Leave(worker)
	member.leave()
	for _, o := range others {
		o.leave()
	}
	if scope.Program() {
		return nil
	}
	return scope.ChildFinished(1)
}

// cause returns the error of r as an error interface, nil if there is none.
func cause(r *Record) error {
	if r.err == nil {
		return nil
	}
	return r.err
}
