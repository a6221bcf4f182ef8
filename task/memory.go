package task

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/hostmem"
	"github.com/gompss/gompss/internal/printer"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/values"
)

// A buffer is registered memory.
type buffer struct {
	id    deps.BufferID
	host  *devices.HostMemory // where it is
	low   uintptr             // the same, as a number
	len   int64               // elements
	elem  deps.Bytes
	end   uintptr
	mask  uintptr // elem - 1 where that is a power of 2 above 1, of which shift is the logarithm; else 0
	shift uint8
	use   atomic.Uint32 // inUse, unused, released or removed: see sweep.go
	gone  atomic.Bool
	// dropping means that a goroutine waits to drop it. Changed with the submission lock of the
	// program held, or by the goroutine that set it.
	dropping atomic.Bool
	pages    []byte // of Alloc; nil for ordinary Go memory
	owner    *Scope // where it was used first
	copied   bool   // it is a private copy of a reduction

	bufferGrowth
	bufferHold
}

// A bufferGrowth is the growth of a buffer: grown is the buffer that this one has become a part of,
// nil for one of its own; moved says that its merge was submitted, and that new tasks use grown;
// parts are those that have become parts of this one, as long as they are used. See grow.go.
type bufferGrowth struct {
	grown atomic.Pointer[buffer]
	moved atomic.Bool
	parts atomic.Pointer[[]*buffer]
}

// A bufferHold is what lets the collector free the memory of a buffer.
type bufferHold struct {
	holding spin.Mutex   // guards the ways from and to released, and what host does then; innermost but for Runtime.sweeper
	users   atomic.Int32 // iterations, and tasks in flight that use it without an access
	kept    atomic.Bool  // until it is given back: the program has registered it, or the collector never frees it
	freed   atomic.Bool  // by the collector
}

// measure notes what finding b needs.
func (b *buffer) measure() {
	b.end = b.low + uintptr(b.size())
	if b.elem > 1 && b.elem&(b.elem-1) == 0 {
		b.mask, b.shift = uintptr(b.elem-1), uint8(bits.TrailingZeros64(uint64(b.elem)))
	}
}

// text says which slice or variable of the program it is.
func (b *buffer) text() string {
	return fmt.Sprintf("%d elements of %d bytes at %#x", b.len, b.elem, b.lo())
}

func (b *buffer) size() deps.Bytes { return deps.Bytes(b.len) * b.elem }
func (b *buffer) lo() uintptr      { return b.low }
func (b *buffer) hi() uintptr      { return b.end }

// memory returns all of b, which is alive as long as the result.
func (b *buffer) memory() values.Range {
	return values.Range{Base: b.host.At(), Len: b.len, Cap: b.len, Elem: b.elem}
}

// buffers finds the buffer of an address. Reading takes no lock: the table is replaced, not
// changed.
type buffers struct {
	table atomic.Pointer[bufferTable]
	// recent holds buffers that were found, by the page of the address that was looked for: most
	// tasks use what others used.
	recent recentBuffers
	mu     spin.Mutex
	closed bool
	known  known               // also guarded by mu
	ids    int                 // that there have been
	unused []deps.BufferID     // of buffers that are gone: tables do not grow with how many there have been
	add    func(*buffer) error // tells the machine
	drop   func(*buffer) error
	// dropPart is drop for what the graph does not know any more.
	dropPart func(*buffer) error

	fresh   known           // ordinary buffers since the last sweep; guarded by mu, as is what follows
	limit   known           // of fresh: then comes the next sweep
	freed   []*buffer       // taken out of the table as their memory was freed
	printer printer.Printer // of what kernels print
	// sweepNow and sweepLater have a sweep made.
	sweepNow, sweepLater func()
}

// known is how many buffers of the program there are, and their size: private copies of reductions
// do not count.
type known struct {
	buffers int64
	size    deps.Bytes
}

// count adds n buffers of the size of b, or takes them away. Requires: mu held.
func (t *buffers) count(b *buffer, n int64) {
	if !b.copied {
		t.known.buffers += n
		t.known.size += deps.Bytes(n) * b.size()
	}
}

// sum returns what is known.
func (t *buffers) sum() known {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known
}

// recentSize is the number of buffers that are found without a search: a power of 2. Submitting
// goroutines contend only where two buffers share an entry.
const (
	recentBits = 10
	recentSize = 1 << recentBits
)

// recentBuffers are buffers that were found, by the page of the address.
type recentBuffers [recentSize]atomic.Pointer[buffer]

// slot returns where a buffer is that was found for an address.
func (t *recentBuffers) slot(lo uintptr) *atomic.Pointer[buffer] {
	const mix = 0x9e3779b97f4a7c15
	return &t[uint64(lo>>12)*mix>>(64-recentBits)]
}

