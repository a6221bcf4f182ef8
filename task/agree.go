package task

import (
	"math/bits"
	"sync/atomic"

	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
)

// This file is how a launch before the predecessors are finished stays a decision of the policy:
// such a launch passes over the queues of the policy, and a chain of tasks would otherwise stay for
// ever where its first task went.
//
// The policy is asked when tasks of a kernel and size class have finished: at each until it knows
// how long they run, and then at every agreeInterval-th, since a question takes the lock of the
// scheduler. Once the policy disagrees, tasks of that kernel and size go through its queues, until
// it gives one of them to an accelerator. Until it knows how long they run where they are, no more
// of them are launched early than the device keeps in flight anyway. Kernels that have one kind of
// device are not concerned.

// agreeInterval is the number of tasks that finish from one question to the next.
const agreeInterval = 16

// agreements is the number of entries of Runtime.agreed. Kernels and size classes that share an
// entry share its answer, which costs a way through the queues and no more.
const agreements = 256

// An agreement is what the policy said last of tasks of one kernel and size class.
type agreement struct {
	finished  atomic.Uint32
	disagrees atomic.Bool
	known     atomic.Bool // it has seen enough tasks to decide
}

// agreementOf returns the entry of the kernel of r and the size of what r touches; nil where r may
// run on the kind of p alone, or the policy learns nothing.
func (rt *Runtime) agreementOf(r *record, p sched.PlaceID) *agreement {
	if !rt.learned.on || r.kernel == nil || r.item.Allowed&^rt.topology.alike[p] == 0 {
		return nil
	}
	return &rt.agreed[(r.kernel.Hash+uint64(bits.Len64(uint64(r.work))))%agreements]
}

// reconsider asks the policy again whether tasks like r, which has finished at p, are to be
// launched there early.
func (rt *Runtime) reconsider(r *record, p sched.PlaceID) {
	a := rt.agreementOf(r, p)
	if a == nil {
		return
	}
	if n := a.finished.Add(1); a.known.Load() && n%agreeInterval != 0 {
		return
	}
	rt.topology.estimate(r)
	spin.LockLong(&rt.ready.mu)
	agrees, known := rt.ready.sched.Agrees(&r.item, p)
	rt.ready.mu.Unlock()
	a.known.Store(known)
	a.disagrees.Store(!agrees)
}

// placedOn asks the policy again after a disagreement, where it gives r to accelerator p
// nevertheless: a trial is no change of mind. Requires: mu held.
func (rt *Runtime) placedOn(r *record, p sched.PlaceID) {
	if a := rt.agreementOf(r, p); a != nil && a.disagrees.Load() {
		agrees, known := rt.ready.sched.Agrees(&r.item, p)
		a.known.Store(known)
		a.disagrees.Store(!agrees)
	}
}
