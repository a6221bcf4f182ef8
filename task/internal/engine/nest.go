package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/goid"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/state"
)

// HoldsNoTokens reports whether children may run on the stack of the body: a wait there gives its
// own tokens back, but not those of the tasks below it.
func (s *Scope) HoldsNoTokens() bool { return len(s.Owner.Settings.Tokens) == 0 }

// RunOnStack runs a child, and with more what comes after it as long as those are children, on the
// goroutine of the body: the stack grows by one task for each nesting level. Requires: lending
// held.
func (s *Scope) RunOnStack(next *Record, more bool) {
	worker, g := s.Worker, goid.Of()
	s.above.Store(g)
	defer s.above.Store(0)
	if s.Body.Load() != g { // a goroutine that the body has started
		defer smp.StandIn()()
	}
	s.Worker = smp.None // while a child has it, and from then on if the child ends the goroutine (runtime.Goexit)
	next, worker = CPU{s.RT}.runOnHost(next, worker)
	for more && next != nil && next.Scope == s && !next.Life.State().Wants() && worker != smp.None {
		next, worker = CPU{s.RT}.runOnHost(next, worker)
	}
	s.Worker = worker
	s.RT.Ready.HandOff(next)
}

// Block calls f, which may take long: until over reports true. The worker is lent meanwhile.
func (s *Scope) Block(over func() bool, f func()) {
	if !s.Lending.TryLock() {
		s.RT.Virtual.Await(over, nil)
		f()
		return
	}
	defer s.Lending.Unlock()
	if s.Worker == smp.None {
		s.RT.Virtual.Await(over, nil)
		f()
		return
	}
	s.PauseCheck()
	if v := s.RT.Virtual; v != nil {
		v.BodyWaits(over, nil, func() { s.Lend(nil) })
		f()
		s.RT.WantWorker(s)
		v.End()
	} else {
		s.Lend(nil)
		f()
		s.RT.WantWorker(s)
	}
	s.Regain()
	s.ResumeCheck()
}

// Lend gives the worker, and what it is to run next, to another goroutine. Tokens are given back:
// no task that waits holds any. Requires: lending held.
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

// Regain waits for the worker that wantWorker has requested. Requires: lending held.
func (s *Scope) Regain() {
	spin.Perturb()
	s.Worker = <-s.Resume
	s.RT.Ready.markBusy(s.Owner)
}

// RegisterWaiter records that a goroutine waits for the children, and reports whether wakeWaiter
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

// ChildFinished counts a child out, or with holder a reason, and returns the task if it has
// finished by that.
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

// End says that the body has returned: no more submissions. It returns the worker that the
// goroutine has.
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
	s.RT.StartAll(&ready)
	return s.Worker
}

// suspend takes a task that waits out of flight, with its tokens.
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

// WantWorker asks for a worker for the body of s, which has lent its own. Bodies that need tokens
// for that stand in line as ready tasks do, the others go first: they hold memory that ends with
// them.
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

// HandOff gives a task that was granted to a worker to another one, or does nothing with none.
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

// takeHandedOff returns a task that was handed to the workers, or wants one. Requires: mu held.
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

// endBody ends the part of r that its body was, and returns what the worker should run next. ran
// says that the body has run.
func (w CPU) endBody(r *Record, ran bool) (*Record, int) {
	rt := w.RT
	spin.Perturb()
	worker := r.Inner.End()
	if ran && rt.Virtual != nil && rt.Virtual.After(r.virtualCost(rt.Virtual), func() { w.endScope(r, smp.None) }) {
		return rt.Schedule(nil, nil, worker), worker
	}
	return w.endScope(r, worker)
}

