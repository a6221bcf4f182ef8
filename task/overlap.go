package task

import (
	"fmt"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/values"
)

// This file refuses arguments that overlap where iterations of a loop that is declared parallel
// would conflict.

// overlaps checks the arguments of r for its kernel and all versions of it. Cost: a comparison of
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
