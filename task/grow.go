package task

import (
	"errors"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/values"
)

// This file lets buffers grow. Memory that overlaps buffers without lying in one of them makes a
// buffer around all of it; the buffers that it overlaps become parts of that one.
//
// A part keeps its number, its regions and its mirrors for the tasks that use it already. A task of
// the runtime, the merge, accesses every part and the same elements of the larger buffer: it comes
// after the tasks that use the parts, brings what devices have of the parts to the host, and comes
// before the tasks that use the larger buffer. Then the parts are forgotten. The merge is submitted
// with the first task that is committed after the growth, so a buffer may grow where no lock of
// submission is held. Open reductions of the parts become those of the larger buffer: tasks that
// have copies for a part and tasks that have copies for all of it are combined together. What
// children of a task use is another scope's: they continue with the part that their parent
// accesses.

// bounded returns m with the capacity that ends where the next buffer begins, and the buffers that
// overlap the elements of m, by address. Requires: mu held, no buffer around m.
func (t *buffers) bounded(m values.Range) (values.Range, []*buffer) {
	lo, hi := uintptr(m.Base), uintptr(m.Base)+uintptr(m.Size())
	var parts []*buffer
	at := lo
	for {
		s := t.load().tree.After(at)
		if s == nil {
			return m, parts
		}
		if s.Lo >= hi {
			m.Cap = min(m.Cap, int64((s.Lo-lo)/uintptr(m.Elem)))
			return m, parts
		}
		parts, at = append(parts, s.Value), s.Hi
	}
}

// around returns the memory of m and of parts. Errors: *ElementError, *OverlapError where one of
// them cannot become a part.
func around(m values.Range, parts []*buffer, owner *Scope) (values.Range, error) {
	base, hi := m.Base, uintptr(m.Base)+uintptr(m.Cap)*uintptr(m.Elem)
	if first := parts[0]; first.lo() < uintptr(base) {
		base = first.host.At()
	}
	hi = max(hi, parts[len(parts)-1].hi())
	for _, p := range parts {
		switch {
		case p.elem != m.Elem || (p.lo()-uintptr(base))%uintptr(m.Elem) != 0 || (uintptr(m.Base)-uintptr(base))%uintptr(m.Elem) != 0:
			return m, &ElementError{Have: p.elem, Want: m.Elem}
		case p.pages != nil || p.owner != owner || p.dropping.Load():
			return m, &OverlapError{uintptr(m.Base), uintptr(m.Base) + uintptr(m.Size()), p.lo(), p.hi()}
		}
	}
	n := int64((hi - uintptr(base)) / uintptr(m.Elem))
	return values.Range{Base: base, Len: n, Cap: n, Elem: m.Elem}, nil
}

// setParts makes parts those of b, before b is found: children of a task that accesses a part look
// for it, and a task that uses b comes after the merge. Requires: mu held.
func (b *buffer) setParts(parts []*buffer) {
	for _, p := range parts {
		p.grown.Store(b)
	}
	b.parts.Store(&parts)
	b.owner.unmerged = append(b.owner.unmerged, b)
	b.owner.growths.Add(1)
	spin.Perturb()
}

// retireParts ends the use of parts as buffers of their own: the buffer that they are parts of is
// in the table in their place. Requires: mu held.
func (t *buffers) retireParts(parts []*buffer) {
	spin.Perturb()
	for _, p := range parts {
		t.count(p, -1)
		p.gone.Store(true)
		p.retire()
		t.recent.forget(p)
		if s := p.owner; !s.program() {
			s.fresh = slices.DeleteFunc(s.fresh, func(o *buffer) bool { return o == p })
		}
	}
}

// movedIn reports whether new tasks of s use another buffer that b has become a part of. Children
// of a task that accesses b continue with b.
func (b *buffer) movedIn(s *Scope) bool { return b.owner == s && b.moved.Load() }

// target returns the buffer that b is a part of by now, and where b begins in it.
func (b *buffer) target() (*buffer, int64) {
	shift := int64(0)
	for b.moved.Load() {
		g := b.grown.Load()
		shift += int64((b.lo() - g.lo()) / uintptr(b.elem))
		b = g
	}
	return b, shift
}

