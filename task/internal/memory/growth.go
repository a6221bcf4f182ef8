package memory

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
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

// around returns the memory of m and of parts. Errors: *ElementError, *OverlapError where one of
// them cannot become a part.
func around(m values.Range, parts []*Buffer, owner *Owner) (values.Range, error) {
	base, hi := m.Base, uintptr(m.Base)+uintptr(m.Cap)*uintptr(m.Elem)
	if first := parts[0]; first.Lo() < uintptr(base) {
		base = first.Host.At()
	}
	hi = max(hi, parts[len(parts)-1].Hi())
	for _, p := range parts {
		switch {
		case p.Elem != m.Elem || (p.Lo()-uintptr(base))%uintptr(m.Elem) != 0 || (uintptr(m.Base)-uintptr(base))%uintptr(m.Elem) != 0:
			return m, &ElementError{Have: p.Elem, Want: m.Elem}
		case p.Pages != nil || p.Owner != owner || p.Dropping.Load():
			return m, &OverlapError{uintptr(m.Base), uintptr(m.Base) + uintptr(m.Size()), p.Lo(), p.Hi()}
		}
	}
	n := int64((hi - uintptr(base)) / uintptr(m.Elem))
	return values.Range{Base: base, Len: n, Cap: n, Elem: m.Elem}, nil
}

// setParts makes parts those of b, before b is found: children of a task that accesses a part look
// for it, and a task that uses b comes after the merge. Requires: mu held.
func (b *Buffer) setParts(parts []*Buffer) {
	for _, p := range parts {
		p.Grown.Store(b)
	}
	b.Parts.Store(&parts)
	b.Owner.unmerged = append(b.Owner.unmerged, b)
	b.Owner.Growths.Add(1)
	spin.Perturb()
}

// MovedIn reports whether new tasks of s use another buffer that b has become a part of. Children
// of a task that accesses b continue with b.
func (b *Buffer) MovedIn(s *Owner) bool { return b.Owner == s && b.Moved.Load() }

// Target returns the buffer that b is a part of by now, and where b begins in it.
func (b *Buffer) Target() (*Buffer, int64) {
	shift := int64(0)
	for b.Moved.Load() {
		g := b.Grown.Load()
		shift += int64((b.Lo() - g.Lo()) / uintptr(b.Elem))
		b = g
	}
	return b, shift
}

// MovedRegion returns a region of b as one of the buffer that b is a part of by now.
func (b *Buffer) MovedRegion(r deps.Region) deps.Region {
	to, shift := b.Target()
	r.Buffer = to.ID
	return r.Translate(shift)
}

// Inside reports whether b has become a part of o, or of a part of it.
func (b *Buffer) Inside(o *Buffer) bool {
	for b != nil && b != o {
		b = b.Grown.Load()
	}
	return b == o
}

// View returns the buffer that children of the task of o use for m, of which b is the buffer: where
// b has grown since that task was submitted, the part of it that the task accesses, as its other
// children do. Error: *OverlapError where m reaches out of that part.
func (o *Owner) View(t *Table, m values.Range, b *Buffer, at int64) (*Buffer, int64, error) {
	if o.Program() || b.Parts.Load() == nil {
		return b, at, nil
	}
	lo, hi := uintptr(m.Base), uintptr(m.Base)+uintptr(m.Size())
	for i := range *o.accesses {
		p := t.OfID((*o.accesses)[i].Region.Buffer)
		switch {
		case p == nil || p == b || !p.Inside(b) || hi <= p.Lo() || p.Hi() <= lo:
		case p.Lo() <= lo && hi <= p.Hi():
			return p, int64((lo - p.Lo()) / uintptr(p.Elem)), nil
		default:
			return nil, 0, &OverlapError{lo, hi, p.Lo(), p.Hi()}
		}
	}
	return b, at, nil
}

// MoveArg makes a, which is in b, one that is in the buffer that b has become a part of.
func (b *Buffer) MoveArg(a *devices.Arg) {
	if b != nil && b.Moved.Load() {
		to, shift := b.Target()
		a.Buffer, a.Offset = to.ID, a.Offset+deps.Bytes(shift)*to.Elem
	}
}

