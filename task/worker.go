package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
)

// The stages of a task whose data are brought to the host. The worker that acquires and the callback of the machine
// meet here: who comes second goes on with the task.
const (
	_ int32 = iota // nothing is being acquired
	stageAcquiring
	stageFetching // the worker has left; the callback gives the task to another one
	stageFetched  // the callback came before the worker left
)

// RunNext runs tasks on a CPU worker until there is none. It implements smp.Source for the Runtime.
func (w cpu) RunNext(worker int) bool {
	r := w.rt.schedule(nil, nil, true)
	if r == nil {
		return false
	}
	for r != nil {
		r = w.rt.runOnHost(r, worker)
	}
	return true
}

// cpu is the Runtime as the workers see it, so that RunNext is not part of the public API.
type cpu struct{ rt *Runtime }

// runOnHost runs r, if its data are there, and returns what the worker should run next.
func (rt *Runtime) runOnHost(r *record, worker int) *record {
	r.worker = worker
	if rt.accelerators && len(r.accesses) > 0 && !r.held && !rt.acquireHost(r) {
		rt.mu.Lock()
		rt.fetching++
		rt.mu.Unlock()
		return rt.schedule(nil, nil, true) // its data are on their way
	}
	switch {
	case r.err != nil:
	case rt.ctx.Err() != nil:
		r.fail("smp", context.Cause(rt.ctx))
	default:
		rt.runBody(r)
	}
	return rt.retire(r, true)
}

// acquireHost starts to make the data of r valid on the host, and reports whether they are.
func (rt *Runtime) acquireHost(r *record) bool {
	r.setUp(devices.Host)
	r.set.Ready = fetched
	r.held = true
	r.stage.Store(stageAcquiring)
	if rt.watched() {
		rt.observeFetch(r)
	}
	if rt.machine.Acquire(&r.set) {
		return true
	}
	return !r.stage.CompareAndSwap(stageAcquiring, stageFetching)
}

// setUp fills the working set of r.
func (r *record) setUp(space devices.SpaceID) {
	r.set.Accesses, r.set.Space, r.set.Label, r.set.Pos = r.accesses, space, r.name(), r.pos
	r.set.Ready, r.set.Done = nil, nil
}

// fetched is called by the machine when the data of a task are valid on the host, or cannot be had.
func fetched(ws *devices.WorkingSet, err error) {
	r := ws.Owner.(*record)
	if err != nil {
		r.fail("smp", err)
	}
	switch {
	case r.kind == waitBody:
		r.rt.endWait(r)
	case !r.stage.CompareAndSwap(stageAcquiring, stageFetched):
		r.rt.prepared(r)
	}
}

// runBody runs the body of r on the calling worker. A panic or runtime.Goexit in it is an error of the task.
func (rt *Runtime) runBody(r *record) {
	if rt.watched() {
		rt.observeStart(r)
	}
	ended := false
	defer func() {
		if !ended {
			rt.bodyBroke(r, recover())
		}
	}()
	err := rt.callBody(r)
	ended = true
	if err != nil {
		r.fail("smp", err)
	}
}

// bodyBroke ends a task whose body did not return. After runtime.Goexit the goroutine is on its way out, so the task
// must be retired here; the workers start another goroutine.
func (rt *Runtime) bodyBroke(r *record, value any) {
	if value == nil {
		r.fail("smp", errGoexit)
		rt.retire(r, false)
		return
	}
	cause := &PanicError{Value: value, Stack: debug.Stack()}
	if p, ok := value.(*smp.Panic); ok {
		cause = &PanicError{Value: p.Value, Stack: p.Stack}
	}
	r.fail("smp", cause)
}

var errGoexit = errors.New("its goroutine was ended from inside (runtime.Goexit)")

func (rt *Runtime) callBody(r *record) error {
	switch {
	case r.kind == kernelBody:
		rt.callKernel(r)
		return nil
	case r.bodyCtx != nil:
		return r.bodyCtx(rt.ctx)
	}
	return r.body()
}

// A parallel loop is worth sharing when what is left of it takes longer than shareAbove; chunks should take about
// chunkTime, so that waking a worker (some microseconds) is small beside them. trialTrips iterations are run to know.
const (
	shareAbove = 50 * time.Microsecond
	chunkTime  = 25 * time.Microsecond
	trialTrips = 16
)

// callKernel runs the vector code of a kernel, or its Go function where it has none; its parallel loop is shared with idle workers where it can be cut and is
// long enough.
func (rt *Runtime) callKernel(r *record) {
	k, a := &r.kernel.device, &r.args
	a.At = rt.hostAt
	if rt.callVector(r) {
		return
	}
	if k.Split == nil || rt.workers.Len() == 1 {
		k.Go(a)
		return
	}
	trips := k.Trips(a)
	if trips <= trialTrips {
		k.Go(a)
		return
	}
	trial := max(trialTrips, trips/256)
	began := rt.now()
	k.Split(a, 0, trial)
	each := float64(rt.now()-began)/float64(trial) + 1e-3
	if each*float64(trips-trial) < float64(shareAbove) {
		k.Split(a, trial, trips)
		return
	}
	grain := max(1, int64(float64(chunkTime)/each))
	rt.workers.Share(trial, trips, grain, func(lo, hi int64) { k.Split(a, lo, hi) })
}

func (rt *Runtime) bug(format string, args ...any) {
	panic("gompss: bug: task: " + fmt.Sprintf(format, args...))
}
