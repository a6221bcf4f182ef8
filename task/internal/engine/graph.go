package engine

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
	Domain   *deps.Domain                                // nil before the first task
	Poisoned map[deps.BufferID]map[poisonedAccess]*Error // guarded by Scope.Submitting
}

// A poisonedAccess is an access of a task that failed or was skipped.
type poisonedAccess struct {
	region deps.Region
	mode   deps.Mode
	op     deps.ReductionID
	Group  *Group // whose wait reports it
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

// addFailed remembers the accesses of r, which failed or was skipped.
func (g *graph) addFailed(r *Record) {
	r.eachPoisonedAccess(func(t poisonedAccess) { g.addPoison(t, r.err) })
}

// nodeAccess returns access i of the node of r, which does not keep the operators of reductions.
func (r *Record) nodeAccess(i int) deps.Access {
	a := r.Node.Access(i)
	if i < len(r.Accesses) {
		a.Op = r.Accesses[i].Op
	}
	return a
}

// eachPoisonedAccess calls f for the accesses of r, in the buffers that those of r are parts of by
// now.
func (r *Record) eachPoisonedAccess(f func(poisonedAccess)) {
	for i := range r.Node.Accesses() {
		a := r.nodeAccess(i)
		if a.Region.Empty() {
			continue
		}
		f(poisonedAccess{r.RT.Buffers.RegionNow(&r.Scope.Memory, a.Region), a.Mode, a.Op, r.member})
	}
}

// remembers reports whether accesses of the task that failed with cause are among the failed ones
// of the buffers of r: until a wait of the program, or of its group, has reported it.
func (g *graph) remembers(r *Record, cause *Error) (found bool) {
	r.eachPoisonedAccess(func(t poisonedAccess) {
		for _, e := range g.Poisoned[t.region.Buffer] {
			found = found || e == cause
		}
	})
	return found
}

// poisonMet is poisonOf for a task that was submitted before.
func (g *graph) poisonMet(r *Record) *Error {
	var accesses []deps.Access
	r.eachPoisonedAccess(func(t poisonedAccess) {
		accesses = append(accesses, deps.Access{Region: t.region, Mode: t.mode, Op: t.op})
	})
	return g.poisonOf(accesses)
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

// graphAdd finds the predecessors of r and reports whether it has none. start is as in settle.
// Requires: the submitting of its home held.
func (rt *Runtime) graphAdd(r *Record) (ready, start bool) {
	g := rt.graphFor(r)
	if r.isStep() {
		return rt.addStep(r)
	}
	accesses := *r.Declared()
	if e := g.poisonOf(accesses); e != nil && !r.Traits.Is(life.IgnoresFailures) {
		r.poison.Store(e)
	}
	if rt.Observers.Recorder == nil || r.Kind.Waits() {
		return rt.settle(r, g.Domain, g.Domain.Enter(&r.Node, accesses))
	}
	id, scope := r.TaskID(), r.Scope // unless it is ready, r may be over and gone from here on
	scope.unreported, scope.pendingAccesses = len(accesses) > 0, accesses
	ready, start = rt.settle(r, g.Domain, g.Domain.Enter(&r.Node, accesses))
	if scope.unreported {
		rt.Observers.observeAccesses(scope, id, nil)
	}
	return ready, start
}

// settle ends the submission of r, which has entered domain d with edges, and reports whether r is
// ready. start says that the caller starts it behind its predecessors, when it holds no lock: r is
// in flight until then, and may be gone where both are false.
func (rt *Runtime) settle(r *Record, d *deps.Domain, edges int32) (ready, start bool) {
	if rt.EagerQueues != nil {
		if stream := d.Behind(&r.Node); stream != 0 {
			start = rt.ClaimEagerly(r, sched.PlaceID(stream-1))
		}
	}
	return d.Settle(&r.Node, edges), start
}

// graphEnter is the part of graphAdd, for an unobserved task, that needs the lock: its edges are
// still to be added.
func (rt *Runtime) graphEnter(r *Record) (edges int32) {
	g := rt.graphFor(r)
	if e := g.poisonOf(r.Accesses); e != nil {
		r.poison.Store(e)
	}
	return g.Domain.Enter(&r.Node, r.Accesses)
}

// graphFor prepares the node of r for the graph that it belongs to.
func (rt *Runtime) graphFor(r *Record) *graph {
	g := &r.Scope.Graph
	if g.Domain == nil {
		g.Domain = rt.GetDomain(r.Scope)
	}
	r.graphNode().ID = r.TaskID()
	return g
}

// graphNode returns the node of r, which knows whose it is.
func (r *Record) graphNode() *deps.Node {
	if r.Node.Owner == nil {
		r.Node.Owner = r
	}
	return &r.Node
}

// GetDomain returns an empty domain for s. Those of nested tasks are used again and again, with
// their memory.
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

// putDomain gives back the domain of a scope that has finished.
func (p *recordPools) putDomain(g *graph) {
	if g.Domain != nil {
		g.Domain.Reset()
		p.domains.Put(g.Domain)
		g.Domain = nil
	}
}

// graphRelease tells the successors of r that it has finished: those that wait for nothing more go
// to over when they are not to run, else to ready.
func (rt *Runtime) graphRelease(r *Record, over, ready *RecordList) {
	spin.Perturb()
	if r.Holds.Has(life.HeldExclusive | life.HeldConcurrent) {
		rt.releaseExclusion(r, over, ready)
	}
	var free RecordList
	var led *Record
	if r.Kind == mergeBody && (r.err != nil || r.poison.Load() != nil) {
		r.Scope.Graph.releaseMerge(r, &free, &led)
	} else if r.err != nil && (r.Kind != WaitBody || r.poison.Load() != nil) {
		r.Scope.Graph.fail(r, &free, &led)
	} else {
		r.Scope.Graph.Domain.Finish(&r.Node, func(s *deps.Node) { s.Owner.(*Record).releaseSuccessor(&free, &led) })
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
func (s *Record) releaseSuccessor(free *RecordList, led **Record) {
	if s.RT.EagerQueues != nil && !s.Life.Release() {
		s.releasedNext, *led = *led, s
	} else {
		free.Push(s)
	}
}

// fail is graphRelease for a task that failed or was skipped. A wait leaves nothing undefined, but
// other goroutines may have submitted tasks that come after the wait alone: the failure that it has
// met reaches them through it.
func (g *graph) fail(r *Record, free *RecordList, led **Record) {
	spin.Perturb()
	// One step for submitting goroutines: they find the edge, or the poison.
	r.Scope.Submitting.Lock()
	defer r.Scope.Submitting.Unlock()
	cause := r.err
	remembered := false // for a wait: the accesses of the tasks that failed say which successors they reach
	if r.Kind == WaitBody {
		cause = r.poison.Load()
		remembered = g.remembers(r, cause)
	} else {
		g.addFailed(r)
	}
	if r.isStep() {
		r.Steps.Errs[r.Step] = r.err
	}
	g.Domain.Complete(&r.Node, func(n *deps.Node, last bool) {
		s := n.Owner.(*Record)
		poison := cause
		if remembered && s.Kind != mergeBody {
			poison = g.poisonMet(s)
		}
		if poison != nil {
			s.poison.CompareAndSwap(nil, poison)
		}
		if s.Kind == mergeBody {
			s.addPoisonedInput(r, cause)
		}
		if last {
			s.releaseSuccessor(free, led)
		}
	})
}

// KeepUnordered keeps the memory alive, while r is in flight, that it uses without an access that
// orders it.
func (r *Record) KeepUnordered() {
	for i := range r.Args.List {
		if a := &r.Args.List[i]; a.InMemory() && (r.Traits.Is(life.OrderOnly) || !ordered(r.Accesses, a.Buffer)) {
			b := r.RT.Buffers.ByID(a.Buffer)
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

// UsesBuffer reports whether a task in flight of s uses b, or one that the runtime itself will
// submit. Requires: submitting held.
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

// addStep is graphAdd for a step of an iteration: its predecessors are known.
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
		return rt.settle(r, d, d.EnterAfter(&r.Node, w.preds))
	}
	id := r.TaskID() // unless it is ready, r may be over and gone from here on
	scope.unreported, scope.pendingAccesses = true, *r.Declared()
	ready, start = rt.settle(r, d, d.EnterAfter(&r.Node, w.preds))
	rt.Observers.observeAccesses(scope, id, nil)
	return ready, start
}
