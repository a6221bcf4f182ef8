package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/goid"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/state"
)

// HoldsNoTokens reports whether children may run on the stack of the body. A wait in such a child
// would release the tokens of the child, but not those of the tasks below it on the stack.
func (s *Scope) HoldsNoTokens() bool { return len(s.Owner.Settings.Tokens) == 0 }

// RunOnStack runs child next on the goroutine of the body; if more is true, also its successors, as
// long as they are children of s. The stack grows by one task for each nesting level.
// Requires: Lending held.
func (s *Scope) RunOnStack(next *Record, more bool) {
	worker, g := s.Worker, goid.Of()
	s.above.Store(g)
	defer s.above.Store(0)
	if s.Body.Load() != g { // the caller is a goroutine that the body has started
		defer smp.StandIn()()
	}
	s.Worker = smp.None // a child has the worker, and it keeps it if it ends the goroutine (runtime.Goexit)
	next, worker = CPU{s.RT}.runOnHost(next, worker)
	for more && next != nil && next.Scope == s && !next.Life.State().Wants() && worker != smp.None {
		next, worker = CPU{s.RT}.runOnHost(next, worker)
	}
	s.Worker = worker
	s.RT.Ready.HandOff(next)
}

// Block calls f, which may block until done returns true. It releases the worker meanwhile.
func (s *Scope) Block(done func() bool, f func()) {
	if !s.Lending.TryLock() {
		s.RT.Virtual.Await(done, nil)
		f()
		return
	}
	defer s.Lending.Unlock()
	if s.Worker == smp.None {
		s.RT.Virtual.Await(done, nil)
		f()
		return
	}
	PauseCheck(s)
	if v := s.RT.Virtual; v != nil {
		v.BodyWaits(done, nil, func() { s.Lend(nil) })
		f()
		s.RT.WantWorker(s)
		v.End()
	} else {
		s.Lend(nil)
		f()
		s.RT.WantWorker(s)
	}
	s.Regain()
	ResumeCheck(s)
}

// Lend passes the worker, together with its next task, to another goroutine. It also releases the
// tokens, because a waiting task must not hold any.
// Requires: Lending held.
func (s *Scope) Lend(next *Record) {
	spin.Perturb()
	if s.Resume == nil {
		s.Resume = make(chan int, 1)
	}
	worker := s.Worker
	s.Worker = smp.None
	s.Owner.Life.Enter(state.Lend)
	s.RT.Ready.suspend(s.Owner)
	s.RT.Pool.States[worker].next = next
	s.RT.Pool.Workers.Lend(worker)
}

// Regain waits for the worker that WantWorker has requested.
// Requires: Lending held.
func (s *Scope) Regain() {
	spin.Perturb()
	s.Worker = <-s.Resume
	s.RT.Ready.markBusy(s.Owner)
}

// RegisterWaiter records that a goroutine waits for the children, and reports whether WakeWaiter
// will be called.
func (o *offspring) RegisterWaiter(how int32, ctx context.Context) bool {
	spin.Perturb()
	o.Waiting.Store(how)
	spin.Perturb()
	if o.Children() > 0 && (ctx == nil || ctx.Err() == nil) {
		return true
	}
	return !o.Waiting.CompareAndSwap(how, NoWaiter)
}

// WakeWaiter wakes the goroutine that waits for the children, if there is one.
func (s *Scope) WakeWaiter() {
	spin.Perturb()
	how := s.Waiting.Load()
	if how == NoWaiter || !s.Waiting.CompareAndSwap(how, NoWaiter) {
		return
	}
	if how == WaitsForWorker {
		s.RT.WantWorker(s)
	} else {
		s.ChildrenDone <- struct{}{}
	}
}

// ChildFinished subtracts n, 1 for a child or Holder for another reason, from the reasons why the
// task has not finished. It returns the task if none remains.
func (s *Scope) ChildFinished(n int64) *Record {
	spin.Perturb()
	left := s.Pending.Add(-n)
	if left == 0 {
		return s.Owner
	}
	if left&(Holder-1) == 0 {
		s.WakeWaiter()
	}
	return nil
}

