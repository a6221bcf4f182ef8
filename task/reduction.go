package task

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
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

// A reduction is a group of tasks that reduce into regions that hang together.
type reduction struct {
	op      *operator.Reducer
	id      deps.ReductionID
	buffer  *memory.Buffer // of the regions; where it grows, that which it becomes a part of
	regions deps.Set       // of all its tasks
	into    *reduction     // the one that this was joined to
	copies  []*privateCopy // guarded by Runtime.reducing
	members []*Group       // that wait for its combination
}

// root returns the reduction that g has become a part of.
func (g *reduction) root() *reduction {
	for g.into != nil {
		g = g.into
	}
	return g
}

// A privateCopy is a private copy of a buffer.
type privateCopy struct {
	b            *memory.Buffer
	of           *memory.Buffer // that it stands for
	set          deps.Set       // elements that tasks have reduced into, or will
	space        devices.SpaceID
	usedOnDevice bool // was on an accelerator
	busy         bool
}

// A reductionUse is one reduction access of one task.
type reductionUse struct {
	access int            // index in record.accesses
	param  int            // of a kernel, -1 for Go tasks
	buffer *memory.Buffer // of the access; that of the group may have grown since
	group  *reduction
	copy   *privateCopy // while the task runs
}

// reductionID returns the number of an operator. Operators are few and are kept.
func (p *reductionPool) reductionID(op *operator.Reducer) deps.ReductionID {
	p.reducing.Lock()
	defer p.reducing.Unlock()
	id, ok := p.operators[op.Key]
	if !ok {
		id = deps.ReductionID(len(p.operators) + 1)
		p.operators[op.Key] = id
	}
	return id
}

// addReduction notes that access i of r is a reduction with op, through parameter param of its
// kernel.
func (p *reductionPool) addReduction(r *record, i, param int, b *memory.Buffer, op *operator.Reducer) {
	r.accesses[i].Op = p.reductionID(op)
	r.uses = append(r.uses, reductionUse{access: i, param: param, buffer: b, group: &reduction{op: op, id: r.accesses[i].Op, buffer: b}})
}

var errReducedElsewhere = errors.New("the same elements are also accessed otherwise by the task")

// checkReductions refuses what private copies cannot do. It comes before accesses are merged, which
// reductions are not.
func (r *record) checkReductions() error {
	for _, u := range r.uses {
		a := &r.accesses[u.access]
		for i := range r.accesses {
			if o := &r.accesses[i]; i != u.access && o.Region.Overlaps(a.Region) {
				return fmt.Errorf("reduction of %v: %w", a.Region, errReducedElsewhere)
			}
		}
	}
	return nil
}

// joinReductions puts the reductions of r, which is being submitted, into the open groups of s.
// Requires: submitting held.
func (s *Scope) joinReductions(r *record) {
	for i := range r.uses {
		u := &r.uses[i]
		region := r.accesses[u.access].Region
		var g *reduction
		kept := s.reductions[:0]
		for _, o := range s.reductions {
			switch meets := o.buffer == u.group.buffer && o.id == u.group.id && o.regions.Overlaps(region); {
			case meets && g != nil:
				s.rt.joinGroups(g, o)
				continue
			case meets:
				g = o
			}
			kept = append(kept, o)
		}
		clear(s.reductions[len(kept):])
		if s.reductions = kept; g == nil {
			g = u.group
			s.reductions = append(s.reductions, g)
		}
		u.group = g
		g.regions.Add(region)
		g.addMember(r.member)
	}
}

// joinGroups makes o a part of g.
func (pp *reductionPool) joinGroups(g, o *reduction) {
	for _, p := range o.regions.Regions() {
		g.regions.Add(p)
	}
	for _, m := range o.members {
		g.addMember(m)
	}
	pp.reducing.Lock()
	g.copies = append(g.copies, o.copies...)
	o.copies, o.into = nil, g
	pp.reducing.Unlock()
}

