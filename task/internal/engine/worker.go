package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

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
	"github.com/gompss/gompss/task/internal/virtual"
)

func (wp *workerPool) WorkerCount() int {
	if wp.Workers == nil {
		return 0
	}
	return wp.Workers.Len()
}

// run calls f on another goroutine, for callers that must not block.
func (b *Background) run(f func()) {
	if b.Virtual != nil {
		b.Virtual.Do(f)
		return
	}
	b.Cleaning.Go(f)
}

// A HostCost is the argument of option HostCost.
type HostCost struct {
	Given bool
	Time  time.Duration
}

// virtualCost returns the virtual duration of the body of r.
func (r *Record) virtualCost(v *virtual.Turns) time.Duration {
	switch {
	case r.Kind != GoBody && r.Kind != KernelBody && r.Kind != CombineBody || r.Replay != nil:
		return 0
	case r.Cost.Given:
		return r.Cost.Time
	}
	return v.During(r.Work)
}

// OffersWork reports whether there is work for a CPU worker.
func (hq *readyQueues) OffersWork() bool {
	if hq.Pool.Workers == nil {
		return false
	}
	hq.Mu.Lock()
	defer hq.Mu.Unlock()
	return hq.offersHost()
}

// offersHost is OffersWork.
// Requires: mu held.
func (hq *readyQueues) offersHost() bool {
	host := hq.Topology.Host
	return hq.hostHasRoom() && (hq.HandedOff.head != nil || hq.arrived.head != nil || hq.fetching < hq.Topology.depth[host] && hq.Sched.Offers(host))
}

// hostHasRoom reports whether another body may start or continue under virtual time.
func (hq *readyQueues) hostHasRoom() bool {
	return hq.Virtual == nil || hq.Virtual.Passes() < hq.Topology.Places[hq.Topology.Host].Width
}

// CPUInTurns is CPU for workers under virtual time.
type CPUInTurns struct{ CPU }

// Turn implements smp.Turns.
func (w CPUInTurns) Turn(worker int) bool {
	return w.RT.Virtual.IsTurnOf(worker) || w.RT.Pool.States[worker].next != nil
}

// End implements smp.Turns.
func (w CPUInTurns) End(worker int) { w.RT.Virtual.EndWorkers(worker) }

// CPU is the Runtime as the source of work for the workers (smp.Source). It is a separate type so
// that its methods are not part of the public API.
type CPU struct{ RT *Runtime }

// A WorkerState is the task that one worker has taken and not run yet. It is padded because other
// processors use the neighbouring ones.
type WorkerState struct {
	next     *Record
	Magazine *Magazine // of records of tasks that it has finished
	_        spin.Line
}

// Take takes a task for a worker, and reports whether there was one.
func (w CPU) Take(worker int) bool {
	state := &w.RT.Pool.States[worker]
	if state.next == nil {
		state.next = w.RT.Schedule(nil, nil, worker)
	}
	return state.next != nil
}

// Run runs the taken task and further tasks, until there are none.
func (w CPU) Run(worker int) int {
	r := w.RT.Pool.States[worker].next
	w.RT.Pool.States[worker].next = nil
	w.RT.Ready.markBusy(r)
	defer w.RT.Pool.MarkIdle()
	for r != nil && worker != smp.None {
		if r.Life.State().Wants() { // the body continues on its own goroutine as this worker
			r.Life.Enter(state.Resume)
			r.Inner.Resume <- worker
			return smp.None
		}
		r, worker = CPU{w.RT}.runOnHost(r, worker)
	}
	return worker
}

