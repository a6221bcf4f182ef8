package replay

import (
	"sync/atomic"

	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/trace/probe"
)

// A deque is the steps that one worker has yet to run. Idle workers poll queued and roots, which
// have a cache line to themselves.
type deque struct {
	queued atomic.Int32
	roots  atomic.Uint64 // those that are left of what was taken at once: see packRoots
	_      spin.Line

	mu    spin.Mutex
	steps []int32
	// The fields below belong to the worker; observers read running and completed without a lock.
	completed int64
	running   int32 // 1 + the step that runs, 0 for none
	worker    int16
	step      probe.StepRun // the step that runs, with a Trace
	_         spin.Line
}

// packRoots makes roots lo to hi-1 the one number that a deque keeps: its worker takes the first,
// an idle worker the later half.
func packRoots(lo, hi int64) uint64 { return uint64(hi)<<32 | uint64(lo) }

func unpackRoots(s uint64) (lo, hi int64) { return int64(s & (1<<32 - 1)), int64(s >> 32) }

// nonEmpty reports whether d has a step to take.
func (d *deque) nonEmpty() bool {
	lo, hi := unpackRoots(d.roots.Load())
	return lo < hi || d.queued.Load() > 0
}

// popRoot takes the first root of d, -1 when there is none.
func (d *deque) popRoot() int64 {
	for {
		s := d.roots.Load()
		lo, hi := unpackRoots(s)
		if lo >= hi {
			return -1
		}
		if d.roots.CompareAndSwap(s, packRoots(lo+1, hi)) {
			return lo
		}
	}
}

// stealRoots moves the later half of the roots of o, at least one, to d, which has none.
func (d *deque) stealRoots(o *deque) bool {
	for {
		s := o.roots.Load()
		lo, hi := unpackRoots(s)
		if lo >= hi {
			return false
		}
		middle := lo + (hi-lo)/2
		spin.Perturb()
		if o.roots.CompareAndSwap(s, packRoots(lo, middle)) {
			d.roots.Store(packRoots(middle, hi))
			return true
		}
	}
}

// push puts a ready step into the queue of d.
func (d *deque) push(i int32) {
	spin.Lock(&d.mu)
	d.steps = append(d.steps, i)
	d.queued.Store(int32(len(d.steps)))
	d.mu.Unlock()
}

// pop takes the step that came last, -1 when there is none.
func (d *deque) pop() int32 {
	spin.Lock(&d.mu)
	defer d.mu.Unlock()
	last := len(d.steps) - 1
	if last < 0 {
		return -1
	}
	i := d.steps[last]
	d.steps = d.steps[:last]
	d.queued.Store(int32(last))
	return i
}

// stealHalf moves the older half of the queue of o, at least one, to d.
func (d *deque) stealHalf(o *deque) bool {
	var moved [32]int32
	spin.Lock(&o.mu)
	n := copy(moved[:], o.steps[:(len(o.steps)+1)/2])
	o.steps = o.steps[:copy(o.steps, o.steps[n:])]
	o.queued.Store(int32(len(o.steps)))
	o.mu.Unlock()
	if n == 0 {
		return false
	}
	spin.Lock(&d.mu)
	d.steps = append(d.steps, moved[:n]...)
	d.queued.Store(int32(len(d.steps)))
	d.mu.Unlock()
	return true
}
