package deps

import (
	"fmt"
	"sync/atomic"

	"github.com/gompss/gompss/internal/spin"
)

// What a node holds without memory of its own: a pending task with up to four accesses and nine
// successors takes the node alone.
const (
	inlineAccesses  = 4
	nearSuccessors  = 3
	extraSuccessors = 6
	chunkSuccessors = 15
	keptChunks      = 4 // a recycled node keeps no more
)

// A Node is one task in a Domain. It is embedded in the task's record, submitted once, completed
// once, and may then be submitted again as another task of the domain. The zero Node is ready for
// use. Owner is the caller's way back to its record.
//
// A task costs little as long as each cache line has one writer. Owner does not change. What lies
// between it and word belongs to the submitting goroutines; a completion reads there only where the
// node has more than three successors or is no simple task. word, near and pending are what goes
// from one processor to the other and back.
type Node struct {
	Owner any

	ID       TaskID
	mark     uint64 // latest submission of the domain that found this node: an edge is made once
	cells    [inlineAccesses]*cell
	modes    [inlineAccesses]Mode // of the cells
	accesses int32
	more     *spill // memory for larger nodes, kept for the next task

	chunks, last *chunk // of successors: the first one, and the one that is being filled
	extra        [extraSuccessors]*Node

	// word is 0 for a node that is not in flight, else its tag, open and the number of successors.
	// A submission records a successor and then counts it by a compare-and-swap; a completion takes
	// the word by a swap. One of the two comes first: either the swap finds the successor counted,
	// and with it what was noted, or the compare-and-swap fails and there is no edge, as the node
	// is complete.
	word atomic.Uint64
	near [nearSuccessors]*Node
	// pending is the number of predecessors that are not complete. While Submit counts them it is
	// at most 0: those that complete meanwhile have already been taken away.
	pending atomic.Int32
}

// open is in the word of every node in flight: above it is the tag, below it the number of
// successors.
const open = 1 << 31

// A ref is a node as one task. The node may be another task by now, which then has another tag in
// its word.
//
// Tags are the lower halves of ids. Should a ref outlive 2^32 submissions and meet its tag again,
// then there is an edge from a task of the same domain, submitted earlier and in flight: an order
// too many, and no cycle.
type ref struct {
	node *Node
	tag  uint32
}

// means reports whether w is the word of the task that r means, which is in flight then.
func (r ref) means(w uint64) bool { return w>>31 == uint64(r.tag)<<1|1 }

// over reports whether the task is complete.
func (r ref) over() bool { return !r.means(r.node.word.Load()) }

// mixed is behind of a node whose predecessors were launched on different streams.
const mixed = -1

// A chunk is successors that do not fit into a node.
type chunk struct {
	nodes [chunkSuccessors]*Node
	next  *chunk
}

// A spill is what else does not fit into a node.
type spill struct {
	cells    []*cell
	modes    []Mode // of cells
	commutes []Region
	versions []uint64 // by access, where the domain keeps them
	// Where Domain.Follow is set: unlaunched is how many of the predecessors are neither launched
	// nor complete, and one more while the node is being submitted; behind is where the others were
	// launched: 0 is nowhere, mixed several places.
	unlaunched, behind atomic.Int32
	mu                 spin.Mutex // of a node, held while it gets a successor, is launched or completes
	stream             int8       // where the node was launched
}

// Version returns, for access i of a node in flight in a domain that keeps versions, how many
// writing accesses to its buffer had been submitted before this one: the same in every process that
// submits the same program. Two readers of a region at the same version see the same values.
func (n *Node) Version(i int) uint64 { return n.more.versions[i] }

// Accesses returns how many accesses n was submitted with.
func (n *Node) Accesses() int { return int(n.accesses) }

// Access returns access i of a node in flight, but for the operator of a reduction: the node itself
// does not keep the regions.
func (n *Node) Access(i int) Access {
	// The cell is in use as long as n is: it refers to n, or to a node that waits for n.
	c, mode := (*cell)(nil), Mode(0)
	if i < inlineAccesses {
		c, mode = n.cells[i], n.modes[i]
	} else {
		c, mode = n.more.cells[i-inlineAccesses], n.more.modes[i-inlineAccesses]
	}
	if c == nil {
		return Access{Mode: mode}
	}
	return Access{Region: c.region, Mode: mode}
}

// Exclusive returns the regions that n accesses in mode Commutative: what Exclusion keeps for n
// while it runs. Valid until n is completed.
func (n *Node) Exclusive() []Region {
	if n.more == nil {
		return nil
	}
	return n.more.commutes
}

