// Package replay runs a recorded graph of steps: on the worker that has the task of the replay, its
// owner, and on those that are idle.
//
// A step counts its predecessors that have finished. It is run when all are: replays with an even
// number count down to 0, the others up again, so that nothing has to be reset. The worker that
// makes a step ready runs it next, without a queue; of several ready steps the others go into the
// queue of the worker, from which idle workers take half.
package replay

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
)

// ErrGoexit is the error of a body that ends its goroutine.
var ErrGoexit = errors.New("its goroutine was ended from inside (runtime.Goexit)")

// A Step is a function that runs when its predecessors have finished.
type Step struct {
	Body        func() error
	Preds       int32 // the number of its predecessors
	First, Last int32 // its successors are Graph.Succs[First:Last]
}

// A Graph is the steps of an iteration.
type Graph struct {
	Steps []Step
	Succs []int32
	Roots []int32 // steps without predecessors
}

// Failures keeps the errors of steps. Its methods are called by several workers.
type Failures interface {
	// Fail notes the error of a step, and returns it with the name of the step. Those that come after
	// it are not to run.
	Fail(i int32, cause error) error
	// Skipped returns why a step is not to run, nil if it is.
	Skipped(i int32) error
}

// A Run runs the steps of one graph, one replay after the other.
type Run struct {
	Context context.Context // of the steps of this replay

	graph    Graph
	workers  *smp.Workers
	failures Failures
	countUp  bool
	pending  []atomic.Int32
	total    int64
	deques   []deque
	_        spin.Line // each step reads the fields above

	roots     atomic.Int64 // handed out
	completed atomic.Int64 // steps; reported by workers that run out of work
	_         spin.Line

	freeDeques  []*deque // without a worker; the first deque is the owner's
	dequesMu    spin.Mutex
	runBlocking smp.RunBlocking // lends the worker of the owner
	asleep      atomic.Bool     // the goroutine of the owner, which has lent its worker
	wakeup      chan struct{}

	broken atomic.Bool // a step failed or was skipped

	trace    *Trace    // of the steps of this replay, nil where nothing records them
	arrivals []arrival // by step, with a Trace
}

// Prepare makes r ready for the steps of g.
func (r *Run) Prepare(g Graph, workers *smp.Workers, failures Failures) {
	*r = Run{graph: g, workers: workers, failures: failures, wakeup: make(chan struct{}, 1), total: int64(len(g.Steps))}
	r.pending = make([]atomic.Int32, len(g.Steps))
	for i := range g.Steps {
		r.pending[i].Store(g.Steps[i].Preds)
	}
	r.deques = make([]deque, workers.Len()+1)
	for i := range r.deques[1:] {
		r.freeDeques = append(r.freeDeques, &r.deques[i+1])
	}
}

// SetBody replaces the body of a step. Requires: no replay is running.
func (r *Run) SetBody(i int, body func() error) { r.graph.Steps[i].Body = body }

// All runs all steps, with the caller as the owner, and reports whether some failed or were
// skipped. runBlocking lends the worker of the caller while the caller waits for others.
func (r *Run) All(runBlocking smp.RunBlocking) (broken bool) {
	r.runBlocking = runBlocking
	r.roots.Store(0)
	r.completed.Store(0)
	defer func() { // also when a step ended the goroutine
		r.countUp = !r.countUp
		if broken = r.broken.Load(); broken {
			r.broken.Store(false)
		}
	}()
	r.workers.Offer(r, r.runOwner, runBlocking)
	return false
}

// runOwner works until all steps have finished. While others run the last of them, or those that
// others wait for, the worker is lent: a step may wait for a task that has no other worker.
func (r *Run) runOwner() {
	d := &r.deques[0]
	defer func() {
		r.reportCompleted(d)
		if r.completed.Load() != r.total { // a step ended the goroutine: its deferred calls continue
			r.runOwner()
		}
	}()
	for {
		if r.trace != nil {
			d.worker = int16(r.trace.Owner())
		}
		r.work(d)
		if r.completed.Load() == r.total {
			return
		}
		r.asleep.Store(true)
		spin.Perturb()
		if (r.completed.Load() == r.total || r.Wanted()) && r.asleep.CompareAndSwap(true, false) {
			continue
		}
		r.runBlocking(func() bool { return len(r.wakeup) > 0 }, func() { <-r.wakeup })
	}
}

// wakeOwner lets the owner look again, if it sleeps.
func (r *Run) wakeOwner() {
	if r.asleep.Load() && r.asleep.CompareAndSwap(true, false) {
		r.wakeup <- struct{}{}
	}
}

// Wanted implements smp.Job.
func (r *Run) Wanted() bool {
	if r.roots.Load() < int64(len(r.graph.Roots)) {
		return true
	}
	for i := range r.deques {
		if r.deques[i].nonEmpty() {
			return true
		}
	}
	return false
}

