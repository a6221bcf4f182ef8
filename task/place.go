package task

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
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
	places  sched.PlaceSet
	reasons []error // by place; nil where there is a variant
	// versions are the kernels that run instead, by place; nil where that is the kernel itself
	versions []*kernels.Kernel
}

// variantsOf asks the devices, once for each kernel.
func (rt *Runtime) variantsOf(k *kernels.Kernel) *variants {
	if v, ok := rt.variants.Load(k); ok {
		return v.(*variants)
	}
	v := &variants{reasons: make([]error, len(rt.topology.places)), versions: make([]*kernels.Kernel, len(rt.topology.places))}
	for p, d := range rt.topology.machine.Devices() {
		if v.versions[p] = rt.versionAt(k, p, d); v.versions[p] != nil {
			v.places = v.places.With(sched.PlaceID(p))
			continue
		}
		if err := rt.variantAt(k, p, d); err != nil {
			v.reasons[p] = err
			continue
		}
		v.places = v.places.With(sched.PlaceID(p))
	}
	on := rt.topology.onHost(k, v)
	if on != nil {
		rt.exec.Vectors.Of(on) // is compiled from now on, beside what is done
	}
	if rt.observers.watched() {
		rt.observeKernel(k, on != nil)
	}
	rt.variants.Store(k, v)
	return v
}

// versionAt returns the first other version of k that names the kind of a place and can run there,
// nil if there is none.
func (rt *Runtime) versionAt(k *kernels.Kernel, p int, d devices.Device) *kernels.Kernel {
	for _, v := range k.Versions {
		if rt.variantAt(v, p, d) == nil {
			return v
		}
	}
	return nil
}

func (rt *Runtime) variantAt(k *kernels.Kernel, p int, d devices.Device) error {
	place := rt.topology.places[p]
	if !k.Named(place.Kind) {
		return fmt.Errorf("%s: the device clause says %s", place.Name, strings.Join(k.IR.Target.Kinds, ", "))
	}
	began := rt.observers.now()
	err := machine.Prepare(rt.topology.machine, d, &k.Device)
	if rt.observers.watched() && (sched.PlaceID(p) != rt.topology.host || err != nil) { // the Go function exists already; vector code reports itself
		rt.observers.observeCompile(k, d, began, err)
	}
	return err
}

// placeKernel finds where r may run.
func (rt *Runtime) placeKernel(r *record) error {
	v := rt.variantsOf(r.kernel)
	allowed := v.places
	if r.settings.placed {
		allowed &= r.settings.places
	}
	if r.traits.Is(life.HostOnly) && rt.topology.host >= 0 {
		allowed &= rt.topology.hostOnly()
	}
	if allowed == 0 {
		return rt.topology.noDevice(r, v, nil)
	}
	allowed, misfits := rt.dropMisfits(r, allowed)
	if allowed == 0 {
		return rt.topology.noDevice(r, v, misfits)
	}
	if r.traits.Set(life.Simple, rt.ready.isSimple(r)); r.traits.Is(life.Simple) {
		return nil
	}
	r.item.Name, r.item.Version = r.name(), r.kernel.Name
	if err := rt.ready.sched.Prepare(&r.item, allowed, r.settings.tokens); err != nil {
		return fmt.Errorf("task: kernel %s (%s:%d): %w", r.kernel.Name, r.pos.File, r.pos.Line, err)
	}
	return nil
}

func (top *topology) noDevice(r *record, v *variants, misfits []error) error {
	e := &NoDeviceError{Kernel: r.kernel.Name, Pos: r.pos}
	for p := range top.places {
		switch {
		case v.reasons[p] != nil:
			e.Reasons = append(e.Reasons, v.reasons[p])
		case r.settings.placed && !r.settings.places.Has(sched.PlaceID(p)):
			e.Reasons = append(e.Reasons, fmt.Errorf("%s: the task's On says %s", top.places[p].Name, top.placeNames(r.settings.places)))
		}
	}
	e.Reasons = append(e.Reasons, misfits...)
	return e
}

