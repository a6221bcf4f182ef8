package deps

import (
	"fmt"
	"sync/atomic"
)

// inlineLinks and inlineSuccessors are how many a node holds without memory of its own. They are chosen so that a pending task
// with three accesses takes 184 bytes.
const (
	inlineLinks      = 3
	inlineSuccessors = 4
	keptSuccessors   = 64 // a recycled node keeps no more
)

// A Node is one task in a Domain. It is embedded in the task's record, submitted once, completed once, and may then be
// submitted again as another task. The zero Node is ready for use. Owner is the caller's way back to its record.
//
// All fields but pending and spill.unlaunched are guarded by the lock of the domain.
type Node struct {
	ID    TaskID
	Owner any

	// pending is the number of predecessors that are not complete. While Submit counts them it is at most 0: those that
	// complete meanwhile have already been taken away.
	pending    atomic.Int32
	successors int32
	accesses   int32
	state      nodeState
	modes      [inlineLinks]Mode // of the links here
	mark       uint64            // latest submission that found this node: an edge is made once
	links      [inlineLinks]link
	succs      [inlineSuccessors]*Node
	more       *spill // memory for larger nodes, kept for the next task
}

// mixed is behind of a node whose predecessors were launched on different streams.
const mixed = -1

type nodeState uint8

const (
	idle nodeState = iota
	submitted
)

// A spill is what does not fit into a node.
type spill struct {
	links    []link
	modes    []Mode // of links
	succs    []*Node
	commutes []Region
	versions []uint64 // by access, where the domain keeps them
	// unlaunched is how many of the predecessors are neither launched nor complete; stream is where the node was launched, behind
	// where its predecessors were: 0 is nowhere, mixed several places. Counted where Domain.Follow is set.
	unlaunched     atomic.Int32
	stream, behind int8
}

// A link is one access of a node in a list of its cell. at is the pointer that points at the link, nil when it is in no list.
type link struct {
	node *Node
	next *link
	at   **link
	cell *cell
}

// Version returns, for access i of a node in flight in a domain that keeps versions, how many writing accesses to its buffer
// had been submitted before this one: the same in every process that submits the same program. Two readers of a region at the
// same version see the same values.
func (n *Node) Version(i int) uint64 { return n.more.versions[i] }

// Accesses returns how many accesses n was submitted with.
func (n *Node) Accesses() int { return int(n.accesses) }

// Access returns access i of a node in flight, but for the operator of a reduction: the node itself does not keep the regions.
func (n *Node) Access(i int) Access {
	// The cell is in use as long as n is: its own access is in a list of the cell, or that of a node that waits for n.
	a := Access{Mode: n.mode(i)}
	if c := n.link(i).cell; c != nil {
		a.Region = c.region
	}
	return a
}

// Exclusive returns the regions that n accesses in mode Commutative: what Exclusion keeps for n while it runs. Valid until n is
// completed.
func (n *Node) Exclusive() []Region {
	if n.more == nil {
		return nil
	}
	return n.more.commutes
}

func (n *Node) link(i int) *link {
	if i < inlineLinks {
		return &n.links[i]
	}
	return &n.more.links[i-inlineLinks]
}

// begin prepares n for the links of its accesses. The memory may not move once links are in lists.
func (n *Node) begin(accesses []Access) {
	if n.state != idle {
		panic(fmt.Sprintf("gompss: bug: node %d submitted twice", n.ID))
	}
	n.state, n.accesses = submitted, int32(len(accesses))
	if over := len(accesses) - inlineLinks; over > 0 {
		m := n.spill()
		if cap(m.links) < over {
			m.links = make([]link, over)
		}
		m.links, m.modes = m.links[:over], m.modes[:0]
	}
	for i := range accesses {
		a := &accesses[i]
		if i < inlineLinks {
			n.modes[i] = a.Mode
		} else {
			n.more.modes = append(n.more.modes, a.Mode)
		}
		if a.Mode == Commutative && a.Region.N > 0 {
			m := n.spill()
			m.commutes = append(m.commutes, a.Region)
		}
	}
}

func (n *Node) mode(i int) Mode {
	if i < inlineLinks {
		return n.modes[i]
	}
	return n.more.modes[i-inlineLinks]
}

func (n *Node) keepVersion(v uint64) {
	m := n.spill()
	m.versions = append(m.versions, v)
}

func (n *Node) spill() *spill {
	if n.more == nil {
		n.more = &spill{}
	}
	return n.more
}

// end makes n ready for its next task. Requires: no list and no node refers to n.
func (n *Node) end() {
	n.successors, n.accesses = 0, 0
	if m := n.more; m != nil {
		m.commutes, m.versions = m.commutes[:0], m.versions[:0]
		m.stream, m.behind = 0, 0
		if m.succs = m.succs[:0]; cap(m.succs) > keptSuccessors {
			m.succs = nil
		}
	}
	n.state = idle
}

// precede makes s a successor of n.
func (n *Node) precede(s *Node) {
	if i := n.successors; i < inlineSuccessors {
		n.succs[i] = s
	} else {
		m := n.spill()
		m.succs = append(m.succs, s)
	}
	n.successors++
}

func (n *Node) slot(i int32) **Node {
	if i < inlineSuccessors {
		return &n.succs[i]
	}
	return &n.more.succs[i-inlineSuccessors]
}

func (n *Node) successor(i int32) *Node { return *n.slot(i) }

// takeSuccessor returns successor i and forgets it.
func (n *Node) takeSuccessor(i int32) *Node {
	slot := n.slot(i)
	s := *slot
	*slot = nil
	return s
}

// push puts l at the head of a list.
func (l *link) push(head **link) {
	l.next, l.at = *head, head
	if l.next != nil {
		l.next.at = &l.next
	}
	*head = l
}

// unlink takes l out of its list, if it is in one.
func (l *link) unlink() {
	if l.at == nil {
		return
	}
	*l.at = l.next
	if l.next != nil {
		l.next.at = l.at
	}
	l.next, l.at = nil, nil
}

// detach takes all links out of a list.
func detach(head **link) {
	l := *head
	*head = nil
	for l != nil {
		next := l.next
		l.next, l.at = nil, nil
		l = next
	}
}

// move makes the list at from the list at to, which is empty.
func move(from, to **link) {
	*to, *from = *from, nil
	if *to != nil {
		(*to).at = to
	}
}

// isBehind notes that a predecessor of the node was launched on a stream.
func (m *spill) isBehind(stream int8) {
	if m.behind == 0 {
		m.behind = stream
	} else if m.behind != stream {
		m.behind = mixed
	}
}
