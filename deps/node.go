package deps

// inlineLinks is how many accesses of a node need no memory of their own.
const inlineLinks = 3

// A Node is one task in a Domain. It is embedded in the task's record, submitted once, completed once, and may then be
// submitted again as another task. The zero Node is ready for use. Owner is the caller's way back to its record.
type Node struct {
	ID    TaskID
	Owner any

	pending    int32 // predecessors that are not complete, and 1 while being submitted
	state      nodeState
	mark       TaskID // last successor that found this node: an edge is made once
	successors []*Node
	links      []link // of inline, or of memory that the node keeps for its next task
	inline     [inlineLinks]link
}

type nodeState uint8

const (
	idle nodeState = iota
	submitted
)

// A link ties one access of a node into the group of its cell, in a doubly linked list.
type link struct {
	key        modeKey
	version    uint64
	node       *Node
	cell       *cell
	group      *group
	prev, next *link
}

// A modeKey is what compatibility depends on.
type modeKey struct {
	mode Mode
	op   uint16
}

// Accesses returns the number of accesses of the node while it is in flight.
func (n *Node) Accesses() int { return len(n.links) }

// Version returns, for access i, how many writing accesses to its buffer had been submitted before this one: the same in every
// process that submits the same program.
func (n *Node) Version(i int) uint64 { return n.links[i].version }

// A group is the live accesses of a cell that go together: one writer, or many readers, and so on.
type group struct {
	key  modeKey
	head *link
}

func (g *group) push(l *link) {
	l.group, l.prev, l.next = g, nil, g.head
	if g.head != nil {
		g.head.prev = l
	}
	g.head = l
}

// unlink takes l out of its group; one that was detached with its whole group is in none.
func (l *link) unlink() {
	if l.group == nil {
		return
	}
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		l.group.head = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	}
	l.prev, l.next, l.group = nil, nil, nil
}

// A cell is one region that has been accessed, with its last two groups: every member of now waits for every member of before.
// groups swap places, so that links keep pointing at the right one.
type cell struct {
	region Region
	groups [2]group
	now    uint8   // index of the latest group
	over   []*cell // cells with a common element
	live   int32   // links in the groups
}

func (c *cell) current() *group { return &c.groups[c.now] }
func (c *cell) before() *group  { return &c.groups[c.now^1] }
