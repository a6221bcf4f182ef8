package memory

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/hostmem"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/values"
)

// A Table finds the buffer of an address. Reading takes no lock: the table is replaced, not
// changed.
type Table struct {
	table atomic.Pointer[bufferTable]
	// recent holds buffers that were found, by the page of the address that was looked for: most
	// tasks use what others used.
	recent recentBuffers
	mu     spin.Mutex
	closed error               // of later registrations
	known  Known               // also guarded by mu
	ids    int                 // that there have been
	unused []deps.BufferID     // of buffers that are gone: tables do not grow with how many there have been
	Add    func(*Buffer) error // tells the machine
	Drop   func(*Buffer) error
	// DropPart is drop for what the graph does not know any more.
	DropPart func(*Buffer) error

	fresh Known     // ordinary buffers since the last sweep; guarded by mu, as is what follows
	limit Known     // of fresh: then comes the next sweep
	freed []*Buffer // taken out of the table as their memory was freed
	// sweepNow and sweepLater have a sweep made.
	sweepNow, sweepLater func()
}

// Known is how many buffers of the program there are, and their size: private copies of reductions
// do not count.
type Known struct {
	Buffers int64
	Size    deps.Bytes
}

// count adds n buffers of the size of b, or takes them away. Requires: mu held.
func (t *Table) count(b *Buffer, n int64) {
	if !b.Copied {
		t.known.Buffers += n
		t.known.Size += deps.Bytes(n) * b.Size()
	}
}

// Sum returns the totals.
func (t *Table) Sum() Known {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known
}

// Numbers returns how many numbers of buffers there have been.
func (t *Table) Numbers() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ids
}

// CountRecent returns how many buffers are found without a search.
func (t *Table) CountRecent() (n int) {
	for i := range t.recent {
		if t.recent[i].Load() != nil {
			n++
		}
	}
	return n
}

// recentSize is the number of buffers that are found without a search: a power of 2. Submitting
// goroutines contend only where two buffers share an entry.
const (
	recentBits = 10
	recentSize = 1 << recentBits
)

// recentBuffers are buffers that were found, by the page of the address.
type recentBuffers [recentSize]atomic.Pointer[Buffer]

// slot returns where a buffer is that was found for an address.
func (t *recentBuffers) slot(lo uintptr) *atomic.Pointer[Buffer] {
	const mix = 0x9e3779b97f4a7c15
	return &t[uint64(lo>>12)*mix>>(64-recentBits)]
}

// forget releases b, whose memory is not ours to keep.
func (t *recentBuffers) forget(b *Buffer) {
	pages := min(recentSize, (b.end-1)>>12-b.Lo()>>12+1)
	for i := range pages {
		at := &t[i]
		if pages < recentSize {
			at = t.slot(b.Lo() + i<<12)
		}
		if at.Load() == b {
			at.CompareAndSwap(b, nil)
		}
	}
}

// A bufferTable holds the buffers by address and by id. Tables share memory: a slot of byID is
// written when its buffer comes and goes, and the caller knows that it is there.
type bufferTable struct {
	Tree *hostmem.Tree[*Buffer]
	byID []atomic.Pointer[Buffer] // nil for those that were forgotten, and for those to come
}

// Get returns the buffer of an id, nil where there is none.
func (t *bufferTable) Get(id deps.BufferID) *Buffer {
	if int(id) >= len(t.byID) {
		return nil
	}
	return t.byID[id].Load()
}

// grow makes room for n ids in twice the memory. Requires: buffers.mu held.
func (t *bufferTable) grow(n int) {
	if n <= len(t.byID) {
		return
	}
	more := make([]atomic.Pointer[Buffer], max(n, 2*len(t.byID), 16))
	for i := range t.byID {
		more[i].Store(t.byID[i].Load())
	}
	t.byID = more
}

// ElementError means that memory is used with elements of another size than it was registered with.
type ElementError struct {
	Have, Want deps.Bytes
}

func (e *ElementError) Error() string {
	return fmt.Sprintf("memory registered with elements of %d bytes is used with elements of %d bytes", e.Have, e.Want)
}

