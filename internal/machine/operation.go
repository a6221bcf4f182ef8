package machine

import (
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gompss/gompss/internal/coherence"
)

// An operationState is what the machine keeps of a pending operation: the Owner of the operation. A
// kernel gets one when a working set waits for it.
type operationState struct {
	issued  atomic.Bool   // the copy was issued: Event is set
	began   time.Duration // when it was issued, for observers
	waiters []*WorkingSet
	pinned  [2][]*coherence.Granule // at From and at To
	// host keeps the host memory of the buffer alive until the copy has completed. hostFreed says
	// that the collector has freed it: no copy is made, as the address may be that of other memory.
	host      unsafe.Pointer
	hostFreed bool
}

// stateOf returns the state of op, and adds it where there is none. Requires: Machine.mu held, or
// op is a copy that was queued.
func stateOf(op *coherence.Operation) *operationState {
	if s, ok := op.Owner.(*operationState); ok {
		return s
	}
	s := new(operationState)
	op.Owner = s
	return s
}

// hasWaiters reports whether working sets wait for op.
func hasWaiters(op *coherence.Operation) bool {
	s, ok := op.Owner.(*operationState)
	return ok && len(s.waiters) > 0
}

// newKernels appends n operations for kernels to list, each with one user. Requires: s.mu held.
func (s *space) newKernels(list []*coherence.Operation, n int) []*coherence.Operation {
	for range n {
		last := len(s.freeKernels) - 1
		if last < 0 {
			op := new(coherence.Operation)
			op.Ref()
			list = append(list, op)
			continue
		}
		op := s.freeKernels[last]
		s.freeKernels = s.freeKernels[:last]
		op.Ref()
		list = append(list, op)
	}
	return list
}

// removeWaiter removes ws from the waiters of op. Requires: Machine.mu held.
func removeWaiter(op *coherence.Operation, ws *WorkingSet) {
	if !hasWaiters(op) {
		return
	}
	s := stateOf(op)
	if i := slices.Index(s.waiters, ws); i >= 0 {
		s.waiters = slices.Delete(s.waiters, i, i+1)
	}
}
