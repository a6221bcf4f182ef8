package deps

import (
	"errors"
	"fmt"
	"sync"
)

// A Domain is one nesting level of the graph: it orders the nodes submitted to it. The zero Domain is empty and ready.
//
// Submit and Complete may be called from any goroutine; the order of Submit calls is the program order.
type Domain struct {
	// Edge, when set before the first Submit, is called for every edge found, before the successor can become ready: for traces.
	Edge func(pred, succ TaskID)
	// KeepVersions, when set before the first Submit, makes Node.Version known, for memory of its own in every node.
	KeepVersions bool
	// Follow, when set before the first Submit, is called without a lock for a node of which every predecessor is complete or
	// was launched on one stream, with at least one that is not complete: it may be put behind them there. It is called before
	// the node can be ready, at most once for each node, and not for one whose predecessors complete meanwhile.
	Follow func(n *Node, stream int)

	mu     sync.Mutex
	next   uint64 // submissions so far
	live   int    // nodes submitted and not complete
	table  table
	tracts map[BufferID]*tract
	free   *cell // dropped cells, by left
	swept  []*cell
	found  []TaskID // predecessors of the node being submitted, for Edge
	told   []TaskID // memory of such a list that has been told
}

// Submit adds n with its accesses and reports whether it is ready: whether no unfinished node has to come first. n.ID is
// assigned, from 1 in order of submission, where it is 0. The accesses are not kept. Empty regions are no accesses; the
// same or an overlapping region may come more than once, though Merge makes that cheaper.
//
// n may be visited by Complete before Submit has returned false, so whatever visit needs must be in place. Cost: O(accesses) for
// regions that repeat and overlap with no others, plus O(edges), plus O(regions of the buffer in use that overlap); the first
// use of a region also searches for those. A group of n tasks that share a region, followed by a group of m, has n*m edges. No
// allocation in the steady state.
func (d *Domain) Submit(n *Node, accesses []Access) (ready bool) {
	n.begin(accesses)
	if d.Follow != nil {
		n.spill()
	}
	lock(&d.mu)
	d.next++
	d.live++
	n.mark = d.next
	if n.ID == 0 {
		n.ID = TaskID(d.next)
	}
	edges := int32(0)
	for i := range accesses {
		edges += d.access(n, n.link(i), &accesses[i])
	}
	preds := d.takeFound()
	follows := d.Follow != nil && n.more.behind > 0 && n.more.unlaunched.Load() == 0
	d.mu.Unlock()
	if len(preds) > 0 {
		d.tellEdges(preds, n.ID)
	}
	if follows {
		d.Follow(n, int(n.more.behind))
	}
	// Predecessors that completed since have been subtracted already; the last one to come to 0 makes n ready.
	return edges == 0 || n.pending.Add(edges) == 0
}

// access enters one access of n into the graph and returns the number of edges found. Requires: d.mu held.
func (d *Domain) access(n *Node, l *link, a *Access) int32 {
	if a.Region.N == 0 {
		l.cell = nil
		if d.KeepVersions {
			n.keepVersion(0)
		}
		return 0
	}
	hash := hashOf(&a.Region)
	c := d.table.find(&a.Region, hash)
	if c != nil {
		c.used = true
	} else {
		c = d.newCell(&a.Region, hash)
	}
	key := keyOf(a)
	l.node, l.cell = n, c
	if d.KeepVersions {
		n.keepVersion(c.tract.writes)
	}
	if key != reading {
		c.tract.writes++
	}
	return d.enter(n, c, l, key)
}

// after makes n a successor of the nodes in a list and returns the number of new edges. Requires: d.mu held.
func (d *Domain) after(n *Node, l *link) int32 {
	edges := int32(0)
	for ; l != nil; l = l.next {
		p := l.node
		if p.mark == n.mark { // n itself, or one that it waits for already
			continue
		}
		p.mark = n.mark
		p.precede(n)
		edges++
		switch {
		case d.Follow == nil:
		case p.more.stream == 0:
			n.more.unlaunched.Add(1)
		default:
			n.more.isBehind(p.more.stream)
		}
		if d.Edge != nil {
			d.found = append(d.found, p.ID)
		}
	}
	return edges
}

// takeFound returns the predecessors found for Edge, none when it is nil. Requires: d.mu held.
func (d *Domain) takeFound() []TaskID {
	if len(d.found) == 0 {
		return nil
	}
	preds := d.found
	d.found, d.told = d.told[:0], nil
	return preds
}

// tellEdges calls Edge for the predecessors found, and keeps their memory for the next node.
func (d *Domain) tellEdges(preds []TaskID, succ TaskID) {
	for _, p := range preds {
		d.Edge(p, succ)
	}
	d.mu.Lock()
	d.told = preds[:0]
	d.mu.Unlock()
}