// End closes the scope after the body has returned. It returns the worker that the goroutine has.
func (s *Scope) End() int {
	s.Lending.Lock() // a goroutine of the body that still waits has the worker
	defer s.Lending.Unlock()
	s.Submitting.Lock()
	s.Body.Store(BodyFinished)
	s.finished = true
	s.Pauses.Add(1)
	var ready RecordList
	s.SubmitMerges(&ready)
	s.CloseReductions(nil, &ready)
	s.Submitting.Unlock()
	StartAll(s.RT, &ready)
	return s.Worker
}

// suspend removes a waiting task from the tasks in flight and releases its tokens.
func (hq *readyQueues) suspend(r *Record) {
	spin.Perturb()
	hq.Pool.MarkIdle()
	if r.Traits.Is(life.Simple) {
		return
	}
	hq.Mu.Lock()
	hq.Sched.Done(&r.Item)
	hq.Counts.End(r.Item.Place())
	wake := len(r.Settings.Tokens) > 0 && hq.Sched.Len() > 0
	hq.Unlock()
	if wake {
		hq.Pool.Workers.Wake(1)
	}
}

// WantWorker requests a worker for the body of s, which has lent its own. A body that needs tokens
// queues up with the ready tasks. Other bodies take precedence, because their end frees memory.
func (rt *Runtime) WantWorker(s *Scope) {
	spin.Perturb()
	r := s.Owner
	rt.Ready.Mu.Lock()
	if len(r.Settings.Tokens) == 0 {
		r.Life.Enter(state.Recall)
		rt.Ready.HandedOff.Push(r)
		rt.Ready.HandedOffLen++
	} else if r.Life.Enter(state.Claim); !rt.Ready.Sched.Push(&r.Item) {
		Bug("%s: the CPU workers are out of service", r.Name())
	} else if r.Item.Priority < 0 {
		rt.Ready.LowItems++
	}
	rt.Ready.Unlock()
	rt.Pool.Workers.Wake(1)
}

// HandOff passes next, a task granted to one worker, to another worker. next may be nil.
func (hq *readyQueues) HandOff(next *Record) {
	if next == nil {
		return
	}
	hq.Mu.Lock()
	hq.HandedOff.Push(next)
	hq.HandedOffLen++
	hq.Unlock()
	hq.Pool.Workers.Wake(1)
}

// takeHandedOff returns a task that was handed off or whose body waits for a worker, nil if there
// is none.
// Requires: mu held.
func (hq *readyQueues) takeHandedOff() *Record {
	r := hq.HandedOff.pop()
	if r != nil {
		hq.HandedOffLen--
	}
	if r != nil && r.Life.State() == state.Recalled {
		r.Life.Enter(state.Claim)
		if !r.Traits.Is(life.Simple) {
			hq.Sched.Resume(&r.Item, hq.Topology.Host)
			hq.Counts.Grant(hq.Topology.Host)
		}
	}
	return r
}

// endBody does the steps after the body of r, and returns the next task for its worker. ran is true
// if the body has run.
func (w CPU) endBody(r *Record, ran bool) (*Record, int) {
	rt := w.RT
	spin.Perturb()
	worker := r.Inner.End()
	if ran && rt.Virtual != nil && rt.Virtual.After(r.virtualCost(rt.Virtual), func() { w.endScope(r, smp.None) }) {
		return rt.Schedule(nil, nil, worker), worker
	}
	return w.endScope(r, worker)
}

