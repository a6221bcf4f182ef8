package deps

import (
	"fmt"
	"sync"
)

// A Domain is one nesting level of the graph: it orders the nodes submitted to it. The zero Domain is empty and ready.
//
// Submit and Complete may be called from any goroutine; the order of Submit calls is the program order.
type Domain struct {
	// Edge, when set before the first Submit, is called for every edge found, under the lock: for traces.
	Edge func(pred, succ TaskID)

	mu      sync.Mutex
	next    TaskID
	buffers []*bufferState
	live    int // nodes submitted and not complete
}

// Submit adds n with its accesses and reports whether it is ready: whether no unfinished node has to come first. The accesses
// are merged and copied. n.ID is assigned, from 1 in order of submission, where it is 0.
//
// Cost: O(accesses x unfinished predecessors) for regions that repeat; the first use of a region of a buffer also compares it with
// the other regions in use. No allocation in the steady state.
func (d *Domain) Submit(n *Node, accesses []Access) (ready bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n.state != idle {
		panic(fmt.Sprintf("gompss: bug: node %d submitted twice", n.ID))
	}
	d.next++
	if n.ID == 0 {
		n.ID = d.next
	}
	d.live++
	n.state, n.pending, n.mark = submitted, 1, 0
	n.links = n.links[:0]
	if cap(n.links) < len(accesses) {
		n.links = n.inline[:0]
		if len(accesses) > inlineLinks {
			n.links = make([]link, 0, len(accesses))
		}
	}
	for i := range accesses {
		d.link(n, accesses[i])
	}
	for i := range n.links {
		d.connect(n, &n.links[i])
	}
	n.pending--
	return n.pending == 0
}

// link finds the cell of an access and ties the node to it, merged with an earlier access of the node to the same region.
func (d *Domain) link(n *Node, a Access) {
	if a.Region.N == 0 {
		return
	}
	b := d.buffer(a.Region.Buffer)
	c := b.cell(a.Region)
	key := modeKey{a.Mode, a.Op}
	for i := range n.links {
		if n.links[i].cell == c {
			n.links[i].key = merged(n.links[i].key, key)
			return
		}
	}
	n.links = append(n.links, link{key: key, node: n, cell: c})
	c.live++
	b.live++
}

// connect finds the predecessors of one access and enters it into its cell.
func (d *Domain) connect(n *Node, l *link) {
	c := l.cell
	b := d.buffers[c.region.Buffer]
	l.version = b.writes
	if l.key.mode.Writes() {
		b.writes++
	}
	d.follow(n, c, l.key)
	for _, o := range c.over {
		d.follow(n, o, l.key)
	}
	if g := c.current(); g.head == nil || !compatible(g.key, l.key) {
		if g.head != nil {
			c.turn()
		}
		c.current().key = l.key
	}
	c.current().push(l)
}

// turn makes room for a new group. What is left of the group before the current one is waited for by all members of the current one,
// so nothing later has to see it: its members are detached. Each is detached at most once.
func (c *cell) turn() {
	old := c.before()
	for l := old.head; l != nil; {
		next := l.next
		l.prev, l.next, l.group = nil, nil, nil
		l = next
	}
	old.head = nil
	c.now ^= 1
}

// follow adds edges from the members of cell c that n has to wait for.
func (d *Domain) follow(n *Node, c *cell, key modeKey) {
	if c.live == 0 {
		return
	}
	g := c.current()
	if g.head != nil && compatible(g.key, key) {
		g = c.before()
	}
	for l := g.head; l != nil; l = l.next {
		p := l.node
		if p == n || p.mark == n.ID {
			continue
		}
		p.mark = n.ID
		p.successors = append(p.successors, n)
		n.pending++
		if d.Edge != nil {
			d.Edge(p.ID, n.ID)
		}
	}
}

// Complete takes n out of the graph. visit is called once for every successor, with ready true for those that wait for nothing
// more. It runs under the lock, so that what it notes of a failure is there before anybody can start the successor: it must be
// short and must not call the domain. Afterwards nothing refers to n.
func (d *Domain) Complete(n *Node, visit func(succ *Node, ready bool)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n.state != submitted || n.pending != 0 {
		panic(fmt.Sprintf("gompss: bug: node %d completed in state %d with %d predecessors", n.ID, n.state, n.pending))
	}
	for i := range n.links {
		l := &n.links[i]
		l.unlink()
		l.cell.live--
		d.buffers[l.cell.region.Buffer].live--
		*l = link{}
	}
	n.links = n.links[:0]
	n.state = idle
	d.live--
	for i, s := range n.successors {
		n.successors[i] = nil
		s.pending--
		visit(s, s.pending == 0)
	}
	n.successors = n.successors[:0]
}

// Live is the number of nodes that are submitted and not complete.
func (d *Domain) Live() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live
}

// Forget drops what the domain knows of a buffer that is being freed. Error: nodes in flight still access it.
func (d *Domain) Forget(b BufferID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if int(b) >= len(d.buffers) || d.buffers[b] == nil {
		return nil
	}
	if n := d.buffers[b].live; n > 0 {
		return fmt.Errorf("deps: buffer %d: %d accesses of unfinished tasks", b, n)
	}
	d.buffers[b] = nil
	return nil
}

func (d *Domain) buffer(id BufferID) *bufferState {
	for int(id) >= len(d.buffers) {
		d.buffers = append(d.buffers, nil)
	}
	if d.buffers[id] == nil {
		d.buffers[id] = &bufferState{}
	}
	return d.buffers[id]
}
