package task

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/goid"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
)

// This file lets several goroutines describe kernel tasks at once: records that are taken without
// the lock of submission, and the number of active callers. The arguments of a task are read,
// checked and placed before the task has a number, so that only its place in the order and its
// edges need the lock.

// shardCount is the number of shards: a goroutine that takes a record and one that returns one
// rarely use the same.
const shardCount = 16

// A freeShard holds free records of the program on a machine with accelerators, where each task
// needs a detail: the records keep theirs.
type freeShard struct {
	mu   spin.Mutex
	list *record
	n    atomic.Int32 // length of list, for readers without the lock
	made int64
	_    spin.Line
}

type shardedFreeList [shardCount]freeShard

// take returns a free record for a task of s, which is the scope of the program.
func (k *shardedFreeList) take(s *Scope) *record {
	first := rand.Uint32N(shardCount)
	for i := range uint32(shardCount) {
		if at := &k[(first+i)%shardCount]; at.n.Load() > 0 {
			if r := at.pop(); r != nil {
				return r
			}
		}
	}
	at := &k[first]
	spin.Lock(&at.mu)
	at.made++
	at.mu.Unlock()
	r := s.rt.madeRecords.add(&record{detail: s.rt.observers.none, scope: s})
	s.rt.detail(r)
	return r
}

func (k *freeShard) pop() *record {
	spin.Lock(&k.mu)
	defer k.mu.Unlock()
	r := k.list
	if r != nil {
		k.list, r.link = r.link, nil
		k.n.Add(-1)
	}
	return r
}

func (k *shardedFreeList) put(r *record) {
	at := &k[rand.Uint32N(shardCount)]
	spin.LockLong(&at.mu)
	r.link, at.list = at.list, r
	at.n.Add(1)
	at.mu.Unlock()
}

// count returns how many records there are, and how many were made. Requires: no submission, and no
// running task.
func (k *shardedFreeList) count() (free, made int64) {
	for i := range k {
		free, made = free+int64(k[i].n.Load()), made+k[i].made
	}
	return free, made
}

// openUnlocked begins the record of a kernel task of the program without the lock of submission;
// abortUnlocked or commitUnlocked ends that.
func (s *Scope) openUnlocked(k *Kernel, g *Group) (*record, error) {
	rt := s.rt
	rt.callers.Enter()
	err := rt.closedError(g)
	if err != nil {
		rt.callers.Leave()
		return nil, err
	}
	r := rt.recordShards.take(s)
	r.kind = kernelBody
	r.traits.Set(life.Simple, false)
	r.kernel, r.pos, r.label = k.description, k.description.Pos, k.description.IR.Task.Label
	if g != nil {
		r.group = g
		if g.scope == s {
			r.member = g
		}
	}
	return r, nil
}

func (s *Scope) abortUnlocked(r *record, err error) (Task, error) {
	r.clear()
	s.rt.recordShards.put(r)
	s.rt.callers.Leave()
	return Task{}, err
}

// commitUnlocked is commit for a record of openUnlocked.
func (s *Scope) commitUnlocked(r *record) (t Task, err error) {
	rt := s.rt
	unobserved := rt.eagerQueues != nil && !rt.observers.hasObserver && !r.traits.Is(life.Undeferred) && !s.memory.Grew()
	if unobserved {
		s.graph.domain.Prepare(r.graphNode(), r.accesses)
	}
	if err := s.lockSubmission(rt.contextOf(r.group)); err != nil {
		return s.abortUnlocked(r, err)
	}
	s.submitters.Observe(goid.Of(), &rt.contention)
	if unobserved && len(s.reductions) == 0 && !s.memory.Grew() {
		t = s.commitUnobserved(r)
	} else {
		t = s.commit(r)
	}
	rt.callers.Leave()
	return t, nil
}

// commitUnobserved is commit for a task of the program that is prepared and neither observed nor
// waited for, where no reduction is open. Under the lock of submission it finds only the place in
// the order and the edges. Memory that another processor wrote is fetched outside of the lock: that
// takes longer than the rest.
func (s *Scope) commitUnobserved(r *record) Task {
	rt, domain := s.rt, s.graph.domain // r may be finished, and another task, after Settle
	id := deps.TaskID(rt.window.Enter())
	s.count(r)
	if e := s.graph.poisonOf(r.accesses); e != nil {
		r.poison.Store(e)
	}
	r.node.ID = id
	edges := domain.Place(&r.node, r.accesses)
	s.submitting.Unlock()
	spin.Perturb()
	r.life.Submit(id) // it is not ready, and only its node is known, before settle
	var ready recordList
	late, start := rt.settle(r, domain, edges)
	if late {
		if late = !r.life.Release(); !late {
			ready.push(r)
		}
	}
	if start {
		rt.startOn(r)
	}
	if late {
		rt.predecessorsDone(r, nil)
	}
	rt.startAll(&ready)
	return Task{rt, r, id}
}
