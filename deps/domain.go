package deps

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/internal/spin"
)

// A Domain is one nesting level of the graph: it orders the nodes submitted to it. The zero Domain
// is empty and ready to use.
//
// Only one goroutine at a time calls Submit, Enter, Place, Busy, Uses, Forget and Reset; the order
// of the calls of Submit, Enter and Place is the program order. Any goroutine may call Prepare,
// Behind, Settle, Complete and Launch at any time.
type Domain struct {
	// Edges, if set before the first Submit, is called for every node with edges, before it can
	// become ready: for traces. preds is valid until it returns.
	Edges func(succ TaskID, preds []TaskID)
	// KeepVersions, if set before the first Submit, makes Node.Version available, for additional
	// memory in every node.
	KeepVersions bool
	// Follow, if set before the first Submit, is called for a node of which every predecessor is
	// complete or was launched on one stream, and at least one is not complete: the node may be
	// enqueued after them there. It is called without a lock, before the node can be ready, at most
	// once for each node, and not for a node whose predecessors complete meanwhile.
	Follow func(n *Node, stream int)

	_ [64]byte // padding: completions read Follow, and nothing below

	next   uint64 // the number of submissions so far
	edges  uint64 // the number of edges so far, including those of joints
	table  table
	tracts tracts
	free   *cell // a free list of cells, linked by left
	swept  []*cell
	found  []TaskID // the predecessors of the node being submitted, for Edges
	joints joints
	wides  []*wide  // a free list
	_      [64]byte // padding: completions write the fields below
	spent  spentJoints
}

// Submit adds n with its accesses and reports whether it is ready, that is, has no unfinished
// predecessor. If n.ID is 0, Submit assigns it, from 1 in the order of submission; in one domain
// this holds for all nodes or for none. Submit does not keep accesses. Empty regions are ignored. A
// region may occur more than once or overlap with others, but Merge makes that cheaper.
//
// Complete may visit n before Submit has returned false, so n must be prepared for visit. Cost:
// O(accesses) for regions that repeat and do not overlap with others, plus O(edges), plus O(regions
// in use of the buffer that overlap); the first use of a region also searches for these. If m tasks
// all wait for the same n tasks, there are O(n+m) edges, even if the n access parts of the region
// of the m or vice versa; n*m edges if Edges or Follow is set. No allocation in the steady state.
func (d *Domain) Submit(n *Node, accesses []Access) (ready bool) {
	edges := d.Enter(n, accesses)
	if stream := d.Behind(n); stream != 0 {
		d.Follow(n, stream)
	}
	return d.Settle(n, edges)
}

// Behind returns the stream on which n may follow its predecessors, 0 for none; see Follow for
// nodes that may do so later. If Follow is set, the caller calls it once, after Place and before
// Settle. n cannot be ready before Settle.
func (d *Domain) Behind(n *Node) (stream int) {
	if d.Follow == nil {
		return 0
	}
	return n.more.streamBehind()
}

// Enter is the part of Submit that finds the predecessors of n and enters n into the graph for
// later nodes. Only this part must run in the order of submission. The caller then calls Settle
// with the result of Enter; later submissions need not wait for that.
func (d *Domain) Enter(n *Node, accesses []Access) (edges int32) {
	d.Prepare(n, accesses)
	return d.Place(n, accesses)
}

// Prepare is the part of Enter that concerns n alone, whose cache lines usually come from another
// processor. Several nodes may be prepared concurrently. The caller then calls Place with the same
// accesses, or Prepare again.
func (d *Domain) Prepare(n *Node, accesses []Access) { n.begin(accesses, d.Follow != nil) }

// Place is the rest of Enter, for a prepared node.
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

// Settle ends the submission of n and reports whether n is ready. If Follow is set, Behind is
// called before it.
func (d *Domain) Settle(n *Node, edges int32) (ready bool) {
	spin.Perturb()
	// Predecessors that have completed meanwhile are already subtracted; the decrement to 0 makes n
	// ready.
	return edges == 0 || n.pending.Add(edges) == 0
}

// A Ref identifies a task of a domain, in flight or finished, independent of later uses of its
// node. The zero Ref is a finished task.
type Ref struct{ ref }

// Ref returns the identity of the task that n is, or is about to become with its current ID.
func (n *Node) Ref() Ref { return Ref{ref{n, uint32(n.ID)}} }

