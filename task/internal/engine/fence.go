package engine

import (
	"errors"
	"fmt"
	"os"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/hostmem"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/memory"
)

// This file finds undeclared accesses of a task body, including reads. While the body holds the
// token, the pages of Alloc that other tasks of the program use, but the body does not declare, are
// inaccessible. They are inaccessible to all goroutines, which the rules permit: a program must not
// access memory of a submitted task before Wait, or before WaitOn for that part. An access then
// faults. A fault of a body is reported as a ViolationError; a fault of the program ends the
// process.
//
// Some accesses are not found: to memory outside Alloc, or that no task has used since the last
// wait of the program; to a page that also contains declared memory; and of bodies that run
// concurrently with others, such as those of GoScope.

// A pageGuard is the state of this check, shared by all bodies.
type pageGuard struct {
	On        bool
	mu        spin.Mutex
	Used      map[deps.BufferID]*deps.Set // the memory that tasks of the program have used since its last wait
	unguarded int                         // goroutines that access memory concurrently with the body with the token
	closed    []closedPages               // the pages that were closed last
	active    bool                        // those pages are inaccessible now
}

// closedPages is a range of pages of one buffer.
type closedPages struct {
	b     *memory.Buffer
	first int // the offset in the buffer, in bytes
	pages []byte
}

// use records the memory that task r, which the program is about to submit, accesses or waits for.
func (f *pageGuard) use(r *Record) {
	if !f.On || !r.Scope.Program() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range *r.Declared() {
		if a.Region.Empty() {
			continue
		}
		set := f.Used[a.Region.Buffer]
		if set == nil {
			set = &deps.Set{}
			f.Used[a.Region.Buffer] = set
		}
		if r.Kind.Waits() {
			set.Remove(a.Region)
		} else {
			set.Add(a.Region)
		}
	}
}

// Forget is called after a wait for everything: the program may access all memory again.
func (f *pageGuard) Forget() {
	if !f.On {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.openLocked()
	clear(f.Used)
}

// Drop is called before the memory of b is freed.
func (f *pageGuard) Drop(b *memory.Buffer) {
	if !f.On {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.openLocked()
	f.closed = nil
	delete(f.Used, b.ID)
}

// beginUnguarded records that a goroutine starts to access memory concurrently with the body with
// the token.
func (f *pageGuard) beginUnguarded() {
	if !f.On {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unguarded++
	f.openLocked()
}

func (f *pageGuard) endUnguarded() {
	if !f.On {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unguarded--
}

// closePages makes the pages inaccessible that the body of r, which has the token, must not access.
func closePages(rt *Runtime, r *Record) {
	f := &rt.PageGuard
	if !f.On {
		return
	}
	declared := toCheck(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unguarded > 0 {
		return
	}
	f.closed, f.active = f.closed[:0], true
	for id, used := range f.Used {
		table := rt.Buffers.Load()
		b := table.Get(id)
		if b == nil || b.Pages == nil {
			continue
		}
		var rest deps.Set
		for _, u := range used.Regions() {
			rest.Add(u)
		}
		for _, a := range declared {
			if a.Region.Buffer == id {
				rest.Remove(a.Region)
			}
		}
		for _, u := range rest.Regions() {
			f.close(b, u)
		}
	}
}

// close makes the pages that are completely inside r inaccessible.
// Requires: mu held.
func (f *pageGuard) close(b *memory.Buffer, r deps.Region) {
	page := os.Getpagesize()
	for lo, hi := range r.Runs() {
		from, to := int(lo)*int(b.Elem), int(hi)*int(b.Elem)
		if from = (from + page - 1) / page * page; hi == b.Len {
			to = (to + page - 1) / page * page // the rest of the last page belongs to no buffer
		}
		if to = to / page * page; from >= to {
			continue
		}
		pages := b.Pages[:cap(b.Pages)][from:min(to, cap(b.Pages))]
		if hostmem.Protect(pages, false) == nil {
			f.closed = append(f.closed, closedPages{b, from, pages})
		}
	}
}

// openPages makes all pages accessible.
func (f *pageGuard) openPages() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.openLocked()
}

// openLocked is openPages.
// Requires: mu held.
func (f *pageGuard) openLocked() {
	if !f.active {
		return
	}
	f.active = false
	for _, c := range f.closed {
		if err := hostmem.Protect(c.pages, true); err != nil {
			panic(fmt.Sprintf("gompss: bug: task: check: pages cannot be opened again: %v", err))
		}
	}
}

// guardViolation returns the violation of the body of r that a page fault has found, nil if the
// fault is not on a closed page.
func (cc *checks) guardViolation(r *Record, value any) error {
	err, _ := value.(error)
	var fault interface{ Addr() uintptr }
	if !cc.PageGuard.On || !errors.As(err, &fault) {
		return nil
	}
	f := &cc.PageGuard
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.closed {
		at := fault.Addr() - c.b.Lo()
		if at >= uintptr(c.first) && at < uintptr(c.first+len(c.pages)) {
			return &ViolationError{Label: r.Title(), Region: c.b.Whole(), Index: int64(at) / int64(c.b.Elem), Stray: true, Touched: true, Buffer: c.b.String()}
		}
	}
	return nil
}
