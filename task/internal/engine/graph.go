package engine

import (
	"slices"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/state"
)

// A graph contains the tasks in flight, their dependences, and the data that became undefined by
// failures.
//
// A task that failed or was skipped poisons the memory that it accesses: its successors are
// skipped. A successor that was submitted before the failure has an edge; one that is submitted
// later finds the poisoned access. Wait reports the failure and removes the poison.
//
// A wait, a merge and a link without a failure of its own leave no data undefined: they pass
// failures on to those successors that depend on a failed task. While such a node is in flight, a
// failure that a group has reported is kept, for the successors submitted before.
type graph struct {
	Domain   *deps.Domain                                // nil before the first task
	Poisoned map[deps.BufferID]map[poisonedAccess]*Error // guarded by Scope.Submitting
	reported []reportedPoison                            // guarded by Scope.Submitting
	// waited is the last task before the last Scope.Wait; guarded by Scope.Submitting.
	waited  deps.TaskID
	passing atomic.Int32 // nodes in flight that pass failures on
}

// A poisonedAccess is an access of a task that failed or was skipped.
type poisonedAccess struct {
	region deps.Region
	mode   deps.Mode
	op     deps.ReductionID
	Group  *Group // the group whose wait reports it
}

// A reportedPoison is a poisoned access whose failure a wait has reported: only tasks up to number
// last are skipped because of it.
type reportedPoison struct {
	poisonedAccess
	err  *Error
	last deps.TaskID
}

// orders reports whether the accesses t and a order their tasks, if they have common elements.
func (t *poisonedAccess) orders(a *deps.Access) bool {
	if t.mode != a.Mode {
		return true
	}
	return t.mode == deps.Out || t.mode == deps.InOut || t.op != a.Op
}

// poisonOf returns the error of a failed task whose accesses conflict with accesses, nil if there
// is none. Of several accesses it takes the first, and of several tasks the earliest.
func (g *graph) poisonOf(accesses []deps.Access) *Error {
	if len(g.Poisoned) == 0 {
		return nil
	}
	for _, a := range accesses {
		var first *Error
		for t, e := range g.Poisoned[a.Region.Buffer] {
			if (first == nil || e.Task < first.Task) && t.orders(&a) && t.region.Overlaps(a.Region) {
				first = e
			}
		}
		if first != nil {
			return first
		}
	}
	return nil
}

// nodeAccess returns access i of the node of r with its reduction operator, which the node does not
// store.
func (r *Record) nodeAccess(i int) deps.Access {
	a := r.Node.Access(i)
	if i < len(r.Accesses) {
		a.Op = r.Accesses[i].Op
	}
	return a
}

// accessOf returns access i of a node of a task or a link.
func accessOf(n *deps.Node, i int) deps.Access {
	if r, ok := n.Owner.(*Record); ok {
		return r.nodeAccess(i)
	}
	return n.Access(i)
}

// eachPoisonedAccess calls f for each access of node n of s, of a task in group member, as an
// access to the buffer into which its buffer has been merged by now.
func eachPoisonedAccess(s *Scope, n *deps.Node, member *Group, f func(poisonedAccess)) {
	for i := range n.Accesses() {
		a := accessOf(n, i)
		if a.Region.Empty() {
			continue
		}
		f(poisonedAccess{s.RT.Buffers.RegionNow(&s.Memory, a.Region), a.Mode, a.Op, member})
	}
}

// poisonMet is poisonOf for a submitted node of s, with the failures that were reported after its
// submission.
func poisonMet(s *Scope, n *deps.Node) *Error {
	var accesses []deps.Access
	eachPoisonedAccess(s, n, nil, func(t poisonedAccess) {
		accesses = append(accesses, deps.Access{Region: t.region, Mode: t.mode, Op: t.op})
	})
	if e := s.Graph.poisonOf(accesses); e != nil {
		return e
	}
	for i := range s.Graph.reported {
		t := &s.Graph.reported[i]
		if !submittedAfter(n, t.last) && slices.ContainsFunc(accesses, func(a deps.Access) bool { return t.orders(&a) && t.region.Overlaps(a.Region) }) {
			return t.err
		}
	}
	return nil
}

