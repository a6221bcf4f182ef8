package memory

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/values"
)

// This file lets the collector free ordinary slices that tasks have used, and forgets their
// buffers.
//
// The life of such a buffer: a task uses it (inUse); a sweep finds that no task was submitted with
// it since the last one (unused); the next sweep finds that no task in flight uses it either, and
// holds its memory weakly (released). From there on it is found as before, which holds the memory
// again, or the collector frees the memory: then the graph, the directory and the devices forget
// the buffer, with what devices have of it, and its number becomes that of another buffer. What is
// looked for at the address of freed memory is new.
//
// A sweep comes when as many buffers or bytes were registered since the last one as half of those
// that there were then, so that what it costs is a part of what registering costs; when the
// collector has freed memory; and a while after a buffer was used.

// How tasks use a buffer: buffer.use. A task is described with a buffer that is inUse: a goroutine
// that finds it in another state claims it (claim).
const (
	inUse    uint32 = iota
	unused          // inUse, and not found since the last sweep
	Released        // the memory is held weakly
	removed         // it is a part of another buffer, or none any more
)

const (
	SweepBuffers = 64      // a sweep comes after as many new buffers at least,
	sweepBytes   = 1 << 20 // or as many bytes,
	sweepPause   = time.Second
)

// A sweeper runs the sweeps of a Runtime: one at a time, on a goroutine of its own, which ends.
type sweeper struct {
	mu      sync.Mutex
	idle    sync.Cond // running has become false
	running bool
	again   bool // one more is wanted
	closed  bool
	timer   *time.Timer // of the next one; nil where none is due
}

// WantSweep has a sweep made soon. It may be called with any lock held.
func (sw *Sweeps) WantSweep() {
	w := &sw.state
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
	case w.running:
		w.again = true
	default:
		w.running = true
		go sw.runSweeps()
	}
}

// wantSweepLater has a sweep made in a while. It may be called with any lock held.
func (sw *Sweeps) wantSweepLater() {
	w := &sw.state
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed && w.timer == nil {
		w.timer = time.AfterFunc(sweepPause, func() {
			w.mu.Lock()
			w.timer = nil
			w.mu.Unlock()
			sw.WantSweep()
		})
	}
}

func (sw *Sweeps) runSweeps() {
	w := &sw.state
	for {
		if sw.sweep() > 0 {
			sw.wantSweepLater()
		}
		w.mu.Lock()
		if !w.again || w.closed {
			w.running = false
			if w.idle.L != nil {
				w.idle.Broadcast()
			}
			w.mu.Unlock()
			return
		}
		w.again = false
		w.mu.Unlock()
	}
}

// EndSweeps waits for the sweep under way, after which there is none.
func (sw *Sweeps) EndSweeps() {
	w := &sw.state
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.idle.L = true, &w.mu
	if w.timer != nil {
		w.timer.Stop()
	}
	for w.running {
		w.idle.Wait()
	}
}

// sweep looks at all ordinary buffers of the program once. It returns how many are held that the
// collector may have to free.
func (sw *Sweeps) sweep() (held int) {
	t := sw.buffers
	t.mu.Lock()
	t.fresh, t.limit = Known{}, Known{max(SweepBuffers, t.known.Buffers/2), max(sweepBytes, t.known.Size/2)}
	t.mu.Unlock()
	var idle, freed []*Buffer
	for _, b := range t.List() {
		if !b.forgettable() {
			continue
		}
		switch b.Use.Load() {
		case inUse:
			held++
			b.Use.CompareAndSwap(inUse, unused)
		case unused:
			held++
			idle = append(idle, b)
		case Released:
			if b.freed.Load() {
				freed = append(freed, b)
			}
		}
	}
	if len(idle) > 0 {
		sw.program.Describing() // a goroutine that found one of them before it became unused has submitted its task
		held -= sw.weaken(idle)
	}
	sw.takeOutFreed(freed)
	for _, b := range t.TakeFreed() {
		sw.program.Leaked(t.Free(b))
	}
	return held
}

