package cpucode

import (
	"errors"
	"sync/atomic"
	"time"

	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp/choose"
	"github.com/gompss/gompss/internal/spin"
)

// This file is how a kernel is tried on CPU workers beside accelerators without holding up the
// program: for no longer than an accelerator would take (sched.Item.Limit). What is left of its
// parallel loop then says how long all of it would have taken, and the task goes back among the
// ready ones as if it had not begun: what it has written counts for nothing, since accelerators
// have the values from before, or it only writes.

// A Trial is a run of a kernel on CPU workers that may be stopped.
type Trial struct {
	ex         *Executor
	abort      func() bool // gives up what was written, and reports whether that may be
	began      time.Duration
	limit      time.Duration
	stopped    atomic.Bool // the time is up, and chunks are left out
	done       atomic.Int64
	begun      atomic.Int64
	all        int64 // iterations
	mu         spin.Mutex
	skipped    []span // chunks that were left out
	Estimated  time.Duration
	cannotStop bool // be stopped: what it writes is nowhere else
}

// A span is iterations [lo, hi).
type span struct{ lo, hi int64 }

// ErrStopped means that a trial was stopped, and its task is to run again.
var ErrStopped = errors.New("gompss: the trial took too long")

// earlyPart is the part of the time after which a trial is stopped that will need more than
// abandonFactor times that; until earlyLeast workers may be on their way.
const (
	earlyPart     = 4
	earlyLeast    = 200 * time.Microsecond
	abandonFactor = 2
)

// expired reports whether the time is up, or is known to be too short: by the iterations that have
// begun, as if they had finished.
func (t *Trial) expired() bool {
	spent := t.ex.clock.Now() - t.began
	if spent < max(earlyLeast, t.limit/earlyPart) {
		return spent > t.limit
	}
	return spent > t.limit || float64(spent)*float64(t.all) > abandonFactor*float64(t.limit)*float64(t.begun.Load())
}

// run runs a chunk, unless the time is up.
func (t *Trial) run(lo, hi int64, body func(lo, hi int64)) {
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

// loop runs iterations [lo, hi) of a parallel loop, shared with idle workers. It returns ErrStopped
// if they were not all run and what was written does not count.
func (t *Trial) loop(lo, hi, grain int64, body func(lo, hi int64)) error {
	if t.cannotStop {
		t.ex.workers.Share(lo, hi, grain, body)
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
	t.ex.workers.Share(lo, hi, grain, chunk)
	if len(t.skipped) == 0 {
		return nil
	}
	if t.abort() {
		spent := t.ex.clock.Now() - t.began
		t.Estimated = time.Duration(float64(spent) * float64(hi) / float64(max(1, t.done.Load())))
		return ErrStopped
	}
	t.cannotStop = true
	for _, s := range t.skipped {
		t.ex.workers.Share(s.lo, s.hi, grain, body)
	}
	return nil
}

// vectorLoop is loop for vector code.
func (t *Trial) vectorLoop(l *vec.Loop) error {
	done := int64(0)
	if l.Each() == 0 { // the first run of this kernel here: find out
		done = min(l.Trips, l.Batch())
		if err := l.Run(0, done); err != nil {
			return err
		}
	}
	return t.loop(done, l.Trips, max(1, l.Grain()), func(lo, hi int64) { runLoop(l, lo, hi) })
}

// NewTrial returns a trial that begins now, of at most limit.
func (ex *Executor) NewTrial(limit time.Duration, abort func() bool) *Trial {
	return &Trial{ex: ex, abort: abort, began: ex.clock.Now(), limit: limit}
}

// Try runs a kernel that is tried, and whose code exists. It returns ErrStopped when that took too
// long.
func (ex *Executor) Try(r *Launch, t *Trial) error {
	version := r.kernel
	k := &version.Device
	c := ex.Vectors.Of(version)
	x := c.Wait()
	if x.runner != nil {
		args := vectorArgs(version, r.args, nil)
		if v := c.chosen(x, args); v != choose.Go {
			return ex.callCode(r, x, v, args, t.vectorLoop)
		}
	} else if x.Broke != nil {
		panic(x.Broke)
	}
	return ex.withVariables(r, version, x.Refused, func() error { return ex.tryGo(r, k, t) })
}

// tryGo is tryKernel for the Go function.
func (ex *Executor) tryGo(r *Launch, k *devices.Kernel, t *Trial) error {
	*r.variant = goVariant
	a := r.args
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
	began := ex.clock.Now()
	callSplit(k, a, 0, first)
	each := float64(ex.clock.Now()-began)/float64(first) + 1e-3
	return t.loop(first, trips, grainOf(each), func(lo, hi int64) { callSplit(k, a, lo, hi) })
}