// endScope is endBody when the cost of the body has passed.
func (w CPU) endScope(r *Record, worker int) (*Record, int) {
	rt := w.RT
	s := r.Inner
	// In turns nothing waits for the copies of a buffer that is dropped but a job.
	if s.Pending.Load() == Holder && len(r.links) == 0 && (rt.Virtual == nil || len(s.Memory.Fresh) == 0) {
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

// closeScope gives back what the children of r used together, and makes their failures those of r.
func (rt *Runtime) closeScope(r *Record) {
	s := r.Inner
	if r.Kind == ReplayBody {
		r.Replay.Close()
	}
	err := errors.Join(rt.Log.TakeFailures(&s.Failures), s.Outside)
	if r.err == nil && err != nil {
		r.Fail("", err)
	}
	if err := rt.Buffers.DropFresh(&s.Memory); err != nil && r.err == nil {
		r.Fail("", err)
	}
	rt.putDomain(&s.Graph)
	s.recycled.release(&rt.FreeNested)
}

// Complete ends a task whose body has finished and whose last child is; nil is none.
func (rt *Runtime) Complete(r *Record) {
	if r != nil && rt.Observers.Watched() {
		rt.Observers.observeLast(r)
	}
	switch {
	case r == nil:
	case rt.Topology.Accelerators && len(r.Inner.Memory.Fresh) > 0:
		// Dropping a buffer waits for its copies, which this goroutine may be the one to enqueue.
		rt.Background.run(func() { rt.closeScope(r); rt.RetireUnscheduled(r) })
	default:
		rt.closeScope(r)
		rt.RetireUnscheduled(r)
	}
}

// Forget drops what the graph of s knows of a buffer.
func (s *Scope) Forget(b deps.BufferID) error {
	s.Submitting.Lock()
	defer s.Submitting.Unlock()
	delete(s.Graph.Poisoned, b)
	if s.Graph.Domain == nil {
		return nil
	}
	return s.Graph.Domain.Forget(b)
}

// What follows lets the children of a task come after what its weak accesses wait for, and tasks
// after it begin before it has finished: see deps.Link.

// A link is a weak access of a task, or any access of a task with early release.
type link struct {
	deps.Link
	scope   *Scope                // where the task was submitted
	inner   *Scope                // of its body, once something was submitted there
	member  *Group                // of the task
	outside atomic.Pointer[Error] // a predecessor that failed or was skipped
	inside  atomic.Pointer[Error] // the task itself, or a child on the region
	weak    bool
}

// A linkWork is what is to do for links whose nodes have no predecessors any more.
type linkWork struct {
	nodes []*deps.Node // of links
	ended []*Record    // tasks that have finished by that
}

// blame notes that a predecessor of a node of l failed.
func (l *link) blame(n *deps.Node, e *Error) {
	if n == &l.Outer {
		l.outside.CompareAndSwap(nil, e)
	} else {
		l.inside.CompareAndSwap(nil, e)
	}
}

// failed returns why what comes after l does not run, nil if it does.
func (l *link) failed() *Error {
	if e := l.inside.Load(); e != nil {
		return e
	}
	return l.outside.Load()
}

// enterLinks enters the links of r, behind its node. Requires: the submitting of its home held.
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
		spin.Perturb()
		if l.Enter(r.Scope.Graph.Domain, r.TaskID(), a) {
			l.act(l.After(deps.Arrive), nil)
		}
	}
}

// openLinks enters the openers of the weak accesses of the task of s, whose first child is being
// submitted. Requires: submitting held.
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
			l.taintInside()
		}
	}
}

// taintInside makes the region of l undefined inside where it is outside. Requires: submitting of
// the inner scope held.
func (l *link) taintInside() {
	if e := l.outside.Load(); e != nil {
		l.inner.Graph.addPoison(poisonedAccess{region: l.Access().Region, mode: deps.InOut}, e)
	}
}

// ForgetFailures removes the taints that the children of s have left, but for those from outside.
// Requires: submitting held.
func ForgetFailures(s *Scope) {
	clear(s.Graph.Poisoned)
	if s.Program() {
		return
	}
	for _, l := range s.Owner.links {
		if l.weak && l.inner != nil && l.Passed() {
			l.taintInside()
		}
	}
}

// addLink adds a node of a link that has no predecessors any more.
func (w *successors) addLink(n *deps.Node) {
	if w.links == nil {
		w.links = &linkWork{}
	}
	w.links.nodes = append(w.links.nodes, n)
}

// advance does what is to do for links, and for those behind them.
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

// drop counts out a reason why the task of s has not finished.
func (w *successors) drop(s *Scope) {
	if r := s.ChildFinished(Holder); r != nil {
		w.links.ended = append(w.links.ended, r)
	}
}

// act completes a node of l.
func (l *link) act(a deps.LinkAction, w *successors) {
	spin.Perturb()
	switch a {
	case deps.CompleteOpener:
		s := l.inner
		w.complete(s, l.Opener(), nil, l.outside.Load())
		w.drop(s)
	case deps.CompleteOuter:
		w.complete(l.scope, &l.Outer, l.member, l.failed())
	}
}

// complete completes the node of s of a link, or of a task with early release, that failed if e
// is not nil.
func (w *successors) complete(s *Scope, n *deps.Node, member *Group, e *Error) {
	if e == nil {
		s.Graph.Domain.Finish(n, w.add)
		return
	}
	s.Submitting.Lock()
	defer s.Submitting.Unlock()
	taint(s, n, member, e)
	w.fail(s, n, member, e, false)
}

// shutLinks ends the links of r where its body has not run. r has failed, or was skipped.
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

// AddUse says that an event keeps the task from finishing, and from releasing data early.
func (o *offspring) AddUse() {
	o.Pending.Add(Holder)
	o.uses.Add(1)
}

// Uses returns how many of the body and the events may use the data of the task.
func (o *offspring) Uses() int { return int(o.uses.Load()) }

// EndUse says that the body of s, or an event of its task, does not use the data of the task any
// more. The last of them leaves what the children do not use to other tasks.
func EndUse(s *Scope) {
	if s.uses.Add(-1) > 0 || len(s.Owner.links) == 0 {
		return
	}
	var over, ready RecordList
	var w successors
	w.closeLinks(s)
	rt := s.RT
	rt.releaseAll(&w, s.Owner, &over, &ready)
	for r := over.pop(); r != nil; r = over.pop() {
		rt.graphRelease(r, &over, &ready)
		rt.Complete(rt.conclude(r, smp.None))
	}
	if ready.head != nil {
		rt.Schedule(nil, &ready, smp.None)
	}
}

// closeLinks lets the links of the task of s end with the children on their regions. Requires: the
// body and the events do not use its data any more, and no child comes.
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
