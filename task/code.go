package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp/choose"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/trace/probe"
)

// This file chooses what runs a kernel on CPU workers: vector code or the Go function.
//
// Vector code is compiled beside the tasks, from the first submission of a kernel on. Until it is
// there the Go function runs where both give the same bits; elsewhere the worker waits before the
// body begins. No body's time has compiling in it, and none that scheduling policies learn. Where
// both variants give the same bits the first launches of each size are measured, and the faster one
// runs from then on. Where they need not, scalar code of the same lowering is what vector code is
// compared with, if its bits do not depend on lanes; else vector code always runs, so that results
// do not depend on time.

// goBytes is how much memory a kernel that cannot be cut may work on and run as its Go function
// while its vector code is being compiled: the function is expected to take no longer than that.
const goBytes deps.Bytes = 64 << 10

// Prepare makes the variants of kernels for all devices that may run them, before a task does: code
// for CPU workers and accelerators is compiled, or taken from a cache. What tasks do is the same
// without it, but the first ones may wait for code, or run as Go functions meanwhile.
//
// Errors: a *NoDeviceError for each kernel that no device of the runtime can run; the cause of ctx,
// whose end does not stop what is being compiled; ErrClosed.
func (rt *Runtime) Prepare(ctx context.Context, kernels ...*Kernel) error {
	if ctx == nil {
		return errors.New("task: prepare: nil context: want context.Background()")
	}
	if rt.refuses() {
		return ErrClosed
	}
	all := make([]chan error, len(kernels))
	for i, k := range kernels {
		all[i] = make(chan error, 1)
		rt.cleaning.Go(func() { all[i] <- rt.prepareKernel(k.description) })
	}
	var failed error
	for _, done := range all {
		select {
		case err := <-done:
			failed = errors.Join(failed, err)
		case <-ctx.Done():
			return errors.Join(failed, fmt.Errorf("task: prepare: %w", context.Cause(ctx)))
		}
	}
	return failed
}

// prepareKernel makes all variants of k and waits for them.
func (rt *Runtime) prepareKernel(k *kernels.Kernel) (err error) {
	defer catchBug(k.Name, &err)
	v := rt.variantsOf(k)
	if v.places == 0 {
		return &NoDeviceError{Kernel: k.Name, Pos: k.Pos, Reasons: v.reasons}
	}
	if on := rt.topology.onHost(k, v); on != nil {
		rt.vectors.of(on).wait()
	}
	return nil
}

// onHost returns the version of k that CPU workers run, nil where they run none.
func (top *topology) onHost(k *kernels.Kernel, v *variants) *kernels.Kernel {
	switch {
	case top.host < 0 || !v.places.Has(top.host):
		return nil
	case v.versions[top.host] != nil:
		return v.versions[top.host]
	}
	return k
}

// awaitCode waits for the vector code of r's kernel where the Go function must not run instead. It
// is called before the body begins.
func (rt *Runtime) awaitCode(r *record) {
	if k := r.running(rt.topology.host); k.IR != nil {
		if c := rt.vectors.of(k); c.vector.Load() == nil && rt.needsCode(r, c) {
			c.wait()
		}
	}
}

// needsCode reports whether the Go function must not run r meanwhile.
func (k *kernelVariants) needsCode(r *record, c *kernelCode) bool {
	switch {
	case c.always != "" || k.vectors.await:
		return true
	case r.item.Limit > 0: // a trial: its time is to be that of the code
		return true
	case c.kernel.Device.Split != nil: // the code continues with the rest of the loop
		return false
	}
	return sizeOfArgs(&r.args) > goBytes
}

// sizeOfArgs returns the bytes of slices.
func sizeOfArgs(a *devices.Args) (size deps.Bytes) {
	for i := range a.List {
		if arg := &a.List[i]; arg.Type.Elem != nil {
			size += deps.Bytes(arg.Len) * arg.Type.Elem.Size
		}
	}
	return size
}

// callKernel runs a kernel on the calling worker, a parallel loop that is long enough together with
// idle workers.
func (rt *Runtime) callKernel(r *record) {
	version := r.running(rt.topology.host)
	r.args.At = rt.hostAt
	rt.pool.states[r.worker].untypical = false
	c := rt.vectors.of(version)
	x := c.vector.Load()
	if x == nil {
		rt.callMeanwhile(r, c)
		return
	}
	if x.runner == nil {
		rt.callWithout(r, version, x)
		return
	}
	var fixed [16]vec.Value
	args := r.vectorArgs(version, fixed[:0])
	if !x.chooses {
		_ = rt.callCode(r, x, choose.Vector, args, rt.share) // share does not stop
		return
	}
	trips, bytes := x.runner.Size(args)
	size, work := choose.SizeOf(trips, bytes), workOf(trips, bytes)
	v, measure := c.table.Next(size, work)
	switch {
	case measure:
		rt.callMeasured(r, c, x, args, v, size, work)
	case v != choose.Go:
		_ = rt.callCode(r, x, v, args, rt.share)
	case c.table.Expected(size, work) < shareAbove:
		r.trace.Variant = goVariant
		callGo(&version.Device, &r.args)
	default:
		rt.callGoShared(r, version)
	}
}

// goVariant and scalarVariant are what records say where the Go function and scalar code ran.
const goVariant, scalarVariant = "go", "scalar"

// workOf returns how much a launch does, in the unit that its time is divided by.
func workOf(trips, bytes int64) int64 {
	if trips > 0 {
		return trips
	}
	return max(1, bytes)
}

// chosen returns the variant that is known to be faster for these arguments, vector code where none
// is.
func (c *kernelCode) chosen(x *vectorVariant, args []vec.Value) choose.Variant {
	if !x.chooses {
		return choose.Vector
	}
	trips, bytes := x.runner.Size(args)
	v, _ := c.table.Chosen(choose.SizeOf(trips, bytes))
	return v
}

