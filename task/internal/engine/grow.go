package engine

import (
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// This file submits the tasks that merge buffers which have grown: see growth.go of package memory.

// CatchUp submits the merges that must precede r, and makes r use the merged buffers.
// Requires: submitting held.
func (s *Scope) CatchUp(r *Record, ready *RecordList) {
	if s.SubmitMerges(ready) || r.Kind == KernelBody && r.Merged != s.Memory.Merged.Load() {
		r.followGrowth()
	}
}

// SubmitMerges submits the merges of the buffers of s that have grown, and reports whether there
// were any.
// Requires: submitting held.
func (s *Scope) SubmitMerges(ready *RecordList) bool {
	list := s.RT.Buffers.TakeUnmerged(&s.Memory)
	for _, b := range list {
		s.submitMerge(b, ready)
	}
	return len(list) > 0
}

// submitMerge submits the merge into b.
// Requires: submitting held.
func (s *Scope) submitMerge(b *memory.Buffer, ready *RecordList) {
	spin.Perturb()
	c := TakeRecord(s)
	if c.Detail == s.RT.Observers.None {
		detailOf(s.RT, c)
	}
	c.Kind, c.Traits, c.Group, c.Label, c.mergeTarget = mergeBody, life.Traits(life.IgnoresFailures), s.Group, "grow buffer", b
	for _, p := range *b.Parts.Load() {
		at := int64((p.Lo() - b.Lo()) / uintptr(b.Elem))
		c.Accesses = append(c.Accesses, deps.Access{Region: p.Whole(), Mode: deps.InOut}, deps.Access{Region: b.Span(at, at+p.Len), Mode: deps.InOut})
	}
	for _, p := range *b.Parts.Load() {
		p.Moved.Store(true)
		s.Graph.movePoison(p)
		if d := s.Graph.Domain; d != nil {
			d.Inherit(b.ID, p.ID, int64((p.Lo()-b.Lo())/uintptr(b.Elem)))
		}
	}
	for _, g := range s.Reductions { // more tasks may join these reductions, which are combined after the merge
		if g.Buffer.MovedIn(&s.Memory) {
			g.FollowGrowth()
		}
	}
	s.commitLocked(c, ready)
}

// movePoison moves the poisoned accesses of p to the buffer into which p has been merged.
func (g *graph) movePoison(p *memory.Buffer) {
	of := g.Poisoned[p.ID]
	delete(g.Poisoned, p.ID)
	for t, e := range of {
		t.region = p.MovedRegion(t.region)
		g.addPoison(t, e)
	}
	for i := range g.reported {
		if t := &g.reported[i]; t.region.Buffer == p.ID {
			t.region = p.MovedRegion(t.region)
		}
	}
}

// FollowGrowth replaces the buffers of accesses, of a new task of s, by those into which they have
// been merged.
// Requires: submitting held since the accesses were found.
func (s *Scope) FollowGrowth(accesses []deps.Access) {
	for i := range accesses {
		accesses[i].Region = s.RT.Buffers.RegionNow(&s.Memory, accesses[i].Region)
	}
}

// followGrowth replaces the buffers of the accesses and arguments of r, which is being submitted,
// by those into which they have been merged.
func (r *Record) followGrowth() {
	t := &r.RT.Buffers
	r.Scope.FollowGrowth(*r.Declared())
	if r.Detail == r.RT.Observers.None {
		return
	}
	r.Scope.FollowGrowth(r.CopyAccesses)
	for i := range r.Uses {
		if u := &r.Uses[i]; u.Buffer.MovedIn(&r.Scope.Memory) {
			u.Buffer, _ = u.Buffer.Target()
			u.Group.Buffer = u.Buffer
		}
	}
	for i := range r.Args.List {
		if a := &r.Args.List[i]; a.InMemory() {
			if b := t.OfID(a.Buffer); b != nil && b.MovedIn(&r.Scope.Memory) {
				b.MoveArg(a)
			}
		}
	}
}

// FollowGrowth moves g to the buffer into which its buffer has been merged. Tasks of g in flight
// keep their buffer and private copies.
// Requires: submitting held, or no task of g in flight.
func (g *Reduction) FollowGrowth() {
	g = g.Root()
	from := g.Buffer
	to, _ := from.Target()
	if to == from {
		return
	}
	g.Buffer = to
	var moved deps.Set
	for _, r := range g.Regions.Regions() {
		moved.Add(from.MovedRegion(r))
	}
	g.Regions = moved
}

// endMerge drops the parts of b when the merge and the tasks that used them have finished. Kernels
// that are being submitted may refer to the parts until they are committed, and kernels that use of
// a part no element, but its length, until they have finished: no access orders them.
func endMerge(rt *Runtime, scope *Scope, b *memory.Buffer) {
	parts := *b.Parts.Load()
	scope.Submitting.Lock()
	b.Parts.Store(nil)
	for _, p := range parts {
		delete(scope.Graph.Poisoned, p.ID)
		if err := scope.Graph.Domain.Forget(p.ID); err != nil {
			Bug("a buffer has grown whose parts are used: %v", err)
		}
	}
	scope.Submitting.Unlock()
	rt.Background.run(func() { // it waits for copies that this goroutine may have to enqueue
		rt.Virtual.Await(rt.Callers.None, nil) // under virtual time, active calls may need a turn to end
		rt.Callers.WaitForCurrent()
		for _, p := range parts {
			rt.Virtual.Await(func() bool { return !p.Unordered() }, nil)
			p.AwaitUnordered()
			rt.Log.NoteLeak(rt.Buffers.FreePart(p))
		}
	})
}
