package task

import (
	"errors"
	"slices"
	"sort"
)

// allocated is where the memory of Alloc lies, of all runtimes of the process, and where it has lain since it was given back: a slice
// of it says nothing of that. It is looked at when memory is registered, not when it is found.
var allocated allocations

// allocations are stretches of addresses in ascending order, none overlapping another.
type allocations struct {
	mu    mutex // innermost
	list  []allocation
	freed int // how many have no owner
}

type allocation struct {
	lo, hi uintptr
	owner  *buffers // nil when it was given back
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
	i := a.search(b.lo())
	k := i
	for ; k < len(a.list) && a.list[k].lo < b.hi(); k++ {
		a.freed--
	}
	a.list = slices.Replace(a.list, i, k, allocation{b.lo(), b.hi(), owner})
}

// free says that b is about to be given back.
func (a *allocations) free(b *buffer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.search(b.lo())
	if i == len(a.list) || a.list[i].lo != b.lo() || a.list[i].owner == nil {
		return
	}
	a.list[i].owner = nil
	if a.freed++; a.freed > maxFreed {
		a.list = slices.DeleteFunc(a.list, func(x allocation) bool { return x.owner == nil })
		a.freed = 0
	}
}

// check returns an error when m, which is no part of a buffer of t, is memory of Alloc: of another runtime, or given back and not in use
// again for something else.
func (a *allocations) check(m memory, t *buffers) error {
	lo, hi := uintptr(m.base), uintptr(m.base)+uintptr(m.size())
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := a.search(lo); i < len(a.list) && a.list[i].lo < hi; i++ {
		switch x := a.list[i]; {
		case x.owner == t: // somebody is about to give it back
			return errFreed
		case x.owner != nil:
			return errForeign
		case !mapped(m.base):
			return errFreed
		}
	}
	return nil
}

// search returns the first stretch that ends behind an address. Requires: mu held.
func (a *allocations) search(at uintptr) int {
	return sort.Search(len(a.list), func(i int) bool { return a.list[i].hi > at })
}
