package task

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
)

// A replay runs the steps of an iteration: on the worker that has the task, its owner, and on those
// that are idle.
//
// A step counts its predecessors that have finished. It is run when all are: replays with an even
// number count down to 0, the others up again, so that nothing has to be reset. The worker that
// makes a step ready runs it next, without a queue; of several ready steps the others go into the
// queue of the worker, from which idle workers take half.
type replay struct {
	it      *Iteration
	ctx     context.Context // of the steps of this replay
	countUp bool
	pending []atomic.Int32
	total   int64
	deques  []deque
	_       spin.Line // each step reads the fields above

	roots     atomic.Int64 // handed out
	completed atomic.Int64 // steps; told by workers that run out of work
	_         spin.Line

	freeDeques []*deque // without a worker; the first deque is the owner's
	dequesMu   spin.Mutex
	owner      *record     // the task that this replay is
	asleep     atomic.Bool // its goroutine, which has lent its worker
	bell       chan struct{}

	broken     atomic.Bool // a step failed or was skipped
	failing    spin.Mutex
	skipCauses map[int32]*Error // steps that are to be skipped, and because of whom
	failed     FailedError
}

// A deque is what one worker has before it. Idle workers poll queued and roots, which have a cache
// line to themselves.
type deque struct {
	queued atomic.Int32
	roots  atomic.Uint64 // those that are left of what was taken at once: see packRoots
	_      spin.Line

	mu        spin.Mutex
	steps     []int32
	completed int64 // belongs to the worker alone
	_         spin.Line
}

// prepare makes r ready for the steps of it.
func (r *replay) prepare(it *Iteration) {
	*r = replay{it: it, bell: make(chan struct{}, 1), skipCauses: map[int32]*Error{}, total: int64(len(it.steps))}
	r.pending = make([]atomic.Int32, len(it.steps))
	for i := range it.steps {
		r.pending[i].Store(it.steps[i].preds)
	}
	r.deques = make([]deque, it.rt.pool.workers.Len()+1)
	for i := range r.deques[1:] {
		r.freeDeques = append(r.freeDeques, &r.deques[i+1])
	}
}

// packRoots makes roots lo to hi-1 the one number that a deque keeps: its worker takes the first,
// an idle worker the later half.
func packRoots(lo, hi int64) uint64 { return uint64(hi)<<32 | uint64(lo) }

func unpackRoots(s uint64) (lo, hi int64) { return int64(s & (1<<32 - 1)), int64(s >> 32) }

// runAll is the body of the task owner.
func (r *replay) runAll(owner *record) (err error) {
	r.owner = owner
	r.roots.Store(0)
	r.completed.Store(0)
	defer func() { // also when a step ended the goroutine
		r.countUp = !r.countUp
		err = r.result()
	}()
	r.it.rt.pool.workers.Offer(r, r.runOwner, r.aside)
	return nil
}

// result returns what failed and forgets it.
func (r *replay) result() error {
	if !r.broken.Load() {
		return nil
	}
	r.broken.Store(false)
	clear(r.skipCauses)
	failed := r.failed
	r.failed = FailedError{}
	return &failed
}

// aside is smp.Aside.
func (r *replay) aside(over func() bool, f func()) { r.it.rt.aside(r.owner, over, f) }

// runOwner works until all steps have finished. While others run the last of them, or those that
// others wait for, the worker is lent: a step may wait for a task that has no other worker.
func (r *replay) runOwner() {
	d := &r.deques[0]
	defer func() {
		r.reportCompleted(d)
		if r.completed.Load() != r.total { // a step ended the goroutine: its deferred calls continue
			r.runOwner()
		}
	}()
	for {
		r.work(d)
		if r.completed.Load() == r.total {
			return
		}
		r.asleep.Store(true)
		spin.Perturb()
		if (r.completed.Load() == r.total || r.Wanted()) && r.asleep.CompareAndSwap(true, false) {
			continue
		}
		r.aside(func() bool { return len(r.bell) > 0 }, func() { <-r.bell })
	}
}

// wakeOwner lets the owner look again, if it sleeps.
func (r *replay) wakeOwner() {
	if r.asleep.Load() && r.asleep.CompareAndSwap(true, false) {
		r.bell <- struct{}{}
	}
}

// Wanted implements smp.Job.
func (r *replay) Wanted() bool {
	if r.roots.Load() < int64(len(r.it.roots)) {
		return true
	}
	for i := range r.deques {
		if r.deques[i].nonEmpty() {
			return true
		}
	}
	return false
}

// nonEmpty reports whether d has a step to take.
func (d *deque) nonEmpty() bool {
	lo, hi := unpackRoots(d.roots.Load())
	return lo < hi || d.queued.Load() > 0
}

// Help implements smp.Job.
func (r *replay) Help() {
	d := r.takeDeque()
	if d == nil {
		return
	}
	defer r.returnDeque(d)
	r.work(d)
}

// takeDeque takes a desk, nil if there is none.
func (r *replay) takeDeque() *deque {
	r.dequesMu.Lock()
	defer r.dequesMu.Unlock()
	last := len(r.freeDeques) - 1
	if last < 0 {
		return nil
	}
	d := r.freeDeques[last]
	r.freeDeques = r.freeDeques[:last]
	return d
}

