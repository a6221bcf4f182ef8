package task

import (
	"errors"

	"github.com/gompss/gompss/internal/spin"
)

// allocated is where the memory of Alloc lies, of all runtimes of the process, and where it has
// lain since it was given back: a slice of it says nothing of that. It is looked at when memory is
// registered, not when it is found.
var allocated allocations

// allocations are stretches of addresses by their owner, nil for those that were given back.
type allocations struct {
	mu    spin.Mutex // innermost
	tree  *addressTree[*buffers]
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
	for x := a.tree.after(b.lo()); x != nil && x.lo < b.hi(); x = a.tree.after(b.lo()) {
		a.tree = a.tree.remove(x.lo)
		a.freed--
	}
	a.tree = a.tree.insert(&addressTree[*buffers]{lo: b.lo(), hi: b.hi(), value: owner})
}

// free says that b is about to be given back.
func (a *allocations) free(b *buffer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.tree.after(b.lo())
	if x == nil || x.lo != b.lo() || x.value == nil {
		return
	}
	a.tree = a.tree.remove(x.lo).insert(&addressTree[*buffers]{lo: x.lo, hi: x.hi})
	if a.freed++; a.freed > maxFreed {
		a.forget()
	}
}

// forget drops what has no owner. Requires: mu held.
func (a *allocations) forget() {
	for x := range a.tree.all() {
		if x.value == nil {
			a.tree = a.tree.remove(x.lo)
		}
	}
	a.freed = 0
}

// check returns an error when m, which is no part of a buffer of t, is memory of Alloc: of another
// runtime, or given back and not in use again for something else.
func (a *allocations) check(m memory, t *buffers) error {
	lo, hi := uintptr(m.base), uintptr(m.base)+uintptr(m.size())
	a.mu.Lock()
	defer a.mu.Unlock()
	for x := a.tree.after(lo); x != nil && x.lo < hi; x = a.tree.after(x.hi) {
		switch {
		case x.value == t: // another goroutine is about to give it back
			return errFreed
		case x.value != nil:
			return errForeign
		case !mapped(m.base):
			return errFreed
		}
	}
	return nil
}
