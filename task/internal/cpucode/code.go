// Package cpucode runs kernels on CPU workers, and chooses the code that runs them: vector code,
// scalar code, the Go function, or the interpreter.
//
// Vector code is compiled beside the tasks, from the first submission of a kernel on. Until it is
// there the Go function runs where both give the same bits; elsewhere the worker waits before the
// body begins. No body's time has compiling in it, and none that scheduling policies learn. Where
// both variants give the same bits the first launches of each size are measured, and the faster one
// runs from then on. Where they need not, scalar code of the same lowering is what vector code is
// compared with, if its bits do not depend on lanes; else vector code always runs, so that results
// do not depend on time.
package cpucode

import (
	"runtime/debug"
	"time"

	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp/choose"
	"github.com/gompss/gompss/task/internal/kernels"
)

// Call runs a kernel on the calling worker, a parallel loop that is long enough together with idle
// workers.
func (ex *Executor) Call(r *Launch) {
	version := r.kernel
	ex.states[r.worker].untypical = false
	c := ex.Vectors.Of(version)
	x := c.Vector.Load()
	if x == nil {
		ex.callMeanwhile(r, c)
		return
	}
	if x.runner == nil {
		ex.callWithout(r, version, x)
		return
	}
	var fixed [16]vec.Value
	args := vectorArgs(version, r.args, fixed[:0])
	if !x.chooses {
		_ = ex.callCode(r, x, choose.Vector, args, ex.Share) // share does not stop
		return
	}
	trips, bytes := x.runner.Size(args)
	size, work := choose.SizeOf(trips, bytes), workOf(trips, bytes)
	v, measure := c.Table.Next(size, work)
	switch {
	case measure:
		ex.callMeasured(r, c, x, args, v, size, work)
	case v != choose.Go:
		_ = ex.callCode(r, x, v, args, ex.Share)
	case c.Table.Expected(size, work) < shareAbove:
		*r.variant = goVariant
		callGo(&version.Device, r.args)
	default:
		ex.callGoShared(r, version)
	}
}

// goVariant and scalarVariant are the variants in records of tasks that the Go function and scalar
// code ran.
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
func (c *Code) chosen(x *Variant, args []vec.Value) choose.Variant {
	if !x.chooses {
		return choose.Vector
	}
	trips, bytes := x.runner.Size(args)
	v, _ := c.Table.Chosen(choose.SizeOf(trips, bytes))
	return v
}

// callMeasured runs one launch of those that tell which variant is faster.
func (ex *Executor) callMeasured(r *Launch, c *Code, x *Variant, args []vec.Value, v choose.Variant, size choose.Size, work int64) {
	took := time.Duration(0)
	defer func() { // with 0 where it panics
		if _, ok := c.Table.Measured(size, v, work, took); ok {
			ex.chosen(c.Kernel)
		}
	}()
	began := ex.clock.Now()
	ex.states[r.worker].untypical = v != choose.Vector
	if v == choose.Go {
		ex.callGoShared(r, c.Kernel)
	} else {
		_ = ex.callCode(r, x, v, args, ex.Share)
	}
	took = max(1, ex.clock.Now()-began)
}

// callMeanwhile runs the Go function of a kernel whose vector code is being compiled. Where its
// loop can be cut, the code runs the rest as soon as it exists.
func (ex *Executor) callMeanwhile(r *Launch, c *Code) {
	*r.variant = goVariant
	ex.states[r.worker].untypical = true
	k, a := &c.Kernel.Device, r.args
	trips := int64(0)
	if k.Split != nil && !ex.whole {
		trips = k.Trips(a)
	}
	if trips <= trialTrips {
		callGo(k, a)
		return
	}
	trial, each := ex.trySplit(k, a, trips)
	grain := grainOf(each)
	ex.workers.Share(trial, trips, grain, func(lo, hi int64) {
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
func (c *Code) runRest(r *Launch, trips, lo, hi int64) bool {
	x := c.Vector.Load()
	if x == nil || x.runner == nil || !x.runner.OneLoop() {
		return false
	}
	args := vectorArgs(c.Kernel, r.args, nil)
	if n, _ := x.runner.Size(args); n != trips {
		return false
	}
	if err := x.runner.RunPart(args, lo, hi); err != nil {
		panic(&CheckFailed{err})
	}
	return true
}

// callWithout runs a kernel that has no vector code.
func (ex *Executor) callWithout(r *Launch, k *kernels.Kernel, x *Variant) {
	if x.Broke != nil {
		panic(x.Broke)
	}
	if len(k.Variables) == 0 {
		ex.callGoShared(r, k)
		return
	}
	if err := ex.withVariables(r, k, x.Refused, func() error { ex.callGoShared(r, k); return nil }); err != nil {
		panic(&CheckFailed{err})
	}
}

// callGoShared runs the Go function of a kernel; its parallel loop is shared with idle workers
// where it can be cut and is long enough.
func (ex *Executor) callGoShared(r *Launch, version *kernels.Kernel) {
	*r.variant = goVariant
	k, a := &version.Device, r.args
	if k.Split == nil || ex.workers.Len() == 1 || ex.whole {
		callGo(k, a)
		return
	}
	trips := k.Trips(a)
	if trips <= trialTrips {
		callGo(k, a)
		return
	}
	trial, each := ex.trySplit(k, a, trips)
	if each*float64(trips-trial) < float64(shareAbove) {
		callSplit(k, a, trial, trips)
		return
	}
	grain := grainOf(each)
	ex.workers.Share(trial, trips, grain, func(lo, hi int64) { callSplit(k, a, lo, hi) })
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
func (ex *Executor) trySplit(k *devices.Kernel, a *devices.Args, trips int64) (trial int64, each float64) {
	trial = max(trialTrips, trips/256)
	began := ex.clock.Now()
	callSplit(k, a, 0, trial)
	return trial, float64(ex.clock.Now()-began)/float64(trial) + 1e-3
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
