package deps

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/internal/spin"
)

// A Domain is one nesting level of the graph: it orders the nodes submitted to it. The zero Domain
// is empty and ready.
//
// Submit, Enter, Place, Busy, Uses, Forget and Reset are called by one goroutine at a time; the
// order of Submit, Enter and Place calls is the program order. Prepare, Behind, Settle, Complete
// and Launch may be called from any goroutine at any time.
type Domain struct {
	// Edges, when set before the first Submit, is called for every node that has edges, before it
	// can become ready: for traces. preds is good until it returns.
	Edges func(succ TaskID, preds []TaskID)
	// KeepVersions, when set before the first Submit, makes Node.Version known, for memory of its
	// own in every node.
	KeepVersions bool
	// Follow, when set before the first Submit, is called without a lock for a node of which every
	// predecessor is complete or was launched on one stream, with at least one that is not
	// complete: it may be put behind them there. It is called before the node can be ready, at most
	// once for each node, and not for one whose predecessors complete meanwhile.
	Follow func(n *Node, stream int)

	_ [64]byte // padding: completions read Follow, and nothing below

	next   uint64 // submissions so far
	edges  uint64 // made so far, those of joints included
	table  table
	tracts tracts
	free   *cell // dropped cells, by left
	swept  []*cell
	found  []TaskID // predecessors of the node being submitted, for Edges
	joints joints
	wides  []*wide  // that no cell has
	_      [64]byte // padding: completions write the fields below
	spent  spentJoints
}

// Submit adds n with its accesses and reports whether it is ready: whether no unfinished node has
// to come first. n.ID is assigned, from 1 in order of submission, where it is 0; in one domain that
// is all nodes or none. The accesses are not kept. Empty regions are no accesses; the same or an
// overlapping region may come more than once, though Merge makes that cheaper.
//
// n may be visited by Complete before Submit has returned false, so whatever visit needs must be in
// place. Cost: O(accesses) for regions that repeat and overlap with no others, plus O(edges), plus
// O(regions of the buffer in use that overlap); the first use of a region also searches for those.
// m tasks that all wait for the same n have O(n+m) edges, also where the n are on parts of the
// region of the m, or the m on parts of that of the n; n*m where Edges or Follow is set. No
// allocation in the steady state.
func (d *Domain) Submit(n *Node, accesses []Access) (ready bool) {
	edges := d.Enter(n, accesses)
	if stream := d.Behind(n); stream != 0 {
		d.Follow(n, stream)
	}
	return d.Settle(n, edges)
}

// Behind returns the stream on which n may follow its predecessors, 0 for none: what Follow says of
// nodes that may do so later. It is called once, after Place and before Settle, where Follow is
// set; n cannot be ready before Settle.
func (d *Domain) Behind(n *Node) (stream int) {
	if d.Follow == nil {
		return 0
	}
	return n.more.streamBehind()
}

// Enter is the part of Submit that finds the predecessors of n, and makes n one of those that come
// later: all that the order of submission is for. Settle, with what Enter returns, must follow, and
// is the part that others need not wait for.
func (d *Domain) Enter(n *Node, accesses []Access) (edges int32) {
	d.Prepare(n, accesses)
	return d.Place(n, accesses)
}

// Prepare is the part of Enter that concerns n alone, whose memory another processor has had most
// often: several nodes are prepared at once, and the next submission does not wait for it. Place,
// with the same accesses, must follow, or n be prepared again.
func (d *Domain) Prepare(n *Node, accesses []Access) { n.begin(accesses, d.Follow != nil) }

// Place is the rest of Enter, for a node that is prepared.
func (d *Domain) Place(n *Node, accesses []Access) (edges int32) {
	d.next++
	if n.ID == 0 {
		n.ID = TaskID(d.next)
	}
	n.mark = d.next
	edges = d.enterAll(n, accesses)
	if len(d.found) > 0 {
		d.Edges(n.ID, d.found)
		d.found = d.found[:0]
	}
	return edges
}

// Settle ends the submission of n and reports whether n is ready. Where Follow is set, Behind is
// called before.
func (d *Domain) Settle(n *Node, edges int32) (ready bool) {
	spin.Perturb()
	// Predecessors that completed since have been subtracted already; the last one to come to 0
	// makes n ready.
	return edges == 0 || n.pending.Add(edges) == 0
}

// A Ref names a task of a domain, in flight or over, whatever its node is used for since. The zero
// the task of Ref has finished.
type Ref struct{ ref }

// Ref returns the name of the task that n is, or is about to be with the ID that it has.
func (n *Node) Ref() Ref { return Ref{ref{n, uint32(n.ID)}} }

