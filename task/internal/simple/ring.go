package simple

import (
	"sync/atomic"

	"github.com/gompss/gompss/internal/spin"
)

// A ring holds ready simple tasks, first in, first out.
//
// It is a ring of pointers and not a list through the tasks, whose cache lines may be with
// another processor. Idle workers poll nonEmpty, which has a cache line to itself and changes only
// when the queue becomes empty or stops being so: polling does not disturb push.
type ring[R any] struct {
	nonEmpty atomic.Bool
	_        spin.Line
	mu       spin.Mutex
	first    uint32
	count    uint32
	ring     []*R // a power of 2
	_        spin.Line
}

const firstRing = 64

// add appends r. Requires: mu held.
func (q *ring[R]) add(r *R) {
	if int(q.count) == len(q.ring) {
		ring := make([]*R, max(firstRing, 2*len(q.ring)))
		for i := range q.count {
			ring[i] = q.ring[(q.first+i)&uint32(len(q.ring)-1)]
		}
		q.ring, q.first = ring, 0
	}
	q.ring[(q.first+q.count)&uint32(len(q.ring)-1)] = r
	if q.count++; q.count == 1 {
		q.nonEmpty.Store(true)
	}
}

// len returns how many tasks are in q.
func (q *ring[R]) len() int64 {
	if !q.nonEmpty.Load() {
		return 0
	}
	spin.Lock(&q.mu)
	defer q.mu.Unlock()
	return int64(q.count)
}

// next takes the first task. Requires: mu held, count > 0.
func (q *ring[R]) next() *R {
	at := &q.ring[q.first&uint32(len(q.ring)-1)]
	r := *at
	*at = nil
	q.first++
	if q.count--; q.count == 0 {
		q.nonEmpty.Store(false)
	}
	return r
}

// push adds r and returns how many tasks are in q then.
func (q *ring[R]) push(r *R) (count uint32) {
	spin.Lock(&q.mu)
	q.add(r)
	count = q.count
	q.mu.Unlock()
	return count
}

func (q *ring[R]) pop() (r *R) {
	if !q.nonEmpty.Load() {
		return nil
	}
	spin.Lock(&q.mu)
	if q.count > 0 {
		r = q.next()
	}
	q.mu.Unlock()
	return r
}

// take takes a part of the queue for one of n workers: list has the tasks, left counts those that
// remain.
func (q *ring[R]) take(room *[MaxShare]*R, n uint32) (list []*R, left uint32) {
	if !q.nonEmpty.Load() {
		return nil, 0
	}
	spin.Lock(&q.mu)
	list = room[:min(MaxShare, max(min(q.count, smallShare), (q.count+n-1)/n))]
	for i := range list {
		list[i] = q.next()
	}
	left = q.count
	q.mu.Unlock()
	return list, left
}

// addAll appends the tasks of list.
func (q *ring[R]) addAll(list []*R) {
	spin.Lock(&q.mu)
	for _, r := range list {
		q.add(r)
	}
	q.mu.Unlock()
}

// each calls f with all tasks.
func (q *ring[R]) each(lock func(*spin.Mutex) bool, f func(*R)) {
	if !q.nonEmpty.Load() || !lock(&q.mu) {
		return
	}
	defer q.mu.Unlock()
	for i := range q.count {
		f(q.ring[(q.first+i)&uint32(len(q.ring)-1)])
	}
}

// stuck reports whether there are tasks in q of which none was taken since the call before. first
// is what that call has noted.
func (q *ring[R]) stuck(first *uint32) bool {
	if !q.nonEmpty.Load() {
		return false
	}
	spin.Lock(&q.mu)
	defer q.mu.Unlock()
	was := *first
	*first = q.first
	return q.count > 0 && was == q.first
}
