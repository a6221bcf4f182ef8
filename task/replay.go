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

// A replay runs the steps of an iteration: on the worker that has the task, its owner, and on those that are idle.
//
// A step counts its predecessors that are over. It is run when all are: replays with an even number count down to 0, the others
// up again, so that nothing has to be reset. Who makes a step ready runs it next, without a queue; of several ready steps the
// others go into the queue of the worker, from which those who have nothing take half.
type replay struct {
	it      *Iteration
	ctx     context.Context // of the steps of this replay
	up      bool
	pending []atomic.Int32
	total   int64

	roots  atomic.Int64 // handed out
	over   atomic.Int64 // steps; told by workers that run out of work
	desks  []desk
	free   []*desk // that nobody sits at; the first desk is the owner's
	seat   spin.Mutex
	owner  *record     // the task that this replay is
	asleep atomic.Bool // its goroutine, which has lent its worker
	bell   chan struct{}

	broken  atomic.Bool // a step failed or was skipped
	failing spin.Mutex
	doomed  map[int32]*Error // steps that are to be skipped, and because of whom
	failed  FailedError
}

// A desk is what one worker has before it.
type desk struct {
	queued atomic.Int32
	mu     spin.Mutex
	steps  []int32
	roots  atomic.Uint64 // those that are left of what was taken at once: see packRoots
	over   int64         // belongs to the worker alone
	_      [64]byte
}

// prepare makes r ready for the steps of it.
func (r *replay) prepare(it *Iteration) {
	*r = replay{it: it, bell: make(chan struct{}, 1), doomed: map[int32]*Error{}, total: int64(len(it.steps))}
	r.pending = make([]atomic.Int32, len(it.steps))
	for i := range it.steps {
		r.pending[i].Store(it.steps[i].preds)
	}
	r.desks = make([]desk, it.rt.workers.Len()+1)
	for i := range r.desks[1:] {
		r.free = append(r.free, &r.desks[i+1])
	}
}

// packRoots makes roots lo to hi-1 the one number that a desk keeps: who works there takes the first, who has nothing the later half.
func packRoots(lo, hi int64) uint64 { return uint64(hi)<<32 | uint64(lo) }

func unpackRoots(s uint64) (lo, hi int64) { return int64(s & (1<<32 - 1)), int64(s >> 32) }

// runAll is the body of the task owner.
func (r *replay) runAll(owner *record) (err error) {
	r.owner = owner
	r.roots.Store(0)
	r.over.Store(0)
	defer func() { // also when a step ended the goroutine
		r.up = !r.up
		err = r.result()
	}()
	r.it.rt.workers.Offer(r, r.own, r.aside)
	return nil
}

// result returns what failed and forgets it.
func (r *replay) result() error {
	if !r.broken.Load() {
		return nil
	}
	r.broken.Store(false)
	clear(r.doomed)
	failed := r.failed
	r.failed = FailedError{}
	return &failed
}

// aside is smp.Aside.
func (r *replay) aside(f func()) { r.it.rt.aside(r.owner, f) }