// closeReductions submits the combination of every open reduction that an access of r meets, and is
// no part of; all of them when r is nil. Requires: submitting held.
func (s *Scope) closeReductions(r *record, ready *recordList) {
	if len(s.reductions) == 0 {
		return
	}
	kept := s.reductions[:0]
	for _, g := range s.reductions {
		if r != nil && !g.meets(*r.declared()) {
			kept = append(kept, g)
			continue
		}
		s.submitCombination(g, ready)
	}
	clear(s.reductions[len(kept):])
	s.reductions = kept
}

func (g *reduction) meets(accesses []deps.Access) bool {
	return slices.ContainsFunc(accesses, func(a deps.Access) bool {
		return (a.Mode != deps.Reduction || a.Op != g.id) && g.regions.Overlaps(a.Region)
	})
}

// submitCombination submits the task that combines the copies of g. Requires: submitting held.
func (s *Scope) submitCombination(g *reduction, ready *recordList) {
	spin.Perturb()
	rt := s.rt
	c := s.takeRecord()
	if c.detail == rt.observers.none {
		rt.detail(c)
	}
	c.kind, c.group, c.label = combineBody, s.group, "combine "+g.op.Name
	for _, p := range g.regions.Regions() {
		c.accesses = append(c.accesses, deps.Access{Region: p, Mode: deps.InOut})
		c.work += deps.Bytes(p.Len()) * g.buffer.Elem
	}
	c.uses = append(c.uses, reductionUse{group: g})
	c.member = g.innermost()
	for _, m := range c.others() {
		m.enter()
	}
	c.item.Name = c.label
	if c.traits.Set(life.Simple, rt.ready.isSimple(c)); !c.traits.Is(life.Simple) && !rt.topology.combinesUnscheduled() {
		if err := rt.ready.sched.Prepare(&c.item, rt.topology.hostOnly(), nil); err != nil {
			bug("combination of %s: %v", g.op.Name, err)
		}
	}
	s.commitLocked(c, ready)
}

// bindPrivates makes the reductions of r, which starts in a space, work. It reports false when r
// has failed by that.
func (rt *Runtime) bindPrivates(r *record, space devices.SpaceID) bool {
	if len(r.uses) == 0 {
		return true
	}
	r.holds.Take(life.HeldPrivates)
	if r.kind == combineBody {
		r.accesses = r.uses[0].group.appendPrivates(r.accesses)
		return true
	}
	if err := rt.takePrivates(r, space); err != nil {
		r.fail(space.String(), err)
		return false
	}
	return true
}

// takePrivates gives r, which starts in a space, its private copies in place of the buffers.
func (rt *Runtime) takePrivates(r *record, space devices.SpaceID) error {
	for i := range r.uses {
		u := &r.uses[i]
		a := &r.accesses[u.access]
		c, err := rt.takePrivate(u, space)
		if err != nil {
			return err
		}
		u.copy = c
		a.Region.Buffer, a.Mode = c.b.ID, deps.InOut
		u.group.init(c, a.Region)
		if u.param >= 0 {
			r.args.List[u.param].Buffer = c.b.ID
		}
	}
	return nil
}

// init sets those elements of r to the neutral element that no task has used yet in c: they are on
// the host alone.
func (g *reduction) init(c *privateCopy, r deps.Region) {
	var missing deps.Set
	missing.Add(r)
	for _, has := range c.set.Intersect(r, nil) {
		missing.Remove(has)
	}
	for _, m := range missing.Regions() {
		g.op.Fill(c.b.Host.At(), m)
	}
	c.set.Add(r)
}

