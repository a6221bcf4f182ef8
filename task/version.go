package task

import (
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/kernels"
)

// AddVersion makes v, whose target directive says implements(k), another version of k: a task of k
// runs v on the kinds of devices that v names. Of several versions for one kind the one added first
// runs, and k itself only where none does. What the task accesses is what k says. It is to be
// called before tasks of k are submitted.
//
// Errors: v says nothing of k, or its parameters are others.
func (k *Kernel) AddVersion(v *Kernel) error { return k.description.AddVersion(v.description) }

// running returns the version of the kernel of r that runs at a place.
func (r *record) running(p sched.PlaceID) *kernels.Kernel {
	if len(r.kernel.Versions) > 0 {
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
func (k *Kernel) AddNative(n Native) error { return k.description.AddNative(n) }
