package deps

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gompss/gompss/internal/spin"
)

// An Exclusion keeps tasks with overlapping Commutative regions apart, which the graph does not
// order: a node is granted all of its commutative regions at once or waits holding none, so nothing
// deadlocks. The zero Exclusion holds nothing.
//
// Nodes that wait for the same first region are in one queue, where only the head can be next. No
// node overtakes the one that has waited longest if the two conflict, so none starves. Safe for
// concurrent use.
type Exclusion struct {
	mu      spin.Mutex
	held    Shelf[int32] // regions by how many nodes have them: one, but where a node names one twice
	holders int
	waiting []*queue // never empty ones
	oldest  *queue   // among them, whose head has waited longest; nil where that is not known
	freed   []*queue // among them, by a release
	queues  map[Region]*queue
	spare   []*queue
	arrived uint64
}

// A queue is the nodes that wait with the same first region, in order of arrival.
type queue struct {
	region  Region
	waiters []waiter
	next    int // the head is waiters[next]
	at      int // in Exclusion.waiting
}

type waiter struct {
	node    *Node
	arrived uint64
}

func (q *queue) head() waiter { return q.waiters[q.next] }

// TryAcquire grants n its commutative regions, if it has any, and reports whether it did. If not, n
// waits, and a later Release visits it when they have been granted. Cost: O(log regions that are
// held).
func (e *Exclusion) TryAcquire(n *Node) bool {
	if len(n.Exclusive()) == 0 {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	first := e.first()
	if e.free(n) && (first == nil || !exclude(first, n)) {
		e.hold(n)
		return true
	}
	e.arrived++
	e.queueOf(n.Exclusive()[0]).push(waiter{n, e.arrived})
	return false
}

// Release takes back what n was granted and calls visit, without a lock, for each waiting node that
// got its regions now: it may run. Requires: n not completed yet. Cost: O(log regions that are
// held), and O(queues that wait).
func (e *Exclusion) Release(n *Node, visit func(granted *Node)) {
	if len(n.Exclusive()) == 0 {
		return
	}
	e.mu.Lock()
	if !e.let(n) {
		e.mu.Unlock()
		panic(fmt.Sprintf("gompss: bug: node %d releases regions that it does not hold", n.ID))
	}
	var room [4]*Node
	granted := e.grant(n, room[:0])
	e.mu.Unlock()
	for _, g := range granted {
		visit(g)
	}
}

// Len returns how many nodes have regions or wait for them.
func (e *Exclusion) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.holders
	for _, q := range e.waiting {
		n += len(q.waiters) - q.next
	}
	return n
}

// hold gives n its regions. Requires: e.mu held, as do the next two.
func (e *Exclusion) hold(n *Node) {
	e.holders++
	for _, r := range n.Exclusive() {
		*e.held.At(r)++
	}
}

// let takes them back, and reports whether n had them.
func (e *Exclusion) let(n *Node) bool {
	for _, r := range n.Exclusive() {
		switch count := e.held.At(r); *count {
		case 0:
			return false
		case 1:
			e.held.Drop(r)
		default:
			*count--
		}
	}
	e.holders--
	return true
}

// free reports whether no node holds what n needs.
func (e *Exclusion) free(n *Node) bool {
	for _, r := range n.Exclusive() {
		if e.held.Any(&r, func(*Region, *int32) bool { return true }) {
			return false
		}
	}
	return true
}

// grant gives those of the waiting heads that n has kept back what is free now, oldest first, and
// appends them to granted. No other node can continue: a node that another waiting node blocked
// stays blocked when that one is granted its regions. Requires: e.mu held.
func (e *Exclusion) grant(n *Node, granted []*Node) []*Node {
	e.freed = e.freed[:0]
	for _, q := range e.waiting {
		if exclude(n, q.head().node) {
			e.freed = append(e.freed, q)
		}
	}
	if len(e.freed) > 1 {
		slices.SortFunc(e.freed, func(p, q *queue) int { return cmp.Compare(p.head().arrived, q.head().arrived) })
	}
	oldest := e.first()
	for _, q := range e.freed {
		h := q.head().node
		if !e.free(h) || h != oldest && exclude(oldest, h) {
			continue
		}
		e.hold(h)
		granted = append(granted, h)
		if q == e.oldest {
			e.oldest = nil
		}
		if q.pop(); q.next == len(q.waiters) {
			e.retire(q)
		}
		if h == oldest {
			oldest = e.first()
		}
	}
	clear(e.freed)
	return granted
}

// first is the node that has waited longest, nil if none waits.
func (e *Exclusion) first() *Node {
	if len(e.waiting) == 0 {
		return nil
	}
	if e.oldest == nil { // later nodes are younger than all heads
		for _, q := range e.waiting {
			if e.oldest == nil || q.head().arrived < e.oldest.head().arrived {
				e.oldest = q
			}
		}
	}
	return e.oldest.head().node
}

// exclude reports whether a and b may not run at the same time.
func exclude(a, b *Node) bool {
	for _, r := range a.Exclusive() {
		if slices.ContainsFunc(b.Exclusive(), r.Overlaps) {
			return true
		}
	}
	return false
}

func (e *Exclusion) queueOf(r Region) *queue {
	q := e.queues[r]
	if q != nil {
		return q
	}
	if last := len(e.spare) - 1; last >= 0 {
		q, e.spare = e.spare[last], e.spare[:last]
	} else {
		q = &queue{}
	}
	if e.queues == nil {
		e.queues = map[Region]*queue{}
	}
	q.region, q.at = r, len(e.waiting)
	e.queues[r] = q
	e.waiting = append(e.waiting, q)
	return q
}

// retire puts an empty queue aside for another region.
func (e *Exclusion) retire(q *queue) {
	last := len(e.waiting) - 1
	moved := e.waiting[last]
	e.waiting[q.at], moved.at = moved, q.at
	e.waiting[last] = nil
	e.waiting = e.waiting[:last]
	delete(e.queues, q.region)
	q.waiters, q.next = q.waiters[:0], 0
	e.spare = append(e.spare, q)
}

func (q *queue) push(w waiter) {
	if len(q.waiters) == cap(q.waiters) && 2*q.next > len(q.waiters) {
		n := copy(q.waiters, q.waiters[q.next:])
		clear(q.waiters[n:])
		q.waiters, q.next = q.waiters[:n], 0
	}
	q.waiters = append(q.waiters, w)
}

func (q *queue) pop() {
	q.waiters[q.next] = waiter{}
	q.next++
}