// movedRegion returns a region of b as one of the buffer that b is a part of by now.
func (b *buffer) movedRegion(r deps.Region) deps.Region {
	to, shift := b.target()
	r.Buffer = to.id
	return r.Translate(shift)
}

// regionNow returns a region that a task of s accesses as one of the buffer that new tasks of s use
// for it.
func (s *Scope) regionNow(r deps.Region) deps.Region {
	if b := s.rt.buffers.ofID(r.Buffer); b != nil && b.movedIn(s) {
		return b.movedRegion(r)
	}
	return r
}

// inside reports whether b has become a part of o, or of a part of it.
func (b *buffer) inside(o *buffer) bool {
	for b != nil && b != o {
		b = b.grown.Load()
	}
	return b == o
}

// view returns the buffer that children in s use for m, of which b is the buffer: where b has grown
// since the task of s was submitted, the part of it that the task accesses, as its other children
// do. Error: *OverlapError where m reaches out of that part.
func (s *Scope) view(m values.Range, b *buffer, at int64) (*buffer, int64, error) {
	if s.program() || b.parts.Load() == nil {
		return b, at, nil
	}
	lo, hi := uintptr(m.Base), uintptr(m.Base)+uintptr(m.Size())
	for i := range s.owner.accesses {
		p := s.rt.buffers.ofID(s.owner.accesses[i].Region.Buffer)
		switch {
		case p == nil || p == b || !p.inside(b) || hi <= p.lo() || p.hi() <= lo:
		case p.lo() <= lo && hi <= p.hi():
			return p, int64((lo - p.lo()) / uintptr(p.elem)), nil
		default:
			return nil, 0, &OverlapError{lo, hi, p.lo(), p.hi()}
		}
	}
	return b, at, nil
}

// ofID returns the buffer of an id, nil where there is none.
func (t *buffers) ofID(id deps.BufferID) *buffer {
	table := t.load()
	return table.get(id)
}

// catchUp submits the merges that are due before r, and lets r use the larger buffers. Requires:
// submitting held.
func (s *Scope) catchUp(r *record, ready *recordList) {
	if s.submitMerges(ready) || r.kind == kernelBody && r.merged != s.merged.Load() {
		r.followGrowth()
	}
}

// submitMerges submits the merges of the buffers of s that have grown, and reports whether there
// were any. Requires: submitting held.
func (s *Scope) submitMerges(ready *recordList) bool {
	if s.growths.Load() == s.merged.Load() {
		return false
	}
	t := &s.rt.buffers
	t.mu.Lock()
	list := s.unmerged
	s.unmerged = nil
	s.merged.Store(s.growths.Load())
	t.mu.Unlock()
	for _, b := range list {
		s.submitMerge(b, ready)
	}
	return true
}

// submitMerge submits the merge of b. Requires: submitting held.
func (s *Scope) submitMerge(b *buffer, ready *recordList) {
	spin.Perturb()
	c := s.takeRecord()
	if c.detail == s.rt.observers.none {
		s.rt.detail(c)
	}
	c.kind, c.traits, c.group, c.label, c.mergeTarget = mergeBody, life.Traits(life.IgnoresFailures), s.group, "grow buffer", b
	for _, p := range *b.parts.Load() {
		at := int64((p.lo() - b.lo()) / uintptr(b.elem))
		c.accesses = append(c.accesses, deps.Access{Region: p.whole(), Mode: deps.InOut}, deps.Access{Region: b.span(at, at+p.len), Mode: deps.InOut})
	}
	for _, p := range *b.parts.Load() {
		p.moved.Store(true)
		s.graph.movePoison(p)
	}
	for _, g := range s.reductions { // more tasks may join them; their combinations come after the merge
		if g.buffer.movedIn(s) {
			g.followGrowth()
		}
	}
	s.commitLocked(c, ready)
}

// movePoison makes the taints of p those of the buffer that it has become a part of.
func (g *graph) movePoison(p *buffer) {
	of := g.poisoned[p.id]
	delete(g.poisoned, p.id)
	for t, e := range of {
		t.region = p.movedRegion(t.region)
		g.addPoison(t, e)
	}
}