// own works until all steps are over. While others run the last of them, or those that others wait for, the worker is lent: a step may
// wait for a task that has no other worker.
func (r *replay) own() {
	d := &r.desks[0]
	defer func() {
		r.tell(d)
		if r.over.Load() != r.total { // a step ended the goroutine: its deferred calls go on
			r.own()
		}
	}()
	for {
		r.work(d)
		if r.over.Load() == r.total {
			return
		}
		r.asleep.Store(true)
		spin.Perturb()
		if (r.over.Load() == r.total || r.Wanted()) && r.asleep.CompareAndSwap(true, false) {
			continue
		}
		r.aside(func() { <-r.bell })
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
	for i := range r.desks {
		if r.desks[i].some() {
			return true
		}
	}
	return false
}

// some reports whether there is a step at d that somebody may take.
func (d *desk) some() bool {
	lo, hi := unpackRoots(d.roots.Load())
	return lo < hi || d.queued.Load() > 0
}

// Help implements smp.Job.
func (r *replay) Help() {
	d := r.sit()
	if d == nil {
		return
	}
	defer r.stand(d)
	r.work(d)
}

// sit takes a desk, nil if there is none.
func (r *replay) sit() *desk {
	r.seat.Lock()
	defer r.seat.Unlock()
	last := len(r.free) - 1
	if last < 0 {
		return nil
	}
	d := r.free[last]
	r.free = r.free[:last]
	return d
}

// stand leaves a desk.
func (r *replay) stand(d *desk) {
	r.tell(d)
	r.seat.Lock()
	defer r.seat.Unlock()
	r.free = append(r.free, d)
}

// work runs steps until there are none to be had.
func (r *replay) work(d *desk) {
	for {
		i := r.take(d)
		if i < 0 {
			r.tell(d)
			if r.over.Load() == r.total || !spinFor(func() bool { return r.over.Load() == r.total || r.Wanted() }) || r.over.Load() == r.total {
				return
			}
			continue
		}
		for i >= 0 {
			i = r.runStep(d, i)
		}
	}
}

// tell says how many steps have been run at d.
func (r *replay) tell(d *desk) {
	if n := d.over; n > 0 {
		d.over = 0
		if r.over.Add(n) == r.total {
			r.wakeOwner()
		}
	}
}

// take returns a step that is ready, or -1.
func (r *replay) take(d *desk) int32 {
	if d.queued.Load() > 0 {
		if i := d.pop(); i >= 0 {
			return i
		}
	}
	for {
		if i := d.popRoot(); i >= 0 {
			return r.it.roots[i]
		}
		if !r.moreRoots(d) {
			break
		}
	}
	for i := range r.desks {
		o := &r.desks[i]
		if o == d || !o.some() {
			continue
		}
		if d.takeHalf(o) {
			return d.pop()
		}
		if d.halfOfRoots(o) {
			return r.take(d)
		}
	}
	return -1
}

// popRoot takes the first root of d, -1 when there is none.
func (d *desk) popRoot() int64 {
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

// halfOfRoots moves the later half of the roots of o, at least one, to d, which has none.
func (d *desk) halfOfRoots(o *desk) bool {
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

// moreRoots puts some of the steps that wait for nothing on d: fewer as they become scarce.
func (r *replay) moreRoots(d *desk) bool {
	for {
		lo, n := r.roots.Load(), int64(len(r.it.roots))
		if lo >= n {
			return false
		}
		hi := min(n, lo+max(1, min(64, (n-lo)/int64(2*len(r.desks)))))
		if r.roots.CompareAndSwap(lo, hi) {
			d.roots.Store(packRoots(lo, hi)) // nobody takes from a desk that has none
			return true
		}
	}
}

// push puts a ready step into the queue of d.
func (d *desk) push(i int32) {
	spin.Lock(&d.mu)
	d.steps = append(d.steps, i)
	d.queued.Store(int32(len(d.steps)))
	d.mu.Unlock()
}

// pop takes the step that came last, -1 when there is none.
func (d *desk) pop() int32 {
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

// takeHalf moves the older half of the queue of o, at least one, to d.
func (d *desk) takeHalf(o *desk) bool {
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
func (r *replay) runStep(d *desk, i int32) int32 {
	s := &r.it.steps[i]
	if r.broken.Load() || r.ctx.Err() != nil {
		r.runOrSkip(d, i, s)
	} else if err := r.call(d, i, s); err != nil {
		r.fail(i, err)
	}
	return r.finish(d, i, s)
}

// finish ends a step.
func (r *replay) finish(d *desk, i int32, s *step) int32 {
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
	d.over++
	if queued {
		r.wakeOwner()
		r.it.rt.workers.Wake(1)
	}
	return next
}

// arrive counts a predecessor of step i that is over, and reports whether it was the last.
func (r *replay) arrive(i int32) bool {
	preds := r.it.steps[i].preds
	spin.Perturb()
	if preds == 1 {
		return true
	}
	if r.up {
		return r.pending[i].Add(1) == preds
	}
	return r.pending[i].Add(-1) == 0
}

// call runs the body of a step. A panic in it is its error. When it ends the goroutine the step is ended on the way out.
func (r *replay) call(d *desk, i int32, s *step) (err error) {
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
		r.leave(d, r.finish(d, i, s))
	}()
	err = s.body()
	ended = true
	return err
}

// leave puts what comes next for a worker whose goroutine ends where others find it.
func (r *replay) leave(d *desk, next int32) {
	if next >= 0 {
		d.push(next)
	}
	r.wakeOwner()
	r.it.rt.workers.Wake(1)
}

// runOrSkip runs a step when others have failed, or skips it when it depends on one of them.
func (r *replay) runOrSkip(d *desk, i int32, s *step) {
	r.failing.Lock()
	via := r.doomed[i]
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
		if r.doomed[j] == nil {
			r.doomed[j] = e
		}
	}
	r.broken.Store(true)
}
