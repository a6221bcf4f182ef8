package engine

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
)

// The following functions let several goroutines prepare kernel tasks concurrently: they allocate
// records without the submission lock, and count active callers. The arguments of a task are read,
// checked and located before the task has a number, so that only its position in the order and its
// edges need the lock.

// shardCount is the number of shards: a goroutine that allocates a record and one that frees one
// rarely use the same shard.
const shardCount = 16

// A freeShard holds free records of the program on a machine with accelerators, where each task
// needs a detail: the records keep theirs.
type freeShard struct {
	mu   spin.Mutex
	list *Record
	n    atomic.Int32 // length of list, for readers without the lock
	made int64
	_    spin.Line
}

type shardedFreeList [shardCount]freeShard

// take returns a free record for a task of s, which is the scope of the program.
func (k *shardedFreeList) take(s *Scope) *Record {
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
	r := s.RT.madeRecords.add(&Record{Detail: s.RT.Observers.None, Scope: s})
	detailOf(s.RT, r)
	return r
}

func (k *freeShard) pop() *Record {
	spin.Lock(&k.mu)
	defer k.mu.Unlock()
	r := k.list
	if r != nil {
		k.list, r.Link = r.Link, nil
		k.n.Add(-1)
	}
	return r
}

func (k *shardedFreeList) put(r *Record) {
	at := &k[rand.Uint32N(shardCount)]
	spin.LockLong(&at.mu)
	r.Link, at.list = at.list, r
	at.n.Add(1)
	at.mu.Unlock()
}

// Count returns the number of free records and the number of allocated ones.
// Requires: no submission, and no running task.
func (k *shardedFreeList) Count() (free, made int64) {
	for i := range k {
		free, made = free+int64(k[i].n.Load()), made+k[i].made
	}
	return free, made
}

// The following types hold the free records. A record is reused in the same scope as long as the
// scope exists: the graph of the scope may still refer to finished nodes (deps.Domain), and only
// the submitting goroutine of that scope may reset such a node. Records of the program stay with
// the program. Records of a finished scope, whose graph no longer exists, go to other scopes.
//
// Most records are freed on another processor than that of the submitting goroutine. They are
// passed in magazines (Bonwick and Adams, Magazines and Vmem, 2001, section 3), so that the
// submitting goroutine can fetch the cache lines of all records of a magazine in parallel.

const magazineSize = 30 // a magazine then has four cache lines

// A Magazine holds some free records.
type Magazine struct {
	Next *Magazine
	N    int
	list [magazineSize]*Record
}

// A recordDepot holds the magazines of the program.
type recordDepot struct {
	mu    spin.Mutex
	Full  *Magazine // with records
	empty *Magazine
	Made  int64 // guarded by Submitting of the program
}

// take exchanges an empty magazine for one with records; it returns nil if there is none.
func (k *recordDepot) take(empty *Magazine) *Magazine {
	spin.Lock(&k.mu)
	b := k.Full
	if b != nil {
		k.Full, b.Next = b.Next, nil
		if empty != nil {
			empty.Next, k.empty = k.empty, empty
		}
	}
	k.mu.Unlock()
	return b
}

// give exchanges a magazine with records for an empty one.
func (k *recordDepot) give(b *Magazine) *Magazine {
	spin.Lock(&k.mu)
	if b != nil {
		b.Next, k.Full = k.Full, b
	}
	if b = k.empty; b != nil {
		k.empty, b.Next = b.Next, nil
	}
	k.mu.Unlock()
	if b == nil {
		b = &Magazine{}
	}
	return b
}

// put takes one record.
func (k *recordDepot) put(r *Record) {
	spin.Lock(&k.mu)
	defer k.mu.Unlock()
	b := k.Full
	if b == nil || b.N == magazineSize {
		if b = k.empty; b != nil {
			k.empty = b.Next
		} else {
			b = &Magazine{}
		}
		b.Next, k.Full = k.Full, b
	}
	b.list[b.N] = r
	b.N++
}

// TakeRecord returns a free record for a task of s.
// Requires: s.Submitting held.
func TakeRecord(s *Scope) *Record {
	rt := s.RT
	if !s.Program() {
		return s.recycled.take(s)
	}
	if rt.Topology.Accelerators {
		return rt.RecordShards.take(s)
	}
	b := rt.Magazine
	if b == nil || b.N == 0 {
		if b = rt.Depot.take(b); b == nil {
			rt.Magazine = nil
			rt.Depot.Made++
			return rt.madeRecords.add(&Record{Detail: rt.Observers.None, Scope: s})
		}
		rt.Magazine = b
		for _, r := range b.list[:b.N] {
			r.Link = nil      // fetches the cache line that the worker wrote, in parallel for all records,
			r.Node.ID = 0     // and this one,
			if r.Scope != s { // and this one
				Bug("a record of another scope is in the stock")
			}
		}
	}
	b.N--
	return b.list[b.N]
}

// take returns a free record of s, or one without a scope.
// Requires: s.Submitting held.
func (c *recycled) take(s *Scope) *Record {
	if c.freeOwn == nil {
		c.freeOwn = c.returned.Swap(nil)
	}
	r := c.freeOwn
	if r == nil {
		r = s.RT.FreeNested.get(s.RT)
		r.Scope = s
		return r
	}
	c.freeOwn, r.Link = r.Link, nil
	return r
}

// PutRecord returns a record of s that is not in use; worker is as in conclude.
func PutRecord(s *Scope, r *Record, worker int) {
	rt := s.RT
	switch {
	case !s.Program():
		for {
			r.Link = s.returned.Load()
			if s.returned.CompareAndSwap(r.Link, r) {
				return
			}
		}
	case rt.Topology.Accelerators:
		rt.RecordShards.put(r)
		return
	case worker == smp.None:
		rt.Depot.put(r)
		return
	}
	state := &rt.Pool.States[worker]
	b := state.Magazine
	if b == nil || b.N == magazineSize {
		b = rt.Depot.give(b)
		state.Magazine = b
	}
	b.list[b.N] = r
	b.N++
}

// release gives the records to other scopes. Requires: their scope is finished, and its graph is
// gone.
func (c *recycled) release(to *recordFreeList) {
	first := c.freeOwn
	for r := c.returned.Swap(nil); r != nil; {
		next := r.Link
		r.Link, first = first, r
		r = next
	}
	c.freeOwn = nil
	if first == nil {
		return
	}
	last := first
	for last.Scope = nil; last.Link != nil; last.Scope = nil {
		last = last.Link
	}
	to.put(first, last)
}

// A recordFreeList holds the free records of finished nested scopes.
type recordFreeList struct {
	mu   spin.Mutex
	List *Record
	Made int64
}

func (l *recordFreeList) get(rt *Runtime) *Record {
	spin.Lock(&l.mu)
	defer l.mu.Unlock()
	r := l.List
	if r == nil {
		l.Made++
		return rt.madeRecords.add(&Record{Detail: rt.Observers.None})
	}
	l.List, r.Link = r.Link, nil
	return r
}

// put returns the records from first to last.
func (l *recordFreeList) put(first, last *Record) {
	spin.Lock(&l.mu)
	last.Link, l.List = l.List, first
	l.mu.Unlock()
}
