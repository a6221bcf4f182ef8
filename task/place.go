package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
)

// placeKernel finds where r may run.
func placeKernel(rt *engine.Runtime, r *engine.Record) error {
	v := rt.VariantsFor(r.Kernel, r.Args.List)
	allowed := v.Places
	if r.Settings.Placed {
		allowed &= r.Settings.Places
	}
	if r.Traits.Is(life.HostOnly) && rt.Topology.Host >= 0 {
		allowed &= rt.Topology.HostOnly()
	}
	if allowed == 0 {
		return rt.Topology.NoDevice(r, v, nil)
	}
	allowed, misfits := dropMisfits(rt, r, allowed)
	if allowed == 0 {
		return rt.Topology.NoDevice(r, v, misfits)
	}
	if r.Traits.Set(life.Simple, rt.Ready.IsSimple(r)); r.Traits.Is(life.Simple) {
		return nil
	}
	r.Item.Name, r.Item.Version = r.Name(), r.Kernel.Name
	if err := rt.Ready.Sched.Prepare(&r.Item, allowed, r.Settings.Tokens); err != nil {
		return fmt.Errorf("task: kernel %s (%s:%d): %w", r.Kernel.Name, r.Pos.File, r.Pos.Line, err)
	}
	return nil
}

// dropMisfits takes out the accelerators whose memory is too small for the working set of r, ever.
func dropMisfits(rt *engine.Runtime, r *engine.Record, allowed sched.PlaceSet) (sched.PlaceSet, []error) {
	if !rt.Topology.Accelerators {
		return allowed, nil
	}
	most := largestSet(rt, r)
	var misfits []error
	for p, d := range rt.Topology.Machine.Devices() {
		id := sched.PlaceID(p)
		if id == rt.Topology.Host || !allowed.Has(id) || most <= rt.Topology.Memory[p] {
			continue
		}
		if err := rt.Topology.Machine.CheckFits(r.Data(), d); err != nil {
			misfits = append(misfits, nameLargest(r.Detail, err))
			allowed = allowed.Without(id)
		}
	}
	return allowed, misfits
}

// nameLargest says in the error of a working set that never fits which parameter needs most.
func nameLargest(d *engine.Detail, err error) error {
	var space *devices.NoSpaceError
	if !errors.As(err, &space) {
		return err
	}
	for i, a := range d.Args.List {
		if a.Buffer == space.Largest.Buffer && a.Cap > 0 {
			space.Name = d.Kernel.IR.Params[i].Name
		}
	}
	return err
}

// largestSet returns a bound of the device memory that r needs: its buffers as a whole. Where that
// fits, no caller needs to count granules.
func largestSet(rt *engine.Runtime, r *engine.Record) deps.Bytes {
	var sum deps.Bytes
	for i, a := range r.Data() {
		if seenBefore(r.Data()[:i], a.Region.Buffer) {
			continue
		}
		sum += rt.Buffers.SizeOf(a.Region.Buffer) + rt.Topology.Granule
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
func checkCapacities(r *engine.Record) error {
	if !r.Kernel.IR.Copies {
		return nil
	}
	list := r.Args.List
	for i := range list {
		for j := range i {
			if gap, both := overlap(r, &list[j], &list[i]); both && capacity(&list[j]) != gap+capacity(&list[i]) {
				return fmt.Errorf("arguments %d and %d overlap, the kernel copies between slices, and a capacity ends inside of their memory: pass x[lo:hi] without a capacity of its own", j+1, i+1)
			}
		}
	}
	return nil
}

// overlap reports whether two arguments of r are slices that have memory in common, and how far b
// begins behind a.
func overlap(r *engine.Record, a, b *devices.Arg) (gap deps.Bytes, both bool) {
	if a.Type.Kind != ir.Slice || b.Type.Kind != ir.Slice || a.Len == 0 || b.Len == 0 {
		return 0, false
	}
	gap, same := distance(r, a, b)
	return gap, same && gap < deps.Bytes(a.Len)*a.Type.Elem.Size && -gap < deps.Bytes(b.Len)*b.Type.Elem.Size
}

// capacity returns the bytes from the beginning of a slice to the end of its capacity.
func capacity(a *devices.Arg) deps.Bytes { return deps.Bytes(a.Cap) * a.Type.Elem.Size }

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
	if rt.core.Refuses() {
		return engine.ErrClosed
	}
	all := make([]chan error, len(kernels))
	for i, k := range kernels {
		all[i] = make(chan error, 1)
		rt.core.Cleaning.Go(func() { all[i] <- prepareKernel(&rt.core, k.description) })
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
func prepareKernel(rt *engine.Runtime, k *kernels.Kernel) (err error) {
	defer catchBug(k.Name, &err)
	if d := k.Deferral; d != nil && rt.VariantsOf(d.Device).Places != 0 {
		return prepareKernel(rt, d.Rest)
	}
	v := rt.VariantsOf(k)
	if v.Places == 0 {
		return &engine.NoDeviceError{Kernel: k.Name, Pos: k.Pos, Reasons: v.Reasons}
	}
	if on := rt.Topology.OnHost(k, v); on != nil {
		rt.Exec.Vectors.Of(on).Wait()
	}
	return nil
}

// observeChosen tells that the faster variant of a kernel is known for launches of a size.
func observeChosen(rt *engine.Runtime, k *kernels.Kernel) {
	if rt.Observers.Recorder != nil {
		rt.ObserveKernel(k, true)
	}
}

// Vectorised returns why the kernel runs as a Go function on the CPU workers of this runtime, nil
// when it has vector code there. It waits until the code is compiled.
func (rt *Runtime) Vectorised(k *Kernel) error {
	return rt.core.Exec.Vectors.Of(k.description).Wait().Refused
}

// CPUCode says in words what runs a kernel on the CPU workers of this runtime: "AVX-512 code, 16
// lanes", or "Go function" and why, and what was chosen for which launches where both were
// measured. It waits until the code is compiled.
func (rt *Runtime) CPUCode(k *Kernel) string { return rt.core.Exec.Vectors.Describe(k.description) }