// runOnHost runs r if its data are available. It returns the next task for the worker, and the
// worker that the goroutine now is.
func (w CPU) runOnHost(r *Record, worker int) (*Record, int) {
	rt := w.RT
	if r.worker != int32(worker) {
		r.worker = int32(worker)
	}
	if len(r.Uses) > 0 && !r.Holds.Has(life.HeldPrivates) && !rt.bindPrivates(r, devices.Host) {
		return rt.retire(r, worker), worker
	}
	if rt.Topology.Accelerators && len(r.Data()) > 0 && !r.Holds.Has(life.HeldData) && !w.acquireHost(r) {
		rt.Ready.Mu.Lock()
		rt.Ready.fetching++
		rt.Ready.Unlock()
		return rt.Schedule(nil, nil, worker), worker // its data are being transferred
	}
	ran := false
	switch {
	case r.err != nil && w.retryFetch(r):
		return rt.Schedule(nil, nil, worker), worker
	case r.err != nil:
	case r.Context().Err() != nil:
		r.Fail("smp", context.Cause(r.Context()))
	case r.Retries > 0 || r.tries > 0:
		ran = true
		w.runRetrying(r)
	default:
		ran = true
		w.runOnce(r)
	}
	switch {
	case r.outcome == cpucode.ErrStopped:
		r.outcome = nil
		return w.requeueTrial(r, worker), worker
	case r.Inner != nil:
		return w.endBody(r, ran)
	}
	worker = int(r.worker) // another one than before if the body has waited: see leaveScope
	if ran && rt.Virtual != nil && rt.Virtual.After(r.virtualCost(rt.Virtual), func() { rt.retire(r, smp.None) }) {
		return rt.Schedule(nil, nil, worker), worker
	}
	return rt.retire(r, worker), worker
}

// acquireHost starts to make the data of r valid on the host, and reports whether they are valid.
// The callback of the machine, fetched, may run first: the later one of the two continues with the
// task.
func (w CPU) acquireHost(r *Record) bool {
	rt := w.RT
	r.SetUp(devices.Host)
	r.Set.Ready = fetched
	r.Holds.Take(life.HeldData)
	r.Life.Enter(state.Acquire)
	if rt.Observers.Watched() {
		rt.Observers.observeFetch(r)
	}
	if rt.Topology.Machine.Acquire(&r.Set) {
		r.Life.Enter(state.Arrive)
		return true
	}
	return r.Life.Race(state.Leave) == state.Late
}

// SetUp fills in the working set of r.
func (r *Record) SetUp(space devices.SpaceID) {
	r.Set.Accesses, r.Set.Space, r.Set.Label, r.Set.Pos = r.Data(), space, r.Name(), r.Pos
	r.Set.Ready, r.Set.Done, r.Set.Launched = nil, nil, nil
	r.Set.Began, r.Set.Ended, r.Set.Lasted = 0, 0, 0
}

// fetched is the callback of the machine for data of a task that are valid on the host, or could
// not be transferred.
func fetched(ws *machine.WorkingSet, err error) {
	r := ws.Owner.(*Record)
	if err != nil {
		r.Fail("smp", r.retried(err))
	}
	switch {
	case r.Kind.Waits():
		r.RT.endWait(r)
	case r.Life.Race(state.Arrive) == state.HandOver:
		r.RT.Ready.dataArrived(r)
	}
}

// runOnce is runBody, with a check of the accesses of r if checks are enabled.
func (w CPU) runOnce(r *Record) {
	switch {
	case !w.RT.Check:
		w.runBody(r)
	case r.Kind == GoBody || r.Kind == KernelBody:
		w.checkBody(r)
	default:
		w.RT.unchecked(func() { w.runBody(r) })
	}
}

// runBody runs the body of r on the calling worker. A panic or runtime.Goexit in the body is an
// error of the task.
func (w CPU) runBody(r *Record) {
	rt := w.RT
	if r.Kind == KernelBody {
		rt.Exec.Await(r.running(rt.Topology.Host), &r.Args, r.Item.Limit > 0)
	}
	if rt.Observers.Watched() {
		rt.Observers.observeStart(r)
	}
	if r.Detail != rt.Observers.None {
		r.Life.Enter(state.Start)
	}
	ended := false
	defer func() {
		if !ended {
			w.bodyBroke(r, recover())
		}
	}()
	var err error
	if rt.Observers.Profile.On {
		err = callProfiled(w, r)
	} else {
		err = w.callTimed(r)
	}
	ended = true
	if err == cpucode.ErrStopped {
		r.outcome = cpucode.ErrStopped
	} else if err != nil {
		r.Fail("smp", err)
	}
}