// sweepLot is the number of buffers that are looked at while the lock of submission is held.
const sweepLot = 64

// weaken holds the memory of those of list weakly that no task in flight uses, and returns how many
// they are.
func (sw *Sweeps) weaken(list []*Buffer) (n int) {
	for lot := range slices.Chunk(list, sweepLot) {
		sw.program.Submitting.Lock()
		for _, b := range lot {
			if sw.usedNow(b) {
				continue
			}
			if !devices.Collectable(b.Host, sw.noteFreed, b) {
				b.Kept.Store(true)
				n++
			} else if b.release() {
				n++
			}
		}
		sw.program.Submitting.Unlock()
	}
	return n
}

// noteFreed says that the collector has freed the memory of b.
func (sw *Sweeps) noteFreed(b *Buffer) {
	b.freed.Store(true)
	sw.WantSweep()
}

// usedNow reports whether a task in flight uses b, or one that the runtime itself will submit.
// Requires: the lock of submission held.
func (sw *Sweeps) usedNow(b *Buffer) bool {
	return b.Dropping.Load() || b.Users.Load() > 0 || b.Parts.Load() != nil || sw.program.Uses(b)
}

// takeOutFreed takes buffers out of the table whose memory the collector has freed.
func (sw *Sweeps) takeOutFreed(list []*Buffer) {
	t := sw.buffers
	for lot := range slices.Chunk(list, sweepLot) {
		sw.program.Submitting.Lock()
		t.mu.Lock()
		for _, b := range lot {
			if !b.Gone.Load() && !b.Dropping.Load() {
				t.takeOutFreed(b)
			}
		}
		t.mu.Unlock()
		sw.program.Submitting.Unlock()
	}
}

// retire ends the use of b as a buffer of its own.
func (b *Buffer) retire() {
	b.holding.Lock()
	b.Use.Store(removed)
	b.holding.Unlock()
}

// forgettable reports whether b may ever be released.
func (b *Buffer) forgettable() bool {
	return b.Pages == nil && !b.Copied && !b.Kept.Load() && b.Owner.Program()
}

// release holds the memory of b weakly, unless a task was submitted meanwhile, and reports whether
// it does.
func (b *Buffer) release() bool {
	b.holding.Lock()
	defer b.holding.Unlock()
	if !b.Use.CompareAndSwap(unused, Released) {
		return false
	}
	b.Host.Weaken()
	return true
}

// A Hold keeps buffers in use as long as it exists: those of a recorded iteration.
type Hold struct{ of *heldBuffers }

type heldBuffers struct {
	mu   sync.Mutex
	list []*Buffer
}

func NewHold() *Hold {
	h := &Hold{&heldBuffers{}}
	runtime.AddCleanup(h, func(of *heldBuffers) { of.release() }, h.of)
	return h
}

// Add keeps b in use. It reports false when its memory was freed.
func (h *Hold) Add(t *Table, b *Buffer) bool {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if !slices.Contains(h.of.list, b) {
		b.Users.Add(1)
		h.of.list = append(h.of.list, b)
	}
	return t.Claim(b)
}

// Gone returns a buffer that was given back since it was added, nil where there is none.
func (h *Hold) Gone() *Buffer {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	return GoneOf(h.of.list)
}

// Has reports whether b, or a part of it, was added.
func (h *Hold) Has(b *Buffer) bool {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	return AnyInside(h.of.list, b)
}

// GoneOf returns a buffer of list, or the one that it has become a part of, that was given back,
// nil where there is none.
func GoneOf(list []*Buffer) *Buffer {
	for _, b := range list {
		for g := b.Grown.Load(); g != nil; g = b.Grown.Load() {
			b = g
		}
		if b.Gone.Load() || b.Dropping.Load() {
			return b
		}
	}
	return nil
}