// begin prepares n for its accesses, and for being told where it may follow.
func (n *Node) begin(accesses []Access, follows bool) {
	if n.word.Load() != 0 {
		panic(fmt.Sprintf("gompss: bug: node %d submitted twice", n.ID))
	}
	n.accesses = int32(len(accesses))
	if m := n.more; m != nil {
		m.cells, m.modes, m.commutes, m.versions = m.cells[:0], m.modes[:0], m.commutes[:0], m.versions[:0]
		m.stream = 0
		m.behind.Store(0)
	}
	if follows {
		n.spill().unlaunched.Store(1) // n is not reported before it is complete
	}
	for i := range accesses {
		if a := &accesses[i]; a.Mode == Commutative && a.Region.N > 0 {
			m := n.spill()
			m.commutes = append(m.commutes, a.Region)
		}
	}
}

// keep notes access i.
func (n *Node) keep(i int, c *cell, mode Mode) {
	if i < inlineAccesses {
		n.modes[i] = mode
		if n.cells[i] != c {
			n.cells[i] = c
		}
		return
	}
	m := n.spill()
	m.cells, m.modes = append(m.cells, c), append(m.modes, mode)
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

// precede makes s a successor of p, and reports whether p was in flight. Requires: s is being
// submitted.
func (p ref) precede(s *Node) bool {
	n := p.node
	for {
		w := n.word.Load()
		if !p.means(w) {
			return false
		}
		*n.room(uint32(w) &^ open) = s // it is not read before it is counted
		spin.Perturb()
		if n.word.CompareAndSwap(w, w+1) {
			return true
		}
	}
}

// OnlyAfter reports whether p is the only predecessor of n that is not complete. Requires: n was
// submitted, p is in flight and stays so, and nothing is being submitted to their domain.
func (n *Node) OnlyAfter(p *Node) bool {
	if n.pending.Load() != 1 {
		return false
	}
	at := walk{node: p}
	for range uint32(p.word.Load()) &^ open {
		if *at.next() == n {
			return true
		}
	}
	return false
}

// room returns where successor i, the next one, is noted. Requires: submitting.
func (n *Node) room(i uint32) **Node {
	if i < nearSuccessors {
		return &n.near[i]
	}
	if i -= nearSuccessors; i < extraSuccessors {
		return &n.extra[i]
	}
	i -= extraSuccessors
	switch at := i % chunkSuccessors; {
	case i == 0:
		if n.chunks == nil {
			n.chunks = &chunk{}
		}
		n.last = n.chunks
	case at == 0:
		// The chunk may be the last one for a concurrent completion of n, which does not look for a
		// next one then.
		if n.last.next == nil {
			n.last.next = &chunk{}
		}
		n.last = n.last.next
	}
	return &n.last.nodes[i%chunkSuccessors]
}

// A walk goes through the successors of a node that were counted, in order.
type walk struct {
	node  *Node
	chunk *chunk
	i     uint32
}

// next returns where the next successor is noted. Requires: one more was counted.
func (k *walk) next() **Node {
	i, n := k.i, k.node
	k.i++
	if i < nearSuccessors {
		return &n.near[i]
	}
	if i -= nearSuccessors; i < extraSuccessors {
		return &n.extra[i]
	}
	i -= extraSuccessors
	switch {
	case i == 0:
		k.chunk = n.chunks
	case i%chunkSuccessors == 0:
		k.chunk = k.chunk.next
	}
	return &k.chunk.nodes[i%chunkSuccessors]
}

// shrink lets chunks go after a task with very many successors. Requires: that is complete.
func (n *Node) shrink() {
	c := n.chunks
	for range keptChunks - 1 {
		if c == nil {
			return
		}
		c = c.next
	}
	if c != nil {
		c.next = nil
	}
}

// isBehind notes that a predecessor of the node was launched on a stream.
func (m *spill) isBehind(stream int32) {
	for {
		was := m.behind.Load()
		switch {
		case was == stream || was == mixed:
			return
		case was != 0:
			stream = mixed
		}
		if m.behind.CompareAndSwap(was, stream) {
			return
		}
	}
}

// streamBehind says that a predecessor is launched, or complete, or that all are known. If nothing
// else is missing it returns the stream where all were launched that are not complete, else 0.
func (m *spill) streamBehind() int {
	if m.unlaunched.Add(-1) != 0 {
		return 0
	}
	return int(max(0, m.behind.Load()))
}
