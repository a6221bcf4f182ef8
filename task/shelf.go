package task

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// This file is what lets several goroutines describe kernel tasks at once: records that are had without the lock of submission, and the
// count of those who are at it. What a task is submitted with is read, checked and placed before it has a number, so all that needs
// the lock is its place in the order and its edges.

// shelfCount is how many shelves there are: who takes a record and who gives one back rarely come to the same.
const shelfCount = 16

// A shelf is free records of a program on a machine with accelerators, where each task needs its detail: they keep it.
type shelf struct {
	mu   mutex
	list *record
	n    atomic.Int32 // in list, to be looked at without the lock
	made int64
	_    line128
}

type shelves [shelfCount]shelf

// take returns a free record for a task of s, which is the scope of the program.
func (k *shelves) take(s *Scope) *record {
	first := rand.Uint32N(shelfCount)
	for i := range uint32(shelfCount) {
		if at := &k[(first+i)%shelfCount]; at.n.Load() > 0 {
			if r := at.pop(); r != nil {
				return r
			}
		}
	}
	at := &k[first]
	lock(&at.mu)
	at.made++
	at.mu.Unlock()
	r := &record{detail: s.rt.none, home: s}
	s.rt.detail(r)
	return r
}

func (k *shelf) pop() *record {
	lock(&k.mu)
	defer k.mu.Unlock()
	r := k.list
	if r != nil {
		k.list, r.link = r.link, nil
		k.n.Add(-1)
	}
	return r
}

func (k *shelves) put(r *record) {
	at := &k[rand.Uint32N(shelfCount)]
	lock(&at.mu)
	r.link, at.list = at.list, r
	at.n.Add(1)
	at.mu.Unlock()
}

// count returns how many records there are, and how many were made. Requires: nobody submits, and nothing runs.
func (k *shelves) count() (free, made int64) {
	for i := range k {
		free, made = free+int64(k[i].n.Load()), made+k[i].made
	}
	return free, made
}

// guests counts who uses the runtime with no task in the window yet, so that Close waits for them. Who comes in and finds the runtime
// closed goes again: one of the two sees the other.
type guests struct {
	n      atomic.Int64
	waited atomic.Bool
	mu     sync.Mutex
	gone   sync.Cond
}

func (g *guests) enter() { g.n.Add(1) }

func (g *guests) leave() {
	if g.n.Add(-1) == 0 && g.waited.Load() {
		g.mu.Lock()
		g.gone.Broadcast()
		g.mu.Unlock()
	}
}

// wait waits until nobody is there. Requires: the runtime is closed.
func (g *guests) wait() {
	g.gone.L = &g.mu
	g.waited.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.n.Load() > 0 {
		g.gone.Wait()
	}
}

// openBeside begins the record of a kernel task of the program without the lock of submission; giveUpBeside or commitBeside ends that.
func (s *Scope) openBeside(k *Kernel, g *Group) (*record, error) {
	rt := s.rt
	rt.describing.enter()
	err := rt.closedError(g)
	if err != nil {
		rt.describing.leave()
		return nil, err
	}
	r := rt.shelves.take(s)
	r.kind, r.plain = kernelBody, false
	r.kernel, r.pos, r.label = k, k.pos, k.ir.Task.Label
	if g != nil {
		r.group = g
		if g.home == s {
			r.member = g
		}
	}
	return r, nil
}

func (s *Scope) giveUpBeside(r *record, err error) (Task, error) {
	r.clear()
	s.rt.shelves.put(r)
	s.rt.describing.leave()
	return Task{}, err
}

// commitBeside is commit for a record of openBeside.
func (s *Scope) commitBeside(r *record) (Task, error) {
	if err := s.enter(s.rt.contextOf(r.group)); err != nil {
		return s.giveUpBeside(r, err)
	}
	t := s.commit(r)
	s.rt.describing.leave()
	return t, nil
}