// AnyInside reports whether a buffer of list is b or a part of it.
func AnyInside(list []*Buffer, b *Buffer) bool {
	return slices.ContainsFunc(list, func(p *Buffer) bool { return p.Inside(b) })
}

// AddArgs keeps the buffers of arguments in use.
func (h *Hold) AddArgs(t *Table, args []devices.Arg) {
	for i := range args {
		if a := &args[i]; a.InMemory() {
			h.Add(t, t.ByID(a.Buffer))
		}
	}
}

func (h *heldBuffers) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.list {
		b.Users.Add(-1)
	}
	h.list = nil
}

// A Sweeps finds the buffers that no task and no program uses any more, and gives them back.
type Sweeps struct {
	buffers *Table
	program Program
	state   sweeper
}

// A Program has the functions of the program's tasks that sweeps need.
type Program struct {
	Submitting sync.Locker        // the lock of submission
	Describing func()             // waits for the tasks that are being described
	Uses       func(*Buffer) bool // a task in flight uses a buffer; Submitting is held
	Leaked     func(error)        // notes that memory was not given back
}

// Open connects sw with the buffers t. Requires: no buffer yet.
func (sw *Sweeps) Open(t *Table, p Program) {
	sw.buffers, sw.program = t, p
	t.sweepNow, t.sweepLater = sw.WantSweep, sw.wantSweepLater
	t.limit = Known{SweepBuffers, sweepBytes}
}

// Disable keeps all memory: when the collector frees some is not to be seen.
func (sw *Sweeps) Disable() { sw.state.closed = true }

// Running reports whether there is a sweep.
func (sw *Sweeps) Running() bool {
	sw.state.mu.Lock()
	defer sw.state.mu.Unlock()
	return sw.state.running
}

// TakeFreed returns the buffers that were taken out of the table as their memory was freed. The
// caller frees them.
func (t *Table) TakeFreed() []*Buffer {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.freed
	t.freed = nil
	return list
}

// takeOutFreed takes b out of the table, whose memory the collector has freed. The next sweep does
// the rest. Requires: mu held.
func (t *Table) takeOutFreed(b *Buffer) {
	t.takeOut(b)
	t.freed = append(t.freed, b)
}

// clearOf takes buffers out of the table whose memory the collector has freed and m has reused, and
// holds the memory of the others there. Requires: mu held.
func (t *Table) clearOf(m values.Range) {
	lo, hi := uintptr(m.Base), uintptr(m.Base)+uintptr(m.Cap)*uintptr(m.Elem)
	any := false
	for at := t.Load().Tree.After(lo); at != nil && at.Lo < hi; at = t.Load().Tree.After(at.Hi) {
		if b := at.Value; !t.Claim(b) && b.Use.Load() == Released {
			t.takeOutFreed(b)
			any = true
		}
	}
	if any {
		t.sweepNow()
	}
}

// registered counts b, which is new, and has a sweep made where that is due. Requires: mu held.
func (t *Table) registered(b *Buffer) {
	if !b.forgettable() {
		return
	}
	t.fresh.Buffers++
	t.fresh.Size += b.Size()
	if t.fresh.Buffers < t.limit.Buffers && t.fresh.Size < t.limit.Size {
		t.sweepLater()
		return
	}
	t.fresh = Known{}
	t.sweepNow()
}

// Claim makes b, which a task is about to use, one that is in use: its memory is alive until the
// next sweep but one, or until the task has finished. It reports false when that memory was freed,
// or b is no buffer of its own any more.
//
// Requires: a sweep waits for the caller, which holds the submitting of the program or is in
// describing; or b.users or b.kept shows that it is in use.
func (t *Table) Claim(b *Buffer) bool {
	if b.Use.Load() == inUse || b.Use.CompareAndSwap(unused, inUse) {
		return true
	}
	b.holding.Lock()
	defer b.holding.Unlock()
	if b.Use.Load() == Released && b.Host.Hold() {
		b.Use.Store(inUse)
		t.sweepLater()
	}
	return b.Use.Load() <= unused
}
