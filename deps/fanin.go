package deps

import (
	"sync/atomic"

	"github.com/gompss/gompss/internal/spin"
)

// This file limits the number of edges if many tasks wait for the same set of tasks: for example, m
// tasks read a region that n tasks have written in parts, n tasks write the parts next, or groups
// of m and n share a region. Each of the m would have n edges. Instead, only the first one has. For
// the second one a joint is created, a node without a task that follows the n tasks; the second and
// all later ones follow the joint. The goroutine that completes the last predecessor of a joint
// passes through it to its successors.
//
// A joint represents a complete list, or all tasks for which a reader or writer of a region waits,
// so that no node waits for more tasks than without it. There are no joints if edges are reported
// or counted, that is, if Domain.Edges or Domain.Follow is set.

// fanIn is the number of edges from which a joint is created, and the number of overlapping regions
// from which a region is wide.
const fanIn = 8

// A joint is a node that only reduces the number of edges.
type joint struct {
	Node
	next *joint
}

// joint returns n as a joint, nil if it is a task.
func (n *Node) joint() *joint {
	j, _ := n.Owner.(*joint)
	return j
}

// joining reports whether the domain uses joints.
func (d *Domain) joining() bool { return d.Edges == nil && d.Follow == nil }

// joints is a free list of the submitting goroutine.
type joints struct{ free *joint }

// spentJoints is the list of joints that have finished since joints was last empty. Any goroutine
// may append to it.
type spentJoints struct{ list atomic.Pointer[joint] }

// take returns a joint without predecessors that other nodes may already wait for. The caller then
// calls commitJoint.
func (l *joints) take(spent *spentJoints) *joint {
	if l.free == nil {
		l.free = spent.list.Swap(nil)
	}
	j := l.free
	if j == nil {
		j = &joint{}
		j.Owner = j
	} else {
		l.free, j.next = j.next, nil
	}
	j.ID++ // a tag; no other goroutine sees it
	j.mark = 0
	j.word.Store(uint64(uint32(j.ID))<<32 | open)
	return j
}

func (l *spentJoints) put(j *joint) {
	for {
		j.next = l.list.Load()
		if l.list.CompareAndSwap(j.next, j) {
			return
		}
	}
}

// follow makes j a successor of the nodes in list, removes those that have finished, and returns
// the number of edges.
func (j *joint) follow(list *refs) (edges int32) {
	kept := (*list)[:0]
	for _, r := range *list {
		if r.precede(&j.Node) {
			edges++
			kept = append(kept, r)
		}
	}
	*list = kept
	return edges
}

// commitJoint ends the creation of j with the given number of predecessors, and returns a reference
// to it.
func (d *Domain) commitJoint(j *joint, edges int32) ref {
	d.edges += uint64(edges)
	r := ref{&j.Node, uint32(j.ID)}
	spin.Perturb()
	if edges == 0 || j.pending.Add(edges) == 0 {
		d.pass(j, nil) // nothing waits for it yet
	}
	return r
}

// pass removes j, whose predecessors have finished, from the graph and visits the nodes that are
// ready now.
func (d *Domain) pass(j *joint, visit func(ready *Node)) {
	count := uint32(j.word.Swap(0)) &^ open
	at := walk{node: &j.Node}
	for range count {
		slot := at.next()
		s := *slot
		*slot = nil
		spin.Perturb()
		if s.pending.Add(-1) == 0 {
			d.visitReady(s, visit)
		}
	}
	if count > nearSuccessors+extraSuccessors+keptChunks*chunkSuccessors {
		j.shrink()
	}
	d.spent.put(j)
}

// visitWaiting visits the nodes that wait for j, with ready false.
// Requires: a predecessor of j does not finish before visitWaiting returns.
func (j *joint) visitWaiting(visit func(succ *Node, ready bool)) {
	at := walk{node: &j.Node}
	for range uint32(j.word.Load()) &^ open {
		s := *at.next()
		if k := s.joint(); k != nil {
			k.visitWaiting(visit)
		} else {
			visit(s, false)
		}
	}
}

// A list identifies lists of a cell, to remember which were long when a submission traversed them.
type list uint8

func (c *cell) name(l *refs) list {
	switch l {
	case &c.writers:
		return 1
	case &c.readers:
		return 2
	}
	return 4
}

// fold replaces a long list by a joint if n is the second node that waits for all of it.
func (d *Domain) fold(n *Node, c *cell, l *refs) {
	which := c.name(l)
	if c.asked&which == 0 {
		c.asked |= which
		return
	}
	if !d.joining() || l.has(n) {
		return
	}
	c.asked &^= which
	j := d.joints.take(&d.spent)
	r := d.commitJoint(j, j.follow(l))
	clear(*l)
	*l = append((*l)[:0], r)
}

// has reports whether the list contains n itself, so that it cannot represent the predecessors of
// n.
func (l *refs) has(n *Node) bool {
	for _, r := range *l {
		if r.node == n {
			return true
		}
	}
	return false
}