// Grew reports whether a buffer of o has ever grown.
func (o *Owner) Grew() bool { return o.Growths.Load() > 0 }

// An Owner is a scope of tasks as its buffers see it: where memory is used first.
type Owner struct {
	Of       any            // what it is the owner for
	accesses *[]deps.Access // of the task whose children use the memory; nil for the program
	Fresh    []*Buffer      // memory of a task that was first used here
	scratch  []*Buffer      // of Fresh, what only the tasks of the scope use
	Growths  atomic.Int64   // how often a buffer has grown; changed with buffers.mu held
	Merged   atomic.Int64   // of growths, those whose merges were submitted
	unmerged []*Buffer      // that have grown, and whose merges were not; guarded by buffers.mu
}

// Init makes o the owner for of: the program, where accesses is nil, or a task with these.
func (o *Owner) Init(of any, accesses *[]deps.Access) { o.Of, o.accesses = of, accesses }

// Program reports whether o is the program.
func (o *Owner) Program() bool { return o.accesses == nil }

// DeclareScratch declares that only the tasks of o use m, which was first used in o: nothing reads
// it on the host afterwards. Requires: the caller is the body of o, in which m does not grow.
func (o *Owner) DeclareScratch(t *Table, m values.Range) {
	if b, _, err := t.Find(m); err == nil && b != nil && b.Owner == o {
		o.scratch = append(o.scratch, b)
	}
}

// Results returns read accesses to the memory that was first used in o and that the program may
// reach, in the order of first use.
func (o *Owner) Results() (list []deps.Access) {
	for _, b := range o.Fresh {
		if !b.Copied && !slices.Contains(o.scratch, b) {
			list = append(list, deps.Access{Region: b.Whole(), Mode: deps.In})
		}
	}
	return list
}

// bounded returns m with the capacity that ends where the next buffer begins, and the buffers that
// overlap the elements of m, by address. Requires: mu held, no buffer around m.
func (t *Table) bounded(m values.Range) (values.Range, []*Buffer) {
	lo, hi := uintptr(m.Base), uintptr(m.Base)+uintptr(m.Size())
	var parts []*Buffer
	at := lo
	for {
		s := t.Load().Tree.After(at)
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

// retireParts ends the use of parts as buffers of their own: the buffer that they are parts of is
// in the table in their place. Requires: mu held.
func (t *Table) retireParts(parts []*Buffer) {
	spin.Perturb()
	for _, p := range parts {
		t.count(p, -1)
		p.Gone.Store(true)
		p.retire()
		t.recent.forget(p)
		if s := p.Owner; !s.Program() {
			s.Fresh = slices.DeleteFunc(s.Fresh, func(o *Buffer) bool { return o == p })
		}
	}
}

// OfID returns the buffer of an id, nil where there is none.
func (t *Table) OfID(id deps.BufferID) *Buffer {
	table := t.Load()
	return table.Get(id)
}

// FreePart gives up a part whose merge has finished. Its number is not used again, so that the
// numbers of buffers do not depend on when.
func (t *Table) FreePart(p *Buffer) error {
	err := t.DropPart(p)
	t.mu.Lock()
	table := t.Load()
	table.byID[p.ID].Store(nil)
	t.mu.Unlock()
	p.Host.Stop()
	return err
}

// RegionNow returns a region that a task of s accesses as one of the buffer that new tasks of s use
// for it.
func (t *Table) RegionNow(s *Owner, r deps.Region) deps.Region {
	if b := t.OfID(r.Buffer); b != nil && b.MovedIn(s) {
		return b.MovedRegion(r)
	}
	return r
}

// TakeUnmerged returns the buffers of o that have grown and whose merges were not submitted, which
// the caller does.
func (t *Table) TakeUnmerged(o *Owner) []*Buffer {
	if o.Growths.Load() == o.Merged.Load() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	list := o.unmerged
	o.unmerged = nil
	o.Merged.Store(o.Growths.Load())
	return list
}

// DropFresh forgets the memory that was first used in o, whose tasks have finished.
func (t *Table) DropFresh(o *Owner) (err error) {
	for _, b := range o.Fresh {
		t.Remove(b)
		err = errors.Join(err, t.Free(b))
	}
	o.Fresh = nil
	return err
}