// takePrivate returns a copy that no task uses, preferably one that is where it is wanted.
func (rt *Runtime) takePrivate(u *reductionUse, space devices.SpaceID) (*privateCopy, error) {
	spin.Perturb()
	rt.reducing.Lock()
	defer rt.reducing.Unlock()
	g := u.group.root()
	for _, c := range g.copies {
		if !c.busy && c.space == space && c.of == u.buffer {
			c.busy = true
			return c, nil
		}
	}
	c, err := rt.newPrivate(u.buffer)
	if err != nil {
		return nil, err
	}
	c.busy, c.space, c.usedOnDevice = true, space, space != devices.Host
	g.copies = append(g.copies, c)
	return c, nil
}

// newPrivate returns a copy of b without values. Requires: reducing held.
func (rt *Runtime) newPrivate(b *memory.Buffer) (*privateCopy, error) {
	if spare := rt.spares[b.Size()]; len(spare) > 0 {
		c := spare[len(spare)-1]
		if c.b.Elem == b.Elem {
			rt.spares[b.Size()] = spare[:len(spare)-1]
			c.of = b
			return c, nil
		}
	}
	pages, err := hostmem.Map(int(b.Size()))
	if err != nil {
		return nil, fmt.Errorf("private copy for a reduction: %w", err)
	}
	m := values.Range{Base: unsafe.Pointer(unsafe.SliceData(pages)), Len: b.Len, Cap: b.Len, Elem: b.Elem}
	own, err := rt.buffers.Register(m, pages, &rt.root.memory, true)
	if err != nil {
		return nil, errors.Join(err, hostmem.Unmap(pages))
	}
	return &privateCopy{b: own, of: b}, nil
}

// returnPrivates gives the copies of r back to their reduction, and r its accesses.
func (p *reductionPool) returnPrivates(r *record) {
	p.reducing.Lock()
	defer p.reducing.Unlock()
	for i := range r.uses {
		u := &r.uses[i]
		if u.copy == nil {
			continue
		}
		a := &r.accesses[u.access]
		a.Region.Buffer, a.Mode = u.buffer.ID, deps.Reduction
		if u.param >= 0 {
			r.args.List[u.param].Buffer = u.buffer.ID
		}
		u.copy.busy, u.copy = false, nil
	}
}

// appendPrivates appends accesses to the copies that a combination of g combines.
func (g *reduction) appendPrivates(out []deps.Access) []deps.Access {
	for _, c := range g.copies { // its tasks have finished: there is no other user
		for _, p := range c.set.Regions() {
			out = append(out, deps.Access{Region: p, Mode: deps.In})
		}
	}
	return out
}

// startCombination brings the copies that r combines to the host, and combines them on a goroutine
// of its own: the callback of a driver, by which they arrive, must not be kept.
func (rt *Runtime) startCombination(r *record) {
	rt.bindPrivates(r, devices.Host)
	r.worker = smp.None
	r.setUp(devices.Host)
	r.set.Ready = func(_ *machine.WorkingSet, err error) {
		if err != nil {
			r.fail("", err)
		}
		rt.background.run(func() { rt.runCombination(r) })
	}
	r.holds.Take(life.HeldData)
	if rt.topology.machine.Acquire(&r.set) {
		rt.background.run(func() { rt.runCombination(r) })
	}
}

// runCombination runs a combination whose copies have arrived on the host, unless they have not,
// and ends it.
func (rt *Runtime) runCombination(r *record) {
	defer func() {
		if r.err != nil {
			r.err.Device = ""
		}
		rt.release(r)
		rt.retireUnscheduled(r)
	}()
	if r.err == nil {
		rt.runOnce(r)
	}
}

// combine is the body of a combination.
func (g *reduction) combine() {
	for _, c := range g.copies {
		to := unsafe.Add(g.buffer.Host.At(), c.of.Lo()-g.buffer.Lo())
		for _, p := range c.set.Regions() {
			g.op.Fold(to, c.b.Host.At(), p)
		}
	}
}

// keptPrivates is how many private copies of one size are kept for later reductions.
const keptPrivates = 16