// OverlapError means that memory reaches out of the buffer that it begins in, or into another.
type OverlapError struct {
	Lo, Hi             uintptr // the bounds that were used
	BufferLo, BufferHi uintptr
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("memory [%#x, %#x) overlaps the buffer [%#x, %#x) without lying in it, and that buffer cannot grow here: it is "+
		"memory of Alloc, is being given back, or tasks outside of this Scope use it: Register the whole slice before its parts are used", e.Lo, e.Hi, e.BufferLo, e.BufferHi)
}

// Locate returns the buffer that m lies in and its first element there, registering the memory if
// it is new.
//
// Cost: a search in a tree of the buffers, but for those found lately, and as many steps again to
// enter one. m must not be empty.
func (t *Table) Locate(m values.Range, owner *Owner) (*Buffer, int64, error) {
	if b, at, err := t.Find(m); b != nil && owner.Program() {
		return b, at, err
	}
	return t.locateAnew(m, owner)
}

// locateAnew is locate for memory that is in no buffer yet, or that a child uses.
func (t *Table) locateAnew(m values.Range, owner *Owner) (*Buffer, int64, error) {
	b, at, err := t.Find(m)
	if b == nil && (err == nil || errors.As(err, new(*OverlapError))) {
		if b, err = t.Register(m, nil, owner, false); err == nil {
			at = int64((uintptr(m.Base) - b.Lo()) / uintptr(b.Elem))
		}
	}
	if err != nil {
		return nil, 0, err
	}
	return owner.View(t, m, b, at)
}

// Find returns nil when no buffer overlaps m.
func (t *Table) Find(m values.Range) (*Buffer, int64, error) {
	lo := uintptr(m.Base)
	at := t.recent.slot(lo)
	if b := at.Load(); b != nil && lo >= b.Lo() && lo+uintptr(m.Size()) <= b.end && m.Elem == b.Elem && b.Use.Load() == inUse {
		if offset := lo - b.Lo(); offset&b.mask == 0 && b.mask != 0 { // no division: it takes longer than all else here
			return b, int64(offset >> b.shift), nil
		} else if offset%uintptr(b.Elem) == 0 {
			return b, int64(offset / uintptr(b.Elem)), nil
		}
	}
	b, first, err := t.search(m)
	if b != nil {
		at.Store(b)
	}
	return b, first, err
}

// Overlapped returns the buffers with an address of m.
func (t *Table) Overlapped(m values.Range) (out []*Buffer) {
	lo := uintptr(m.Base)
	hi := lo + uintptr(m.Size())
	tree := t.Load().Tree
	for at := tree.After(lo); at != nil && at.Lo < hi; at = tree.After(at.Hi) {
		if t.Claim(at.Value) {
			out = append(out, at.Value)
		}
	}
	return out
}

// Within returns the region of the elements of b with an address of m, an empty one where there are
// none.
func (b *Buffer) Within(m values.Range) deps.Region {
	lo, hi := max(uintptr(m.Base), b.Lo()), min(uintptr(m.Base)+uintptr(m.Size()), b.Hi())
	if lo >= hi {
		return b.Span(0, 0)
	}
	return b.Span(int64((lo-b.Lo())/uintptr(b.Elem)), int64((hi-b.Lo()+uintptr(b.Elem)-1)/uintptr(b.Elem)))
}

func (t *Table) search(m values.Range) (*Buffer, int64, error) {
	lo := uintptr(m.Base)
	hi := lo + uintptr(m.Size())
	tree := t.Load().Tree
	at := tree.After(lo)
	for at != nil && at.Lo < hi && !t.Claim(at.Value) {
		switch at.Value.Use.Load() {
		case Released: // its memory was freed
			at = tree.After(at.Hi)
		case removed: // since the tree was loaded
			tree = t.Load().Tree
			at = tree.After(lo)
		}
	}
	if at == nil || at.Lo >= hi {
		return nil, 0, nil
	}
	b := at.Value
	if lo < b.Lo() || hi > b.Hi() {
		return nil, 0, &OverlapError{lo, hi, b.Lo(), b.Hi()}
	}
	offset := deps.Bytes(lo - b.Lo())
	if m.Elem != b.Elem || offset%b.Elem != 0 {
		return nil, 0, &ElementError{Have: b.Elem, Want: m.Elem}
	}
	return b, int64(offset / b.Elem), nil
}

