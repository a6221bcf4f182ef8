package engine

import (
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// A graph contains the tasks in flight, their dependences, and the data that became undefined by
// failures.
//
// A task that failed or was skipped poisons the memory that it accesses: its successors are
// skipped. A successor that was submitted before the failure has an edge; one that is submitted
// later finds the poisoned access. Wait reports the failure and removes the poison.
type graph struct {
	Domain   *deps.Domain                                // nil before the first task
	Poisoned map[deps.BufferID]map[poisonedAccess]*Error // guarded by Scope.Submitting
}

// A poisonedAccess is an access of a task that failed or was skipped.
type poisonedAccess struct {
	region deps.Region
	mode   deps.Mode
	op     deps.ReductionID
	Group  *Group // the group whose wait reports it
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

// remembers reports whether the poisoned accesses to the buffers of r include some of the task that
// failed with cause. They do until a wait of the program, or of the group, has reported the
// failure.
func (g *graph) remembers(r *Record, cause *Error) (found bool) {
	eachPoisonedAccess(r.Scope, &r.Node, r.member, func(t poisonedAccess) {
		for _, e := range g.Poisoned[t.region.Buffer] {
			found = found || e == cause
		}
	})
	return found
}

// poisonMet is poisonOf for a submitted node of s.
func poisonMet(s *Scope, n *deps.Node) *Error {
	var accesses []deps.Access
	eachPoisonedAccess(s, n, nil, func(t poisonedAccess) {
		accesses = append(accesses, deps.Access{Region: t.region, Mode: t.mode, Op: t.op})
	})
	return s.Graph.poisonOf(accesses)
}

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
	accesses := *r.Declared()
	linked := r.Traits.Is(life.Linked)
	if linked {
		accesses = r.strong(accesses)
	}
	if e := g.poisonOf(accesses); e != nil && !r.Traits.Is(life.IgnoresFailures) {
		r.poison.Store(e)
	}
	if rt.Observers.Recorder == nil || r.Kind.Waits() {
		edges := g.Domain.Enter(&r.Node, accesses)
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
		rt.releaseExclusion(r, ended, ready)
		r.shutLinks(&next)
		complete = r.stage != nodeOver
	}
	switch {
	case !complete:
	case r.Kind == mergeBody && (r.err != nil || r.poison.Load() != nil):
		r.Scope.Graph.releaseMerge(r, &next)
	case r.err != nil && (r.Kind != WaitBody || r.poison.Load() != nil):
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

// fail is graphRelease for a task that failed or was skipped. A wait leaves no data undefined, but
// other goroutines may have submitted tasks that depend on the wait only; they receive the failure
// from it.
func (g *graph) fail(r *Record, w *successors) {
	spin.Perturb()
	// One critical section for submitting goroutines: they find either the edge or the poison.
	r.Scope.Submitting.Lock()
	defer r.Scope.Submitting.Unlock()
	cause := r.err
	if r.Kind == WaitBody {
		cause = r.poison.Load()
		w.fail(r.Scope, &r.Node, r.member, cause, g.remembers(r, cause))
		return
	}
	if r.isStep() {
		r.Steps.Errs[r.Step] = r.err
	}
	recordPoison(r.Scope, &r.Node, r.member, cause)
	w.fail(r.Scope, &r.Node, r.member, cause, false)
}

// recordPoison records the accesses of node n of s, which failed with cause.
// Requires: submitting held.
func recordPoison(s *Scope, n *deps.Node, member *Group, cause *Error) {
	eachPoisonedAccess(s, n, member, func(t poisonedAccess) { s.Graph.addPoison(t, cause) })
}

// fail completes node n of s, of a task in group member, whose successors are skipped because of
// cause. If remembered is true, n is a wait, and the poisoned accesses determine which successors
// are skipped.
// Requires: submitting held.
func (w *successors) fail(s *Scope, n *deps.Node, member *Group, cause *Error, remembered bool) {
	s.Graph.Domain.Complete(n, func(next *deps.Node, last bool) {
		r, _ := next.Owner.(*Record)
		merge := r != nil && r.Kind == mergeBody
		poison := cause
		if remembered && !merge {
			poison = poisonMet(s, next)
		}
		if poison != nil {
			blame(next, poison)
		}
		if merge {
			r.addPoisonedInput(s, n, member, cause)
		}
		if last {
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
func (s *Scope) UsesBuffer(b *memory.Buffer) bool {
	return s.Graph.Domain != nil && s.Graph.Domain.Uses(b.ID) || slices.ContainsFunc(s.Reductions, func(g *Reduction) bool { return g.Buffer == b })
}

func (hq *readyQueues) PrepareStep(r *Record) error {
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
	if rt.Observers.Recorder == nil || r.Kind.Waits() {
		return rt.commitEdges(r, d, d.EnterAfter(&r.Node, w.preds))
	}
	id := r.TaskID() // unless r is ready, it may finish and be recycled from here on
	scope.unreported, scope.pendingAccesses = true, *r.Declared()
	ready, start = rt.commitEdges(r, d, d.EnterAfter(&r.Node, w.preds))
	rt.Observers.observeAccesses(scope, id, nil)
	return ready, start
}
