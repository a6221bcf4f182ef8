package task

import (
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
)

// This file keeps the free records. A record is used again in the scope where it was used before,
// as long as the scope exists: the graph of the scope may still refer to finished nodes
// (deps.Domain), and only the submitting goroutine of that scope may reset such a node. Records of
// the program stay with the program. Those of a finished scope, whose graph is gone too, go to
// other scopes.
//
// Most records come back from another processor than that of the submitting goroutine. They come in
// magazines (Bonwick and Adams, Magazines and Vmem, 2001, section 3), so that the submitting
// goroutine can fetch the cache lines of all records of a magazine at once.

const magazineSize = 30 // a magazine is then four cache lines

// A magazine holds some free records.
type magazine struct {
	next *magazine
	n    int
	list [magazineSize]*record
}

// A recordDepot holds the magazines of the program.
type recordDepot struct {
	mu    spin.Mutex
	full  *magazine // with records
	empty *magazine
	made  int64 // guarded by the submitting of the program
}

// take returns a magazine with records in exchange for an empty one, or nil when there are none.
func (k *recordDepot) take(empty *magazine) *magazine {
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

// give takes a magazine with records and returns an empty one.
func (k *recordDepot) give(b *magazine) *magazine {
	spin.Lock(&k.mu)
	if b != nil {
		b.next, k.full = k.full, b
	}
	if b = k.empty; b != nil {
		k.empty, b.next = b.next, nil
	}
	k.mu.Unlock()
	if b == nil {
		b = &magazine{}
	}
	return b
}

// put takes one record.
func (k *recordDepot) put(r *record) {
	spin.Lock(&k.mu)
	defer k.mu.Unlock()
	b := k.full
	if b == nil || b.n == magazineSize {
		if b = k.empty; b != nil {
			k.empty = b.next
		} else {
			b = &magazine{}
		}
		b.next, k.full = k.full, b
	}
	b.list[b.n] = r
	b.n++
}

// takeRecord returns a free record for a task of s. Requires: the submitting of s held.
func (s *Scope) takeRecord() *record {
	rt := s.rt
	if !s.program() {
		return s.takeNestedRecord()
	}
	if rt.topology.accelerators {
		return rt.recordShards.take(s)
	}
	b := rt.magazine
	if b == nil || b.n == 0 {
		if b = rt.depot.take(b); b == nil {
			rt.magazine = nil
			rt.depot.made++
			return rt.madeRecords.add(&record{detail: rt.observers.none, scope: s})
		}
		rt.magazine = b
		for _, r := range b.list[:b.n] {
			r.link = nil      // fetches the line that the worker wrote, all of them at once,
			r.node.ID = 0     // and this one,
			if r.scope != s { // and this one
				bug("a record of another scope is in the stock")
			}
		}
	}
	b.n--
	return b.list[b.n]
}

func (s *Scope) takeNestedRecord() *record {
	if s.freeOwn == nil {
		s.freeOwn = s.returned.Swap(nil)
	}
	r := s.freeOwn
	if r == nil {
		r = s.rt.freeNested.get(s.rt)
		r.scope = s
		return r
	}
	s.freeOwn, r.link = r.link, nil
	return r
}

// putRecord returns a record of s that is not in use; worker is as in conclude.
func (s *Scope) putRecord(r *record, worker int) {
	rt := s.rt
	switch {
	case !s.program():
		for {
			r.link = s.returned.Load()
			if s.returned.CompareAndSwap(r.link, r) {
				return
			}
		}
	case rt.topology.accelerators:
		rt.recordShards.put(r)
		return
	case worker == smp.None:
		rt.depot.put(r)
		return
	}
	state := &rt.pool.states[worker]
	b := state.magazine
	if b == nil || b.n == magazineSize {
		b = rt.depot.give(b)
		state.magazine = b
	}
	b.list[b.n] = r
	b.n++
}

// releaseRecords gives the records of s to other scopes. Requires: s is finished, and its graph is
// gone.
func (s *Scope) releaseRecords() {
	first := s.freeOwn
	for r := s.returned.Swap(nil); r != nil; {
		next := r.link
		r.link, first = first, r
		r = next
	}
	s.freeOwn = nil
	if first == nil {
		return
	}
	last := first
	for last.scope = nil; last.link != nil; last.scope = nil {
		last = last.link
	}
	s.rt.freeNested.put(first, last)
}

// A recordFreeList holds the free records of finished nested scopes.
type recordFreeList struct {
	mu   spin.Mutex
	list *record
	made int64
}

func (l *recordFreeList) get(rt *Runtime) *record {
	spin.Lock(&l.mu)
	defer l.mu.Unlock()
	r := l.list
	if r == nil {
		l.made++
		return rt.madeRecords.add(&record{detail: rt.observers.none})
	}
	l.list, r.link = r.link, nil
	return r
}

// put returns the records from first to last.
func (l *recordFreeList) put(first, last *record) {
	spin.Lock(&l.mu)
	last.link, l.list = l.list, first
	l.mu.Unlock()
}

// countRecords returns how many records are free, and how many were made. Requires: no submission,
// and no running task.
func (rt *Runtime) countRecords() (free, made int64) {
	lists := []*magazine{rt.depot.full, rt.magazine}
	for i := range rt.pool.states {
		lists = append(lists, rt.pool.states[i].magazine)
	}
	for _, b := range lists {
		for ; b != nil; b = b.next {
			free += int64(b.n)
		}
	}
	for r := rt.freeNested.list; r != nil; r = r.link {
		free++
	}
	shelved, made := rt.recordShards.count()
	return free + shelved, made + rt.depot.made + rt.freeNested.made
}