// EnterAfter is Enter for a node whose predecessors are known: it has no accesses, and comes after
// those of preds that have not finished. No accesses are looked at, and others do not find n by
// any. Requires: preds are of this domain, each there once.
func (d *Domain) EnterAfter(n *Node, preds []Ref) (edges int32) {
	n.begin(nil, d.Follow != nil)
	d.next++
	if n.ID == 0 {
		n.ID = TaskID(d.next)
	}
	n.mark = d.next
	n.word.Store(uint64(uint32(n.ID))<<32 | open)
	for _, p := range preds {
		if p.node != nil && d.precede(p.ref, n) {
			edges++
		}
	}
	if len(d.found) > 0 {
		d.Edges(n.ID, d.found)
		d.found = d.found[:0]
	}
	return edges
}

// enterAll enters n into the graph, and returns the number of its edges: from here on others find
// it.
func (d *Domain) enterAll(n *Node, accesses []Access) int32 {
	n.word.Store(uint64(uint32(n.ID))<<32 | open)
	edges := int32(0)
	for i := range accesses {
		edges += d.access(n, i, &accesses[i])
	}
	d.edges += uint64(edges)
	return edges
}

// access enters access i of n into the graph and returns the number of edges found.
func (d *Domain) access(n *Node, i int, a *Access) int32 {
	if a.Region.N == 0 {
		n.keep(i, nil, a.Mode)
		if d.KeepVersions {
			n.keepVersion(0)
		}
		return 0
	}
	hash := hashOf(&a.Region)
	c := d.table.find(&a.Region, hash)
	if c == nil {
		c = d.newCell(&a.Region, hash)
	} else if !c.used {
		c.used = true
	}
	n.keep(i, c, a.Mode)
	key := keyOf(a)
	if d.KeepVersions {
		n.keepVersion(c.tract.writes)
	}
	if key != reading {
		c.tract.writes++
	}
	return d.enter(n, c, key)
}

// after makes n a successor of the nodes in a list of c, drops those that have finished, and
// returns the number of new edges.
func (d *Domain) after(n *Node, c *cell, list *refs) int32 {
	if len(*list) >= fanIn {
		d.fold(n, c, list)
	}
	l := *list
	edges, kept := int32(0), 0
	for i := range l {
		r := l[i]
		p := r.node
		if p.mark != n.mark { // not n itself, nor one that it waits for already
			if d.Edges != nil || d.Follow != nil {
				if !d.precede(r, n) {
					continue
				}
			} else { // r.precede(n) where that is simple, as it nearly always is
				w := p.word.Load()
				if !r.means(w) {
					continue
				}
				if at := uint32(w) &^ open; at < nearSuccessors {
					p.near[at] = n
				} else {
					*p.room(at) = n
				}
				spin.Perturb()
				if !p.word.CompareAndSwap(w, w+1) && !r.precede(n) {
					continue
				}
			}
			p.mark = n.mark
			edges++
		}
		if kept != i {
			l[kept] = r
		}
		kept++
	}
	if kept != len(l) {
		*list = l[:kept]
	}
	return edges
}

// precede is p.precede(n), with what others want to know of the edge.
func (d *Domain) precede(p ref, n *Node) bool {
	if d.Follow == nil {
		if !p.precede(n) {
			return false
		}
	} else if !p.leads(n) {
		return false
	}
	if d.Edges != nil {
		d.found = withEdge(d.found, p.node)
	}
	return true
}

// withEdge adds p to predecessors that are reported, but for openers; the links of one task are
// one.
func withEdge(found []TaskID, p *Node) []TaskID {
	if _, opener := p.Owner.(hidden); opener || len(found) > 0 && found[len(found)-1] == p.ID {
		return found
	}
	return append(found, p.ID)
}

// leads is p.precede(n) where nodes may follow: what it says of n goes together with what Launch
// says of p.
func (p ref) leads(n *Node) bool {
	m := p.node.more
	spin.Lock(&m.mu)
	defer m.mu.Unlock()
	if !p.precede(n) {
		return false
	}
	if m.stream == 0 {
		n.more.unlaunched.Add(1)
	} else {
		n.more.isBehind(int32(m.stream))
	}
	return true
}

// Complete takes n out of the graph: its memory may be used for another task of the domain when
// Complete has returned.
//
// visit is called without a lock, at least once for every successor: with ready false before n
// releases it, so that what is noted of a failure is there before anybody can start the successor;
// with ready true, once for each successor whose last predecessor this was. A successor that waits
// for n alone is visited only with ready true. One that is submitted while Complete runs may count
// as submitted after it.
func (d *Domain) Complete(n *Node, visit func(succ *Node, ready bool)) {
	count, counted := d.take(n)
	at := walk{node: n}
	for range count {
		slot := at.next()
		s := *slot
		*slot = nil
		j := s.joint()
		switch {
		case j != nil:
			j.tell(visit)
		case s.pending.Load() != 1:
			visit(s, false)
		}
		d.follows(s, counted)
		spin.Perturb()
		switch {
		case s.pending.Add(-1) != 0:
		case j != nil:
			d.pass(j, func(s *Node) { visit(s, true) })
		default:
			visit(s, true)
		}
	}
	if count > nearSuccessors+extraSuccessors+keptChunks*chunkSuccessors {
		n.shrink()
	}
}