// submittedAfter reports whether n was submitted after task last. The closer of a link, which has
// the number of its task, comes after all children.
func submittedAfter(n *deps.Node, last deps.TaskID) bool {
	l, ok := n.Owner.(*link)
	return ok && n == &l.Closer || n.ID > last
}

// ForgetFailures removes the failures of g, which its wait reports.
// Requires: the submitting of home held.
func (g *Group) ForgetFailures() {
	g.last = g.RT.lastTask()
	graph := &g.Scope.Graph
	keep := graph.passing.Load() > 0
	if !keep {
		graph.reported = nil
	}
	for _, of := range graph.Poisoned {
		for t, e := range of {
			if !t.Group.Within(g) {
				continue
			}
			if keep {
				graph.reported = append(graph.reported, reportedPoison{t, e, g.last})
			}
			delete(of, t)
		}
	}
}

// lastTask returns the number of the last task that was submitted.
func (rt *Runtime) lastTask() deps.TaskID { return deps.TaskID(rt.Window.Entered.Load()) }

func (g *graph) addPoison(t poisonedAccess, e *Error) {
	of := g.Poisoned[t.region.Buffer]
	if of == nil {
		of = map[poisonedAccess]*Error{}
		if g.Poisoned == nil {
			g.Poisoned = map[deps.BufferID]map[poisonedAccess]*Error{}
		}
		g.Poisoned[t.region.Buffer] = of
	}
	if of[t] == nil {
		of[t] = e
	}
}

// graphAdd computes the predecessors of r and reports whether it has none. start is as in
// commitEdges.
// Requires: r.Scope.Submitting held.
func (rt *Runtime) graphAdd(r *Record) (ready, start bool) {
	g := rt.graphFor(r)
	if r.isStep() {
		return rt.addStep(r)
	}
	if r.Kind.Waits() {
		g.passing.Add(1)
	}
	accesses := *r.Declared()
	linked := r.Traits.Is(life.Linked)
	if linked {
		accesses = r.strong(accesses)
	}
	if e := g.poisonOf(accesses); e != nil && !r.Traits.Is(life.IgnoresFailures) {
		r.poison.Store(e)
	}
	if rt.Observers.Recorder == nil || r.Kind.Waits() {
		edges := r.enter(g.Domain, accesses)
		if linked {
			r.enterLinks()
		}
		return rt.commitEdges(r, g.Domain, edges)
	}
	id, scope := r.TaskID(), r.Scope // unless r is ready, it may finish and be recycled from here on
	scope.unreported, scope.pendingAccesses = len(accesses) > 0, accesses
	edges := g.Domain.Enter(&r.Node, accesses)
	if linked {
		r.enterLinks()
	}
	ready, start = rt.commitEdges(r, g.Domain, edges)
	if scope.unreported {
		rt.Observers.observeAccesses(scope, id, nil)
	}
	return ready, start
}

// enter enters the node of r into d. A wait and a merge use no data.
func (r *Record) enter(d *deps.Domain, accesses []deps.Access) (edges int32) {
	if r.Kind.Waits() {
		return d.EnterQuietly(&r.Node, accesses)
	}
	return d.Enter(&r.Node, accesses)
}

// commitEdges ends the submission of r, which has entered domain d with edges, and reports whether
// r is ready. If start is true, the caller launches r eagerly when it holds no lock; r stays in
// flight until then. If both are false, r may already have finished.
func (rt *Runtime) commitEdges(r *Record, d *deps.Domain, edges int32) (ready, start bool) {
	if rt.EagerQueues != nil {
		if stream := d.Behind(&r.Node); stream != 0 {
			start = rt.ClaimEagerly(r, sched.PlaceID(stream-1))
		}
	}
	return d.Settle(&r.Node, edges), start
}

