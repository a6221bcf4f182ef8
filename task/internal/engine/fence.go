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

// This file finds what the body of a task touches, reads included, without having declared it:
// while a body runs alone, the pages of Alloc that other tasks of the program have to do with, and
// it has not, are closed. They are closed for all, which is no more than the rule: a program does
// not touch what a submitted task uses before Wait, or WaitOn for that part. A breach is a fault:
// of a body it is reported as a ViolationError, of the program it ends the process.
//
// What cannot be found so: memory that is not of Alloc, or that no task has used since the program
// waited for it; what lies in a page with something that the body has declared; bodies that run
// beside others, as those of a GoScope do.

// A pageGuard is what bodies that are looked at in this way have in common.
type pageGuard struct {
	On        bool
	mu        spin.Mutex
	Used      map[deps.BufferID]*deps.Set // what tasks of the program use since it waited for it
	unguarded int                         // goroutines that access memory beside the body with the token
	closed    []closedPages               // those that were closed last
	active    bool                        // and are
}

// closedPages are pages of one buffer.
type closedPages struct {
	b     *memory.Buffer
	first int // byte of the buffer
	pages []byte
}

// use records the memory that r, which the program is about to submit, accesses or waits for.
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

// Forget is called when the program may touch what it likes again.
func (f *pageGuard) Forget() {
	if !f.On {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.openLocked()
	clear(f.Used)
}

// Drop is called before the memory of b is given back.
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

// beginUnguarded records that a goroutine is about to access memory beside the body with the token.
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

// closePages closes what the body of r, whose turn it is, must not touch.
func (rt *Runtime) closePages(r *Record) {
	f := &rt.PageGuard
	if !f.On {
		return
	}
	declared := r.toCheck()
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

// close closes the pages that are all in r. Requires: mu held.
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

// openPages opens what is closed.
func (f *pageGuard) openPages() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.openLocked()
}

// openLocked is lift. Requires: mu held.
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

// guardViolation returns what a fault says that the body of r has touched, nil if that is not of
// the fence.
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
