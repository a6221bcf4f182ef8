package deps

import (
	"sync/atomic"

	"github.com/gompss/gompss/internal/spin"
)

// This file keeps the edges few where many tasks wait for the same many: m tasks that read a region
// which n have written in parts, n that write the parts next, groups of m and n that share a
// region. Each of the m would have n edges. Instead the first one has; for the second one a joint
// is made, a node without a task, which comes after the n, and that one and all later ones come
// after the joint. Whoever completes the last predecessor of a joint passes through it to its
// successors.
//
// A joint stands for a whole list, or for all that a reader or writer of a region waits for, so no
// node waits for more than before. There are none where edges are reported or counted: where
// Domain.Edges or Domain.Follow is set.

// fanIn is the number of edges from which a joint is made, or of regions that one overlaps from
// which it is wide.
const fanIn = 8

// A joint is a node that only makes edges fewer.
type joint struct {
	Node
	next *joint
}

// joint returns the joint that n is, nil if it is a task.
func (n *Node) joint() *joint {
	j, _ := n.Owner.(*joint)
	return j
}

// joining reports whether there are joints.
func (d *Domain) joining() bool { return d.Edges == nil && d.Follow == nil }

// joints are free joints: a list of the goroutine that submits.
type joints struct{ free *joint }

// spentJoints are joints that have finished since joints was empty last; any goroutine adds to
// them.
type spentJoints struct{ list atomic.Pointer[joint] }

// take returns a joint that may be waited for and has no predecessors yet: then Domain.settle is to
// be called.
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
	j.ID++ // its tag; no other goroutine sees it
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

// follow makes j a successor of the nodes in list, drops those that have finished, and returns the
// number of edges.
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

// settle says that j has all its predecessors, so many, and returns what stands for them.
func (d *Domain) settle(j *joint, edges int32) ref {
	d.edges += uint64(edges)
	r := ref{&j.Node, uint32(j.ID)}
	spin.Perturb()
	if edges == 0 || j.pending.Add(edges) == 0 {
		d.pass(j, nil) // nothing waits for it yet
	}
	return r
}

// pass takes j, all of whose predecessors have finished, out of the graph and visits what is ready
// now.
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

// tell visits the nodes that wait for j, with ready false. Requires: a predecessor of j is not over
// before tell returns.
func (j *joint) tell(visit func(succ *Node, ready bool)) {
	at := walk{node: &j.Node}
	for range uint32(j.word.Load()) &^ open {
		s := *at.next()
		if k := s.joint(); k != nil {
			k.tell(visit)
		} else {
			visit(s, false)
		}
	}
}

// A list names lists of a cell, to remember which were long when a submission walked through them.
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

// fold replaces a long list by a joint when n is the second node that waits for all of it.
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
	r := d.settle(j, j.follow(l))
	clear(*l)
	*l = append((*l)[:0], r)
}

// has reports whether n itself is in the list, which thus may not stand for what n waits for.
func (l *refs) has(n *Node) bool {
	for _, r := range *l {
		if r.node == n {
			return true
		}
	}
	return false
}

// A wide is what a cell knows that overlaps many others, so that an access need not walk through
// all of them when nothing has happened there since the one before it. Times are submissions of the
// domain.
//
//   - Where the latest writer, alone, came after all accesses to the others, it waits for those:
//     the next access waits for it, or for its waiters, as in any cell.
//   - Where two in a row wait for the same, the second one makes a joint, which serves all others
//     until something happens.
type wide struct {
	wrote      uint64 // when the latest writer came, if it is alone; else 0
	read, met  uint64 // when a reader and a writer came to another cell that overlaps
	walked     uint64 // when an access of mode key walked through all
	summed     uint64 // when sum was made
	key        modeKey
	sum        ref // what an access of mode key waits for; without a node for nothing
	neighbours []*cell
}

// meets notes that an access to a cell that overlaps is being submitted.
func (w *wide) meets(now uint64, writes bool) {
	switch {
	case w == nil:
	case writes:
		w.met = now
	default:
		w.read = now
	}
}

// enterAmong is enter for a cell that overlaps others.
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

// enterWide is enter for a cell that is wide.
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
		w.tell(d.next, key != reading)
	case alike && w.summed > changed:
		edges = d.afterSum(n, w)
		w.tell(d.next, key != reading)
	case alike && w.walked > changed && w.walked < d.next && d.joining(): // not by n itself, which the lists may have in them
		w.sum, w.summed = d.sum(c, own, key), d.next
		edges = d.afterSum(n, w)
		w.tell(d.next, key != reading)
	default:
		edges = d.walkThrough(n, c, own, key)
	}
	if key != reading && !joins {
		w.opened(d.next, key)
	}
	c.take(n, key)
	return edges
}

// opened notes that a writer came that did not join others.
func (w *wide) opened(now uint64, key modeKey) {
	if w.wrote = now; key.shared() {
		w.wrote = 0
	}
	if w.key != key || !key.shared() {
		w.walked = 0
	}
	w.summed = 0
}

// walkThrough makes n wait for all that an access of mode key waits for, where own is the list of c
// itself.
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

// awaited is what an access of mode key to an overlapping region waits for.
func (c *cell) awaited(key modeKey) *refs {
	if key == reading {
		return &c.writers
	}
	return c.latest(key)
}

// sum returns a joint that stands for all that an access of mode key waits for, where own is the
// list of c itself.
func (d *Domain) sum(c *cell, own *refs, key modeKey) ref {
	j := d.joints.take(&d.spent)
	edges := j.follow(own)
	for _, o := range c.over {
		edges += j.follow(o.awaited(key))
	}
	return d.settle(j, edges)
}

// afterSum makes n wait for the sum of w.
func (d *Domain) afterSum(n *Node, w *wide) int32 {
	if w.sum.node == nil || !w.sum.precede(n) {
		w.sum = ref{}
		return 0
	}
	return 1
}

// tell records a new access where wide overlapping accesses look.
func (w *wide) tell(now uint64, writes bool) {
	for _, o := range w.neighbours {
		o.wide.meets(now, writes)
	}
}

// widen makes c wide if it is used again. Regions that never repeat had no use for it.
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
