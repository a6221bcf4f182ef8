package task

import (
	"fmt"

	"github.com/gompss/gompss/sched"
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
		if a, b := typeText(k.params[i].typ), typeText(v.params[i].typ); a != b {
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