// endScope is endBody after the virtual cost of the body has passed.
func (w CPU) endScope(r *Record, worker int) (*Record, int) {
	rt := w.RT
	s := r.Inner
	if s.Pending.Load() == Holder && len(r.links) == 0 && rt.Topology.memoryOnHost(s) {
		s.Pending.Store(0)
		rt.closeScope(r)
		return rt.retire(r, worker), worker
	}
	rt.release(r)
	r.Holds.Drop(life.HeldData)
	r.Life.Enter(state.Return)
	if r.Traits.Is(life.Simple) {
		rt.Ready.countRun()
	}
	next := rt.Schedule(r, nil, worker)
	EndUse(s)
	if s.ChildFinished(Holder) != nil {
		rt.Complete(r)
	}
	return next, worker
}

// closeScope makes the failures of the children of r those of r, writes the memory that was first
// used in its scope back to the host, and frees what the children have shared. It waits for copies
// unless memoryOnHost reports true.
func (rt *Runtime) closeScope(r *Record) {
	s := r.Inner
	if r.Kind == ReplayBody {
		r.Replay.Close()
	}
	err := errors.Join(rt.Log.TakeFailures(&s.Failures), s.Outside)
	if r.err == nil && err != nil {
		r.Fail("", err)
	}
	err = writeBack(rt, s)
	if err = errors.Join(err, rt.Buffers.DropFresh(&s.Memory)); err != nil && r.err == nil {
		r.Fail("", err)
	}
	rt.putDomain(&s.Graph)
	s.recycled.release(&rt.FreeNested)
}

// Complete finishes task r after its body and its last child have finished. r may be nil.
func (rt *Runtime) Complete(r *Record) {
	if r != nil && rt.Observers.Watched() {
		rt.Observers.observeLast(r)
	}
	switch {
	case r == nil:
	case r.Kind == ReplayBody && r.Life.State().Early():
		if r.Life.Race(state.KernelEnd) == state.End {
			finishReplay(r)
		}
	default:
		closeComplete(r)
	}
}

// closeComplete ends a task whose body and children have finished.
func closeComplete(r *Record) {
	rt := r.RT
	if !rt.Topology.memoryOnHost(r.Inner) { // this goroutine may have to enqueue the copies
		rt.Background.run(func() { rt.closeScope(r); rt.RetireUnscheduled(r) })
		return
	}
	rt.closeScope(r)
	rt.RetireUnscheduled(r)
}

// Forget removes a buffer from the graph of s.
func (s *Scope) Forget(b deps.BufferID) error {
	s.Submitting.Lock()
	defer s.Submitting.Unlock()
	delete(s.Graph.Poisoned, b)
	s.Graph.reported = slices.DeleteFunc(s.Graph.reported, func(t reportedPoison) bool { return t.region.Buffer == b })
	if s.Graph.Domain == nil {
		return nil
	}
	return s.Graph.Domain.Forget(b)
}

// The following functions implement weak accesses and early release: children of a task wait for
// the predecessors of its weak accesses, and later tasks may start before the task has finished.
// See deps.Link.

// A link is a weak access of a task, or any access of a task with early release.
type link struct {
	deps.Link
	scope   *Scope                // where the task was submitted
	inner   *Scope                // the scope of its body, once a child was submitted there
	member  *Group                // of the task
	outside atomic.Pointer[Error] // the failure of a predecessor
	inside  atomic.Pointer[Error] // the failure of the task itself, or of a child that accesses the region
	weak    bool
}

// A linkWork lists links whose nodes have no predecessors left.
type linkWork struct {
	nodes []*deps.Node // the nodes of links
	ended []*Record    // the tasks that have finished as a consequence
}

// blame records the failure of a predecessor of node n of l.
func (l *link) blame(n *deps.Node, e *Error) {
	if n == &l.Outer {
		l.outside.CompareAndSwap(nil, e)
	} else {
		l.inside.CompareAndSwap(nil, e)
	}
}

// failed returns the failure because of which the successors of l are skipped, nil if there is
// none.
func (l *link) failed() *Error {
	if e := l.inside.Load(); e != nil {
		return e
	}
	return l.outside.Load()
}