// EnterAfter is Enter for a node with known predecessors: it has no accesses, and follows those of
// preds that have not finished. Later nodes do not find it by an access.
// Requires: preds belong to this domain, without duplicates.
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

// enterAll enters n into the graph, and returns the number of its edges. From here on later nodes
// find it.
func (d *Domain) enterAll(n *Node, accesses []Access) int32 {
	n.word.Store(uint64(uint32(n.ID))<<32 | open)
	edges := int32(0)
	for i := range accesses {
		edges += d.access(n, i, &accesses[i])
	}
	d.edges += uint64(edges)
	return edges
}

// access enters access i of n into the graph and returns the number of edges.
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
		c.used, c.quiet = true, false
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

// after makes n a successor of the nodes in a list of c, removes those that have finished, and
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
		if p.mark != n.mark { // neither n itself nor a predecessor found before
			if d.Edges != nil || d.Follow != nil {
				if !d.precede(r, n) {
					continue
				}
			} else { // r.precede(n) for the usual, simple case
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

// precede is p.precede(n), with the reports for Edges and Follow.
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

// withEdge appends p to the reported predecessors. It omits openers and combines the links of one
// task.
func withEdge(found []TaskID, p *Node) []TaskID {
	if _, opener := p.Owner.(hidden); opener || len(found) > 0 && found[len(found)-1] == p.ID {
		return found
	}
	return append(found, p.ID)
}

// leads is p.precede(n) for a domain with Follow: the edge and its count for Launch change
// together.
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

// Complete removes n from the graph: its memory may be used for another task of the domain after
// Complete has returned.
//
// visit is called without a lock, at least once for every successor. With ready false it is called
// before n releases the successor, so that a failure can be recorded before the successor can
// start. With ready true it is called once for each successor whose last predecessor was n. A
// successor that waits for n alone is visited with ready true only. A successor that is submitted
// during Complete may count as submitted after it.
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
			j.visitWaiting(visit)
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

// Finish is Complete for a node that did not fail: visit is called only for ready successors.
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
		if s.pending.Add(-1) == 0 { // one access to the cache line of s: a preceding load would fetch it twice
			d.visitReady(s, visit)
		}
	}
	if count > nearSuccessors+extraSuccessors+keptChunks*chunkSuccessors {
		n.shrink()
	}
}

// visitReady visits s, or the successors of s if it is a joint.
func (d *Domain) visitReady(s *Node, visit func(ready *Node)) {
	if j := s.joint(); j != nil {
		d.pass(j, visit)
		return
	}
	visit(s)
}

// take closes n for further successors. It returns their number, and whether they count n as not
// launched.
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

// follows counts a completed predecessor of s, and passes s to Follow if s may now follow the
// others.
func (d *Domain) follows(s *Node, counted bool) {
	if !counted {
		return
	}
	if stream := s.more.streamBehind(); stream > 0 && s.pending.Load() > 1 {
		d.Follow(s, stream)
	}
}

// Launch records that n was launched on a stream (1 to 127), on which later launches run after it:
// its successors need not wait for its completion, and Follow is called for them. Only the first
// call for a node counts.
//
// Requires: Follow is set, n has been submitted, and is not completed before Launch has returned.
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

// Busy returns the number of regions that submitted, incomplete nodes access and for which a later
// access might wait. It is 0 if and only if all nodes with accesses are complete. Cost: O(regions).
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

// Uses reports whether submitted, incomplete nodes access a buffer. Cost: O(regions of the buffer).
func (d *Domain) Uses(b BufferID) (uses bool) {
	if t := d.tracts[b]; t != nil {
		t.root.each(func(c *cell) { uses = uses || !c.idle() })
	}
	return uses
}

// keptCells is the maximum number of cells whose memory Reset keeps.
const keptCells = 1 << 10

// Reset makes d empty, like the zero Domain, but keeps Edges and some memory.
// Requires: all its nodes are complete.
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
	Regions int    // the number of regions in use
	First   Region // one of them
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("deps: buffer %d: %v: %d regions, such as %v", e.Buffer, ErrBusy, e.Regions, e.First)
}

func (e *BusyError) Unwrap() error { return ErrBusy }

// Forget removes a buffer that is being freed from the domain. It returns a *BusyError if nodes in
// flight still access it.
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
