package task

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/values"
)

// This file evaluates what the directives of a kernel say, for the arguments of one task.

// evaluate fills in the accesses of r: those of the task directive, and what the target directive
// copies besides. It refuses arguments with which the kernel would touch something else.
func (rt *Runtime) evaluate(r *record) error {
	k, draft := r.kernel.IR, r.scratch
	draft.Env.Params, draft.Env.List = k.Params, r.args.List
	t := &k.Target
	if n := len(k.Task.Accesses) + len(t.CopyIn) + len(t.CopyOut) + len(t.CopyInOut); n <= cap(draft.Boxes) {
		draft.Boxes = draft.Boxes[:n]
	} else {
		draft.Boxes = make([][]codegen.Box, n)
	}
	draft.Regions.Reset()
	if err := r.overlaps(); err != nil {
		return err
	}
	draft.Proof.Load(k, r.kernel.Contract, &draft.Env)
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
		} else if err := r.evaluateRegion(i, &a.Region, a.Mode); err != nil {
			return err
		}
	}
	next, written := len(k.Task.Accesses), len(r.accesses)
	for _, c := range []struct {
		regions []ir.Region
		mode    deps.Mode
	}{{t.CopyIn, deps.In}, {t.CopyOut, deps.Out}, {t.CopyInOut, deps.InOut}} {
		for i := range c.regions {
			if err := r.evaluateRegion(next, &c.regions[i], c.mode); err != nil {
				return err
			}
			next++
		}
	}
	if r.traits.Set(life.OrderOnly, t.NoCopyDeps); t.NoCopyDeps {
		r.copyAccesses = append(r.copyAccesses[:0], r.accesses[written:]...)
		r.copyAccesses = deps.Merge(r.copyAccesses)
	}
	r.accesses = deps.Merge(r.accesses)
	if reductions {
		if err := rt.evaluateReductions(r); err != nil {
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
func (rt *Runtime) evaluateReductions(r *record) error {
	for i := range r.kernel.IR.Task.Accesses {
		c := &r.kernel.IR.Task.Accesses[i]
		if c.Mode != deps.Reduction {
			continue
		}
		first := len(r.accesses)
		if err := r.evaluateRegion(i, &c.Region, c.Mode); err != nil {
			return err
		}
		if err := rt.reductionOfClause(r, first, c, slices.Index(r.kernel.IR.Params, c.Region.Var)); err != nil {
			return err
		}
	}
	return r.checkReductions()
}

// evaluateRegion adds one region, number n of codegen.Accesses, to the accesses of r.
func (r *record) evaluateRegion(n int, region *ir.Region, mode deps.Mode) error {
	a := r.scratch.Env.Of(region.Var)
	if a == nil {
		bug("kernel %s: region %s is not of a parameter", r.kernel.Name, region.Text)
	}
	length := a.Len
	if region.Var.Type.Kind == ir.Pointer && !a.Nil {
		length = 1
	}
	boxes, err := r.scratch.Regions.Eval(region, length, &r.scratch.Env)
	if err != nil {
		return err
	}
	r.scratch.Boxes[n] = boxes
	for i := range boxes {
		at, err := values.RegionOf(a, region.Var.Type.Elem, &boxes[i])
		if err != nil {
			return fmt.Errorf("%v: region %s: %w", region.At, region.Text, err)
		}
		r.accesses = append(r.accesses, deps.Access{Region: at, Mode: mode})
		if mode >= deps.Concurrent {
			r.traits.Set(life.Relaxed, true)
		}
		r.work += deps.Bytes(at.Len()) * region.Var.Type.Elem.Size
	}
	return nil
}

// evaluateClauses evaluates priority, resources and if. wait says that the submitter has to wait
// for the task.
func (d *detail) evaluateClauses() (wait bool, err error) {
	k := d.kernel.IR
	if k.Task.Priority != nil {
		n, err := d.integer("priority", k.Task.Priority)
		if err != nil {
			return false, err
		}
		d.item.Priority = int(n)
	}
	for _, t := range k.Target.Resources {
		n, err := d.integer("resources", t.Tokens)
		if err != nil {
			return false, err
		}
		if err := d.settings.setTokens(devices.Kind(t.Kind), int(n)); err != nil {
			return false, err
		}
	}
	if k.Task.If == nil {
		return false, nil
	}
	bits, err := ir.Eval(k.Task.If, &d.scratch.Env)
	if err != nil {
		return false, fmt.Errorf("if clause: %w", err)
	}
	return bits == 0, nil
}

func (d *detail) integer(clause string, e ir.Expr) (int64, error) {
	bits, err := ir.Eval(e, &d.scratch.Env)
	if err != nil {
		return 0, fmt.Errorf("%s clause: %w", clause, err)
	}
	return int64(bits), nil
}

// overlaps refuses arguments of r that overlap where iterations of a loop that is declared parallel
// would conflict, for its kernel and all versions of it. Cost: a comparison of
// buffers for each pair of parameters that a loop touches together, where they do not overlap.
func (r *record) overlaps() error {
	if err := r.overlapsIn(r.kernel); err != nil {
		return err
	}
	for _, v := range r.kernel.Versions {
		if err := r.overlapsIn(v); err != nil {
			return fmt.Errorf("version %s: %w", v.Name, err)
		}
	}
	return nil
}

func (r *record) overlapsIn(k *kernels.Kernel) error {
	if k.Overlaps == nil {
		return nil
	}
	for n, pair := range k.Overlaps.Pairs {
		a, b := &r.args.List[pair[0]], &r.args.List[pair[1]]
		if a.Buffer != b.Buffer || a.Nil || b.Nil {
			continue
		}
		x, y := k.IR.Params[pair[0]], k.IR.Params[pair[1]]
		if values.EndOf(a, x) <= b.Offset || values.EndOf(b, y) <= a.Offset {
			continue
		}
		if err := r.overlapOf(k, n, a, b); err != nil {
			return err
		}
	}
	return nil
}

// overlapOf looks at one pair of arguments that overlap.
func (r *record) overlapOf(k *kernels.Kernel, n int, a, b *devices.Arg) error {
	env := &values.Arguments{Params: k.IR.Params, List: r.args.List}
	return k.Overlaps.Check(k.IR, env, &r.scratch.Proof, n, int64(b.Offset)-int64(a.Offset))
}