// Help implements smp.Job.
func (r *Run) Help(worker int) {
	d := r.takeDeque()
	if d == nil {
		return
	}
	defer r.returnDeque(d)
	d.worker = int16(worker)
	r.work(d)
}

// takeDeque takes a free deque, nil if there is none.
func (r *Run) takeDeque() *deque {
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

// returnDeque gives a deque back.
func (r *Run) returnDeque(d *deque) {
	r.reportCompleted(d)
	r.dequesMu.Lock()
	defer r.dequesMu.Unlock()
	r.freeDeques = append(r.freeDeques, d)
}

// work runs steps until there are none to be had.
func (r *Run) work(d *deque) {
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

// reportCompleted says how many steps were run from d, from which none runs now.
func (r *Run) reportCompleted(d *deque) {
	d.running = 0
	if n := d.completed; n > 0 {
		d.completed = 0
		if r.completed.Add(n) == r.total {
			r.wakeOwner()
		}
	}
}

// take returns a step that is ready, or -1.
func (r *Run) take(d *deque) int32 {
	if d.queued.Load() > 0 {
		if i := d.pop(); i >= 0 {
			return i
		}
	}
	for {
		if i := d.popRoot(); i >= 0 {
			return r.graph.Roots[i]
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
			i := d.pop()
			r.announce(d)
			return i
		}
		if d.stealRoots(o) {
			r.announce(d)
			return r.take(d)
		}
	}
	return -1
}

// announce wakes a worker for what has come to d: while it was on its way there, a worker that
// looked for steps saw none and may have gone to sleep, and the next step of d may wait for them.
func (r *Run) announce(d *deque) {
	if d.nonEmpty() {
		r.wakeOwner()
		r.workers.Wake(1)
	}
}

// refillRoots puts some of the steps that wait for nothing on d: fewer as they become scarce.
func (r *Run) refillRoots(d *deque) bool {
	for {
		lo, n := r.roots.Load(), int64(len(r.graph.Roots))
		if lo >= n {
			return false
		}
		hi := min(n, lo+max(1, min(64, (n-lo)/int64(2*len(r.deques)))))
		if r.roots.CompareAndSwap(lo, hi) {
			spin.Perturb()
			d.roots.Store(packRoots(lo, hi)) // no worker takes from an empty deque
			if hi-lo > 1 {
				r.announce(d)
			}
			return true
		}
	}
}

// runStep runs a step and returns one that is ready because of that, or -1.
func (r *Run) runStep(d *deque, i int32) int32 {
	s := &r.graph.Steps[i]
	d.running = i + 1
	if r.trace != nil {
		r.observeStart(d, i, s)
	}
	var err error
	if r.broken.Load() || r.Context.Err() != nil {
		err = r.runOrSkip(d, i, s)
	} else {
		err = r.call(d, i, s)
	}
	r.end(d, i, err)
	return r.finish(d, i, s)
}

// end notes the error of a step, and reports the step.
func (r *Run) end(d *deque, i int32, err error) {
	if err != nil {
		err = r.failures.Fail(i, err)
		r.broken.Store(true)
	}
	if r.trace != nil {
		r.observeEnd(d, err)
	}
}

// finish ends a step.
func (r *Run) finish(d *deque, i int32, s *Step) int32 {
	next, queued := int32(-1), false
	for _, j := range r.graph.Succs[s.First:s.Last] {
		if !r.arrive(j) {
			continue
		}
		if r.trace != nil {
			r.arrivals[j] = arrival{d.step.End, i}
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
		r.workers.Wake(1)
	}
	return next
}

// arrive counts a predecessor of step i that has finished, and reports whether it was the last.
func (r *Run) arrive(i int32) bool {
	preds := r.graph.Steps[i].Preds
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
func (r *Run) call(d *deque, i int32, s *Step) (err error) {
	ended := false
	defer func() {
		if ended {
			return
		}
		if value := recover(); value != nil {
			err = devices.Panicked(value, debug.Stack())
			return
		}
		r.end(d, i, ErrGoexit)
		r.publishNext(d, r.finish(d, i, s))
	}()
	err = s.Body()
	ended = true
	return err
}

// publishNext puts what comes next for a worker whose goroutine ends where others find it.
func (r *Run) publishNext(d *deque, next int32) {
	if next >= 0 {
		d.push(next)
	}
	r.wakeOwner()
	r.workers.Wake(1)
}

// runOrSkip runs a step when others have failed, or skips it when it depends on one of them.
func (r *Run) runOrSkip(d *deque, i int32, s *Step) error {
	if err := r.failures.Skipped(i); err != nil {
		d.step.Start, d.step.Skipped = 0, true
		return err
	}
	if r.Context.Err() != nil {
		d.step.Start = 0
		return context.Cause(r.Context)
	}
	return r.call(d, i, s)
}
