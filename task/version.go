package task

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/values"
)

// AddVersion makes v, whose target directive says implements(k), another version of k: a task of k
// runs v on the kinds of devices that v names. Of several versions for one kind the one added first
// runs, and k itself only where none does. What the task accesses is what k says. It is to be
// called before tasks of k are submitted.
//
// Errors: v says nothing of k, or its parameters are others.
func (k *Kernel) AddVersion(v *Kernel) error {
	if of := v.ir.Target.Implements; of != k.name {
		return fmt.Errorf("task: kernel %s (%s:%d): its target directive says implements(%s), not %s", v.name, v.pos.File, v.pos.Line, of, k.name)
	}
	if len(v.params) != len(k.params) {
		return fmt.Errorf("task: kernel %s (%s:%d): implements %s, which has %d parameters, with %d", v.name, v.pos.File, v.pos.Line, k.name, len(k.params), len(v.params))
	}
	for i := range k.params {
		if a, b := values.TypeText(k.params[i].typ), values.TypeText(v.params[i].typ); a != b {
			return fmt.Errorf("task: kernel %s (%s:%d): parameter %s is %s, and %s in %s, which it implements", v.name, v.pos.File, v.pos.Line, v.params[i].name, b, a, k.name)
		}
	}
	if !k.readsAlike(v) {
		return fmt.Errorf("task: kernel %s (%s:%d): it reads other package variables than %s, which it implements, or reads them in another way: pass them as parameters",
			v.name, v.pos.File, v.pos.Line, k.name)
	}
	k.versions = append(k.versions, v)
	return nil
}

// running returns the version of the kernel of r that runs at a place.
func (r *record) running(p sched.PlaceID) *Kernel {
	if len(r.kernel.versions) > 0 {
		if v := r.rt.variantsOf(r.kernel).versions[p]; v != nil {
			return v
		}
	}
	return r.kernel
}

// AddNative makes n a variant of k: the tasks of k run it on devices of its kind. Without a Shape
// the clause ndrange of k gives one. It is to be called before tasks of k are submitted.
//
// Errors: k has a variant for that kind already, or nothing gives a shape.
func (k *Kernel) AddNative(n Native) error {
	switch {
	case n.Kind == "" || n.Source == "" && n.Binary == nil:
		return k.nativeError("a native variant needs a kind, and a text or a binary")
	case slices.ContainsFunc(k.device.Natives, func(m Native) bool { return m.Kind == n.Kind }):
		return k.nativeError(fmt.Sprintf("it has a native variant for %s already", n.Kind))
	case n.Shape == nil && k.ir.Target.Native == nil:
		return k.nativeError("a native variant needs a Shape, or clause ndrange of the kernel")
	}
	if n.Shape == nil {
		n.Shape = k.ndrange
	}
	k.device.Natives = append(k.device.Natives, n)
	return nil
}

func (k *Kernel) nativeError(why string) error {
	return fmt.Errorf("task: kernel %s (%s:%d): %s", k.name, k.pos.File, k.pos.Line, why)
}

// ndrange returns the shape that the clauses ndrange and shmem give to a launch. An extent that
// cannot be computed, such as a division by zero, is 0, which the device refuses.
func (k *Kernel) ndrange(a *Args) devices.NDRange {
	env := &values.Arguments{Params: k.ir.Params, List: a.List}
	value := func(e ir.Expr) int64 {
		if e == nil {
			return 0
		}
		bits, err := ir.Eval(e, env)
		if err != nil {
			return 0
		}
		return int64(bits)
	}
	var shape devices.NDRange
	clause := k.ir.Target.Native
	for i, e := range clause.Items {
		shape.Items[i] = value(e)
	}
	for i, e := range clause.Team {
		shape.Team[i] = value(e)
	}
	shape.Shared = Bytes(value(clause.Shared))
	return shape
}

// nativeOnly returns why the Go function of k is not compiled, nil where it is.
func (k *Kernel) nativeOnly() error {
	if n := k.ir.Target.Native; n != nil {
		return fmt.Errorf("its text for %s is %s", n.Kind, n.File)
	}
	return nil
}

// takeNatives adds the native variants of a spec.
func (k *Kernel) takeNatives(list []Native) error {
	for _, n := range list {
		if n.Shape == nil && k.ir.Target.Native == nil { // the device refuses it at submission
			k.device.Natives = append(k.device.Natives, n)
			continue
		}
		if err := k.AddNative(n); err != nil {
			return err
		}
	}
	return nil
}
