package task

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/operator"
	"github.com/gompss/gompss/task/internal/values"
)

// This file evaluates what the directives of a kernel say, for the arguments of one task.

// evaluateClauses fills in the accesses of r: those of the task directive, and what the target
// directive copies besides. It refuses arguments with which the kernel would touch something else.
func evaluateClauses(rt *engine.Runtime, r *engine.Record) error {
	k, draft := r.Kernel.IR, r.Scratch
	draft.Env.Params, draft.Env.List = k.Params, r.Args.List
	t := &k.Target
	if n := len(k.Task.Accesses) + len(t.CopyIn) + len(t.CopyOut) + len(t.CopyInOut); n <= cap(draft.Boxes) {
		draft.Boxes = draft.Boxes[:n]
	} else {
		draft.Boxes = make([][]codegen.Box, n)
	}
	draft.Regions.Reset()
	if err := overlapsBuffer(r); err != nil {
		return err
	}
	draft.Proof.Load(k, r.Kernel.Contract, &draft.Env)
	if k.Task.Inferred { // the access says more than the region that was made of it
		if err := draft.Proof.Lengths(); err != nil {
			return err
		}
	}
	reductions := false
	for i := range k.Task.Accesses {
		a := &k.Task.Accesses[i]
		if a.Mode == deps.Reduction {
			reductions = true
		} else if err := evaluateRegion(r, i, &a.Region, a.Mode); err != nil {
			return err
		}
	}
	next, written := len(k.Task.Accesses), len(r.Accesses)
	for _, c := range []struct {
		regions []ir.Region
		mode    deps.Mode
	}{{t.CopyIn, deps.In}, {t.CopyOut, deps.Out}, {t.CopyInOut, deps.InOut}} {
		for i := range c.regions {
			if err := evaluateRegion(r, next, &c.regions[i], c.mode); err != nil {
				return err
			}
			next++
		}
	}
	if r.Traits.Set(life.OrderOnly, t.NoCopyDeps); t.NoCopyDeps {
		r.CopyAccesses = append(r.CopyAccesses[:0], r.Accesses[written:]...)
		r.CopyAccesses = deps.Merge(r.CopyAccesses)
	}
	r.Accesses = deps.Merge(r.Accesses)
	if reductions {
		if err := evaluateReductions(rt, r); err != nil {
			return err
		}
	}
	if !k.Task.Inferred {
		if err := draft.Proof.Lengths(); err != nil {
			return err
		}
	}
	return draft.Proof.Inside(draft.Boxes)
}

// evaluateReductions adds the reductions of r to its accesses, behind the others, which have been
// merged.
func evaluateReductions(rt *engine.Runtime, r *engine.Record) error {
	for i := range r.Kernel.IR.Task.Accesses {
		c := &r.Kernel.IR.Task.Accesses[i]
		if c.Mode != deps.Reduction {
			continue
		}
		first := len(r.Accesses)
		if err := evaluateRegion(r, i, &c.Region, c.Mode); err != nil {
			return err
		}
		if err := reductionOfClause(rt, r, first, c, slices.Index(r.Kernel.IR.Params, c.Region.Var)); err != nil {
			return err
		}
	}
	return engine.CheckReductions(r)
}

// evaluateRegion adds one region, number n of codegen.Accesses, to the accesses of r.
func evaluateRegion(r *engine.Record, n int, region *ir.Region, mode deps.Mode) error {
	a := r.Scratch.Env.Of(region.Var)
	if a == nil {
		engine.Bug("kernel %s: region %s is not of a parameter", r.Kernel.Name, region.Text)
	}
	length := a.Len
	if region.Var.Type.Kind == ir.Pointer && !a.Nil {
		length = 1
	}
	boxes, err := r.Scratch.Regions.Eval(region, length, &r.Scratch.Env)
	if err != nil {
		return err
	}
	r.Scratch.Boxes[n] = boxes
	for i := range boxes {
		at, err := values.RegionOf(a, region.Var.Type.Elem, &boxes[i])
		if err != nil {
			return fmt.Errorf("%v: region %s: %w", region.At, region.Text, err)
		}
		r.Accesses = append(r.Accesses, deps.Access{Region: at, Mode: mode})
		if mode >= deps.Concurrent {
			r.Traits.Set(life.Relaxed, true)
		}
		r.Work += deps.Bytes(at.Len()) * region.Var.Type.Elem.Size
	}
	return nil
}