// ByID returns a buffer that is registered.
func (t *Table) ByID(id deps.BufferID) *Buffer { return t.table.Load().byID[id].Load() }

// SizeOf returns the size of a buffer that is registered.
func (t *Table) SizeOf(id deps.BufferID) deps.Bytes { return t.ByID(id).Size() }

// List returns the buffers by address.
func (t *Table) List() (out []*Buffer) {
	for s := range t.Load().Tree.All() {
		out = append(out, s.Value)
	}
	return out
}

func (t *Table) Load() bufferTable {
	if p := t.table.Load(); p != nil {
		return *p
	}
	return bufferTable{}
}

var errNoSize = errors.New("elements without a size: there is nothing to order tasks by")

// Register makes [base, base+cap) of m a buffer, or a buffer around it and those that it overlaps.
// With pages the memory is ours, else it is kept alive while tasks use it.
func (t *Table) Register(m values.Range, pages []byte, owner *Owner, copied bool) (*Buffer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return nil, t.closed
	}
	if m.Elem == 0 {
		return nil, errNoSize
	}
	if b, _, err := t.Find(m); b != nil || err != nil && !errors.As(err, new(*OverlapError)) {
		return b, err // someone else was quicker
	}
	t.clearOf(m)
	m, parts := t.bounded(m)
	if len(parts) > 0 {
		var err error
		if m, err = around(m, parts, owner); err != nil {
			return nil, err
		}
	}
	m.Len = m.Cap
	if pages == nil {
		if err := allocated.check(m, t); err != nil {
			return nil, err
		}
	}
	table := t.Load()
	b := &Buffer{ID: deps.BufferID(t.ids), Host: devices.NewHostMemory(m.Base), low: uintptr(m.Base), Len: m.Len, Elem: m.Elem, Pages: pages, Owner: owner, Copied: copied}
	b.measure()
	last := len(t.unused) - 1
	if last >= 0 {
		b.ID = t.unused[last]
	}
	if err := t.Add(b); err != nil {
		return nil, err
	}
	if pages != nil {
		allocated.add(b, t)
	}
	if last >= 0 {
		t.unused = t.unused[:last]
	} else {
		t.ids++
		table.grow(t.ids)
	}
	table.byID[b.ID].Store(b)
	if len(parts) > 0 {
		b.setParts(parts)
	}
	for _, p := range parts {
		table.Tree = table.Tree.Remove(p.Lo())
	}
	table.Tree = table.Tree.Insert(&hostmem.Tree[*Buffer]{Lo: b.Lo(), Hi: b.Hi(), Value: b})
	t.table.Store(&table)
	t.count(b, 1)
	if len(parts) > 0 {
		t.retireParts(parts)
	}
	if !owner.Program() {
		owner.Fresh = append(owner.Fresh, b)
	}
	t.registered(b)
	return b, nil
}

// Close returns the buffers that there are, after which there will be no more: registering one is
// the error closed.
func (t *Table) Close(closed error) []*Buffer {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = closed
	return t.List()
}

// Remove takes b out of the table, so that no lookup finds it, and reports whether it was there.
func (t *Table) Remove(b *Buffer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.takeOut(b)
}

// takeOut is remove with mu held.
func (t *Table) takeOut(b *Buffer) bool {
	if b.Gone.Swap(true) {
		return false
	}
	table := t.Load()
	table.byID[b.ID].Store(nil)
	table.Tree = table.Tree.Remove(b.Lo())
	t.table.Store(&table)
	spin.Perturb()
	b.retire() // a reader of that has a tree without b
	t.count(b, -1)
	t.recent.forget(b)
	return true
}

// Free gives the memory of b back, which was removed. Nothing may use b any more, and its host copy
// must be valid.
func (t *Table) Free(b *Buffer) error {
	err := t.Drop(b)
	if err == nil {
		t.mu.Lock()
		t.unused = append(t.unused, b.ID)
		t.mu.Unlock()
	}
	b.Host.Stop()
	if b.Pages != nil {
		allocated.free(b)
		err = errors.Join(err, hostmem.Unmap(b.Pages))
	}
	return err
}
