package task

import (
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// A graph is the tasks in flight, their dependences, and the data that became undefined by
// failures.
//
// A task that failed or was skipped leaves taints: its successors do not run, whether they were
// submitted before it had finished, and have an edge, or after, and meet the taint. Wait reports
// the failure and removes the taints.
type graph struct {
	domain   *deps.Domain                                // nil before the first task
	poisoned map[deps.BufferID]map[poisonedAccess]*Error // guarded by Scope.submitting
}

// A poisonedAccess is an access of a task that failed or was skipped.
type poisonedAccess struct {
	region deps.Region
	mode   deps.Mode
	op     deps.ReductionID
	group  *Group // whose wait reports it
}

// orders reports whether a task that accesses common elements as a comes after, or before, the one
// that t is of.
func (t *poisonedAccess) orders(a *deps.Access) bool {
	if t.mode != a.Mode {
		return true
	}
	return t.mode == deps.Out || t.mode == deps.InOut || t.op != a.Op
}

// poisonOf returns the error of a task whose accesses conflict with some of accesses, nil if there
// is none: of the first of these, that of the earliest task.
func (g *graph) poisonOf(accesses []deps.Access) *Error {
	if len(g.poisoned) == 0 {
		return nil
	}
	for _, a := range accesses {
		var first *Error
		for t, e := range g.poisoned[a.Region.Buffer] {
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

// addFailed remembers the accesses of r, which failed or was skipped.
func (g *graph) addFailed(r *record) {
	r.eachPoisonedAccess(func(t poisonedAccess) { g.addPoison(t, r.err) })
}

// nodeAccess returns access i of the node of r, which does not keep the operators of reductions.
func (r *record) nodeAccess(i int) deps.Access {
	a := r.node.Access(i)
	if i < len(r.accesses) {
		a.Op = r.accesses[i].Op
	}
	return a
}

// eachPoisonedAccess calls f for the accesses of r, in the buffers that those of r are parts of by
// now.
func (r *record) eachPoisonedAccess(f func(poisonedAccess)) {
	for i := range r.node.Accesses() {
		a := r.nodeAccess(i)
		if a.Region.Empty() {
			continue
		}
		f(poisonedAccess{r.rt.buffers.RegionNow(&r.scope.memory, a.Region), a.Mode, a.Op, r.member})
	}
}

func (g *graph) addPoison(t poisonedAccess, e *Error) {
	of := g.poisoned[t.region.Buffer]
	if of == nil {
		of = map[poisonedAccess]*Error{}
		if g.poisoned == nil {
			g.poisoned = map[deps.BufferID]map[poisonedAccess]*Error{}
		}
		g.poisoned[t.region.Buffer] = of
	}
	if of[t] == nil {
		of[t] = e
	}
}

// graphAdd finds the predecessors of r and reports whether it has none. start is as in settle.
// Requires: the submitting of its home held.
func (rt *Runtime) graphAdd(r *record) (ready, start bool) {
	g := rt.graphFor(r)
	if r.isStep() {
		return rt.addStep(r)
	}
	accesses := *r.declared()
	if e := g.poisonOf(accesses); e != nil && !r.traits.Is(life.IgnoresFailures) {
		r.poison.Store(e)
	}
	if rt.observers.recorder == nil || r.kind.waits() {
		return rt.settle(r, g.domain, g.domain.Enter(&r.node, accesses))
	}
	id, scope := r.taskID(), r.scope // unless it is ready, r may be over and gone from here on
	scope.unreported, scope.pendingAccesses = len(accesses) > 0, accesses
	ready, start = rt.settle(r, g.domain, g.domain.Enter(&r.node, accesses))
	if scope.unreported {
		rt.observers.observeAccesses(scope, id, nil)
	}
	return ready, start
}

// settle ends the submission of r, which has entered domain d with edges, and reports whether r is
// ready. start says that the caller starts it behind its predecessors, when it holds no lock: r is
// in flight until then, and may be gone where both are false.
func (rt *Runtime) settle(r *record, d *deps.Domain, edges int32) (ready, start bool) {
	if rt.eagerQueues != nil {
		if stream := d.Behind(&r.node); stream != 0 {
			start = rt.claimEagerly(r, sched.PlaceID(stream-1))
		}
	}
	return d.Settle(&r.node, edges), start
}

// graphEnter is the part of graphAdd, for an unobserved task, that needs the lock: its edges are
// still to be added.
func (rt *Runtime) graphEnter(r *record) (edges int32) {
	g := rt.graphFor(r)
	if e := g.poisonOf(r.accesses); e != nil {
		r.poison.Store(e)
	}
	return g.domain.Enter(&r.node, r.accesses)
}

// graphFor prepares the node of r for the graph that it belongs to.
func (rt *Runtime) graphFor(r *record) *graph {
	g := &r.scope.graph
	if g.domain == nil {
		g.domain = rt.getDomain(r.scope)
	}
	r.graphNode().ID = r.taskID()
	return g
}

// graphNode returns the node of r, which knows whose it is.
func (r *record) graphNode() *deps.Node {
	if r.node.Owner == nil {
		r.node.Owner = r
	}
	return &r.node
}

// getDomain returns an empty domain for s. Those of nested tasks are used again and again, with
// their memory.
func (rt *Runtime) getDomain(s *Scope) *deps.Domain {
	d, _ := rt.domains.Get().(*deps.Domain)
	if d == nil {
		d = &deps.Domain{}
	}
	rt.observers.observeEdges(d, s)
	if rt.eagerQueues != nil {
		d.Follow = rt.onEagerCandidate
	}
	return d
}

// putDomain gives back the domain of a scope that has finished.
func (p *recordPools) putDomain(g *graph) {
	if g.domain != nil {
		g.domain.Reset()
		p.domains.Put(g.domain)
		g.domain = nil
	}
}

// graphRelease tells the successors of r that it has finished: those that wait for nothing more go
// to over when they are not to run, else to ready.
func (rt *Runtime) graphRelease(r *record, over, ready *recordList) {
	spin.Perturb()
	if r.holds.Has(life.HeldExclusive | life.HeldConcurrent) {
		rt.releaseExclusion(r, over, ready)
	}
	var free recordList
	var led *record
	if r.kind == mergeBody && (r.err != nil || r.poison.Load() != nil) {
		r.scope.graph.releaseMerge(r, &free, &led)
	} else if r.err != nil && (r.kind != waitBody || r.poison.Load() != nil) {
		r.scope.graph.fail(r, &free, &led)
	} else {
		r.scope.graph.domain.Finish(&r.node, func(s *deps.Node) { s.Owner.(*record).releaseSuccessor(&free, &led) })
	}
	for led != nil {
		s := led
		led, s.releasedNext = s.releasedNext, nil
		rt.predecessorsDone(s, r)
	}
	for s := free.pop(); s != nil; s = free.pop() {
		rt.makeReady(s, r, over, ready)
	}
}

// releaseSuccessor puts s, whose predecessors have finished, into led if it follows, else into
// free. One that follows may be on the list of the goroutine that starts it, and must be put on no
// other.
func (s *record) releaseSuccessor(free *recordList, led **record) {
	if s.rt.eagerQueues != nil && !s.life.Release() {
		s.releasedNext, *led = *led, s
	} else {
		free.push(s)
	}
}

// fail is graphRelease for a task that failed or was skipped. A wait leaves nothing undefined, but
// other goroutines may have submitted tasks that come after the wait alone: the failure that it has
// met reaches them through it.
func (g *graph) fail(r *record, free *recordList, led **record) {
	spin.Perturb()
	// One step for submitting goroutines: they find the edge, or the poison.
	r.scope.submitting.Lock()
	defer r.scope.submitting.Unlock()
	cause := r.err
	if r.kind == waitBody {
		cause = r.poison.Load()
	} else {
		g.addFailed(r)
	}
	if r.isStep() {
		r.graphReplay.errs[r.step] = r.err
	}
	g.domain.Complete(&r.node, func(n *deps.Node, last bool) {
		s := n.Owner.(*record)
		s.poison.CompareAndSwap(nil, cause)
		if s.kind == mergeBody {
			s.addPoisonedInput(r, cause)
		}
		if last {
			s.releaseSuccessor(free, led)
		}
	})
}

// keepUnordered keeps the memory alive, while r is in flight, that it uses without an access that
// orders it.
func (r *record) keepUnordered() {
	for i := range r.args.List {
		if a := &r.args.List[i]; a.InMemory() && (r.traits.Is(life.OrderOnly) || !ordered(r.accesses, a.Buffer)) {
			b := r.rt.buffers.ByID(a.Buffer)
			b.Users.Add(1)
			r.unordered = append(r.unordered, b)
		}
	}
}

// ordered reports whether one of accesses, none of which is empty, is to a buffer.
func ordered(accesses []deps.Access, id deps.BufferID) bool {
	for i := range accesses {
		if a := &accesses[i]; a.Region.Buffer == id && !a.Region.Empty() {
			return true
		}
	}
	return false
}

// usesBuffer reports whether a task in flight of s uses b, or one that the runtime itself will
// submit. Requires: submitting held.
func (s *Scope) usesBuffer(b *memory.Buffer) bool {
	return s.graph.domain != nil && s.graph.domain.Uses(b.ID) || slices.ContainsFunc(s.reductions, func(g *reduction) bool { return g.buffer == b })
}
