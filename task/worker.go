package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/goid"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/replay"
	"github.com/gompss/gompss/task/internal/simple"
	"github.com/gompss/gompss/task/internal/state"
)

// cpu is the Runtime as the workers see it, their smp.Source, so that its methods are not part of
// the public API.
type cpu struct{ rt *Runtime }

// A workerState is what one worker has taken and not run yet; padded, as neighbours are used by
// other processors.
type workerState struct {
	next     *record
	magazine *magazine // of records that it has ended
	_        spin.Line
}

// Take finds a task for a worker.
func (w cpu) Take(worker int) bool {
	state := &w.rt.pool.states[worker]
	if state.next == nil {
		state.next = w.rt.schedule(nil, nil, worker)
	}
	return state.next != nil
}

// Run runs the task that was taken, and what it finds after it, until there is nothing.
func (w cpu) Run(worker int) int {
	r := w.rt.pool.states[worker].next
	w.rt.pool.states[worker].next = nil
	w.rt.ready.markBusy(r)
	defer w.rt.pool.markIdle()
	for r != nil && worker != smp.None {
		if r.life.State().Wants() { // its body continues as this worker, and this goroutine is none
			r.life.Enter(state.Resume)
			r.inner.resume <- worker
			return smp.None
		}
		r, worker = w.rt.runOnHost(r, worker)
	}
	return worker
}

// runOnHost runs r, if its data are available, and returns what the worker should run next, and
// which worker the goroutine is.
func (rt *Runtime) runOnHost(r *record, worker int) (*record, int) {
	if r.worker != int32(worker) {
		r.worker = int32(worker)
	}
	if len(r.uses) > 0 && !r.holds.Has(life.HeldPrivates) && !rt.bindPrivates(r, devices.Host) {
		return rt.retire(r, worker), worker
	}
	if rt.topology.accelerators && len(r.data()) > 0 && !r.holds.Has(life.HeldData) && !rt.acquireHost(r) {
		rt.ready.mu.Lock()
		rt.ready.fetching++
		rt.ready.unlock()
		return rt.schedule(nil, nil, worker), worker // its data are on their way
	}
	ran := false
	switch {
	case r.err != nil && rt.retryFetch(r):
		return rt.schedule(nil, nil, worker), worker
	case r.err != nil:
	case r.Context().Err() != nil:
		r.fail("smp", context.Cause(r.Context()))
	case r.retries > 0 || r.tries > 0:
		ran = true
		rt.runRetrying(r)
	default:
		ran = true
		rt.runOnce(r)
	}
	switch {
	case r.outcome == cpucode.ErrStopped:
		r.outcome = nil
		return rt.requeueTrial(r, worker), worker
	case r.inner != nil:
		return rt.endBody(r, ran)
	}
	worker = int(r.worker) // another than before where it ran again after it had waited: leaveScope
	if ran && rt.virtual != nil && rt.virtual.After(r.virtualCost(rt.virtual), func() { rt.retire(r, smp.None) }) {
		return rt.schedule(nil, nil, worker), worker
	}
	return rt.retire(r, worker), worker
}

// acquireHost starts to make the data of r valid on the host, and reports whether they are. The
// callback of the machine, fetched, may come first: the later one of the two continues with the
// task.
func (rt *Runtime) acquireHost(r *record) bool {
	r.setUp(devices.Host)
	r.set.Ready = fetched
	r.holds.Take(life.HeldData)
	r.life.Enter(state.Acquire)
	if rt.observers.watched() {
		rt.observers.observeFetch(r)
	}
	if rt.topology.machine.Acquire(&r.set) {
		r.life.Enter(state.Arrive)
		return true
	}
	return r.life.Race(state.Leave) == state.Late
}

// setUp fills the working set of r.
func (r *record) setUp(space devices.SpaceID) {
	r.set.Accesses, r.set.Space, r.set.Label, r.set.Pos = r.data(), space, r.name(), r.pos
	r.set.Ready, r.set.Done, r.set.Launched = nil, nil, nil
	r.set.Began, r.set.Ended, r.set.Lasted = 0, 0, 0
}

// fetched is called by the machine when the data of a task are valid on the host, or cannot be had.
func fetched(ws *machine.WorkingSet, err error) {
	r := ws.Owner.(*record)
	if err != nil {
		r.fail("smp", r.retried(err))
	}
	switch {
	case r.kind.waits():
		r.rt.endWait(r)
	case r.life.Race(state.Arrive) == state.HandOver:
		r.rt.ready.dataArrived(r)
	}
}

