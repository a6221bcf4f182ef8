package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/trace/probe"
)

// VectorVariable is the environment variable that Options.Vector is taken from where it is "".
const VectorVariable = cpucode.Environment

// The values of Options.Vector.
const (
	// VectorAuto is the widest vectors of this machine, or the Go function or scalar code where
	// that is faster and gives the same bits.
	VectorAuto   = cpucode.Auto
	VectorOff    = cpucode.Off    // always the Go function
	VectorAVX2   = cpucode.AVX2   // 256 bits; kernels that have such code always run it
	VectorAVX512 = cpucode.AVX512 // 512 bits; kernels that have such code always run it
	VectorNEON   = cpucode.NEON   // 128 bits, on arm64; kernels that have such code always run it
)

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
		rt.exec.Vectors.Of(on).Wait()
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

// observeChosen tells that the faster variant of a kernel is known for launches of a size.
func (rt *Runtime) observeChosen(k *kernels.Kernel) {
	if rt.observers.recorder != nil {
		rt.observeKernel(k, true)
	}
}

// observeCode tells that the vector code of a kernel was compiled.
func (ob *observers) observeCode(k *kernels.Kernel, began, ended time.Duration) {
	if ob.watched() {
		ob.observeAny(probe.Point{Kind: probe.Compile, Device: ob.topology.places[ob.topology.host].Name, Kernel: k.Name, Begin: began, Time: ended})
	}
}

// Vectorised returns why the kernel runs as a Go function on the CPU workers of this runtime, nil
// when it has vector code there. It waits until the code is compiled.
func (rt *Runtime) Vectorised(k *Kernel) error {
	return rt.exec.Vectors.Of(k.description).Wait().Refused
}

// CPUCode says in words what runs a kernel on the CPU workers of this runtime: "AVX-512 code, 16
// lanes", or "Go function" and why, and what was chosen for which launches where both were
// measured. It waits until the code is compiled.
func (rt *Runtime) CPUCode(k *Kernel) string { return rt.exec.Vectors.Describe(k.description) }

// launchOf returns the launch of the kernel of r on its worker.
func (rt *Runtime) launchOf(r *record) *cpucode.Launch {
	return rt.exec.Begin(int(r.worker), r.running(rt.topology.host), &r.args, &r.trace.Variant, r)
}

// trialOf returns how r is tried, nil when it runs to its end in any case.
func (rt *Runtime) trialOf(r *record) *cpucode.Trial {
	if r.item.Limit == 0 || r.kind != kernelBody || r.traits.Is(life.Relaxed|life.OrderOnly) || r.retries > 0 || len(r.uses) > 0 || !r.holds.Has(life.HeldData) {
		return nil
	}
	return rt.exec.NewTrial(r.item.Limit, func() bool { return rt.topology.machine.Abort(&r.set) })
}

// requeueTrial makes r ready again, whose trial was stopped, and returns what the worker should run
// next.
func (rt *Runtime) requeueTrial(r *record, worker int) *record {
	observeAgain(r, cpucode.ErrStopped)
	rt.unhold(r, cpucode.ErrStopped)
	rt.requeue(r)
	return rt.schedule(nil, nil, worker)
}
