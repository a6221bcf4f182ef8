package deps

// The cells of a buffer form a treap by first element: the hash of a region makes its priority, so
// the shape is a function of the regions alone. top is the highest end of the cells below, so that
// a search for overlapping bounds skips what ends too early.

// less is the order of the tree. It may not use the hash, or cells with the same first element
// would form a path.
func (c *cell) less(o *cell) bool { return comesBefore(&c.region, &o.region, c.end, o.end) }

// comesBefore is the order of regions of one buffer that end where it says.
func comesBefore(r, s *Region, end, other int64) bool {
	if r.Offset != s.Offset {
		return r.Offset < s.Offset
	}
	if end != other {
		return end < other
	}
	for k, d := range r.Dims {
		if e := s.Dims[k]; d != e {
			return d.Count < e.Count || d.Count == e.Count && d.Stride < e.Stride
		}
	}
	return false
}

// priority is the hash, mixed once more: that of regions at equal distances may grow with them, for
// some distances.
func (c *cell) priority() uint64 { return (c.hash ^ c.hash>>29) * 0xbf58476d1ce4e5b9 }

// lift sets top from the children.
func (c *cell) lift() *cell {
	c.top = c.end
	if c.left != nil {
		c.top = max(c.top, c.left.top)
	}
	if c.right != nil {
		c.top = max(c.top, c.right.top)
	}
	return c
}

// insert puts c into the tree n and returns the new root.
func (n *cell) insert(c *cell) *cell {
	if n == nil {
		return c.lift()
	}
	if c.priority() > n.priority() {
		c.left, c.right = n.cut(c)
		return c.lift()
	}
	if c.less(n) {
		n.left = n.left.insert(c)
	} else {
		n.right = n.right.insert(c)
	}
	return n.lift()
}

// cut divides the tree n into what is less than c and the rest.
func (n *cell) cut(c *cell) (low, high *cell) {
	if n == nil {
		return nil, nil
	}
	if n.less(c) {
		n.right, high = n.right.cut(c)
		return n.lift(), high
	}
	low, n.left = n.left.cut(c)
	return low, n.lift()
}

// remove takes c out of the tree n and returns the new root.
func (n *cell) remove(c *cell) *cell {
	switch {
	case n == c:
		return c.left.join(c.right)
	case c.less(n):
		n.left = n.left.remove(c)
	default:
		n.right = n.right.remove(c)
	}
	return n.lift()
}

// join makes one tree of n and o, where all of n is less than all of o.
func (n *cell) join(o *cell) *cell {
	switch {
	case n == nil:
		return o
	case o == nil:
		return n
	case n.priority() > o.priority():
		n.right = n.right.join(o)
		return n.lift()
	}
	o.left = n.join(o.left)
	return o.lift()
}

// each calls f for the cells of the tree, in order.
func (n *cell) each(f func(*cell)) {
	for ; n != nil; n = n.right {
		n.left.each(f)
		f(n)
	}
}
