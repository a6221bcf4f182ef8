package task

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
)

// This file is what lets several goroutines describe kernel tasks at once: records that are had without the lock of submission, and the
// count of those who are at it. What a task is submitted with is read, checked and placed before it has a number, so all that needs
// the lock is its place in the order and its edges.

// shelfCount is how many shelves there are: who takes a record and who gives one back rarely come to the same.
const shelfCount = 16

// A shelf is free records of a program on a machine with accelerators, where each task needs its detail: they keep it.
type shelf struct {
	mu   spin.Mutex
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
	spin.Lock(&at.mu)
	at.made++
	at.mu.Unlock()
	r := &record{detail: s.rt.none, home: s}
	s.rt.detail(r)
	return r
}

func (k *shelf) pop() *record {
	spin.Lock(&k.mu)
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
	spin.LockLong(&at.mu)
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

// guests count who uses the runtime with no task in the window yet, so that Close waits for them. Who comes in and finds the runtime
// closed goes again: one of the two sees the other.
//
// They are counted in several rooms, so that those who come and go all the time do not share one: who waits asks for one room after the
// other, as nobody stays who comes after the runtime was closed.
type guests struct {
	rooms  [guestRooms]guestRoom
	waited atomic.Bool
	mu     sync.Mutex
	gone   sync.Cond
}

const guestRooms = 64 // a power of 2

type guestRoom struct {
	n atomic.Int64
	_ line128
}

// room returns the one of the calling goroutine.
func (g *guests) room() *guestRoom {
	const mix = 0x9e3779b97f4a7c15
	return &g.rooms[uint64(goroutine())*mix>>58%guestRooms]
}

func (g *guests) enter() { g.room().n.Add(1) }

// leave says that who has entered goes, on the same goroutine.
func (g *guests) leave() {
	if g.room().n.Add(-1) == 0 && g.waited.Load() {
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
	for i := range g.rooms {
		for g.rooms[i].n.Load() > 0 {
			g.gone.Wait()
		}
	}
}

// pass returns when all have left who were there when it was called, and perhaps others. A room counts all who are in it, so that it looks
// again and again.
func (g *guests) pass() {
	const longest = time.Millisecond
	for i := range g.rooms {
		for pause := time.Microsecond; g.rooms[i].n.Load() > 0; pause = min(2*pause, longest) {
			time.Sleep(pause)
		}
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
func (s *Scope) commitBeside(r *record) (t Task, err error) {
	rt := s.rt
	unseen := rt.eagerQueues != nil && !rt.seen && !r.now && s.growths.Load() == 0
	if unseen {
		s.graph.domain.Prepare(r.graphNode(), r.accesses)
	}
	if err := s.enter(rt.contextOf(r.group)); err != nil {
		return s.giveUpBeside(r, err)
	}
	s.submitters.observe(goroutine(), &rt.contention)
	if unseen && len(s.reductions) == 0 && s.growths.Load() == 0 {
		t = s.commitUnseen(r)
	} else {
		t = s.commit(r)
	}
	rt.describing.leave()
	return t, nil
}

// commitUnseen is commit for a task of the program that is prepared, where nobody looks on or waits for it and no reduction is open. Under the
// lock of submission is no more than its place in the order and its edges, and nothing of it that others have had is looked at for the
// first time: to fetch that takes longer than the rest.
func (s *Scope) commitUnseen(r *record) Task {
	rt, detail, domain := s.rt, r.detail, s.graph.domain // r may be over, and another task, when it is settled
	id := deps.TaskID(rt.window.enter())
	s.count(r)
	if e := s.graph.tainted(r.accesses); e != nil {
		r.poison.Store(e)
	}
	r.node.ID = id
	edges := domain.Place(&r.node, r.accesses)
	s.submitting.Unlock()
	spin.Perturb()
	r.id.Store(uint64(id)) // it is not ready, and nobody knows it by more than its node, before it is settled
	r.submissionState.Store(uint64(id)<<stateBits | inSubmission)
	var ready recordList
	late := domain.Settle(&r.node, edges)
	if late {
		if late = r.wasGranted(); !late {
			ready.push(r)
		}
	}
	if detail.endSubmission(id) {
		rt.startOn(r)
	}
	if late {
		rt.predecessorsDone(r, nil)
	}
	rt.startAll(&ready)
	return Task{rt, r, id}
}