// runOnce is runBody, with a check of the accesses of r if checks are enabled.
func (rt *Runtime) runOnce(r *record) {
	switch {
	case !rt.check:
		rt.runBody(r)
	case r.kind == goBody || r.kind == kernelBody:
		rt.checkBody(r)
	default:
		rt.unchecked(func() { rt.runBody(r) })
	}
}

// runBody runs the body of r on the calling worker. A panic or runtime.Goexit in it is an error of
// the task.
func (rt *Runtime) runBody(r *record) {
	if r.kind == kernelBody {
		rt.exec.Await(r.running(rt.topology.host), &r.args, r.item.Limit > 0)
	}
	if rt.observers.watched() {
		rt.observers.observeStart(r)
	}
	if r.detail != rt.observers.none {
		r.life.Enter(state.Start)
	}
	ended := false
	defer func() {
		if !ended {
			rt.bodyBroke(r, recover())
		}
	}()
	var err error
	if rt.observers.profile.on {
		err = rt.callProfiled(r)
	} else {
		err = rt.callTimed(r)
	}
	ended = true
	if err == cpucode.ErrStopped {
		r.outcome = cpucode.ErrStopped
	} else if err != nil {
		r.fail("smp", err)
	}
}

// bodyBroke ends a task whose body did not return. After runtime.Goexit the goroutine is on its way
// out, so the task must be retired here; the workers start another goroutine.
func (rt *Runtime) bodyBroke(r *record, value any) {
	if value == nil {
		r.fail("smp", replay.ErrGoexit)
		rt.dieWith(r)
		return
	}
	stack := debug.Stack()
	if p, ok := value.(*smp.Panic); ok {
		value, stack = p.Value, p.Stack
	}
	if err := rt.guardViolation(r, value); err != nil {
		r.fail("smp", err)
		return
	}
	var failed *cpucode.CheckFailed
	switch err, _ := value.(error); {
	case errors.As(err, &failed):
		r.fail("smp", failed.Err)
		return
	case r.kernel != nil:
		r.fail("smp", r.kernel.Device.Panicked(value, stack))
		return
	}
	r.fail("smp", devices.Panicked(value, stack))
}

// dieWith ends r on a goroutine that is on its way out; another one continues as its worker.
func (rt *Runtime) dieWith(r *record) {
	worker := int(r.worker)
	if r.inner != nil {
		r.inner.worker, worker = smp.None, r.inner.worker
		rt.endBody(r, false)
	} else {
		rt.retire(r, smp.None)
	}
	if worker != smp.None {
		rt.pool.workers.Lend(worker)
	}
}

// callTimed calls the body of r and measures its time if the policy learns.
func (rt *Runtime) callTimed(r *record) error {
	if !rt.ready.learned.On || r.kind != kernelBody {
		return rt.callBody(r)
	}
	if v := rt.virtual; v != nil {
		err := rt.callBody(r)
		r.item.Took = max(1, r.virtualCost(v))
		return err
	}
	began := rt.observers.now()
	if t := rt.trialOf(r); t != nil {
		if err := rt.exec.Try(rt.launchOf(r), t); err != nil {
			r.item.Took = max(1, t.Estimated)
			return err
		}
		r.item.Took = max(1, rt.observers.now()-began)
		return nil
	}
	err := rt.callBody(r)
	if err == nil && rt.exec.Typical(int(r.worker)) {
		r.item.Took = max(1, rt.observers.now()-began)
	}
	return err
}

func (rt *Runtime) callBody(r *record) error {
	if rt.pageGuard.on {
		defer rt.pageGuard.openPages() // before anybody else continues, however the body ends
	}
	switch {
	case r.kind == combineBody:
		r.uses[0].group.combine()
		return nil
	case r.kind == kernelBody:
		rt.exec.Call(rt.launchOf(r))
		return nil
	case r.bodyCtx != nil:
		return r.bodyCtx(r.Context())
	case r.nested != nil:
		if r.inner == nil { // else it is checked
			r.inner = newScope(r)
		}
		r.inner.body.Store(goid.Of())
		return r.nested(r.inner)
	}
	return r.body()
}

func bug(format string, args ...any) {
	panic("gompss: bug: task: " + fmt.Sprintf(format, args...))
}

// A workerPool is the CPU workers and their queues of ready simple tasks.
type workerPool struct {
	workers *smp.Workers  // nil without smp
	states  []workerState // by worker
	_       spin.Line

	simple simple.Queues[record]

	busy     atomic.Int32 // workers that have a task
	mostBusy atomic.Int32
	_        spin.Line
}
