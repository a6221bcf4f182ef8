package task

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/admission"
	"github.com/gompss/gompss/task/internal/life"
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
	released        // the memory is held weakly
	removed         // it is a part of another buffer, or none any more
)

const (
	sweepBuffers = 64      // a sweep comes after as many new buffers at least,
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

// wantSweep has a sweep made soon. It may be called with any lock held.
func (sw *sweeps) wantSweep() {
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
func (sw *sweeps) wantSweepLater() {
	w := &sw.state
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed && w.timer == nil {
		w.timer = time.AfterFunc(sweepPause, func() {
			w.mu.Lock()
			w.timer = nil
			w.mu.Unlock()
			sw.wantSweep()
		})
	}
}

func (sw *sweeps) runSweeps() {
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

// endSweeps waits for the sweep under way, after which there is none.
func (sw *sweeps) endSweeps() {
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
func (sw *sweeps) sweep() (held int) {
	t := sw.buffers
	t.mu.Lock()
	t.fresh, t.limit = known{}, known{max(sweepBuffers, t.known.buffers/2), max(sweepBytes, t.known.size/2)}
	t.mu.Unlock()
	var idle, freed []*buffer
	for _, b := range t.list() {
		if !b.forgettable() {
			continue
		}
		switch b.use.Load() {
		case inUse:
			held++
			b.use.CompareAndSwap(inUse, unused)
		case unused:
			held++
			idle = append(idle, b)
		case released:
			if b.freed.Load() {
				freed = append(freed, b)
			}
		}
	}
	if len(idle) > 0 {
		sw.callers.WaitForCurrent() // a goroutine that found one of them before it became unused has submitted its task
		held -= sw.weaken(idle)
	}
	sw.takeOutFreed(freed)
	for _, b := range t.takeFreed() {
		sw.log.noteLeak(t.free(b))
	}
	return held
}

// takeFreed returns the buffers that were taken out of the table as their memory was freed. The
// caller frees them.
func (t *buffers) takeFreed() []*buffer {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.freed
	t.freed = nil
	return list
}

// sweepLot is the number of buffers that are looked at while the lock of submission is held.
const sweepLot = 64

// weaken holds the memory of those of list weakly that no task in flight uses, and returns how many
// they are.
func (sw *sweeps) weaken(list []*buffer) (n int) {
	for lot := range slices.Chunk(list, sweepLot) {
		sw.root.submitting.Lock()
		for _, b := range lot {
			if sw.usedNow(b) {
				continue
			}
			if !devices.Collectable(b.host, sw.noteFreed, b) {
				b.kept.Store(true)
				n++
			} else if b.release() {
				n++
			}
		}
		sw.root.submitting.Unlock()
	}
	return n
}

// noteFreed says that the collector has freed the memory of b.
func (sw *sweeps) noteFreed(b *buffer) {
	b.freed.Store(true)
	sw.wantSweep()
}

// usedNow reports whether a task in flight uses b, or one that the runtime itself will submit.
// Requires: submitting held.
func (sw *sweeps) usedNow(b *buffer) bool {
	s := sw.root
	return b.dropping.Load() || b.users.Load() > 0 || b.parts.Load() != nil || s.graph.domain != nil && s.graph.domain.Uses(b.id) ||
		slices.ContainsFunc(s.reductions, func(g *reduction) bool { return g.buffer == b })
}

// takeOutFreed takes buffers out of the table whose memory the collector has freed.
func (sw *sweeps) takeOutFreed(list []*buffer) {
	t := sw.buffers
	for lot := range slices.Chunk(list, sweepLot) {
		sw.root.submitting.Lock()
		t.mu.Lock()
		for _, b := range lot {
			if !b.gone.Load() && !b.dropping.Load() {
				t.takeOutFreed(b)
			}
		}
		t.mu.Unlock()
		sw.root.submitting.Unlock()
	}
}

// takeOutFreed takes b out of the table, whose memory the collector has freed. The next sweep does
// the rest. Requires: mu held.
func (t *buffers) takeOutFreed(b *buffer) {
	t.takeOut(b)
	t.freed = append(t.freed, b)
}

// clearOf takes buffers out of the table whose memory the collector has freed and m has reused, and
// holds the memory of the others there. Requires: mu held.
func (t *buffers) clearOf(m values.Range) {
	lo, hi := uintptr(m.Base), uintptr(m.Base)+uintptr(m.Cap)*uintptr(m.Elem)
	any := false
	for at := t.load().tree.After(lo); at != nil && at.Lo < hi; at = t.load().tree.After(at.Hi) {
		if b := at.Value; !t.claim(b) && b.use.Load() == released {
			t.takeOutFreed(b)
			any = true
		}
	}
	if any {
		t.sweepNow()
	}
}

// registered counts b, which is new, and has a sweep made where that is due. Requires: mu held.
func (t *buffers) registered(b *buffer) {
	if !b.forgettable() {
		return
	}
	t.fresh.buffers++
	t.fresh.size += b.size()
	if t.fresh.buffers < t.limit.buffers && t.fresh.size < t.limit.size {
		t.sweepLater()
		return
	}
	t.fresh = known{}
	t.sweepNow()
}

// retire ends the use of b as a buffer of its own.
func (b *buffer) retire() {
	b.holding.Lock()
	b.use.Store(removed)
	b.holding.Unlock()
}

// forgettable reports whether b may ever be released.
func (b *buffer) forgettable() bool {
	return b.pages == nil && !b.copied && !b.kept.Load() && b.owner.program()
}

// claim makes b, which a task is about to use, one that is in use: its memory is alive until the
// next sweep but one, or until the task has finished. It reports false when that memory was freed,
// or b is no buffer of its own any more.
//
// Requires: a sweep waits for the caller, which holds the submitting of the program or is in
// describing; or b.users or b.kept shows that it is in use.
func (t *buffers) claim(b *buffer) bool {
	if b.use.Load() == inUse || b.use.CompareAndSwap(unused, inUse) {
		return true
	}
	b.holding.Lock()
	defer b.holding.Unlock()
	if b.use.Load() == released && b.host.Hold() {
		b.use.Store(inUse)
		t.sweepLater()
	}
	return b.use.Load() <= unused
}

// release holds the memory of b weakly, unless a task was submitted meanwhile, and reports whether
// it does.
func (b *buffer) release() bool {
	b.holding.Lock()
	defer b.holding.Unlock()
	if !b.use.CompareAndSwap(unused, released) {
		return false
	}
	b.host.Weaken()
	return true
}

// keepUnordered keeps the memory alive, while r is in flight, that it uses without an access that
// orders it.
func (r *record) keepUnordered() {
	for i := range r.args.List {
		if a := &r.args.List[i]; a.InMemory() && (r.traits.Is(life.OrderOnly) || !ordered(r.accesses, a.Buffer)) {
			b := r.rt.buffers.byID(a.Buffer)
			b.users.Add(1)
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

// A hold keeps buffers in use as long as it exists: those of a recorded iteration.
type hold struct{ of *heldBuffers }

type heldBuffers struct {
	mu   sync.Mutex
	list []*buffer
}

func newHold() *hold {
	h := &hold{&heldBuffers{}}
	runtime.AddCleanup(h, func(of *heldBuffers) { of.release() }, h.of)
	return h
}

// add keeps b in use. It reports false when its memory was freed.
func (h *hold) add(t *buffers, b *buffer) bool {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if !slices.Contains(h.of.list, b) {
		b.users.Add(1)
		h.of.list = append(h.of.list, b)
	}
	return t.claim(b)
}

// addArgs keeps the buffers of arguments in use.
func (h *hold) addArgs(t *buffers, args []devices.Arg) {
	for i := range args {
		if a := &args[i]; a.InMemory() {
			h.add(t, t.byID(a.Buffer))
		}
	}
}

func (h *heldBuffers) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.list {
		b.users.Add(-1)
	}
	h.list = nil
}

// A sweeps finds the buffers that no task and no program uses any more, and gives them back.
type sweeps struct {
	buffers *buffers
	callers *admission.ActiveCallers
	root    *Scope
	log     *failureLog
	state   sweeper
}
