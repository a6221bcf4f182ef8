package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/goid"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/state"
)

// This file is how a task waits without keeping a worker, and how it ends after its children.

// Wait waits until all children submitted so far have finished, running them on this goroutine or
// letting others have the worker meanwhile, and makes what the task accesses valid on the host: the
// body may use it again. It returns a *FailedError for the children that failed since the last
// Wait; a failure that no Wait has told of makes the task fail.
//
// Errors: also that of ctx, and then the children continue; ErrInsideTask in the body of another
// task, such as a child, which would wait for itself; ErrFinished when the body has returned.
func (s *Scope) Wait(ctx context.Context, options ...WaitOption) error {
	if !s.usable() {
		return misuse("Scope.Wait", s.unusable())
	}
	o, err := waitOptions("Scope.Wait", ctx, options)
	if err != nil {
		return err
	}
	if err := s.wrongScopeIn("Scope.Wait"); err != nil {
		return err
	}
	s.endReductions()
	if err := s.waitChildren(o.ctx); err != nil {
		return s.rt.withStatus(err, 0)
	}
	if !o.keep {
		if err = s.fetchToHost(); err != nil {
			err = fmt.Errorf("task: %s: wait: %w", s.owner.title(), err)
		}
	}
	s.submitting.Lock()
	clear(s.graph.poisoned)
	s.submitting.Unlock()
	return errors.Join(s.rt.log.takeFailures(&s.failures), err)
}

func (s *Scope) waitChildren(ctx context.Context) error {
	s.pauseCheck()
	defer s.resumeCheck()
	s.waitMu.Lock()
	defer s.waitMu.Unlock()
	if ctx != nil {
		defer context.AfterFunc(ctx, s.wakeWaiter)() // in turns bodyWaits looks at ctx
	}
	for s.children() > 0 {
		if ctx != nil && ctx.Err() != nil {
			return fmt.Errorf("task: %s: wait: %w", s.owner.title(), context.Cause(ctx))
		}
		s.waitOnce(ctx)
	}
	return nil
}

// waitOnce runs a child on this goroutine if the scheduler gives one. It may give something else:
// that goes to another goroutine together with the worker, and this one sleeps until the children
// have finished.
func (s *Scope) waitOnce(ctx context.Context) {
	if !s.lending.TryLock() { // another goroutine of the body has lent the worker
		if s.childrenDone == nil {
			s.childrenDone = make(chan struct{}, 1)
		}
		if s.registerWaiter(waitsWithoutWorker, ctx) {
			<-s.childrenDone
		}
		return
	}
	defer s.lending.Unlock()
	next := s.rt.schedule(nil, nil, s.worker)
	if next != nil && next.scope == s && !next.life.State().Wants() && ctx == nil && s.holdsNoTokens() { // a child on this stack would outlast ctx
		s.runOnStack(next, true)
		return
	}
	if s.children() == 0 {
		s.rt.ready.handOff(next)
		return
	}
	if v := s.rt.virtual; v != nil {
		v.BodyWaits(func() bool { return s.children() == 0 }, ctx, func() { s.lend(next) })
		s.rt.wantWorker(s)
		v.End()
		s.regain()
		return
	}
	s.lend(next)
	if !s.registerWaiter(waitsForWorker, ctx) {
		s.rt.wantWorker(s)
	}
	s.regain()
}

// holdsNoTokens reports whether children may run on the stack of the body: a wait there gives its
// own tokens back, but not those of the tasks below it.
func (s *Scope) holdsNoTokens() bool { return len(s.owner.settings.tokens) == 0 }

// runOnStack runs a child, and with more what comes after it as long as those are children, on the
// goroutine of the body: the stack grows by one task for each nesting level. Requires: lending
// held.
func (s *Scope) runOnStack(next *record, more bool) {
	worker := s.worker
	s.above.Store(goid.Of())
	defer s.above.Store(0)
	s.worker = smp.None // while a child has it, and from then on if the child ends the goroutine (runtime.Goexit)
	next, worker = s.rt.runOnHost(next, worker)
	for more && next != nil && next.scope == s && !next.life.State().Wants() && worker != smp.None {
		next, worker = s.rt.runOnHost(next, worker)
	}
	s.worker = worker
	s.rt.ready.handOff(next)
}

