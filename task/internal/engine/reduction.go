package engine

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/hostmem"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/operator"
	"github.com/gompss/gompss/task/internal/values"
)

// This file is reductions: tasks that reduce into the same elements with the same operator run
// together, each on a private copy, and a task of ours combines the copies before the first other
// access.
//
// A private copy is a buffer of its own, of the size and layout of the one that it stands for, so
// that kernels index it as they do the other, and the directory, transfers and eviction treat it as
// any buffer. A task takes a free copy of the address space where it runs when it starts, or a new
// one, and gives it back when it ends: there are as many copies as tasks of the reduction that run
// at once. Of a copy only those elements count that some task was to reduce into; they are set to
// the neutral element when the first such task takes the copy.

// A Reduction is a group of tasks that reduce into regions that hang together.
type Reduction struct {
	Op      *operator.Reducer
	ID      deps.ReductionID
	Buffer  *memory.Buffer // of the regions; where it grows, that which it becomes a part of
	Regions deps.Set       // of all its tasks
	into    *Reduction     // the one that this was joined to
	Copies  []*PrivateCopy // guarded by ReductionPool.reducing
	members []*Group       // that wait for its combination
}

// Root returns the reduction that g has become a part of.
func (g *Reduction) Root() *Reduction {
	for g.into != nil {
		g = g.into
	}
	return g
}

// A PrivateCopy is a private copy of a buffer.
type PrivateCopy struct {
	B            *memory.Buffer
	of           *memory.Buffer // that it stands for
	set          deps.Set       // elements that tasks have reduced into, or will
	space        devices.SpaceID
	usedOnDevice bool // was on an accelerator
	Busy         bool
}

// A ReductionUse is one reduction access of one task.
type ReductionUse struct {
	Access int            // index in record.accesses
	Param  int            // of a kernel, -1 for Go tasks
	Buffer *memory.Buffer // of the access; that of the group may have grown since
	Group  *Reduction
	Copy   *PrivateCopy // while the task runs
}

// reductionID returns the number of an operator. Operators are few and are kept.
func (p *ReductionPool) reductionID(op *operator.Reducer) deps.ReductionID {
	p.reducing.Lock()
	defer p.reducing.Unlock()
	id, ok := p.Operators[op.Key]
	if !ok {
		id = deps.ReductionID(len(p.Operators) + 1)
		p.Operators[op.Key] = id
	}
	return id
}

// AddReduction notes that access i of r is a reduction with op, through parameter param of its
// kernel.
func (p *ReductionPool) AddReduction(r *Record, i, param int, b *memory.Buffer, op *operator.Reducer) {
	r.Accesses[i].Op = p.reductionID(op)
	r.Uses = append(r.Uses, ReductionUse{Access: i, Param: param, Buffer: b, Group: &Reduction{Op: op, ID: r.Accesses[i].Op, Buffer: b}})
}

var errReducedElsewhere = errors.New("the same elements are also accessed otherwise by the task")

// CheckReductions refuses accesses that private copies do not support. It comes before accesses are
// merged, which reductions are not.
func CheckReductions(r *Record) error {
	for _, u := range r.Uses {
		a := &r.Accesses[u.Access]
		for i := range r.Accesses {
			if o := &r.Accesses[i]; i != u.Access && o.Region.Overlaps(a.Region) {
				return fmt.Errorf("reduction of %v: %w", a.Region, errReducedElsewhere)
			}
		}
	}
	return nil
}

// joinReductions puts the reductions of r, which is being submitted, into the open groups of s.
// Requires: submitting held.
func (s *Scope) joinReductions(r *Record) {
	for i := range r.Uses {
		u := &r.Uses[i]
		region := r.Accesses[u.Access].Region
		var g *Reduction
		kept := s.Reductions[:0]
		for _, o := range s.Reductions {
			switch meets := o.Buffer == u.Group.Buffer && o.ID == u.Group.ID && o.Regions.Overlaps(region); {
			case meets && g != nil:
				s.RT.JoinGroups(g, o)
				continue
			case meets:
				g = o
			}
			kept = append(kept, o)
		}
		clear(s.Reductions[len(kept):])
		if s.Reductions = kept; g == nil {
			g = u.Group
			s.Reductions = append(s.Reductions, g)
		}
		u.Group = g
		g.Regions.Add(region)
		g.addMember(r.member)
	}
}

// JoinGroups makes o a part of g.
func (pp *ReductionPool) JoinGroups(g, o *Reduction) {
	for _, p := range o.Regions.Regions() {
		g.Regions.Add(p)
	}
	for _, m := range o.members {
		g.addMember(m)
	}
	pp.reducing.Lock()
	g.Copies = append(g.Copies, o.Copies...)
	o.Copies, o.into = nil, g
	pp.reducing.Unlock()
}