// graphEnter is the part of graphAdd for an unobserved task that needs the lock. The caller adds
// the edges afterwards.
func (rt *Runtime) graphEnter(r *Record) (edges int32) {
	g := rt.graphFor(r)
	if e := g.poisonOf(r.Accesses); e != nil {
		r.poison.Store(e)
	}
	return g.Domain.Enter(&r.Node, r.Accesses)
}

// graphFor prepares the node of r and returns the graph that r belongs to.
func (rt *Runtime) graphFor(r *Record) *graph {
	g := &r.Scope.Graph
	if g.Domain == nil {
		g.Domain = rt.GetDomain(r.Scope)
		openLinks(r.Scope)
	}
	r.graphNode().ID = r.TaskID()
	return g
}

// graphNode returns the node of r with its owner set.
func (r *Record) graphNode() *deps.Node {
	if r.Node.Owner == nil {
		r.Node.Owner = r
	}
	return &r.Node
}

// GetDomain returns an empty domain for s. The domains of nested tasks are recycled with their
// memory.
func (rt *Runtime) GetDomain(s *Scope) *deps.Domain {
	d, _ := rt.domains.Get().(*deps.Domain)
	if d == nil {
		d = &deps.Domain{}
	}
	rt.Observers.observeEdges(d, s)
	if rt.EagerQueues != nil {
		d.Follow = rt.OnEagerCandidate
	}
	return d
}

// putDomain recycles the domain of a finished scope.
func (p *recordPools) putDomain(g *graph) {
	if g.Domain != nil {
		g.Domain.Reset()
		p.domains.Put(g.Domain)
		g.Domain = nil
	}
}

// graphRelease removes the edges from r, which has finished, to its successors. Successors without
// further predecessors are appended to ended if they will not run, otherwise to ready.
func (rt *Runtime) graphRelease(r *Record, ended, ready *RecordList) {
	spin.Perturb()
	var next successors
	complete := true
	if r.Holds.Has(life.HeldExclusive | life.HeldConcurrent | life.HeldLinks) {
		releaseExclusion(rt, r, ended, ready)
		r.shutLinks(&next)
		complete = r.stage != nodeOver
	}
	switch {
	case !complete:
	case r.Kind.Waits() && (r.poison.Load() != nil || r.err != nil && r.Kind == mergeBody):
		r.Scope.Graph.pass(r, &next)
	case r.err != nil && r.Kind != WaitBody:
		r.Scope.Graph.fail(r, &next)
	default:
		r.Scope.Graph.Domain.Finish(&r.Node, func(n *deps.Node) {
			if s, ok := n.Owner.(*Record); ok && s.RT.EagerQueues == nil {
				next.free.Push(s)
			} else {
				next.add(n)
			}
		})
	}
	if r.Kind.Waits() {
		r.Scope.Graph.passing.Add(-1)
	}
	if next.free.head != nil || next.eager != nil || next.links != nil {
		rt.releaseAll(&next, r, ended, ready)
	}
}

// successors collects the tasks and links that have no predecessors left after the end of a task.
type successors struct {
	free  RecordList
	eager *Record // eager tasks
	links *linkWork
}

// add adds the task of n: to eager if it was launched before its predecessors had finished,
// otherwise to free. An eager task may be in a list of the goroutine that starts it, and must be in
// no other list.
func (w *successors) add(n *deps.Node) {
	s, ok := n.Owner.(*Record)
	switch {
	case !ok:
		w.addLink(n)
	case s.RT.EagerQueues != nil && !s.Life.Release():
		s.releasedNext, w.eager = w.eager, s
	default:
		w.free.Push(s)
	}
}

// releaseAll makes the collected tasks ready, or finishes them. by is their last predecessor.
func (rt *Runtime) releaseAll(w *successors, by *Record, ended, ready *RecordList) {
	if w.links != nil {
		w.advance()
	}
	for w.eager != nil {
		s := w.eager
		w.eager, s.releasedNext = s.releasedNext, nil
		rt.predecessorsDone(s, by)
	}
	for s := w.free.pop(); s != nil; s = w.free.pop() {
		rt.makeReady(s, by, ended, ready)
	}
	if w.links != nil {
		for _, r := range w.links.ended {
			rt.Complete(r)
		}
	}
}