// evaluateTaskClauses evaluates priority, resources and if. wait says that the submitter has to
// wait for the task.
func evaluateTaskClauses(d *engine.Detail) (wait bool, err error) {
	k := d.Kernel.IR
	if k.Task.Priority != nil {
		n, err := integerOf(d, "priority", k.Task.Priority)
		if err != nil {
			return false, err
		}
		d.Item.Priority = int(n)
	}
	for _, t := range k.Target.Resources {
		n, err := integerOf(d, "resources", t.Tokens)
		if err != nil {
			return false, err
		}
		if err := setTokens(&d.Settings, devices.Kind(t.Kind), int(n)); err != nil {
			return false, err
		}
	}
	if k.Task.If == nil {
		return false, nil
	}
	bits, err := ir.Eval(k.Task.If, &d.Scratch.Env)
	if err != nil {
		return false, fmt.Errorf("if clause: %w", err)
	}
	return bits == 0, nil
}

func integerOf(d *engine.Detail, clause string, e ir.Expr) (int64, error) {
	bits, err := ir.Eval(e, &d.Scratch.Env)
	if err != nil {
		return 0, fmt.Errorf("%s clause: %w", clause, err)
	}
	return int64(bits), nil
}

// overlapsBuffer refuses arguments of r that overlap where iterations of a loop that is declared
// parallel would conflict, for its kernel and all versions of it. Cost: a comparison of buffers for
// each pair of parameters that a loop touches together, where they do not overlap.
func overlapsBuffer(r *engine.Record) error {
	if err := overlapsIn(r, r.Kernel); err != nil {
		return err
	}
	for _, v := range r.Kernel.Versions {
		if err := overlapsIn(r, v); err != nil {
			return fmt.Errorf("version %s: %w", v.Name, err)
		}
	}
	return nil
}

func overlapsIn(r *engine.Record, k *kernels.Kernel) error {
	if k.Overlaps == nil {
		return nil
	}
	for n, pair := range k.Overlaps.Pairs {
		a, b := &r.Args.List[pair[0]], &r.Args.List[pair[1]]
		gap, same := distance(r, a, b)
		if !same || a.Nil || b.Nil {
			continue
		}
		x, y := k.IR.Params[pair[0]], k.IR.Params[pair[1]]
		if values.EndOf(a, x)-a.Offset <= gap || values.EndOf(b, y)-b.Offset <= -gap {
			continue
		}
		if err := overlapOf(r, k, n, gap); err != nil {
			return err
		}
	}
	return nil
}

// distance returns how far b begins behind a, where they may be in one memory. A buffer may have
// become a part of a larger one since an argument of r was found in it: then addresses tell.
func distance(r *engine.Record, a, b *devices.Arg) (gap deps.Bytes, same bool) {
	if a.Buffer == b.Buffer {
		return b.Offset - a.Offset, true
	}
	if !r.Scope.Memory.Grew() || !a.InMemory() || !b.InMemory() {
		return 0, false
	}
	x, y := r.RT.Buffers.OfID(a.Buffer), r.RT.Buffers.OfID(b.Buffer)
	if x == nil || y == nil {
		return 0, false
	}
	return deps.Bytes(y.Lo()-x.Lo()) + b.Offset - a.Offset, true
}

// overlapOf looks at one pair of arguments that overlap.
func overlapOf(r *engine.Record, k *kernels.Kernel, n int, gap deps.Bytes) error {
	env := &values.Arguments{Params: k.IR.Params, List: r.Args.List}
	return k.Overlaps.Check(k.IR, env, &r.Scratch.Proof, n, int64(gap))
}

// reductionOfClause notes the reduction clause that the latest n accesses of r are from.
func reductionOfClause(rt *engine.Runtime, r *engine.Record, first int, c *ir.Access, param int) error {
	op, err := operator.OfKernel(c.Op, c.Region.Var.Type.Elem)
	if err != nil {
		return err
	}
	for i := first; i < len(r.Accesses); i++ {
		rt.AddReduction(r, i, param, rt.Buffers.ByID(r.Accesses[i].Region.Buffer), op)
	}
	for i := range r.Kernel.IR.Task.Accesses {
		if o := &r.Kernel.IR.Task.Accesses[i]; o != c && o.Region.Var == c.Region.Var && o.Mode != deps.Reduction {
			return fmt.Errorf("reduction(%s): the same parameter has %s(%s): a private copy has no other elements", c.Region.Text, o.Mode, o.Region.Text)
		}
	}
	return nil
}

// What follows runs a kernel with nested(cpu) on accelerators: as a task that has no data of its
// own but orders all of it, with two children. The first is the kernel of the accelerator, which
// puts iterations with long nested loops into a list. The second runs these on CPU workers, and
// only exists where there are some: what the first has written then comes to the host, and nothing
// does otherwise.
//
// The list has room for all iterations, so that the arguments alone decide which are deferred.