// returnDeque leaves a desk.
func (r *replay) returnDeque(d *deque) {
	r.reportCompleted(d)
	r.dequesMu.Lock()
	defer r.dequesMu.Unlock()
	r.freeDeques = append(r.freeDeques, d)
}

// work runs steps until there are none to be had.
func (r *replay) work(d *deque) {
	for {
		i := r.take(d)
		if i < 0 {
			r.reportCompleted(d)
			if r.completed.Load() == r.total || !spin.For(func() bool { return r.completed.Load() == r.total || r.Wanted() }) || r.completed.Load() == r.total {
				return
			}
			continue
		}
		for i >= 0 {
			i = r.runStep(d, i)
		}
	}
}

// reportCompleted says how many steps have been run at d.
func (r *replay) reportCompleted(d *deque) {
	if n := d.completed; n > 0 {
		d.completed = 0
		if r.completed.Add(n) == r.total {
			r.wakeOwner()
		}
	}
}

// take returns a step that is ready, or -1.
func (r *replay) take(d *deque) int32 {
	if d.queued.Load() > 0 {
		if i := d.pop(); i >= 0 {
			return i
		}
	}
	for {
		if i := d.popRoot(); i >= 0 {
			return r.it.roots[i]
		}
		if !r.refillRoots(d) {
			break
		}
	}
	for i := range r.deques {
		o := &r.deques[i]
		if o == d || !o.nonEmpty() {
			continue
		}
		if d.stealHalf(o) {
			return d.pop()
		}
		if d.stealRoots(o) {
			return r.take(d)
		}
	}
	return -1
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

// refillRoots puts some of the steps that wait for nothing on d: fewer as they become scarce.
func (r *replay) refillRoots(d *deque) bool {
	for {
		lo, n := r.roots.Load(), int64(len(r.it.roots))
		if lo >= n {
			return false
		}
		hi := min(n, lo+max(1, min(64, (n-lo)/int64(2*len(r.deques)))))
		if r.roots.CompareAndSwap(lo, hi) {
			d.roots.Store(packRoots(lo, hi)) // no worker takes from an empty deque
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

// runStep runs a step and returns one that is ready because of that, or -1.
func (r *replay) runStep(d *deque, i int32) int32 {
	s := &r.it.steps[i]
	if r.broken.Load() || r.ctx.Err() != nil {
		r.runOrSkip(d, i, s)
	} else if err := r.call(d, i, s); err != nil {
		r.fail(i, err)
	}
	return r.finish(d, i, s)
}

// finish ends a step.
func (r *replay) finish(d *deque, i int32, s *step) int32 {
	next, queued := int32(-1), false
	for _, j := range r.it.succs[s.first:s.last] {
		if !r.arrive(j) {
			continue
		}
		if next < 0 {
			next = j
			continue
		}
		d.push(j)
		queued = true
	}
	d.completed++
	if queued {
		r.wakeOwner()
		r.it.rt.pool.workers.Wake(1)
	}
	return next
}

// arrive counts a predecessor of step i that has finished, and reports whether it was the last.
func (r *replay) arrive(i int32) bool {
	preds := r.it.steps[i].preds
	spin.Perturb()
	if preds == 1 {
		return true
	}
	if r.countUp {
		return r.pending[i].Add(1) == preds
	}
	return r.pending[i].Add(-1) == 0
}

// call runs the body of a step. A panic in it is its error. When it ends the goroutine the step is
// ended on the way out.
func (r *replay) call(d *deque, i int32, s *step) (err error) {
	ended := false
	defer func() {
		if ended {
			return
		}
		if value := recover(); value != nil {
			err = devices.Panicked(value, debug.Stack())
			return
		}
		r.fail(i, errGoexit)
		r.publishNext(d, r.finish(d, i, s))
	}()
	err = s.body()
	ended = true
	return err
}

// publishNext puts what comes next for a worker whose goroutine ends where others find it.
func (r *replay) publishNext(d *deque, next int32) {
	if next >= 0 {
		d.push(next)
	}
	r.wakeOwner()
	r.it.rt.pool.workers.Wake(1)
}

// runOrSkip runs a step when others have failed, or skips it when it depends on one of them.
func (r *replay) runOrSkip(d *deque, i int32, s *step) {
	r.failing.Lock()
	via := r.skipCauses[i]
	r.failing.Unlock()
	switch {
	case via != nil:
		r.fail(i, &SkippedError{Via: via.Label, First: via.first()})
	case r.ctx.Err() != nil:
		r.fail(i, context.Cause(r.ctx))
	default:
		if err := r.call(d, i, s); err != nil {
			r.fail(i, err)
		}
	}
}

// fail notes the error of a step, and that those after it are not to run.
func (r *replay) fail(i int32, cause error) {
	s := &r.it.steps[i]
	e := &Error{Task: deps.TaskID(i) + 1, Label: s.label, Device: "smp", Pos: s.position(), Cause: cause}
	r.failing.Lock()
	defer r.failing.Unlock()
	if errors.Is(cause, ErrSkipped) {
		r.failed.Skipped++
	} else {
		r.failed.Failed = append(r.failed.Failed, e)
	}
	for _, j := range r.it.succs[s.first:s.last] {
		if r.skipCauses[j] == nil {
			r.skipCauses[j] = e
		}
	}
	r.broken.Store(true)
}