// fail is graphRelease for a task that failed or was skipped.
func (g *graph) fail(r *Record, w *successors) {
	spin.Perturb()
	// One critical section for submitting goroutines: they find either the edge or the poison.
	r.Scope.Submitting.Lock()
	defer r.Scope.Submitting.Unlock()
	if r.isStep() {
		r.Steps.Errs[r.Step] = r.err
	}
	recordPoison(r.Scope, &r.Node, r.member, r.err)
	w.fail(r.Scope, &r.Node, r.err, 0)
}

// pass is graphRelease for a wait or a merge whose predecessors have failed, or a merge that has
// failed. It leaves no other data undefined, so that the successors are skipped that depend on a
// failed task.
func (g *graph) pass(r *Record, w *successors) {
	spin.Perturb()
	r.Scope.Submitting.Lock()
	defer r.Scope.Submitting.Unlock()
	if r.Kind == mergeBody && r.err != nil {
		recordPoison(r.Scope, &r.Node, r.member, r.err)
	}
	w.fail(r.Scope, &r.Node, nil, 0)
}

// recordPoison records the accesses of node n of s, which failed with cause.
// Requires: submitting held.
func recordPoison(s *Scope, n *deps.Node, member *Group, cause *Error) {
	eachPoisonedAccess(s, n, member, func(t poisonedAccess) { s.Graph.addPoison(t, cause) })
}

// fail completes node n of s. Of its successors, those up to task last, or all if it is 0, are
// skipped because of cause if that is not nil; the others if they depend on a failed task.
// Requires: submitting held.
func (w *successors) fail(s *Scope, n *deps.Node, cause *Error, last deps.TaskID) {
	s.Graph.Domain.Complete(n, func(next *deps.Node, ready bool) {
		e := cause
		if e == nil || last > 0 && submittedAfter(next, last) {
			e = poisonMet(s, next)
		}
		if e != nil {
			blame(next, e)
		}
		if ready {
			w.add(next)
		}
	})
}

// blame makes e the reason why the task of n, or the successors of its link, are skipped.
func blame(n *deps.Node, e *Error) {
	if r, ok := n.Owner.(*Record); ok {
		r.poison.CompareAndSwap(nil, e)
	} else {
		n.Owner.(*link).blame(n, e)
	}
}

// KeepUnordered keeps alive the memory that r uses without an ordering access, while r is in
// flight.
func (r *Record) KeepUnordered() {
	for i := range r.Args.List {
		if a := &r.Args.List[i]; a.InMemory() && (r.Traits.Is(life.OrderOnly) || !ordered(r.Accesses, a.Buffer)) {
			r.keepUnordered(r.RT.Buffers.ByID(a.Buffer))
		}
	}
}

func (r *Record) keepUnordered(b *memory.Buffer) {
	b.BeginUnordered()
	r.unordered = append(r.unordered, b)
}

// KeepBuffers is KeepUnordered for a task that uses these buffers.
func (r *Record) KeepBuffers(list []*memory.Buffer) {
	for _, b := range list {
		if !ordered(r.Accesses, b.ID) {
			r.keepUnordered(b)
		}
	}
}

// ordered reports whether accesses, all of them not empty, contain an access to buffer id.
func ordered(accesses []deps.Access, id deps.BufferID) bool {
	for i := range accesses {
		if a := &accesses[i]; a.Region.Buffer == id && !a.Region.Empty() {
			return true
		}
	}
	return false
}

// UsesBuffer reports whether a task in flight of s uses b, or a task that the runtime will submit.
// Requires: submitting held.
func UsesBuffer(s *Scope, b *memory.Buffer) bool {
	return s.Graph.Domain != nil && s.Graph.Domain.Uses(b.ID) || slices.ContainsFunc(s.Reductions, func(g *Reduction) bool { return g.Buffer == b })
}