// block calls f, which may take long: until over reports true. The worker is lent meanwhile.
func (s *Scope) block(over func() bool, f func()) {
	if !s.lending.TryLock() {
		s.rt.virtual.Await(over, nil)
		f()
		return
	}
	defer s.lending.Unlock()
	if s.worker == smp.None {
		s.rt.virtual.Await(over, nil)
		f()
		return
	}
	s.pauseCheck()
	if v := s.rt.virtual; v != nil {
		v.BodyWaits(over, nil, func() { s.lend(nil) })
		f()
		s.rt.wantWorker(s)
		v.End()
	} else {
		s.lend(nil)
		f()
		s.rt.wantWorker(s)
	}
	s.regain()
	s.resumeCheck()
}

// aside calls f, which waits until over reports true for what other workers do for the body of r.
// The worker is lent meanwhile, but the task stays in flight with its tokens: it continues
// elsewhere. Requires: r has a detail, and its body is the caller.
func (rt *Runtime) aside(r *record, over func() bool, f func()) {
	if r.inner == nil {
		r.inner = newScope(r)
	}
	s := r.inner
	s.lending.Lock()
	defer s.lending.Unlock()
	spin.Perturb()
	if s.resume == nil {
		s.resume = make(chan int, 1)
	}
	worker, v := s.worker, rt.virtual
	s.worker = smp.None
	r.life.Enter(state.Lend)
	rt.pool.markIdle()
	lend := func() { rt.pool.workers.Lend(worker) }
	if v == nil {
		lend()
	} else {
		v.BodyWaits(over, nil, lend)
	}
	f()
	rt.ready.mu.Lock()
	r.life.Enter(state.Claim)
	rt.ready.handedOff.push(r)
	rt.ready.handedOffLen++
	rt.ready.unlock()
	rt.pool.workers.Wake(1)
	if v != nil {
		v.End()
	}
	s.regain()
}

// lend gives the worker, and what it is to run next, to another goroutine. Tokens are given back:
// no task that waits holds any. Requires: lending held.
func (s *Scope) lend(next *record) {
	spin.Perturb()
	if s.resume == nil {
		s.resume = make(chan int, 1)
	}
	worker := s.worker
	s.worker = smp.None
	s.owner.life.Enter(state.Lend)
	s.rt.ready.suspend(s.owner)
	s.rt.pool.states[worker].next = next
	s.rt.pool.workers.Lend(worker)
}

// regain waits for the worker that wantWorker has requested. Requires: lending held.
func (s *Scope) regain() {
	spin.Perturb()
	s.worker = <-s.resume
	s.rt.ready.markBusy(s.owner)
}

// registerWaiter records that a goroutine waits for the children, and reports whether wakeWaiter
// will be called.
func (o *offspring) registerWaiter(how int32, ctx context.Context) bool {
	spin.Perturb()
	o.waiting.Store(how)
	spin.Perturb()
	if o.children() > 0 && (ctx == nil || ctx.Err() == nil) {
		return true
	}
	return !o.waiting.CompareAndSwap(how, noWaiter)
}

// wakeWaiter wakes the goroutine that waits for the children, if there is one.
func (s *Scope) wakeWaiter() {
	spin.Perturb()
	how := s.waiting.Load()
	if how == noWaiter || !s.waiting.CompareAndSwap(how, noWaiter) {
		return
	}
	if how == waitsForWorker {
		s.rt.wantWorker(s)
	} else {
		s.childrenDone <- struct{}{}
	}
}

// childFinished counts a child out, or with holder a reason, and returns the task if it has
// finished by that.
func (s *Scope) childFinished(n int64) *record {
	spin.Perturb()
	left := s.pending.Add(-n)
	if left == 0 {
		return s.owner
	}
	if left&(holder-1) == 0 {
		s.wakeWaiter()
	}
	return nil
}

// end says that the body has returned: no more submissions. It returns the worker that the
// goroutine has.
func (s *Scope) end() int {
	s.lending.Lock() // a goroutine of the body that still waits has the worker
	defer s.lending.Unlock()
	s.submitting.Lock()
	s.body.Store(bodyFinished)
	s.finished = true
	s.pauses.Add(1)
	var ready recordList
	s.submitMerges(&ready)
	s.closeReductions(nil, &ready)
	s.submitting.Unlock()
	s.rt.startAll(&ready)
	return s.worker
}

// suspend takes a task that waits out of flight, with its tokens.
func (hq *readyQueues) suspend(r *record) {
	spin.Perturb()
	hq.pool.markIdle()
	if r.traits.Is(life.Simple) {
		return
	}
	hq.mu.Lock()
	hq.sched.Done(&r.item)
	hq.counts.end(r.item.Place())
	wake := len(r.settings.tokens) > 0 && hq.sched.Len() > 0
	hq.unlock()
	if wake {
		hq.pool.workers.Wake(1)
	}
}