// CloseReductions submits the combination of every open reduction that an access of r meets, and is
// no part of; all of them when r is nil. Requires: submitting held.
func (s *Scope) CloseReductions(r *Record, ready *RecordList) {
	if len(s.Reductions) == 0 {
		return
	}
	kept := s.Reductions[:0]
	for _, g := range s.Reductions {
		if r != nil && !g.Conflicts(*r.Declared()) {
			kept = append(kept, g)
			continue
		}
		s.SubmitCombination(g, ready)
	}
	clear(s.Reductions[len(kept):])
	s.Reductions = kept
}

func (g *Reduction) Conflicts(accesses []deps.Access) bool {
	return slices.ContainsFunc(accesses, func(a deps.Access) bool {
		return (a.Mode != deps.Reduction || a.Op != g.ID) && g.Regions.Overlaps(a.Region)
	})
}

// SubmitCombination submits the task that combines the copies of g. Requires: submitting held.
func (s *Scope) SubmitCombination(g *Reduction, ready *RecordList) {
	spin.Perturb()
	rt := s.RT
	c := TakeRecord(s)
	if c.Detail == rt.Observers.None {
		detailOf(rt, c)
	}
	c.Kind, c.Group, c.Label = CombineBody, s.Group, "combine "+g.Op.Name
	for _, p := range g.Regions.Regions() {
		c.Accesses = append(c.Accesses, deps.Access{Region: p, Mode: deps.InOut})
		c.Work += deps.Bytes(p.Len()) * g.Buffer.Elem
	}
	c.Uses = append(c.Uses, ReductionUse{Group: g})
	c.member = g.innermost()
	for _, m := range others(c) {
		m.enter()
	}
	c.Item.Name = c.Label
	if c.Traits.Set(life.Simple, rt.Ready.IsSimple(c)); !c.Traits.Is(life.Simple) && !rt.Topology.CombinesUnscheduled() {
		if err := rt.Ready.Sched.Prepare(&c.Item, rt.Topology.HostOnly(), nil); err != nil {
			Bug("combination of %s: %v", g.Op.Name, err)
		}
	}
	s.commitLocked(c, ready)
}

// bindPrivates makes the reductions of r, which starts in a space, work. It reports false when r
// has failed by that.
func (p *ReductionPool) bindPrivates(r *Record, space devices.SpaceID) bool {
	if len(r.Uses) == 0 {
		return true
	}
	r.Holds.Take(life.HeldPrivates)
	if r.Kind == CombineBody {
		r.Accesses = r.Uses[0].Group.appendPrivates(r.Accesses)
		return true
	}
	if err := p.takePrivates(r, space); err != nil {
		r.Fail(space.String(), err)
		return false
	}
	return true
}

// takePrivates gives r, which starts in a space, its private copies in place of the buffers.
func (p *ReductionPool) takePrivates(r *Record, space devices.SpaceID) error {
	for i := range r.Uses {
		u := &r.Uses[i]
		a := &r.Accesses[u.Access]
		c, err := p.takePrivate(u, space)
		if err != nil {
			return err
		}
		u.Copy = c
		a.Region.Buffer, a.Mode = c.B.ID, deps.InOut
		u.Group.init(c, a.Region)
		if u.Param >= 0 {
			r.Args.List[u.Param].Buffer = c.B.ID
		}
	}
	return nil
}

// init sets those elements of r to the neutral element that no task has used yet in c: they are on
// the host alone.
func (g *Reduction) init(c *PrivateCopy, r deps.Region) {
	var missing deps.Set
	missing.Add(r)
	for _, has := range c.set.Intersect(r, nil) {
		missing.Remove(has)
	}
	for _, m := range missing.Regions() {
		g.Op.Fill(c.B.Host.At(), m)
	}
	c.set.Add(r)
}

// takePrivate returns a copy that no task uses, preferably one that is where it is wanted.
func (p *ReductionPool) takePrivate(u *ReductionUse, space devices.SpaceID) (*PrivateCopy, error) {
	spin.Perturb()
	p.reducing.Lock()
	defer p.reducing.Unlock()
	g := u.Group.Root()
	for _, c := range g.Copies {
		if !c.Busy && c.space == space && c.of == u.Buffer {
			c.Busy = true
			return c, nil
		}
	}
	c, err := p.newPrivate(u.Buffer)
	if err != nil {
		return nil, err
	}
	c.Busy, c.space, c.usedOnDevice = true, space, space != devices.Host
	g.Copies = append(g.Copies, c)
	return c, nil
}

// newPrivate returns a copy of b without values. Requires: reducing held.
func (p *ReductionPool) newPrivate(b *memory.Buffer) (*PrivateCopy, error) {
	if spare := p.Spares[b.Size()]; len(spare) > 0 {
		c := spare[len(spare)-1]
		if c.B.Elem == b.Elem {
			p.Spares[b.Size()] = spare[:len(spare)-1]
			c.of = b
			return c, nil
		}
	}
	pages, err := hostmem.Map(int(b.Size()))
	if err != nil {
		return nil, fmt.Errorf("private copy for a reduction: %w", err)
	}
	m := values.Range{Base: unsafe.Pointer(unsafe.SliceData(pages)), Len: b.Len, Cap: b.Len, Elem: b.Elem}
	own, err := p.rt.Buffers.Register(m, pages, &p.rt.Root.Memory, true)
	if err != nil {
		return nil, errors.Join(err, hostmem.Unmap(pages))
	}
	return &PrivateCopy{B: own, of: b}, nil
}