// dropPrivates gives up the copies of a combination that has finished, or was skipped. Those that
// never left the host are kept for others.
func (rt *Runtime) dropPrivates(g *reduction) {
	var gone []*memory.Buffer
	rt.reducing.Lock()
	for _, c := range g.copies {
		size := c.b.Size()
		if c.usedOnDevice || len(rt.spares[size]) >= keptPrivates {
			gone = append(gone, c.b)
			continue
		}
		c.set.Clear()
		c.of = nil
		rt.spares[size] = append(rt.spares[size], c)
	}
	g.copies = nil
	rt.reducing.Unlock()
	if len(gone) > 0 {
		// Dropping a buffer waits for its copies, which this goroutine may be the one to enqueue.
		rt.background.run(func() {
			for _, b := range gone {
				rt.buffers.Remove(b)
				rt.log.noteLeak(rt.buffers.Free(b))
			}
		})
	}
}

// Private returns the part of the task's private copy that stands for x, which the task of s
// declared with Reduce: all of it, or a part; of a box, the elements from its first to its last.
// The body reduces into it; its values mean nothing else. Where several of the task's reductions
// are around x, it is that of the smallest. It panics when the task has not declared x.
func Private[T any](s *Scope, x []T) []T {
	if len(x) == 0 {
		return x
	}
	m := values.MemoryOf(x)
	var best *privateCopy
	var at int64
	tightest := int64(math.MaxInt64)
	for _, u := range s.owner.uses {
		b := u.buffer // and not what it may have become a part of since
		if u.copy == nil || b.Elem != m.Elem || uintptr(m.Base) < b.Lo() || uintptr(m.Base)+uintptr(m.Size()) > b.Hi() {
			continue
		}
		first := int64((uintptr(m.Base) - b.Lo()) / uintptr(b.Elem))
		lo, hi := s.owner.accesses[u.access].Region.Bounds()
		if lo <= first && first+m.Len <= hi && hi-lo < tightest {
			best, at, tightest = u.copy, first, hi-lo
		}
	}
	if best == nil {
		panic(fmt.Sprintf("task: %s: private copy of memory, which it has not declared with Reduce: %s", s.owner.title(), m.String()))
	}
	return operator.Elements[T](best.b.Host.At(), at, at+m.Len)
}

// reductionOfClause notes the reduction clause that the latest n accesses of r are from.
func (rt *Runtime) reductionOfClause(r *record, first int, c *ir.Access, param int) error {
	op, err := operator.OfKernel(c.Op, c.Region.Var.Type.Elem)
	if err != nil {
		return err
	}
	for i := first; i < len(r.accesses); i++ {
		rt.addReduction(r, i, param, rt.buffers.ByID(r.accesses[i].Region.Buffer), op)
	}
	for i := range r.kernel.IR.Task.Accesses {
		if o := &r.kernel.IR.Task.Accesses[i]; o != c && o.Region.Var == c.Region.Var && o.Mode != deps.Reduction {
			return fmt.Errorf("reduction(%s): the same parameter has %s(%s): a private copy has no other elements", c.Region.Text, o.Mode, o.Region.Text)
		}
	}
	return nil
}

// bytesAt returns the bytes of elements [lo, hi) of b.
func bytesAt(b *memory.Buffer, lo, hi int64) []byte {
	size := int64(b.Elem)
	return unsafe.Slice((*byte)(unsafe.Add(b.Host.At(), lo*size)), (hi-lo)*size)
}

// copyOut returns a copy of the bytes of a region of b.
func copyOut(b *memory.Buffer, r deps.Region) []byte {
	out := make([]byte, r.Len()*int64(b.Elem))
	rest := out
	for lo, hi := range r.Runs() {
		rest = rest[devices.CopyBytes(rest, bytesAt(b, lo, hi)):]
	}
	return out
}

// copyIn puts back what copyOut has returned.
func copyIn(b *memory.Buffer, r deps.Region, from []byte) {
	for lo, hi := range r.Runs() {
		n := devices.CopyBytes(bytesAt(b, lo, hi), from)
		from = from[n:]
	}
}