// forget releases b, whose memory is not ours to keep.
func (t *recentBuffers) forget(b *buffer) {
	pages := min(recentSize, (b.end-1)>>12-b.lo()>>12+1)
	for i := range pages {
		at := &t[i]
		if pages < recentSize {
			at = t.slot(b.lo() + i<<12)
		}
		if at.Load() == b {
			at.CompareAndSwap(b, nil)
		}
	}
}

// A bufferTable holds the buffers by address and by id. Tables share memory: a slot of byID is
// written when its buffer comes and goes, and the caller knows that it is there.
type bufferTable struct {
	tree *hostmem.Tree[*buffer]
	byID []atomic.Pointer[buffer] // nil for those that were forgotten, and for those to come
}

// get returns the buffer of an id, nil where there is none.
func (t *bufferTable) get(id deps.BufferID) *buffer {
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
	more := make([]atomic.Pointer[buffer], max(n, 2*len(t.byID), 16))
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
	Lo, Hi             uintptr // what was used
	BufferLo, BufferHi uintptr
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("memory [%#x, %#x) overlaps the buffer [%#x, %#x) without lying in it, and that buffer cannot grow here: it is "+
		"memory of Alloc, is being given back, or tasks outside of this Scope use it: Register the whole slice before its parts are used", e.Lo, e.Hi, e.BufferLo, e.BufferHi)
}

// locate returns the buffer that m lies in and its first element there, registering the memory if
// it is new.
//
// Cost: a search in a tree of the buffers, but for those found lately, and as many steps again to
// enter one. m must not be empty.
func (t *buffers) locate(m values.Range, owner *Scope) (*buffer, int64, error) {
	if b, at, err := t.find(m); b != nil && owner.program() {
		return b, at, err
	}
	return t.locateAnew(m, owner)
}

// locateAnew is locate for memory that is in no buffer yet, or that a child uses.
func (t *buffers) locateAnew(m values.Range, owner *Scope) (*buffer, int64, error) {
	b, at, err := t.find(m)
	if b == nil && (err == nil || errors.As(err, new(*OverlapError))) {
		if b, err = t.register(m, nil, owner, false); err == nil {
			at = int64((uintptr(m.Base) - b.lo()) / uintptr(b.elem))
		}
	}
	if err != nil {
		return nil, 0, err
	}
	return owner.view(m, b, at)
}

// find returns nil when no buffer overlaps m.
func (t *buffers) find(m values.Range) (*buffer, int64, error) {
	lo := uintptr(m.Base)
	at := t.recent.slot(lo)
	if b := at.Load(); b != nil && lo >= b.lo() && lo+uintptr(m.Size()) <= b.end && m.Elem == b.elem && b.use.Load() == inUse {
		if offset := lo - b.lo(); offset&b.mask == 0 && b.mask != 0 { // no division: it takes longer than all else here
			return b, int64(offset >> b.shift), nil
		} else if offset%uintptr(b.elem) == 0 {
			return b, int64(offset / uintptr(b.elem)), nil
		}
	}
	b, first, err := t.search(m)
	if b != nil {
		at.Store(b)
	}
	return b, first, err
}

func (t *buffers) search(m values.Range) (*buffer, int64, error) {
	lo := uintptr(m.Base)
	hi := lo + uintptr(m.Size())
	tree := t.load().tree
	at := tree.After(lo)
	for at != nil && at.Lo < hi && !t.claim(at.Value) {
		switch at.Value.use.Load() {
		case released: // its memory was freed
			at = tree.After(at.Hi)
		case removed: // since the tree was loaded
			tree = t.load().tree
			at = tree.After(lo)
		}
	}
	if at == nil || at.Lo >= hi {
		return nil, 0, nil
	}
	b := at.Value
	if lo < b.lo() || hi > b.hi() {
		return nil, 0, &OverlapError{lo, hi, b.lo(), b.hi()}
	}
	offset := deps.Bytes(lo - b.lo())
	if m.Elem != b.elem || offset%b.elem != 0 {
		return nil, 0, &ElementError{Have: b.elem, Want: m.Elem}
	}
	return b, int64(offset / b.elem), nil
}

// byID returns a buffer that is registered.
func (t *buffers) byID(id deps.BufferID) *buffer { return t.table.Load().byID[id].Load() }

// sizeOf returns the size of a buffer that is registered.
func (t *buffers) sizeOf(id deps.BufferID) deps.Bytes { return t.byID(id).size() }

// list returns the buffers by address.
func (t *buffers) list() (out []*buffer) {
	for s := range t.load().tree.All() {
		out = append(out, s.Value)
	}
	return out
}

func (t *buffers) load() bufferTable {
	if p := t.table.Load(); p != nil {
		return *p
	}
	return bufferTable{}
}

var errNoSize = errors.New("elements without a size: there is nothing to order tasks by")