// A wide is the state of a cell that overlaps with many others. With it an access need not traverse
// all of them if no other access has happened there since the last one. Times are counted in
// submissions of the domain.
//
//   - If the latest writer is alone and came after all accesses to the other cells, it waits for
//     those: the next access waits for it, or for its waiters, as in any cell.
//   - If two consecutive accesses wait for the same nodes, the second one creates a joint, which
//     serves all others until the next change.
type wide struct {
	wrote      uint64 // the time of the latest writer if it is alone; otherwise 0
	read, met  uint64 // the times of the latest reader and writer of an overlapping cell
	walked     uint64 // the time at which an access of mode key traversed all cells
	summed     uint64 // the time at which sum was created
	key        modeKey
	sum        ref // represents the nodes for which an access of mode key waits; without a node for none
	neighbours []*cell
}

// meets records the submission of an access to an overlapping cell.
func (w *wide) meets(now uint64, writes bool) {
	switch {
	case w == nil:
	case writes:
		w.met = now
	default:
		w.read = now
	}
}

// enterAmong is enter for a cell that overlaps with others.
func (d *Domain) enterAmong(n *Node, c *cell, key modeKey) int32 {
	if c.wide != nil || len(c.over) >= fanIn && d.widen(c) {
		return d.enterWide(n, c, key)
	}
	own := c.awaited(key)
	edges := d.after(n, c, own)
	for _, o := range c.over {
		edges += d.after(n, o, o.awaited(key))
		o.wide.meets(d.next, key != reading)
	}
	c.take(n, key)
	return edges
}

// enterWide is enter for a wide cell.
func (d *Domain) enterWide(n *Node, c *cell, key modeKey) int32 {
	w, own, joins := c.wide, c.awaited(key), key != reading && c.joins(key)
	changed := w.met
	if key != reading {
		changed = max(w.met, w.read)
	}
	edges := int32(0)
	switch alike := w.key == key && (joins || key == reading); {
	case w.wrote > changed:
		edges = d.after(n, c, own)
		w.record(d.next, key != reading)
	case alike && w.summed > changed:
		edges = d.afterSum(n, w)
		w.record(d.next, key != reading)
	case alike && w.walked > changed && w.walked < d.next && d.joining(): // the traversal was not by n itself, which the lists may contain
		w.sum, w.summed = d.sum(c, own, key), d.next
		edges = d.afterSum(n, w)
		w.record(d.next, key != reading)
	default:
		edges = d.walkThrough(n, c, own, key)
	}
	if key != reading && !joins {
		w.opened(d.next, key)
	}
	c.take(n, key)
	return edges
}

// opened records a writer that did not join others.
func (w *wide) opened(now uint64, key modeKey) {
	if w.wrote = now; key.shared() {
		w.wrote = 0
	}
	if w.key != key || !key.shared() {
		w.walked = 0
	}
	w.summed = 0
}

// walkThrough makes n wait for all nodes for which an access of mode key waits; own is the list of
// c itself.
func (d *Domain) walkThrough(n *Node, c *cell, own *refs, key modeKey) int32 {
	w := c.wide
	edges := d.after(n, c, own)
	left := len(*own)
	for _, o := range c.over {
		l := o.awaited(key)
		edges += d.after(n, o, l)
		left += len(*l)
		o.wide.meets(d.next, key != reading)
	}
	w.key, w.walked, w.sum, w.summed = key, d.next, ref{}, 0
	if left == 0 {
		w.summed = d.next
	}
	return edges
}

// awaited returns the nodes for which an access of mode key to an overlapping region waits.
func (c *cell) awaited(key modeKey) *refs {
	if key == reading {
		return &c.writers
	}
	return c.latest(key)
}

// sum returns a joint that represents all nodes for which an access of mode key waits; own is the
// list of c itself.
func (d *Domain) sum(c *cell, own *refs, key modeKey) ref {
	j := d.joints.take(&d.spent)
	edges := j.follow(own)
	for _, o := range c.over {
		edges += j.follow(o.awaited(key))
	}
	return d.commitJoint(j, edges)
}

// afterSum makes n wait for the sum of w.
func (d *Domain) afterSum(n *Node, w *wide) int32 {
	if w.sum.node == nil || !w.sum.precede(n) {
		w.sum = ref{}
		return 0
	}
	return 1
}

// record records a new access for wide overlapping cells.
func (w *wide) record(now uint64, writes bool) {
	for _, o := range w.neighbours {
		o.wide.meets(now, writes)
	}
}

// widen makes c wide if it is used again, because regions that are used once gain nothing.
func (d *Domain) widen(c *cell) bool {
	if !c.used {
		return false
	}
	w := &wide{}
	if last := len(d.wides) - 1; last >= 0 {
		w, d.wides = d.wides[last], d.wides[:last]
	}
	c.wide = w
	for _, o := range c.over {
		if o.wide != nil {
			w.neighbours = append(w.neighbours, o)
			o.wide.neighbours = append(o.wide.neighbours, c)
		}
	}
	return true
}

// narrow undoes widen.
func (d *Domain) narrow(c *cell) {
	w := c.wide
	if w == nil {
		return
	}
	for _, o := range w.neighbours {
		o.wide.neighbours = without(o.wide.neighbours, c)
	}
	clear(w.neighbours)
	*w = wide{neighbours: w.neighbours[:0]}
	d.wides, c.wide = append(d.wides, w), nil
}