// bodyBroke ends a task whose body did not return. After runtime.Goexit the goroutine is
// terminating, so the task must be retired here; the workers start another goroutine.
func (w CPU) bodyBroke(r *Record, value any) {
	if value == nil {
		r.Fail("smp", replay.ErrGoexit)
		w.dieWith(r)
		return
	}
	stack := debug.Stack()
	if p, ok := value.(*smp.Panic); ok {
		value, stack = p.Value, p.Stack
	}
	if err := w.RT.guardViolation(r, value); err != nil {
		r.Fail("smp", err)
		return
	}
	var failed *cpucode.CheckFailed
	switch err, _ := value.(error); {
	case errors.As(err, &failed):
		r.Fail("smp", failed.Err)
		return
	case r.Kernel != nil:
		r.Fail("smp", r.Kernel.Device.Panicked(value, stack))
		return
	}
	r.Fail("smp", devices.Panicked(value, stack))
}

// dieWith ends r on a terminating goroutine; another one continues as its worker.
func (w CPU) dieWith(r *Record) {
	worker := int(r.worker)
	if r.Inner != nil {
		r.Inner.Worker, worker = smp.None, r.Inner.Worker
		w.endBody(r, false)
	} else {
		w.RT.retire(r, smp.None)
	}
	if worker != smp.None {
		w.RT.Pool.Workers.Lend(worker)
	}
}

// callTimed calls the body of r, and measures its time if the policy learns.
func (w CPU) callTimed(r *Record) error {
	rt := w.RT
	if !rt.Ready.Learned.On || r.Kind != KernelBody {
		return w.callBody(r)
	}
	if v := rt.Virtual; v != nil {
		err := w.callBody(r)
		r.Item.Took = max(1, r.virtualCost(v))
		return err
	}
	began := rt.Observers.Now()
	if t := w.trialOf(r); t != nil {
		if err := rt.Exec.Try(w.LaunchOf(r), t); err != nil {
			r.Item.Took = max(1, t.Estimated)
			return err
		}
		r.Item.Took = max(1, rt.Observers.Now()-began)
		return nil
	}
	err := w.callBody(r)
	if err == nil && rt.Exec.Typical(int(r.worker)) {
		r.Item.Took = max(1, rt.Observers.Now()-began)
	}
	return err
}

func (w CPU) callBody(r *Record) error {
	rt := w.RT
	if rt.PageGuard.On {
		defer rt.PageGuard.openPages() // before other goroutines continue, however the body ends
	}
	switch {
	case r.Kind == CombineBody:
		r.Uses[0].Group.combine()
		return nil
	case r.Kind == KernelBody:
		rt.Exec.Call(w.LaunchOf(r))
		return nil
	case r.BodyCtx != nil:
		return r.BodyCtx(r.Context())
	case r.Nested != nil:
		if r.Inner == nil { // otherwise the body is checked
			r.Inner = NewScope(r)
		}
		r.Inner.Body.Store(goid.Of())
		return rt.CallNested(r.Nested, r.Inner)
	}
	return r.Body()
}

func Bug(format string, args ...any) {
	panic("gompss: bug: task: " + fmt.Sprintf(format, args...))
}

// A workerPool contains the CPU workers and their queues of ready simple tasks.
type workerPool struct {
	Workers *smp.Workers  // nil without smp
	States  []WorkerState // by worker
	_       spin.Line

	Simple simple.Queues[Record]

	Busy     atomic.Int32 // the number of workers that have a task
	MostBusy atomic.Int32
	_        spin.Line
}
