package task

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
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
	return r.CheckReductions()
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