// register makes [base, base+cap) of m a buffer, or a buffer around it and those that it overlaps.
// With pages the memory is ours, else it is kept alive while tasks use it.
func (t *buffers) register(m values.Range, pages []byte, owner *Scope, copied bool) (*buffer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, ErrClosed
	}
	if m.Elem == 0 {
		return nil, errNoSize
	}
	if b, _, err := t.find(m); b != nil || err != nil && !errors.As(err, new(*OverlapError)) {
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
	table := t.load()
	b := &buffer{id: deps.BufferID(t.ids), host: devices.NewHostMemory(m.Base), low: uintptr(m.Base), len: m.Len, elem: m.Elem, pages: pages, owner: owner, copied: copied}
	b.measure()
	last := len(t.unused) - 1
	if last >= 0 {
		b.id = t.unused[last]
	}
	if err := t.add(b); err != nil {
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
	table.byID[b.id].Store(b)
	if len(parts) > 0 {
		b.setParts(parts)
	}
	for _, p := range parts {
		table.tree = table.tree.Remove(p.lo())
	}
	table.tree = table.tree.Insert(&hostmem.Tree[*buffer]{Lo: b.lo(), Hi: b.hi(), Value: b})
	t.table.Store(&table)
	t.count(b, 1)
	if len(parts) > 0 {
		t.retireParts(parts)
	}
	if !owner.program() {
		owner.fresh = append(owner.fresh, b)
	}
	t.registered(b)
	return b, nil
}

// close returns the buffers that there are, after which there will be no more.
func (t *buffers) close() []*buffer {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return t.list()
}

// remove takes b out of the table, so that no lookup finds it, and reports whether it was there.
func (t *buffers) remove(b *buffer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.takeOut(b)
}

// takeOut is remove with mu held.
func (t *buffers) takeOut(b *buffer) bool {
	if b.gone.Swap(true) {
		return false
	}
	table := t.load()
	table.byID[b.id].Store(nil)
	table.tree = table.tree.Remove(b.lo())
	t.table.Store(&table)
	spin.Perturb()
	b.retire() // a reader of that has a tree without b
	t.count(b, -1)
	t.recent.forget(b)
	return true
}

// free gives the memory of b back, which was removed. Nothing may use b any more, and its host copy
// must be valid.
func (t *buffers) free(b *buffer) error {
	err := t.drop(b)
	if err == nil {
		t.mu.Lock()
		t.unused = append(t.unused, b.id)
		t.mu.Unlock()
	}
	b.host.Stop()
	if b.pages != nil {
		allocated.free(b)
		err = errors.Join(err, hostmem.Unmap(b.pages))
	}
	return err
}

// allocated is where the memory of Alloc lies, of all runtimes of the process, and where it has
// lain since it was given back: a slice of it says nothing of that. It is looked at when memory is
// registered, not when it is found.
var allocated allocations

// allocations are stretches of addresses by their owner, nil for those that were given back.
type allocations struct {
	mu    spin.Mutex // innermost
	tree  *hostmem.Tree[*buffers]
	freed int // how many have no owner
}

// maxFreed is how many stretches that were given back are remembered.
const maxFreed = 1 << 14

var (
	errForeign = errors.New("memory of Alloc of another runtime")
	errFreed   = errors.New("memory of Alloc that was freed")
)

// add enters what owner has mapped, and forgets what lay there before.
func (a *allocations) add(b *buffer, owner *buffers) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for x := a.tree.After(b.lo()); x != nil && x.Lo < b.hi(); x = a.tree.After(b.lo()) {
		a.tree = a.tree.Remove(x.Lo)
		a.freed--
	}
	a.tree = a.tree.Insert(&hostmem.Tree[*buffers]{Lo: b.lo(), Hi: b.hi(), Value: owner})
}

// free says that b is about to be given back.
func (a *allocations) free(b *buffer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.tree.After(b.lo())
	if x == nil || x.Lo != b.lo() || x.Value == nil {
		return
	}
	a.tree = a.tree.Remove(x.Lo).Insert(&hostmem.Tree[*buffers]{Lo: x.Lo, Hi: x.Hi})
	if a.freed++; a.freed > maxFreed {
		a.forget()
	}
}

// forget drops what has no owner. Requires: mu held.
func (a *allocations) forget() {
	for x := range a.tree.All() {
		if x.Value == nil {
			a.tree = a.tree.Remove(x.Lo)
		}
	}
	a.freed = 0
}

// check returns an error when m, which is no part of a buffer of t, is memory of Alloc: of another
// runtime, or given back and not in use again for something else.
func (a *allocations) check(m values.Range, t *buffers) error {
	lo, hi := uintptr(m.Base), uintptr(m.Base)+uintptr(m.Size())
	a.mu.Lock()
	defer a.mu.Unlock()
	for x := a.tree.After(lo); x != nil && x.Lo < hi; x = a.tree.After(x.Hi) {
		switch {
		case x.Value == t: // another goroutine is about to give it back
			return errFreed
		case x.Value != nil:
			return errForeign
		case !hostmem.Mapped(m.Base):
			return errFreed
		}
	}
	return nil
}