// wantWorker asks for a worker for the body of s, which has lent its own. Bodies that need tokens
// for that stand in line as ready tasks do, the others go first: they hold memory that ends with
// them.
func (rt *Runtime) wantWorker(s *Scope) {
	spin.Perturb()
	r := s.owner
	rt.ready.mu.Lock()
	if len(r.settings.tokens) == 0 {
		r.life.Enter(state.Recall)
		rt.ready.handedOff.push(r)
		rt.ready.handedOffLen++
	} else if r.life.Enter(state.Claim); !rt.ready.sched.Push(&r.item) {
		bug("%s: the CPU workers are out of service", r.name())
	} else if r.item.Priority < 0 {
		rt.ready.lowItems++
	}
	rt.ready.unlock()
	rt.pool.workers.Wake(1)
}

// handOff gives a task that was granted to a worker to another one, or does nothing with none.
func (hq *readyQueues) handOff(next *record) {
	if next == nil {
		return
	}
	hq.mu.Lock()
	hq.handedOff.push(next)
	hq.handedOffLen++
	hq.unlock()
	hq.pool.workers.Wake(1)
}

// takeHandedOff returns a task that was handed to the workers, or wants one. Requires: mu held.
func (hq *readyQueues) takeHandedOff() *record {
	r := hq.handedOff.pop()
	if r != nil {
		hq.handedOffLen--
	}
	if r != nil && r.life.State() == state.Recalled {
		r.life.Enter(state.Claim)
		if !r.traits.Is(life.Simple) {
			hq.sched.Resume(&r.item, hq.topology.host)
			hq.counts.grant(hq.topology.host)
		}
	}
	return r
}

// endBody ends the part of r that its body was, and returns what the worker should run next. ran
// says that the body has run.
func (rt *Runtime) endBody(r *record, ran bool) (*record, int) {
	spin.Perturb()
	worker := r.inner.end()
	if ran && rt.virtual != nil && rt.virtual.After(r.virtualCost(rt.virtual), func() { rt.endScope(r, smp.None) }) {
		return rt.schedule(nil, nil, worker), worker
	}
	return rt.endScope(r, worker)
}

// endScope is endBody when the cost of the body has passed.
func (rt *Runtime) endScope(r *record, worker int) (*record, int) {
	s := r.inner
	// In turns nothing waits for the copies of a buffer that is dropped but a job.
	if s.pending.Load() == holder && (rt.virtual == nil || len(s.memory.Fresh) == 0) {
		s.pending.Store(0)
		rt.closeScope(r)
		return rt.retire(r, worker), worker
	}
	rt.release(r)
	r.holds.Drop(life.HeldData)
	r.life.Enter(state.Return)
	if r.traits.Is(life.Simple) {
		rt.ready.countRun()
	}
	next := rt.schedule(r, nil, worker)
	if s.childFinished(holder) != nil {
		rt.complete(r)
	}
	return next, worker
}

// closeScope gives back what the children of r used together, and makes their failures those of r.
func (rt *Runtime) closeScope(r *record) {
	s := r.inner
	if r.kind == replayBody {
		rt.dropCopies(r.graphReplay)
		r.replayRun.end()
	}
	err := errors.Join(rt.log.takeFailures(&s.failures), s.outside)
	if r.err == nil && err != nil {
		r.fail("", err)
	}
	if err := rt.buffers.DropFresh(&s.memory); err != nil && r.err == nil {
		r.fail("", err)
	}
	rt.putDomain(&s.graph)
	s.releaseRecords()
}

// complete ends a task whose body has finished and whose last child is; nil is none.
func (rt *Runtime) complete(r *record) {
	if r != nil && rt.observers.watched() {
		rt.observers.observeLast(r)
	}
	switch {
	case r == nil:
	case rt.topology.accelerators && len(r.inner.memory.Fresh) > 0:
		// Dropping a buffer waits for its copies, which this goroutine may be the one to enqueue.
		rt.background.run(func() { rt.closeScope(r); rt.retireUnscheduled(r) })
	default:
		rt.closeScope(r)
		rt.retireUnscheduled(r)
	}
}

// forget drops what the graph of s knows of a buffer.
func (s *Scope) forget(b deps.BufferID) error {
	s.submitting.Lock()
	defer s.submitting.Unlock()
	delete(s.graph.poisoned, b)
	if s.graph.domain == nil {
		return nil
	}
	return s.graph.domain.Forget(b)
}