// Finish is Complete for a node that did not fail: visit is called only for successors that are
// ready.
func (d *Domain) Finish(n *Node, visit func(ready *Node)) {
	count, counted := d.take(n)
	at := walk{node: n}
	for range count {
		slot := at.next()
		s := *slot
		*slot = nil
		if counted {
			d.follows(s, counted)
		}
		if s.pending.Add(-1) == 0 { // one access to the line of s: a look first would fetch it twice
			d.visitReady(s, visit)
		}
	}
	if count > nearSuccessors+extraSuccessors+keptChunks*chunkSuccessors {
		n.shrink()
	}
}

// visitReady visits s, or what waits for it where it is a joint.
func (d *Domain) visitReady(s *Node, visit func(ready *Node)) {
	if j := s.joint(); j != nil {
		d.pass(j, visit)
		return
	}
	visit(s)
}

// take closes n: it gets no further successors. It returns how many there are, and whether they
// count n as not launched.
func (d *Domain) take(n *Node) (count uint32, counted bool) {
	if n.word.Load() == 0 || n.pending.Load() != 0 {
		panic(fmt.Sprintf("gompss: bug: node %d completed in state %d with %d predecessors", n.ID, n.word.Load()>>31&1, n.pending.Load()))
	}
	spin.Perturb()
	if d.Follow == nil {
		return uint32(n.word.Swap(0)) &^ open, false
	}
	m := n.more
	spin.Lock(&m.mu)
	defer m.mu.Unlock()
	return uint32(n.word.Swap(0)) &^ open, m.stream == 0
}

// follows counts a completed predecessor of s, and passes s to Follow if it may now follow the
// others.
func (d *Domain) follows(s *Node, counted bool) {
	if !counted {
		return
	}
	if stream := s.more.streamBehind(); stream > 0 && s.pending.Load() > 1 {
		d.Follow(s, stream)
	}
}

// Launch says that n is on its way on a stream (1 to 127), where what is launched later and
// conflicts with it comes behind it: its successors need not wait until it is complete, and Follow
// gets them. Only the first call for a node counts.
//
// Requires: Follow is set, n is submitted and is completed after Launch has returned.
func (d *Domain) Launch(n *Node, stream int) {
	m := n.more
	spin.Lock(&m.mu)
	if m.stream != 0 {
		m.mu.Unlock()
		return
	}
	m.stream = int8(stream)
	var room [16]*Node
	follow := room[:0]
	at := walk{node: n}
	for range uint32(n.word.Load()) &^ open {
		s := *at.next()
		s.more.isBehind(int32(stream))
		if s.more.streamBehind() > 0 {
			follow = append(follow, s)
		}
	}
	m.mu.Unlock()
	for _, s := range follow { // they are in flight as long as n is
		d.Follow(s, stream)
	}
}

// Busy is the number of regions that are accessed by nodes which are submitted and not complete,
// and that a later access might wait for. It is 0 if and only if all nodes with accesses are
// complete. Cost: O(regions).
func (d *Domain) Busy() (regions int) {
	for _, t := range d.tracts {
		t.root.each(func(c *cell) {
			if !c.idle() {
				regions++
			}
		})
	}
	return regions
}

// Uses reports whether nodes that are submitted and not complete access a buffer. Cost: O(regions
// of the buffer).
func (d *Domain) Uses(b BufferID) (uses bool) {
	if t := d.tracts[b]; t != nil {
		t.root.each(func(c *cell) { uses = uses || !c.idle() })
	}
	return uses
}

// keptCells is the number of cells that Reset keeps the memory of.
const keptCells = 1 << 10

// Reset makes d empty, as the zero Domain, but for Edges and some memory. Requires: all its nodes
// are complete.
func (d *Domain) Reset() {
	if n := d.Busy(); n > 0 {
		panic(fmt.Sprintf("gompss: bug: domain with %d regions in use is reset", n))
	}
	d.next = 0
	if d.table.count > keptCells {
		d.table, d.tracts, d.free, d.swept, d.wides = table{}, nil, nil, nil, nil
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

// A BusyError means that a buffer cannot be forgotten yet.
type BusyError struct {
	Buffer  BufferID
	Regions int    // regions in use
	First   Region // one of them
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("deps: buffer %d: %v: %d regions, such as %v", e.Buffer, ErrBusy, e.Regions, e.First)
}

func (e *BusyError) Unwrap() error { return ErrBusy }

// Forget drops what the domain knows of a buffer that is being freed. Error: *BusyError when nodes
// in flight still access it.
func (d *Domain) Forget(b BufferID) error {
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
