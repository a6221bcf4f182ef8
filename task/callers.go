package task

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

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

// activeCallers counts the calls that use the runtime with no task in the window yet, so that Close
// waits for them. A call that finds the runtime closed returns at once: either it sees that, or
// Close sees the call.
//
// The count is split into stripes, so that callers share no cache line. wait can look at one stripe
// after the other, since no call stays that begins after the runtime was closed.
type activeCallers struct {
	stripes [callerStripes]callerStripe
	closing atomic.Bool
	mu      sync.Mutex
	left    sync.Cond
}

const callerStripes = 64 // a power of 2

type callerStripe struct {
	n atomic.Int64
	_ spin.Line
}

// stripe returns the stripe of the calling goroutine.
func (g *activeCallers) stripe() *callerStripe {
	const mix = 0x9e3779b97f4a7c15
	return &g.stripes[uint64(goid.Of())*mix>>58%callerStripes]
}

func (g *activeCallers) enter() { g.stripe().n.Add(1) }

// leave ends a call, on the goroutine that called enter.
func (g *activeCallers) leave() {
	if g.stripe().n.Add(-1) == 0 && g.closing.Load() {
		g.mu.Lock()
		g.left.Broadcast()
		g.mu.Unlock()
	}
}

// wait waits until there are no callers. Requires: the runtime is closed.
func (g *activeCallers) wait() {
	g.left.L = &g.mu
	g.closing.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.stripes {
		for g.stripes[i].n.Load() > 0 {
			g.left.Wait()
		}
	}
}

// waitForCurrent returns when all calls have ended that were active when it was called. It polls,
// as a stripe counts later calls too.
func (g *activeCallers) waitForCurrent() {
	const longest = time.Millisecond
	for i := range g.stripes {
		for pause := time.Microsecond; g.stripes[i].n.Load() > 0; pause = min(2*pause, longest) {
			time.Sleep(pause)
		}
	}
}

// none reports whether no call is active.
func (g *activeCallers) none() bool {
	for i := range g.stripes {
		if g.stripes[i].n.Load() > 0 {
			return false
		}
	}
	return true
}

// openUnlocked begins the record of a kernel task of the program without the lock of submission;
// abortUnlocked or commitUnlocked ends that.
func (s *Scope) openUnlocked(k *Kernel, g *Group) (*record, error) {
	rt := s.rt
	rt.callers.enter()
	err := rt.closedError(g)
	if err != nil {
		rt.callers.leave()
		return nil, err
	}
	r := rt.recordShards.take(s)
	r.kind = kernelBody
	r.traits.Set(life.Simple, false)
	r.kernel, r.pos, r.label = k, k.pos, k.ir.Task.Label
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
	s.rt.callers.leave()
	return Task{}, err
}

// commitUnlocked is commit for a record of openUnlocked.
func (s *Scope) commitUnlocked(r *record) (t Task, err error) {
	rt := s.rt
	unobserved := rt.eagerQueues != nil && !rt.observers.hasObserver && !r.traits.Is(life.Undeferred) && s.growths.Load() == 0
	if unobserved {
		s.graph.domain.Prepare(r.graphNode(), r.accesses)
	}
	if err := s.lockSubmission(rt.contextOf(r.group)); err != nil {
		return s.abortUnlocked(r, err)
	}
	s.submitters.observe(goid.Of(), &rt.contention)
	if unobserved && len(s.reductions) == 0 && s.growths.Load() == 0 {
		t = s.commitUnobserved(r)
	} else {
		t = s.commit(r)
	}
	rt.callers.leave()
	return t, nil
}

// commitUnobserved is commit for a task of the program that is prepared and neither observed nor
// waited for, where no reduction is open. Under the lock of submission it finds only the place in
// the order and the edges. Memory that another processor wrote is fetched outside of the lock: that
// takes longer than the rest.
func (s *Scope) commitUnobserved(r *record) Task {
	rt, domain := s.rt, s.graph.domain // r may be finished, and another task, after Settle
	id := deps.TaskID(rt.window.enter())
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