// enterLinks enters the links of r into the graph, after its node.
// Requires: r.Scope.Submitting held.
func (r *Record) enterLinks() {
	r.Holds.Take(life.HeldLinks)
	strong := len(r.Accesses) - r.weak
	for i := range r.Accesses {
		a := r.Accesses[i]
		if a.Region.Empty() || i < strong && !r.Traits.Is(life.EarlyRelease) {
			continue
		}
		l := &link{scope: r.Scope, member: r.member, weak: i >= strong}
		l.Outer.Owner, l.Closer.Owner = l, l
		if e := r.Scope.Graph.poisonOf(r.Accesses[i : i+1]); e != nil {
			l.outside.Store(e)
		}
		r.links = append(r.links, l)
		r.Scope.Graph.passing.Add(1)
		spin.Perturb()
		if l.Enter(r.Scope.Graph.Domain, r.TaskID(), a) {
			l.act(l.After(deps.Arrive), nil)
		}
	}
}

// openLinks enters the opening nodes of the weak accesses of the task of s, at the submission of
// its first child.
// Requires: submitting held.
func openLinks(s *Scope) {
	if s.Program() {
		return
	}
	for _, l := range s.Owner.links {
		l.inner = s
		if !l.weak {
			continue
		}
		s.Pending.Add(Holder) // until the opener is complete
		spin.Perturb()
		if !l.Open(s.Graph.Domain) {
			s.Pending.Add(-Holder)
			l.poisonInside()
		}
	}
}

// poisonInside poisons the region of l in the inner scope if it is poisoned outside.
// Requires: Submitting of the inner scope held.
func (l *link) poisonInside() {
	if e := l.outside.Load(); e != nil {
		l.inner.Graph.addPoison(poisonedAccess{region: l.Access().Region, mode: deps.InOut}, e)
	}
}

// ForgetFailures removes the poisoned regions that failed children of s have left, except those
// from outside the scope.
// Requires: submitting held.
func ForgetFailures(s *Scope) {
	clear(s.Graph.Poisoned)
	if s.Graph.passing.Load() == 0 {
		s.Graph.reported = nil
	}
	s.Graph.waited = s.RT.lastTask()
	if s.Program() {
		return
	}
	for _, l := range s.Owner.links {
		if l.weak && l.inner != nil && l.Passed() {
			l.poisonInside()
		}
	}
}

// addLink adds a node of a link that has no predecessors left.
func (w *successors) addLink(n *deps.Node) {
	if w.links == nil {
		w.links = &linkWork{}
	}
	w.links.nodes = append(w.links.nodes, n)
}

// advance processes the nodes of links without predecessors, and the links that follow from them.
func (w *successors) advance() {
	for i := 0; i < len(w.links.nodes); i++ {
		n := w.links.nodes[i]
		l := n.Owner.(*link)
		spin.Perturb()
		if n == &l.Outer {
			l.act(l.After(deps.Arrive), w)
		} else {
			l.inner.Graph.Domain.Finish(n, w.add)
			l.act(l.After(deps.Shut), w)
			w.drop(l.inner)
		}
	}
}

// drop removes one reason why the task of s has not finished.
func (w *successors) drop(s *Scope) {
	if r := s.ChildFinished(Holder); r != nil {
		w.links.ended = append(w.links.ended, r)
	}
}

// act performs action a: the completion of a node of l.
func (l *link) act(a deps.LinkAction, w *successors) {
	spin.Perturb()
	switch a {
	case deps.CompleteOpener:
		s := l.inner
		w.complete(s, l.Opener(), nil, l.outside.Load())
		w.drop(s)
	case deps.CompleteOuter:
		w.completeOuter(l)
	}
}

// completeOuter completes the outer node of l.
func (w *successors) completeOuter(l *link) {
	g := &l.scope.Graph
	defer g.passing.Add(-1)
	e := l.failed()
	if e == nil {
		g.Domain.Finish(&l.Outer, w.add)
		return
	}
	l.scope.Submitting.Lock()
	defer l.scope.Submitting.Unlock()
	last := l.reported()
	eachPoisonedAccess(l.scope, &l.Outer, l.member, func(t poisonedAccess) {
		if last == 0 {
			g.addPoison(t, e)
		} else {
			g.reported = append(g.reported, reportedPoison{t, e, last})
		}
	})
	w.fail(l.scope, &l.Outer, e, last)
}

