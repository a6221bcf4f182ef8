package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/trace/probe"
)

// NoDeviceError means that no device of the machine can run a kernel. It has the reason of each
// device.
type NoDeviceError struct {
	Kernel  string
	Pos     ir.Pos
	Reasons []error // one for each device
}

func (e *NoDeviceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "task: kernel %s", e.Kernel)
	if e.Pos.File != "" {
		fmt.Fprintf(&b, " (%s:%d)", e.Pos.File, e.Pos.Line)
	}
	b.WriteString(": no device can run it")
	for i, r := range e.Reasons {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%v", sep, r)
	}
	return b.String()
}

// Unwrap returns the reasons.
func (e *NoDeviceError) Unwrap() []error { return e.Reasons }

// A variants says at which places of a runtime a kernel has a variant.
type variants struct {
	Places  sched.PlaceSet
	Reasons []error // by place; nil where there is a variant
	// versions are the kernels that run instead, by place; nil where that is the kernel itself
	versions []*kernels.Kernel
}

// VariantsOf asks the devices, once for each kernel.
func (of *kernelVariants) VariantsOf(k *kernels.Kernel) *variants { return of.VariantsFor(k, nil) }

// VariantsFor is VariantsOf because of a launch with these arguments, if there are some: a device
// may make its code for their sizes.
func (of *kernelVariants) VariantsFor(k *kernels.Kernel, args []devices.Arg) *variants {
	rt := of.rt
	if v, ok := of.variants.Load(k); ok {
		return v.(*variants)
	}
	v := &variants{Reasons: make([]error, len(rt.Topology.Places)), versions: make([]*kernels.Kernel, len(rt.Topology.Places))}
	for p, d := range rt.Topology.Machine.Devices() {
		if v.versions[p] = of.versionAt(k, p, d, args); v.versions[p] != nil {
			v.Places = v.Places.With(sched.PlaceID(p))
			continue
		}
		if err := of.variantAt(k, p, d, args); err != nil {
			v.Reasons[p] = err
			continue
		}
		v.Places = v.Places.With(sched.PlaceID(p))
	}
	on := rt.Topology.OnHost(k, v)
	if on != nil {
		of.Exec.Vectors.Of(on) // is compiled from now on, beside what is done
	}
	if rt.Observers.Watched() {
		rt.ObserveKernel(k, on != nil)
	}
	of.variants.Store(k, v)
	return v
}

// versionAt returns the first other version of k that names the kind of a place and can run there,
// nil if there is none.
func (of *kernelVariants) versionAt(k *kernels.Kernel, p int, d devices.Device, args []devices.Arg) *kernels.Kernel {
	for _, v := range k.Versions {
		if of.variantAt(v, p, d, args) == nil {
			return v
		}
	}
	return nil
}

func (of *kernelVariants) variantAt(k *kernels.Kernel, p int, d devices.Device, args []devices.Arg) error {
	rt := of.rt
	place := rt.Topology.Places[p]
	if !k.Named(place.Kind) {
		return fmt.Errorf("%s: the device clause says %s", place.Name, strings.Join(k.IR.Target.Kinds, ", "))
	}
	began := rt.Observers.Now()
	err := machine.PrepareFor(rt.Topology.Machine, d, &k.Device, args)
	if rt.Observers.Watched() && (sched.PlaceID(p) != rt.Topology.Host || err != nil) { // the Go function exists already; vector code reports itself
		rt.Observers.observeCompile(k, d, began, err)
	}
	return err
}

func (top *Topology) NoDevice(r *Record, v *variants, misfits []error) error {
	e := &NoDeviceError{Kernel: r.Kernel.Name, Pos: r.Pos}
	for p := range top.Places {
		switch {
		case v.Reasons[p] != nil:
			e.Reasons = append(e.Reasons, v.Reasons[p])
		case r.Settings.Placed && !r.Settings.Places.Has(sched.PlaceID(p)):
			e.Reasons = append(e.Reasons, fmt.Errorf("%s: the task's On says %s", top.Places[p].Name, top.PlaceNames(r.Settings.Places)))
		}
	}
	e.Reasons = append(e.Reasons, misfits...)
	return e
}

// OnHost returns the version of k that CPU workers run, nil where they run none.
func (top *Topology) OnHost(k *kernels.Kernel, v *variants) *kernels.Kernel {
	switch {
	case top.Host < 0 || !v.Places.Has(top.Host):
		return nil
	case v.versions[top.Host] != nil:
		return v.versions[top.Host]
	}
	return k
}

// ObserveCode tells that the vector code of a kernel was compiled.
func (ob *Observers) ObserveCode(k *kernels.Kernel, began, ended time.Duration) {
	if ob.Watched() {
		ob.ObserveAny(probe.Point{Kind: probe.Compile, Device: ob.Topology.Places[ob.Topology.Host].Name, Kernel: k.Name, Begin: began, Time: ended})
	}
}

// LaunchOf returns the launch of the kernel of r on its worker.
func (w CPU) LaunchOf(r *Record) *cpucode.Launch {
	return w.RT.Exec.Begin(int(r.worker), r.running(w.RT.Topology.Host), &r.Args, &r.Trace.Variant, r)
}

// trialOf returns how r is tried, nil when it runs to its end in any case.
func (w CPU) trialOf(r *Record) *cpucode.Trial {
	if r.Item.Limit == 0 || r.Kind != KernelBody || r.Traits.Is(life.Relaxed|life.OrderOnly) || r.Retries > 0 || len(r.Uses) > 0 || !r.Holds.Has(life.HeldData) {
		return nil
	}
	return w.RT.Exec.NewTrial(r.Item.Limit, func() bool { return w.RT.Topology.Machine.Abort(&r.Set) })
}

// requeueTrial makes r ready again, whose trial was stopped, and returns the task that the worker
// should run next.
func (w CPU) requeueTrial(r *Record, worker int) *Record {
	rt := w.RT
	observeAgain(r, cpucode.ErrStopped)
	unhold(rt, r, cpucode.ErrStopped)
	rt.requeue(r)
	return rt.Schedule(nil, nil, worker)
}