// callMeasured runs one launch of those that tell which variant is faster.
func (rt *Runtime) callMeasured(r *record, c *kernelCode, x *vectorVariant, args []vec.Value, v choose.Variant, size choose.Size, work int64) {
	took := time.Duration(0)
	defer func() { // with 0 where it panics
		if made, ok := c.table.Measured(size, v, work, took); ok {
			rt.observeChosen(c, made)
		}
	}()
	began := rt.observers.now()
	rt.pool.states[r.worker].untypical = v != choose.Vector
	if v == choose.Go {
		rt.callGoShared(r, c.kernel)
	} else {
		_ = rt.callCode(r, x, v, args, rt.share)
	}
	took = max(1, rt.observers.now()-began)
}

// callMeanwhile runs the Go function of a kernel whose vector code is being compiled. Where its
// loop can be cut, the code runs the rest as soon as it exists.
func (rt *Runtime) callMeanwhile(r *record, c *kernelCode) {
	r.trace.Variant = goVariant
	rt.pool.states[r.worker].untypical = true
	k, a := &c.kernel.Device, &r.args
	trips := int64(0)
	if k.Split != nil && !rt.pageGuard.on {
		trips = k.Trips(a)
	}
	if trips <= trialTrips {
		callGo(k, a)
		return
	}
	trial, each := trySplit(rt, k, a, trips)
	grain := grainOf(each)
	rt.pool.workers.Share(trial, trips, grain, func(lo, hi int64) {
		for ; lo < hi; lo += grain {
			if c.runRest(r, trips, lo, hi) {
				return
			}
			callSplit(k, a, lo, min(lo+grain, hi))
		}
	})
}

// runRest runs iterations [lo, hi) of a loop of so many trips as vector code, and reports whether
// there is such code.
func (c *kernelCode) runRest(r *record, trips, lo, hi int64) bool {
	x := c.vector.Load()
	if x == nil || x.runner == nil || !x.runner.OneLoop() {
		return false
	}
	args := r.vectorArgs(c.kernel, nil)
	if n, _ := x.runner.Size(args); n != trips {
		return false
	}
	if err := x.runner.RunPart(args, lo, hi); err != nil {
		panic(&checkFailed{err})
	}
	return true
}

// callWithout runs a kernel that has no vector code.
func (rt *Runtime) callWithout(r *record, k *kernels.Kernel, x *vectorVariant) {
	if x.broke != nil {
		panic(x.broke)
	}
	if len(k.Variables) == 0 {
		rt.callGoShared(r, k)
		return
	}
	if err := rt.withVariables(r, k, x.refused, func() error { rt.callGoShared(r, k); return nil }); err != nil {
		panic(&checkFailed{err})
	}
}

// callGoShared runs the Go function of a kernel; its parallel loop is shared with idle workers
// where it can be cut and is long enough.
func (rt *Runtime) callGoShared(r *record, version *kernels.Kernel) {
	r.trace.Variant = goVariant
	k, a := &version.Device, &r.args
	if k.Split == nil || rt.pool.workers.Len() == 1 || rt.pageGuard.on {
		callGo(k, a)
		return
	}
	trips := k.Trips(a)
	if trips <= trialTrips {
		callGo(k, a)
		return
	}
	trial, each := trySplit(rt, k, a, trips)
	if each*float64(trips-trial) < float64(shareAbove) {
		callSplit(k, a, trial, trips)
		return
	}
	grain := grainOf(each)
	rt.pool.workers.Share(trial, trips, grain, func(lo, hi int64) { callSplit(k, a, lo, hi) })
}

// A parallel loop is worth sharing when the rest of it takes longer than shareAbove; chunks should
// take about chunkTime, so that waking a worker (some microseconds) is small beside them.
// trialTrips iterations are run to know.
const (
	shareAbove = 50 * time.Microsecond
	chunkTime  = 25 * time.Microsecond
	trialTrips = 16
)

// trySplit runs the first iterations of a loop, and returns how many and how many nanoseconds each
// took.
func trySplit(rt *Runtime, k *devices.Kernel, a *devices.Args, trips int64) (trial int64, each float64) {
	trial = max(trialTrips, trips/256)
	began := rt.observers.now()
	callSplit(k, a, 0, trial)
	return trial, float64(rt.observers.now()-began)/float64(trial) + 1e-3
}

// grainOf returns how many iterations of so many nanoseconds take about chunkTime.
func grainOf(each float64) int64 { return max(1, int64(float64(chunkTime)/each)) }

// callGo calls the Go function of a kernel. A touch of memory that is not there is a panic of it,
// as it is an error of vector code, and not the end of the program.
func callGo(k *devices.Kernel, a *devices.Args) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	k.Go(a)
}

// callSplit is callGo for iterations [lo, hi) of its parallel loop.
func callSplit(k *devices.Kernel, a *devices.Args, lo, hi int64) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	k.Split(a, lo, hi)
}

// observeCode tells that the vector code of a kernel was compiled.
func (ob *observers) observeCode(c *kernelCode, began, ended time.Duration) {
	if ob.watched() {
		ob.observeAny(probe.Point{Kind: probe.Compile, Device: ob.topology.places[ob.topology.host].Name, Kernel: c.kernel.Name, Begin: began, Time: ended})
	}
}

// observeChosen tells that the faster variant of a kernel is known for launches of a size.
func (rt *Runtime) observeChosen(c *kernelCode, made choose.Choice) {
	if rt.observers.recorder != nil {
		rt.observeKernel(c.kernel, true)
	}
}