// dropMisfits takes out the accelerators whose memory is too small for the working set of r, ever.
func (rt *Runtime) dropMisfits(r *record, allowed sched.PlaceSet) (sched.PlaceSet, []error) {
	if !rt.topology.accelerators {
		return allowed, nil
	}
	most := rt.largestSet(r)
	var misfits []error
	for p, d := range rt.topology.machine.Devices() {
		id := sched.PlaceID(p)
		if id == rt.topology.host || !allowed.Has(id) || most <= rt.topology.memory[p] {
			continue
		}
		if err := rt.topology.machine.CheckFits(r.data(), d); err != nil {
			misfits = append(misfits, r.nameLargest(err))
			allowed = allowed.Without(id)
		}
	}
	return allowed, misfits
}

// nameLargest says in the error of a working set that never fits which parameter needs most.
func (d *detail) nameLargest(err error) error {
	var space *devices.NoSpaceError
	if !errors.As(err, &space) {
		return err
	}
	for i, a := range d.args.List {
		if a.Buffer == space.Largest.Buffer && a.Cap > 0 {
			space.Name = d.kernel.IR.Params[i].Name
		}
	}
	return err
}

// largestSet returns a bound of the device memory that r needs: its buffers as a whole. Where that
// fits, no caller needs to count granules.
func (rt *Runtime) largestSet(r *record) deps.Bytes {
	var sum deps.Bytes
	for i, a := range r.data() {
		if seenBefore(r.data()[:i], a.Region.Buffer) {
			continue
		}
		sum += rt.buffers.SizeOf(a.Region.Buffer) + rt.topology.granule
	}
	return sum
}

func seenBefore(accesses []deps.Access, b deps.BufferID) bool {
	for i := range accesses {
		if accesses[i].Region.Buffer == b {
			return true
		}
	}
	return false
}

// checkCapacities returns an error where a kernel with copy gets slices that overlap and whose
// capacities end at different places: the capacities say which of the two begins later, and so from
// which end to copy.
func (d *detail) checkCapacities() error {
	if !d.kernel.IR.Copies {
		return nil
	}
	for i := range d.args.List {
		for j := range i {
			a, b := &d.args.List[i], &d.args.List[j]
			if overlap(a, b) && capacityEnd(a) != capacityEnd(b) {
				return fmt.Errorf("arguments %d and %d overlap, the kernel copies between slices, and a capacity ends inside of their memory: pass x[lo:hi] without a capacity of its own", j+1, i+1)
			}
		}
	}
	return nil
}

// overlap reports whether two arguments are slices that have memory in common.
func overlap(a, b *devices.Arg) bool {
	if a.Type.Kind != ir.Slice || b.Type.Kind != ir.Slice || a.Len == 0 || b.Len == 0 || a.Buffer != b.Buffer {
		return false
	}
	return a.Offset < b.Offset+deps.Bytes(b.Len)*b.Type.Elem.Size && b.Offset < a.Offset+deps.Bytes(a.Len)*a.Type.Elem.Size
}

// capacityEnd returns where the capacity of a slice ends in its buffer.
func capacityEnd(a *devices.Arg) deps.Bytes { return a.Offset + deps.Bytes(a.Cap)*a.Type.Elem.Size }

// What follows tells a kind of devices that this run has none of, which is no error, from one that
// no plug-in has, which is a misspelt one: a program written for GPUs runs on a laptop.

// ownKinds are the kinds that have a name without a plug-in: those of the kernel language and the
// simulated one.
var ownKinds = []devices.Kind{devices.Acc, devices.SMP, "cuda", "opencl", "sim"}

// checkKind returns an error for a kind that neither this module nor a plug-in that the program
// imports has.
func checkKind(what string, kind devices.Kind) error {
	if slices.Contains(ownKinds, kind) {
		return nil
	}
	known := append(devices.Kinds(), ownKinds...)
	if slices.Contains(known, kind) {
		return nil
	}
	slices.Sort(known)
	var names []string
	for _, k := range slices.Compact(known) {
		names = append(names, string(k))
	}
	return fmt.Errorf("%s: no kind of devices is called %q: known are %s, and those of the plug-ins that the program imports", what, kind, strings.Join(names, ", "))
}

// checkKinds checks the kinds that options name.
func (o *Options) checkKinds() error {
	for _, kind := range slices.Sorted(maps.Keys(o.Tokens)) {
		if err := checkKind("options: tokens", kind); err != nil {
			return err
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(o.Machine.ByKind)) {
		if err := checkKind("options: machine", kind); err != nil {
			return err
		}
	}
	return nil
}