// Complete takes n out of the graph: its memory may be used for another task when Complete has returned.
//
// visit is called without a lock, at least once for every successor: with ready false before n lets go of it, so that what is
// noted of a failure is there before anybody can start the successor; with ready true, once for each successor whose last
// predecessor this was. A successor that waits for n alone is visited only with ready true.
func (d *Domain) Complete(n *Node, visit func(succ *Node, ready bool)) {
	lock(&d.mu)
	if n.state != submitted || n.pending.Load() != 0 {
		d.mu.Unlock()
		panic(fmt.Sprintf("gompss: bug: node %d completed in state %d with %d predecessors", n.ID, n.state, n.pending.Load()))
	}
	for i := range int(n.accesses) {
		n.link(i).unlink()
	}
	d.live--
	counted := d.Follow != nil && n.more.stream == 0
	d.mu.Unlock()
	// Nothing leads to n any more, so its successors are final.
	for i := range n.successors {
		s := n.takeSuccessor(i)
		if s.pending.Load() != 1 {
			visit(s, false)
		}
		if counted && s.more.unlaunched.Add(-1) == 0 && s.more.behind > 0 && s.pending.Load() > 1 {
			d.Follow(s, int(s.more.behind))
		}
		if s.pending.Add(-1) == 0 {
			visit(s, true)
		}
	}
	n.end()
}

// Launch says that n is on its way on a stream (1 to 127), where what is launched later and conflicts with it comes behind it: its
// successors need not wait until it is complete, and Follow is told of them. Only the first call for a node counts.
//
// Requires: Follow is set, n is submitted and is completed after Launch has returned.
func (d *Domain) Launch(n *Node, stream int) {
	lock(&d.mu)
	if n.more.stream != 0 {
		d.mu.Unlock()
		return
	}
	n.more.stream = int8(stream)
	var room [16]*Node
	follow := room[:0]
	for i := range n.successors {
		s := n.successor(i)
		s.more.isBehind(n.more.stream)
		if s.more.unlaunched.Add(-1) == 0 && s.more.behind > 0 {
			follow = append(follow, s)
		}
	}
	d.mu.Unlock()
	for _, s := range follow { // they are in flight as long as n is
		d.Follow(s, stream)
	}
}

// spins is how often lock looks for the lock before it goes to sleep: the lock is held for less time than that takes.
const spins = 400

// lock locks mu. Unlike Lock it waits awake at first, also when other goroutines could run on this processor: to be put to sleep
// and woken costs more than what is done under the lock.
func lock(mu *sync.Mutex) {
	for range spins {
		if mu.TryLock() {
			return
		}
	}
	mu.Lock()
}

// Live is the number of nodes that are submitted and not complete.
func (d *Domain) Live() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live
}

// keptCells is how many cells Reset keeps the memory of.
const keptCells = 1 << 10

// Reset makes d empty, as the zero Domain, but for Edge and some memory. Requires: all its nodes are complete.
func (d *Domain) Reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live != 0 {
		panic(fmt.Sprintf("gompss: bug: domain with %d nodes in flight is reset", d.live))
	}
	d.next = 0
	if d.table.count > keptCells {
		d.table, d.tracts, d.free, d.swept = table{}, nil, nil, nil
		return
	}
	for _, t := range d.tracts {
		d.swept = d.swept[:0]
		t.root.each(func(c *cell) { d.swept = append(d.swept, c) })
		for _, c := range d.swept {
			d.drop(c)
		}
	}
	clear(d.swept)
	d.swept = d.swept[:0]
	clear(d.tracts)
}

// ErrBusy is the cause of a BusyError.
var ErrBusy = errors.New("unfinished tasks access it")

// A BusyError says that a buffer cannot be forgotten yet.
type BusyError struct {
	Buffer  BufferID
	Regions int    // regions in use
	First   Region // one of them
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("deps: buffer %d: %v: %d regions, such as %v", e.Buffer, ErrBusy, e.Regions, e.First)
}

func (e *BusyError) Unwrap() error { return ErrBusy }

// Forget drops what the domain knows of a buffer that is being freed. Error: *BusyError when nodes in flight still access it.
func (d *Domain) Forget(b BufferID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tracts[b]
	if t == nil {
		return nil
	}
	busy := &BusyError{Buffer: b}
	d.swept = d.swept[:0]
	t.root.each(func(c *cell) {
		d.swept = append(d.swept, c)
		if c.idle() {
			return
		}
		if busy.Regions++; busy.Regions == 1 {
			busy.First = c.region
		}
	})
	if busy.Regions > 0 {
		return busy
	}
	for _, c := range d.swept {
		d.drop(c)
	}
	delete(d.tracts, b)
	return nil
}