// defers reports whether a task of k with options runs on an accelerator.
func defers(rt *engine.Runtime, k *kernels.Kernel, options []Option) bool {
	if !rt.Topology.Accelerators || rt.World != nil {
		return false
	}
	allowed, placed := sched.PlaceSet(0), false
	for i := range options {
		if o := &options[i]; o.what() == placeOption {
			if places, err := rt.Topology.PlacesNamed(o.text()); err == nil {
				allowed, placed = allowed|places, true
			}
		}
	}
	at := rt.VariantsOf(k.Deferral.Device).Places
	if placed {
		at &= allowed
	}
	return at != 0
}

// submitDeferral submits a task of k, which defers reports true for.
func submitDeferral(s *engine.Scope, g *engine.Group, k *Kernel, args []any, options []Option) (Task, error) {
	r, err := s.Begin(g, engine.GoBody)
	if err != nil {
		return Task{}, err
	}
	d := k.description
	r.Kernel, r.Pos, r.Label = d, d.Pos, d.IR.Task.Label
	s.RT.Callers.Enter()
	defer s.RT.Callers.Leave()
	wait, err := describeCall(s, r, args, options)
	if err != nil {
		return handle(s.Abort(r, err))
	}
	trips, err := ir.Eval(d.Deferral.Trips, &values.Arguments{Params: d.IR.Params, List: r.Args.List})
	if err != nil {
		return handle(s.Abort(r, refusedKernel(r, err)))
	}
	if wait {
		r.Traits.Set(life.Undeferred, true)
	}
	if err := blocksWorker(r); err != nil {
		return handle(s.Abort(r, refusedKernel(r, err)))
	}
	parts := &deferral{kernel: k, trips: int64(trips), args: make([]any, len(args), len(args)+2)}
	copy(parts.args, args) // slices.Clone would have args of every Submit allocated
	for i := range options {
		switch o := options[i]; o.what() {
		case placeOption:
			parts.device, parts.placed = append(parts.device, o), true
		case ifOption, finalOption:
		default:
			parts.device, parts.rest = append(parts.device, o), append(parts.rest, o)
		}
	}
	r.Nested, r.Kernel = parts.run, nil
	t := s.Commit(r)
	if wait {
		return Task{t}, t.Err()
	}
	return Task{t}, nil
}

// describeDeferral is describeKernel for what the task around the parts of a kernel takes of its
// options.
func describeDeferral(rt *engine.Runtime, r *engine.Record, options []Option) error {
	if r.Label == "" {
		r.Label = r.Kernel.Name
	}
	r.Settings.Tokens = r.Settings.Tokens[:0] // the parts hold them
	for i := range options {
		o := &options[i]
		if o.isAccess() {
			return refusedKernel(r, errKernelAccess)
		}
		switch o.what() {
		case placeOption, tokenOption, retryOption, costOption: // of the parts
			continue
		}
		if err := applyOption(rt, r, o); err != nil {
			return refusedKernel(r, err)
		}
	}
	if rt.Topology.Host < 0 {
		return refusedKernel(r, errors.New("nested(cpu) needs CPU workers: add the device smp:1"))
	}
	r.Traits.Set(life.OrderOnly, true)
	r.CopyAccesses = r.CopyAccesses[:0]
	r.KeepUnordered()
	r.Traits.Set(life.Simple, false)
	r.Item.Name = r.Name()
	return rt.Ready.Sched.Prepare(&r.Item, sched.PlaceSet(0).With(rt.Topology.Host), nil)
}

// A deferral is one call of a kernel with nested(cpu).
type deferral struct {
	kernel       *Kernel
	trips        int64
	args         []any
	device, rest []Option // of the parts
	placed       bool     // options name devices
}

// run is the body of the task around the parts.
func (d *deferral) run(s *Scope) error {
	parts := d.kernel.description.Deferral
	list, count := make([]int64, d.trips), make([]int64, 1)
	device := Kernel{description: parts.Device, call: d.kernel.call}
	_, err := device.submit(s, append(d.args, list, count), d.device)
	if none := (*engine.NoDeviceError)(nil); errors.As(err, &none) && !d.placed && s.core.RT.VariantsOf(d.kernel.description).Places != 0 {
		_, err = d.kernel.submit(s, d.args, append(d.rest, OnDevice(string(devices.SMP)))) // it fits no accelerator
		return err
	}
	if err != nil {
		return err
	}
	if d.trips > 0 {
		s.core.Memory.DeclareScratch(&s.core.RT.Buffers, values.MemoryOf(list))
	}
	if err := s.WaitOn(s.Context(), In(count)); err != nil {
		return err
	}
	n := min(count[0], d.trips)
	if n == 0 {
		return nil
	}
	rest := Kernel{description: parts.Rest, call: d.kernel.call}
	_, err = rest.submit(s, append(d.args, list[:n]), d.rest)
	return err
}
