package task

import (
	"errors"
	"sync/atomic"
	"time"

	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp/choose"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
)

// This file is how a kernel is tried on CPU workers beside accelerators without holding up the
// program: for no longer than an accelerator would take (sched.Item.Limit). What is left of its
// parallel loop then says how long all of it would have taken, and the task goes back among the
// ready ones as if it had not begun: what it has written counts for nothing, since accelerators
// have the values from before, or it only writes.

// A trialRun is a run of a kernel on CPU workers that may be stopped.
type trialRun struct {
	rt         *Runtime
	r          *record
	began      time.Duration
	limit      time.Duration
	stopped    atomic.Bool // the time is up, and chunks are left out
	done       atomic.Int64
	begun      atomic.Int64
	all        int64 // iterations
	mu         spin.Mutex
	skipped    []span // chunks that were left out
	estimated  time.Duration
	cannotStop bool // be stopped: what it writes is nowhere else
}

// A span is iterations [lo, hi).
type span struct{ lo, hi int64 }

// errStopped means that a tryout was stopped, and its task is to run again.
var errStopped = errors.New("gompss: the trial took too long")

// trialOf returns how r is tried, nil when it runs to its end in any case.
func (rt *Runtime) trialOf(r *record) *trialRun {
	if r.item.Limit == 0 || r.kind != kernelBody || r.traits.Is(life.Relaxed|life.OrderOnly) || r.retries > 0 || len(r.uses) > 0 || !r.holds.Has(life.HeldData) {
		return nil
	}
	return &trialRun{rt: rt, r: r, began: rt.observers.now(), limit: r.item.Limit}
}

// earlyPart is the part of the time after which a tryout is stopped that will need more than
// abandonFactor times that; until earlyLeast workers may be on their way.
const (
	earlyPart     = 4
	earlyLeast    = 200 * time.Microsecond
	abandonFactor = 2
)

// expired reports whether the time is up, or is known to be too short: by the iterations that have
// begun, as if they were over.
func (t *trialRun) expired() bool {
	spent := t.rt.observers.now() - t.began
	if spent < max(earlyLeast, t.limit/earlyPart) {
		return spent > t.limit
	}
	return spent > t.limit || float64(spent)*float64(t.all) > abandonFactor*float64(t.limit)*float64(t.begun.Load())
}

// run runs a chunk, unless the time is up.
func (t *trialRun) run(lo, hi int64, body func(lo, hi int64)) {
	if t.stopped.Load() || t.expired() {
		t.stopped.Store(true)
		t.mu.Lock()
		t.skipped = append(t.skipped, span{lo, hi})
		t.mu.Unlock()
		return
	}
	t.begun.Add(hi - lo)
	body(lo, hi)
	t.done.Add(hi - lo)
}

// loop runs iterations [lo, hi) of a parallel loop, shared with idle workers. It returns errStopped
// if they were not all run and what was written does not count.
func (t *trialRun) loop(lo, hi, grain int64, body func(lo, hi int64)) error {
	if t.cannotStop {
		t.rt.pool.workers.Share(lo, hi, grain, body)
		return nil
	}
	t.done.Store(lo)
	t.begun.Store(lo)
	t.all = hi
	chunk := func(lo, hi int64) {
		for ; lo < hi; lo += grain { // one worker gets all at once
			t.run(lo, min(lo+grain, hi), body)
		}
	}
	t.rt.pool.workers.Share(lo, hi, grain, chunk)
	if len(t.skipped) == 0 {
		return nil
	}
	if t.rt.topology.machine.Abort(&t.r.set) {
		spent := t.rt.observers.now() - t.began
		t.estimated = time.Duration(float64(spent) * float64(hi) / float64(max(1, t.done.Load())))
		return errStopped
	}
	t.cannotStop = true
	for _, s := range t.skipped {
		t.rt.pool.workers.Share(s.lo, s.hi, grain, body)
	}
	return nil
}

// vectorLoop is loop for vector code.
func (t *trialRun) vectorLoop(l *vec.Loop) error {
	done := int64(0)
	if l.Each() == 0 { // the first run of this kernel here: find out
		done = min(l.Trips, l.Batch())
		if err := l.Run(0, done); err != nil {
			return err
		}
	}
	return t.loop(done, l.Trips, max(1, l.Grain()), func(lo, hi int64) { runLoop(l, lo, hi) })
}

// tryKernel is callKernel for a kernel that is tried, whose code exists. It returns errStopped when
// that took too long.
func (rt *Runtime) tryKernel(r *record, t *trialRun) error {
	version := r.running(rt.topology.host)
	k := &version.Device
	r.args.At = rt.hostAt
	c := rt.vectors.of(version)
	x := c.wait()
	if x.runner != nil {
		args := r.vectorArgs(version, nil)
		if v := c.chosen(x, args); v != choose.Go {
			return rt.callCode(r, x, v, args, t.vectorLoop)
		}
	} else if x.broke != nil {
		panic(x.broke)
	}
	return rt.withVariables(r, version, x.refused, func() error { return rt.tryGo(r, k, t) })
}

// tryGo is tryKernel for the Go function.
func (rt *Runtime) tryGo(r *record, k *devices.Kernel, t *trialRun) error {
	r.trace.Variant = goVariant
	a := &r.args
	if k.Split == nil {
		callGo(k, a)
		return nil
	}
	trips := k.Trips(a)
	if trips < 2 {
		callGo(k, a)
		return nil
	}
	first := max(1, min(trialTrips, trips/256))
	began := rt.observers.now()
	callSplit(k, a, 0, first)
	each := float64(rt.observers.now()-began)/float64(first) + 1e-3
	return t.loop(first, trips, grainOf(each), func(lo, hi int64) { callSplit(k, a, lo, hi) })
}

// requeueTrial makes r ready again, whose trial was stopped, and returns what the worker should run
// next.
func (rt *Runtime) requeueTrial(r *record, worker int) *record {
	observeAgain(r, errStopped)
	rt.unhold(r, errStopped)
	rt.requeue(r)
	return rt.schedule(nil, nil, worker)
}