// returnPrivates gives the copies of r back to their reduction, and r its accesses.
func (p *ReductionPool) returnPrivates(r *Record) {
	p.reducing.Lock()
	defer p.reducing.Unlock()
	for i := range r.Uses {
		u := &r.Uses[i]
		if u.Copy == nil {
			continue
		}
		a := &r.Accesses[u.Access]
		a.Region.Buffer, a.Mode = u.Buffer.ID, deps.Reduction
		if u.Param >= 0 {
			r.Args.List[u.Param].Buffer = u.Buffer.ID
		}
		u.Copy.Busy, u.Copy = false, nil
	}
}

// appendPrivates appends accesses to the copies that a combination of g combines.
func (g *Reduction) appendPrivates(out []deps.Access) []deps.Access {
	for _, c := range g.Copies { // its tasks have finished: there is no other user
		for _, p := range c.set.Regions() {
			out = append(out, deps.Access{Region: p, Mode: deps.In})
		}
	}
	return out
}

// startCombination brings the copies that r combines to the host, and combines them on a goroutine
// of its own: the callback of a driver, by which they arrive, must not be kept.
func (p *ReductionPool) startCombination(r *Record) {
	rt := p.rt
	p.bindPrivates(r, devices.Host)
	r.worker = smp.None
	r.SetUp(devices.Host)
	r.Set.Ready = func(_ *machine.WorkingSet, err error) {
		if err != nil {
			r.Fail("", err)
		}
		rt.Background.run(func() { runCombination(CPU{rt}, r) })
	}
	r.Holds.Take(life.HeldData)
	if rt.Topology.Machine.Acquire(&r.Set) {
		rt.Background.run(func() { runCombination(CPU{rt}, r) })
	}
}

// runCombination runs a combination whose copies have arrived on the host, unless they have not,
// and ends it.
func runCombination(w CPU, r *Record) {
	defer func() {
		if r.err != nil {
			r.err.Device = ""
		}
		w.RT.release(r)
		w.RT.RetireUnscheduled(r)
	}()
	if r.err == nil {
		w.runOnce(r)
	}
}

// combine is the body of a combination.
func (g *Reduction) combine() {
	for _, c := range g.Copies {
		to := unsafe.Add(g.Buffer.Host.At(), c.of.Lo()-g.Buffer.Lo())
		for _, p := range c.set.Regions() {
			g.Op.Fold(to, c.B.Host.At(), p)
		}
	}
}

// keptPrivates is how many private copies of one size are kept for later reductions.
const keptPrivates = 16

// DropPrivates gives up the copies of a combination that has finished, or was skipped. Those that
// never left the host are kept for others.
func (p *ReductionPool) DropPrivates(g *Reduction) {
	rt := p.rt
	var gone []*memory.Buffer
	p.reducing.Lock()
	for _, c := range g.Copies {
		size := c.B.Size()
		if c.usedOnDevice || len(p.Spares[size]) >= keptPrivates {
			gone = append(gone, c.B)
			continue
		}
		c.set.Clear()
		c.of = nil
		p.Spares[size] = append(p.Spares[size], c)
	}
	g.Copies = nil
	p.reducing.Unlock()
	if len(gone) > 0 {
		// Dropping a buffer waits for its copies, which this goroutine may be the one to enqueue.
		rt.Background.run(func() {
			for _, b := range gone {
				rt.Buffers.Remove(b)
				rt.Log.NoteLeak(rt.Buffers.Free(b))
			}
		})
	}
}

// BytesAt returns the bytes of elements [lo, hi) of b.
func BytesAt(b *memory.Buffer, lo, hi int64) []byte {
	size := int64(b.Elem)
	return unsafe.Slice((*byte)(unsafe.Add(b.Host.At(), lo*size)), (hi-lo)*size)
}

// copyOut returns a copy of the bytes of a region of b.
func copyOut(b *memory.Buffer, r deps.Region) []byte {
	out := make([]byte, r.Len()*int64(b.Elem))
	rest := out
	for lo, hi := range r.Runs() {
		rest = rest[devices.CopyBytes(rest, BytesAt(b, lo, hi)):]
	}
	return out
}

// copyIn restores the bytes that copyOut has returned.
func copyIn(b *memory.Buffer, r deps.Region, from []byte) {
	for lo, hi := range r.Runs() {
		n := devices.CopyBytes(BytesAt(b, lo, hi), from)
		from = from[n:]
	}
}