func PrepareStep(hq *readyQueues, r *Record) error {
	if r.Traits.Set(life.Simple, hq.IsSimple(r)); r.Traits.Is(life.Simple) || r.Kind == CombineBody && hq.Topology.CombinesUnscheduled() {
		return nil
	}
	if r.Item.Name = r.Name(); r.Kernel != nil {
		r.Item.Version = r.Kernel.Name
	}
	return hq.Sched.Prepare(&r.Item, r.Item.Allowed, r.Settings.Tokens)
}

// addStep is graphAdd for a step of an iteration, whose predecessors are known.
func (rt *Runtime) addStep(r *Record) (ready, start bool) {
	w, d, scope := r.Steps, r.Scope.Graph.Domain, r.Scope
	w.Refs[r.Step] = r.Node.Ref()
	w.preds = w.preds[:0]
	for _, p := range w.Before(r.Step) {
		w.preds = append(w.preds, w.Refs[p])
		if e := w.Errs[p]; e != nil {
			r.poison.CompareAndSwap(nil, e)
		}
	}
	if last := w.Last; last != nil {
		last.Scope.Submitting.Lock() // a predecessor that fails has its error here, or passes it on by the edge
		defer last.Scope.Submitting.Unlock()
		for _, p := range w.Across(r.Step) {
			w.preds = append(w.preds, last.Refs[p])
			if e := last.Errs[p]; e != nil {
				r.poison.CompareAndSwap(nil, e)
			}
		}
	}
	if rt.Observers.Recorder == nil || r.Kind.Waits() {
		return rt.commitEdges(r, d, d.EnterAfter(&r.Node, w.preds))
	}
	id := r.TaskID() // unless r is ready, it may finish and be recycled from here on
	scope.unreported, scope.pendingAccesses = true, *r.Declared()
	ready, start = rt.commitEdges(r, d, d.EnterAfter(&r.Node, w.preds))
	rt.Observers.observeAccesses(scope, id, nil)
	return ready, start
}

// StartBehind starts r, a replay, before its predecessor p, the replay before, has finished, if
// nothing else delays it, and reports whether it did: the steps of r follow those of p one by one.
// Started is called before the steps are submitted.
// Requires: a hold of p, which StartBehind takes over if it reports true.
func StartBehind(r, p *Record, started func()) bool {
	rt := r.RT
	rt.Root.Submitting.Lock()
	behind := !rt.Window.Full() && r.Life.State() == state.Blocked && r.poison.Load() == nil && r.Node.OnlyAfter(&p.Node)
	if behind {
		r.Life.Enter(state.Launch)
		started()
	}
	rt.Root.Submitting.Unlock()
	if behind {
		inner := p.Inner
		rt.Background.run(func() {
			r.Replay.Start(r)
			Unhold(inner)
		})
	}
	return behind
}

// Hold keeps the task of a replay, whose steps were all submitted, from finishing. It reports false
// if all steps have finished. Requires: the scope of the steps is not closed meanwhile.
func (o *offspring) Hold() bool {
	for {
		n := o.Pending.Load()
		if n == 0 {
			return false
		}
		if o.Pending.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Unhold ends a hold.
func Unhold(s *Scope) { s.RT.Complete(s.ChildFinished(1)) }

// replayReleased records that the predecessors of r, a replay that was started behind them, have
// finished. by is the last of them.
func replayReleased(r, by *Record) {
	rt := r.RT
	if rt.Observers.Watched() {
		rt.Observers.observeReady(r, by)
	}
	inner := r.Inner
	held := inner.Hold() // otherwise r may finish, and be another task, after the event
	switch {
	case r.Life.Race(state.Release) == state.End:
		finishReplay(r)
	case held:
		r.Replay.Released()
		Unhold(inner)
	}
}

// finishReplay ends r, a replay that was started behind its predecessors.
func finishReplay(r *Record) {
	if via := r.poison.Load(); via != nil {
		r.skip(via)
	}
	closeComplete(r)
}