// reported returns the last task that was submitted before a wait reported the failure of l, which
// may have waited longer than its task. It returns 0 if there was no such wait.
// Requires: submitting held.
func (l *link) reported() deps.TaskID {
	last, waited := l.member.reported(), l.scope.Graph.waited
	if l.inside.Load() != nil && waited >= l.Outer.ID && (last == 0 || waited < last) {
		return waited
	}
	return last
}

// complete completes node n in scope s, which belongs to a link or to a task with early release. e
// is its failure or nil.
func (w *successors) complete(s *Scope, n *deps.Node, member *Group, e *Error) {
	if e == nil {
		s.Graph.Domain.Finish(n, w.add)
		return
	}
	s.Submitting.Lock()
	defer s.Submitting.Unlock()
	recordPoison(s, n, member, e)
	w.fail(s, n, e, 0)
}

// shutLinks ends the links of r if its body has not run, because r has failed or was skipped.
func (r *Record) shutLinks(w *successors) {
	if !r.Holds.Has(life.HeldLinks) || r.stage != linksOpen {
		return
	}
	r.stage = linksShut
	for _, l := range r.links {
		l.inside.CompareAndSwap(nil, r.err)
		l.act(l.After(deps.Shut), w)
	}
}

// AddUse records an event that keeps the task from finishing and from releasing data early.
func (o *offspring) AddUse() {
	o.Pending.Add(Holder)
	o.uses.Add(1)
}

// Uses returns the number of users of the task's data: the body and its events.
func (o *offspring) Uses() int { return int(o.uses.Load()) }

// EndUse records that the body of s, or an event of its task, does not use the data of the task any
// more. The last such call releases the data that the children do not use to other tasks.
func EndUse(s *Scope) {
	if s.uses.Add(-1) > 0 || len(s.Owner.links) == 0 {
		return
	}
	var ended, ready RecordList
	var w successors
	w.closeLinks(s)
	rt := s.RT
	rt.releaseAll(&w, s.Owner, &ended, &ready)
	for r := ended.pop(); r != nil; r = ended.pop() {
		rt.graphRelease(r, &ended, &ready)
		rt.Complete(rt.conclude(r, smp.None))
	}
	if ready.head != nil {
		rt.Schedule(nil, &ready, smp.None)
	}
}

// closeLinks ends each link of the task of s together with the children that access its region.
// Requires: the body and the events have ended their use, and no child will be submitted.
func (w *successors) closeLinks(s *Scope) {
	r := s.Owner
	e := r.err
	if e == nil {
		s.RT.Log.Failing.Lock()
		if s.Outside != nil {
			e = r.failure("", s.Outside)
		}
		s.RT.Log.Failing.Unlock()
	}
	r.stage = linksShut
	if r.Traits.Is(life.EarlyRelease) {
		r.stage = nodeOver
		w.complete(r.Scope, &r.Node, r.member, e)
	}
	var unused []*link
	s.Submitting.Lock()
	for _, l := range r.links {
		if e != nil {
			l.inside.CompareAndSwap(nil, e)
		}
		if s.Graph.Domain == nil {
			unused = append(unused, l)
			continue
		}
		if e := s.Graph.poisonOf([]deps.Access{{Region: l.Access().Region, Mode: deps.InOut}}); e != nil {
			l.inside.CompareAndSwap(nil, e)
		}
		s.Pending.Add(Holder) // until the Closer is complete
		spin.Perturb()
		if l.Close(s.Graph.Domain) {
			w.addLink(&l.Closer)
		}
	}
	s.Submitting.Unlock()
	for _, l := range unused {
		l.act(l.After(deps.Shut), w)
	}
}
