package task

import (
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
)

// This file is where records are while nobody uses them. A record is used again in the scope where it was used before, as long as that
// is there: the graph of a scope may still refer to nodes that are over (deps.Domain), and only who submits there may begin such a
// node anew. Records of the program stay with the program; those of a scope that is over, and its graph with it, are for other scopes.
//
// Most records come back from another processor than the one that submits. They come in bundles, so that who submits can ask for the
// lines of all records of a bundle at once instead of waiting for each when it is needed.

// A line128 keeps what lies before it and after it in different cache lines, and out of the pairs of lines that are fetched together.
type line128 [128]byte

const bundleSize = 30 // with which a bundle is four cache lines

// A bundle is some free records.
type bundle struct {
	next *bundle
	n    int
	list [bundleSize]*record
}

// A stock is the free records of the program.
type stock struct {
	mu    spin.Mutex
	full  *bundle // with records
	empty *bundle
	made  int64 // guarded by the submitting of the program
}

// take returns a bundle with records for an empty one, or nil when there are none.
func (k *stock) take(empty *bundle) *bundle {
	spin.Lock(&k.mu)
	b := k.full
	if b != nil {
		k.full, b.next = b.next, nil
		if empty != nil {
			empty.next, k.empty = k.empty, empty
		}
	}
	k.mu.Unlock()
	return b
}

// give takes a bundle with records and returns an empty one.
func (k *stock) give(b *bundle) *bundle {
	spin.Lock(&k.mu)
	if b != nil {
		b.next, k.full = k.full, b
	}
	if b = k.empty; b != nil {
		k.empty, b.next = b.next, nil
	}
	k.mu.Unlock()
	if b == nil {
		b = &bundle{}
	}
	return b
}

// put takes one record.
func (k *stock) put(r *record) {
	spin.Lock(&k.mu)
	defer k.mu.Unlock()
	b := k.full
	if b == nil || b.n == bundleSize {
		if b = k.empty; b != nil {
			k.empty = b.next
		} else {
			b = &bundle{}
		}
		b.next, k.full = k.full, b
	}
	b.list[b.n] = r
	b.n++
}

// take returns a free record for a task of s. Requires: the submitting of s held.
func (s *Scope) take() *record {
	rt := s.rt
	if !s.program() {
		return s.takeNested()
	}
	if rt.accelerators {
		return rt.shelves.take(s)
	}
	b := rt.bundle
	if b == nil || b.n == 0 {
		if b = rt.stock.take(b); b == nil {
			rt.bundle = nil
			rt.stock.made++
			return &record{detail: rt.none, home: s}
		}
		rt.bundle = b
		for _, r := range b.list[:b.n] {
			r.link = nil     // fetches the line that the worker has had, all of them at once,
			r.node.ID = 0    // and this one,
			if r.home != s { // and this one
				rt.bug("a record of another scope is in the stock")
			}
		}
	}
	b.n--
	return b.list[b.n]
}

func (s *Scope) takeNested() *record {
	if s.own == nil {
		s.own = s.returned.Swap(nil)
	}
	r := s.own
	if r == nil {
		r = s.rt.free.get(s.rt)
		r.home = s
		return r
	}
	s.own, r.link = r.link, nil
	return r
}

// giveBack returns a record of s that nobody uses; worker is as in conclude.
func (s *Scope) giveBack(r *record, worker int) {
	rt := s.rt
	switch {
	case !s.program():
		for {
			r.link = s.returned.Load()
			if s.returned.CompareAndSwap(r.link, r) {
				return
			}
		}
	case rt.accelerators:
		rt.shelves.put(r)
		return
	case worker == smp.None:
		rt.stock.put(r)
		return
	}
	room := &rt.rooms[worker]
	b := room.spare
	if b == nil || b.n == bundleSize {
		b = rt.stock.give(b)
		room.spare = b
	}
	b.list[b.n] = r
	b.n++
}

// giveAll gives the records of s to other scopes. Requires: s is over, and its graph is gone.
func (s *Scope) giveAll() {
	first := s.own
	for r := s.returned.Swap(nil); r != nil; {
		next := r.link
		r.link, first = first, r
		r = next
	}
	s.own = nil
	if first == nil {
		return
	}
	last := first
	for last.home = nil; last.link != nil; last.home = nil {
		last = last.link
	}
	s.rt.free.put(first, last)
}

// records are the free records of nested scopes that are over.
type records struct {
	mu   spin.Mutex
	list *record
	made int64
}

func (l *records) get(rt *Runtime) *record {
	spin.Lock(&l.mu)
	defer l.mu.Unlock()
	r := l.list
	if r == nil {
		l.made++
		return &record{detail: rt.none}
	}
	l.list, r.link = r.link, nil
	return r
}

// put returns the records from first to last.
func (l *records) put(first, last *record) {
	spin.Lock(&l.mu)
	last.link, l.list = l.list, first
	l.mu.Unlock()
}

// freeRecords returns how many records are free, and how many were made. Requires: nobody submits, and nothing runs.
func (rt *Runtime) freeRecords() (free, made int64) {
	lists := []*bundle{rt.stock.full, rt.bundle}
	for i := range rt.rooms {
		lists = append(lists, rt.rooms[i].spare)
	}
	for _, b := range lists {
		for ; b != nil; b = b.next {
			free += int64(b.n)
		}
	}
	for r := rt.free.list; r != nil; r = r.link {
		free++
	}
	shelved, made := rt.shelves.count()
	return free + shelved, made + rt.stock.made + rt.free.made
}
