package memory

import (
	"errors"

	"github.com/gompss/gompss/internal/hostmem"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/values"
)

// allocated is where the memory of Alloc lies, of all runtimes of the process, and where it has
// lain since it was given back: a slice of it says nothing of that. It is looked at when memory is
// registered, not when it is found.
var allocated allocations

// allocations are stretches of addresses by their owner, nil for those that were given back.
type allocations struct {
	mu    spin.Mutex // innermost
	tree  *hostmem.Tree[*Table]
	freed int // how many have no owner
}

// maxFreed is how many stretches that were given back are remembered.
const maxFreed = 1 << 14

var (
	errForeign = errors.New("memory of Alloc of another runtime")
	errFreed   = errors.New("memory of Alloc that was freed")
)

// add enters the memory that owner has mapped, and forgets earlier entries there.
func (a *allocations) add(b *Buffer, owner *Table) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for x := a.tree.After(b.Lo()); x != nil && x.Lo < b.Hi(); x = a.tree.After(b.Lo()) {
		a.tree = a.tree.Remove(x.Lo)
		a.freed--
	}
	a.tree = a.tree.Insert(&hostmem.Tree[*Table]{Lo: b.Lo(), Hi: b.Hi(), Value: owner})
}

// free says that b is about to be given back.
func (a *allocations) free(b *Buffer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.tree.After(b.Lo())
	if x == nil || x.Lo != b.Lo() || x.Value == nil {
		return
	}
	a.tree = a.tree.Remove(x.Lo).Insert(&hostmem.Tree[*Table]{Lo: x.Lo, Hi: x.Hi})
	if a.freed++; a.freed > maxFreed {
		a.forget()
	}
}

// forget drops entries without an owner. Requires: mu held.
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
func (a *allocations) check(m values.Range, t *Table) error {
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
