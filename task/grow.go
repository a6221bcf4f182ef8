package task

import (
	"errors"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// This file submits what the growth of buffers needs of tasks: see growth.go of package memory.

// catchUp submits the merges that are due before r, and lets r use the larger buffers. Requires:
// submitting held.
func (s *Scope) catchUp(r *record, ready *recordList) {
	if s.submitMerges(ready) || r.kind == kernelBody && r.merged != s.memory.Merged.Load() {
		r.followGrowth()
	}
}

// submitMerges submits the merges of the buffers of s that have grown, and reports whether there
// were any. Requires: submitting held.
func (s *Scope) submitMerges(ready *recordList) bool {
	list := s.rt.buffers.TakeUnmerged(&s.memory)
	for _, b := range list {
		s.submitMerge(b, ready)
	}
	return len(list) > 0
}

// submitMerge submits the merge of b. Requires: submitting held.
func (s *Scope) submitMerge(b *memory.Buffer, ready *recordList) {
	spin.Perturb()
	c := s.takeRecord()
	if c.detail == s.rt.observers.none {
		s.rt.detail(c)
	}
	c.kind, c.traits, c.group, c.label, c.mergeTarget = mergeBody, life.Traits(life.IgnoresFailures), s.group, "grow buffer", b
	for _, p := range *b.Parts.Load() {
		at := int64((p.Lo() - b.Lo()) / uintptr(b.Elem))
		c.accesses = append(c.accesses, deps.Access{Region: p.Whole(), Mode: deps.InOut}, deps.Access{Region: b.Span(at, at+p.Len), Mode: deps.InOut})
	}
	for _, p := range *b.Parts.Load() {
		p.Moved.Store(true)
		s.graph.movePoison(p)
	}
	for _, g := range s.reductions { // more tasks may join them; their combinations come after the merge
		if g.buffer.MovedIn(&s.memory) {
			g.followGrowth()
		}
	}
	s.commitLocked(c, ready)
}

// movePoison makes the taints of p those of the buffer that it has become a part of.
func (g *graph) movePoison(p *memory.Buffer) {
	of := g.poisoned[p.ID]
	delete(g.poisoned, p.ID)
	for t, e := range of {
		t.region = p.MovedRegion(t.region)
		g.addPoison(t, e)
	}
}

// followGrowth makes accesses of a new task of s those to the buffers that theirs have become parts
// of. Requires: submitting held since they were found.
func (s *Scope) followGrowth(accesses []deps.Access) {
	for i := range accesses {
		accesses[i].Region = s.rt.buffers.RegionNow(&s.memory, accesses[i].Region)
	}
}

// followGrowth makes r, which is being submitted, use the buffers that those of its accesses and
// arguments have become parts of.
func (r *record) followGrowth() {
	t := &r.rt.buffers
	r.scope.followGrowth(*r.declared())
	if r.detail == r.rt.observers.none {
		return
	}
	r.scope.followGrowth(r.copyAccesses)
	for i := range r.uses {
		if u := &r.uses[i]; u.buffer.MovedIn(&r.scope.memory) {
			u.buffer, _ = u.buffer.Target()
			u.group.buffer = u.buffer
		}
	}
	for i := range r.args.List {
		if a := &r.args.List[i]; a.InMemory() {
			if b := t.OfID(a.Buffer); b != nil && b.MovedIn(&r.scope.memory) {
				b.MoveArg(a)
			}
		}
	}
}

// errGrown means that a buffer that an iteration uses has grown.
var errGrown = errors.New("gompss: a buffer of an iteration has grown")

// followGrowth makes the steps use the buffers that theirs have become parts of. No replay may be
// in flight then, so it waits for them.
func (it *Iteration) followGrowth() error {
	root := &it.rt.root
	if !slices.ContainsFunc(it.buffers, func(b *memory.Buffer) bool { return b.Grown.Load() != nil }) {
		return nil
	}
	if err := it.waitIdle(); err != nil {
		return err
	}
	root.endReductions() // and merges what has grown
	it.recording.followGrowth(&it.rt.buffers)
	return nil
}

// followGrowth makes the steps use the buffers that theirs have become parts of.
func (l *recording) followGrowth(t *memory.Table) {
	parts := map[deps.BufferID]*memory.Buffer{} // the table may not have them any more
	var kept []*memory.Buffer
	for _, b := range l.buffers {
		to, _ := b.Target()
		if to != b {
			parts[b.ID] = b
			l.hold.Add(t, to)
		}
		if !slices.Contains(kept, to) {
			kept = append(kept, to)
		}
	}
	l.buffers = kept
	move := func(list []deps.Access) {
		for i := range list {
			if b := parts[list[i].Region.Buffer]; b != nil {
				list[i].Region = b.MovedRegion(list[i].Region)
			}
		}
	}
	move(l.accesses)
	for i := range l.steps {
		s := &l.steps[i]
		move(s.accesses)
		for _, d := range []*taskTemplate{s.template, s.requested} {
			if d == nil {
				continue
			}
			move(d.accesses)
			move(d.copyAccesses)
			for k := range d.args {
				if a := &d.args[k]; a.InMemory() {
					parts[a.Buffer].MoveArg(a)
				}
			}
			for k := range d.uses {
				u := &d.uses[k]
				u.buffer, _ = u.buffer.Target()
				u.group.followGrowth()
			}
		}
	}
	for _, g := range l.reductions {
		g.followGrowth()
	}
}

// followGrowth makes g one of the buffer that its buffer has become a part of. Tasks of g in flight
// keep the buffer and the copies that they have. Requires: submitting held, or no task of g is in
// flight.
func (g *reduction) followGrowth() {
	g = g.root()
	from := g.buffer
	to, _ := from.Target()
	if to == from {
		return
	}
	g.buffer = to
	var moved deps.Set
	for _, r := range g.regions.Regions() {
		moved.Add(from.MovedRegion(r))
	}
	g.regions = moved
}

// A poisonedInput is a taint of a task that a merge has waited for.
type poisonedInput struct {
	poisonedAccess
	err *Error
}

// addPoisonedInput notes on r, a merge, the accesses of a task that it waited for and that failed.
// Requires: submitting held.
func (r *record) addPoisonedInput(failed *record, cause *Error) {
	failed.eachPoisonedAccess(func(t poisonedAccess) { r.poisonedInputs = append(r.poisonedInputs, poisonedInput{t, cause}) })
}

// releaseMerge is graphRelease for a merge that has waited for tasks that failed, or that has
// failed itself: of its successors only those are not to run that would have waited for these
// tasks.
func (g *graph) releaseMerge(r *record, free *recordList, led **record) {
	r.scope.submitting.Lock()
	defer r.scope.submitting.Unlock()
	if r.err != nil {
		r.poisonedInputs = append(r.poisonedInputs, poisonedInput{poisonedAccess{r.mergeTarget.Whole(), deps.InOut, 0, nil}, r.err})
		g.addFailed(r)
	}
	g.domain.Complete(&r.node, func(n *deps.Node, last bool) {
		s := n.Owner.(*record)
		for i := range s.node.Accesses() {
			a := s.nodeAccess(i)
			region := r.rt.buffers.RegionNow(&r.scope.memory, a.Region)
			for _, t := range r.poisonedInputs { // the buffer may have grown again since they were noted, or since s was submitted
				if t.orders(&a) && r.rt.buffers.RegionNow(&r.scope.memory, t.region).Overlaps(region) {
					s.poison.CompareAndSwap(nil, t.err)
				}
			}
			if s.kind == mergeBody { // the buffer has grown again
				s.poisonedInputs = append(s.poisonedInputs, r.poisonedInputs...)
			}
		}
		if last {
			s.releaseSuccessor(free, led)
		}
	})
}

// endMerge forgets the parts of b: the tasks that used them, and the merge, have finished. Kernels
// that are being described may name them still, until they are committed.
func (rt *Runtime) endMerge(scope *Scope, b *memory.Buffer) {
	parts := *b.Parts.Load()
	scope.submitting.Lock()
	b.Parts.Store(nil)
	for _, p := range parts {
		delete(scope.graph.poisoned, p.ID)
		if err := scope.graph.domain.Forget(p.ID); err != nil {
			bug("a buffer has grown whose parts are used: %v", err)
		}
	}
	scope.submitting.Unlock()
	rt.background.run(func() { // it waits for copies, which this goroutine may be the one to enqueue
		rt.virtual.Await(rt.callers.None, nil) // active calls may need turns to end
		rt.callers.WaitForCurrent()
		for _, p := range parts {
			rt.log.noteLeak(rt.buffers.FreePart(p))
		}
	})
}