// followGrowth makes accesses of a new task of s those to the buffers that theirs have become parts
// of. Requires: submitting held since they were found.
func (s *Scope) followGrowth(accesses []deps.Access) {
	for i := range accesses {
		accesses[i].Region = s.regionNow(accesses[i].Region)
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
		if u := &r.uses[i]; u.buffer.movedIn(r.scope) {
			u.buffer, _ = u.buffer.target()
			u.group.buffer = u.buffer
		}
	}
	for i := range r.args.List {
		if a := &r.args.List[i]; a.InMemory() {
			if b := t.ofID(a.Buffer); b != nil && b.movedIn(r.scope) {
				b.moveArg(a)
			}
		}
	}
}

// moveArg makes a, which is in b, one that is in the buffer that b has become a part of.
func (b *buffer) moveArg(a *devices.Arg) {
	if b != nil && b.moved.Load() {
		to, shift := b.target()
		a.Buffer, a.Offset = to.id, a.Offset+deps.Bytes(shift)*to.elem
	}
}

// errGrown means that a buffer that an iteration uses has grown.
var errGrown = errors.New("gompss: a buffer of an iteration has grown")

// followGrowth makes the steps use the buffers that theirs have become parts of. No replay may be
// in flight then, so it waits for them.
func (it *Iteration) followGrowth() error {
	root := &it.rt.root
	if !slices.ContainsFunc(it.buffers, func(b *buffer) bool { return b.grown.Load() != nil }) {
		return nil
	}
	if err := it.waitIdle(); err != nil {
		return err
	}
	root.endReductions() // and merges what has grown
	it.recording.followGrowth()
	return nil
}

// followGrowth makes the steps use the buffers that theirs have become parts of.
func (l *recording) followGrowth() {
	parts := map[deps.BufferID]*buffer{} // the table may not have them any more
	var kept []*buffer
	for _, b := range l.buffers {
		to, _ := b.target()
		if to != b {
			parts[b.id] = b
			l.hold.add(&to.owner.rt.buffers, to)
		}
		if !slices.Contains(kept, to) {
			kept = append(kept, to)
		}
	}
	l.buffers = kept
	move := func(list []deps.Access) {
		for i := range list {
			if b := parts[list[i].Region.Buffer]; b != nil {
				list[i].Region = b.movedRegion(list[i].Region)
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
					parts[a.Buffer].moveArg(a)
				}
			}
			for k := range d.uses {
				u := &d.uses[k]
				u.buffer, _ = u.buffer.target()
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
	to, _ := from.target()
	if to == from {
		return
	}
	g.buffer = to
	var moved deps.Set
	for _, r := range g.regions.Regions() {
		moved.Add(from.movedRegion(r))
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
		r.poisonedInputs = append(r.poisonedInputs, poisonedInput{poisonedAccess{r.mergeTarget.whole(), deps.InOut, 0, nil}, r.err})
		g.addFailed(r)
	}
	g.domain.Complete(&r.node, func(n *deps.Node, last bool) {
		s := n.Owner.(*record)
		for i := range s.node.Accesses() {
			a := s.nodeAccess(i)
			region := r.scope.regionNow(a.Region)
			for _, t := range r.poisonedInputs { // the buffer may have grown again since they were noted, or since s was submitted
				if t.orders(&a) && r.scope.regionNow(t.region).Overlaps(region) {
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
func (rt *Runtime) endMerge(scope *Scope, b *buffer) {
	parts := *b.parts.Load()
	scope.submitting.Lock()
	b.parts.Store(nil)
	for _, p := range parts {
		delete(scope.graph.poisoned, p.id)
		if err := scope.graph.domain.Forget(p.id); err != nil {
			rt.bug("a buffer has grown whose parts are used: %v", err)
		}
	}
	scope.submitting.Unlock()
	rt.background.run(func() { // it waits for copies, which this goroutine may be the one to enqueue
		rt.virtual.Await(rt.callers.None, nil) // active calls may need turns to end
		rt.callers.WaitForCurrent()
		for _, p := range parts {
			rt.log.noteLeak(rt.buffers.freePart(p))
		}
	})
}

// freePart gives up a part whose merge has finished. Its number is not used again, so that the
// numbers of buffers do not depend on when.
func (t *buffers) freePart(p *buffer) error {
	err := t.dropPart(p)
	t.mu.Lock()
	table := t.load()
	table.byID[p.id].Store(nil)
	t.mu.Unlock()
	p.host.Stop()
	return err
}
