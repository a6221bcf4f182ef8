package deps

// This file lets observers look at nodes in flight that other goroutines work on. What it returns
// is true of a run that is stalled, and may be out of date in any other.

// Pending returns how many predecessors of n are not complete.
func (n *Node) Pending() int { return max(0, int(n.pending.Load())) }

// Successors appends the tasks that wait for n, through joints too, at most room of them.
//
// The node may be completed and used again meanwhile: the result is to be thrown away where the
// task of n is another one afterwards.
//
//go:norace
func (n *Node) Successors(to []*Node, room int) []*Node {
	for _, s := range n.noted(room) {
		if j := s.joint(); j != nil {
			to = append(to, j.noted(room)...)
		} else {
			to = append(to, s)
		}
	}
	return to
}

// noted returns the successors that are counted in the word of n. A successor is noted before it is
// counted, so that all of them are there unless n is used again; then some may be missing.
//
//go:norace
func (n *Node) noted(room int) (out []*Node) {
	w := n.word.Load()
	if w == 0 {
		return nil
	}
	count := int(uint32(w) &^ open)
	c := n.chunks
	for i := 0; i < count && len(out) < room; i++ {
		var s *Node
		switch at := i - nearSuccessors - extraSuccessors; {
		case i < nearSuccessors:
			s = n.near[i]
		case at < 0:
			s = n.extra[i-nearSuccessors]
		default:
			if at > 0 && at%chunkSuccessors == 0 && c != nil {
				c = c.next
			}
			if c == nil {
				return out
			}
			s = c.nodes[at%chunkSuccessors]
		}
		if s != nil {
			out = append(out, s)
		}
	}
	return out
}
