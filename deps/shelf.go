package deps

// A Shelf keeps a value for each of many regions and finds those whose regions overlap one. The
// zero Shelf is empty. Not safe for concurrent use. In the steady state it allocates nothing.
//
// The regions of a buffer are a treap by first element, as the cells of a domain are (tree.go), and
// a region that is on the shelf already is found by one look into a map.
type Shelf[T any] struct {
	exact map[Region]*shelved[T]
	roots map[BufferID]*shelved[T]
	spare *shelved[T]
}

// A shelved is a region with its value.
type shelved[T any] struct {
	region      Region
	priority    uint64
	left, right *shelved[T] // left also links those that are spare
	end, top    int64
	value       T
}

// Len returns the number of regions.
func (s *Shelf[T]) Len() int { return len(s.exact) }

// At returns the value of r, which it puts on the shelf if it is not there. The value stays where
// it is until Drop. r must not be empty.
func (s *Shelf[T]) At(r Region) *T {
	if e := s.exact[r]; e != nil {
		return &e.value
	}
	e := s.spare
	if e == nil {
		e = &shelved[T]{}
	} else {
		s.spare = e.left
	}
	_, end := r.Bounds()
	h := hashOf(&r)
	*e = shelved[T]{region: r, end: end, priority: (h ^ h>>29) * 0xbf58476d1ce4e5b9}
	if s.exact == nil {
		s.exact, s.roots = map[Region]*shelved[T]{}, map[BufferID]*shelved[T]{}
	}
	s.exact[r] = e
	s.roots[r.Buffer] = s.roots[r.Buffer].insert(e)
	return &e.value
}

// Drop takes r off the shelf.
func (s *Shelf[T]) Drop(r Region) {
	e := s.exact[r]
	if e == nil {
		return
	}
	delete(s.exact, r)
	if root := s.roots[r.Buffer].remove(e); root != nil {
		s.roots[r.Buffer] = root
	} else {
		delete(s.roots, r.Buffer)
	}
	*e = shelved[T]{left: s.spare}
	s.spare = e
}

// Any reports whether f does for the value of some region that overlaps r; f is asked for those
// until then. f must not change the shelf. Cost: O(log n), and what overlaps r by its bounds.
func (s *Shelf[T]) Any(r *Region, f func(*Region, *T) bool) bool {
	root := s.roots[r.Buffer]
	if root == nil {
		return false
	}
	lo, hi := r.Bounds()
	return root.any(r, lo, hi, f)
}

func (n *shelved[T]) any(r *Region, lo, hi int64, f func(*Region, *T) bool) bool {
	for n != nil && n.top > lo {
		if n.left.any(r, lo, hi, f) {
			return true
		}
		if n.region.Offset >= hi {
			return false
		}
		if n.end > lo && n.region.Overlaps(*r) && f(&n.region, &n.value) {
			return true
		}
		n = n.right
	}
	return false
}

func (n *shelved[T]) less(o *shelved[T]) bool {
	return comesBefore(&n.region, &o.region, n.end, o.end)
}

func (n *shelved[T]) lift() *shelved[T] {
	n.top = n.end
	if n.left != nil {
		n.top = max(n.top, n.left.top)
	}
	if n.right != nil {
		n.top = max(n.top, n.right.top)
	}
	return n
}

func (n *shelved[T]) insert(e *shelved[T]) *shelved[T] {
	if n == nil {
		return e.lift()
	}
	if e.priority > n.priority {
		e.left, e.right = n.cut(e)
		return e.lift()
	}
	if e.less(n) {
		n.left = n.left.insert(e)
	} else {
		n.right = n.right.insert(e)
	}
	return n.lift()
}

// cut divides the tree n into what is less than e and the rest.
func (n *shelved[T]) cut(e *shelved[T]) (low, high *shelved[T]) {
	if n == nil {
		return nil, nil
	}
	if n.less(e) {
		n.right, high = n.right.cut(e)
		return n.lift(), high
	}
	low, n.left = n.left.cut(e)
	return low, n.lift()
}

func (n *shelved[T]) remove(e *shelved[T]) *shelved[T] {
	switch {
	case n == e:
		return e.left.join(e.right)
	case e.less(n):
		n.left = n.left.remove(e)
	default:
		n.right = n.right.remove(e)
	}
	return n.lift()
}

// join makes one tree of n and o, where all of n is less than all of o.
func (n *shelved[T]) join(o *shelved[T]) *shelved[T] {
	switch {
	case n == nil:
		return o
	case o == nil:
		return n
	case n.priority > o.priority:
		n.right = n.right.join(o)
		return n.lift()
	}
	o.left = n.join(o.left)
	return o.lift()
}
