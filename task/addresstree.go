package task

import "iter"

// An addressTree is a part [lo, hi) of the addresses with what lies there, and the root of a tree
// of such stretches, none overlapping another; nil is the empty one. A tree is never changed:
// insert and remove return another, which shares all but the way to what is new, so that reading
// takes no lock and entering n stretches takes O(n log n) steps in whatever order they come (a
// treap: addresses decide between left and right, their hashes between above and below).
type addressTree[T any] struct {
	lo, hi      uintptr
	value       T
	left, right *addressTree[T]
}

// rank is greater above than below. It is different for different addresses: each step can be
// undone.
func (s *addressTree[T]) rank() uint64 {
	x := uint64(s.lo)
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>32
}

// after returns the first stretch that ends behind an address, nil if none does.
func (s *addressTree[T]) after(at uintptr) (first *addressTree[T]) {
	for s != nil {
		if s.hi > at {
			first, s = s, s.left
		} else {
			s = s.right
		}
	}
	return first
}

// insert returns the tree with x, which has no tree below it and overlaps nothing.
func (s *addressTree[T]) insert(x *addressTree[T]) *addressTree[T] {
	if s == nil {
		return x
	}
	if x.rank() > s.rank() {
		x.left, x.right = s.split(x.lo)
		return x
	}
	c := *s
	if x.lo < s.lo {
		c.left = s.left.insert(x)
	} else {
		c.right = s.right.insert(x)
	}
	return &c
}

// split returns the trees of what begins before an address and of the rest.
func (s *addressTree[T]) split(at uintptr) (before, rest *addressTree[T]) {
	if s == nil {
		return nil, nil
	}
	c := *s
	if s.lo < at {
		c.right, rest = s.right.split(at)
		return &c, rest
	}
	before, c.left = s.left.split(at)
	return before, &c
}

// remove returns the tree without the stretch that begins at lo.
func (s *addressTree[T]) remove(lo uintptr) *addressTree[T] {
	if s == nil {
		return nil
	}
	if lo == s.lo {
		return s.left.join(s.right)
	}
	c := *s
	if lo < s.lo {
		c.left = s.left.remove(lo)
	} else {
		c.right = s.right.remove(lo)
	}
	return &c
}

// join returns the tree of s and of what lies behind all of it.
func (s *addressTree[T]) join(behind *addressTree[T]) *addressTree[T] {
	switch {
	case s == nil:
		return behind
	case behind == nil:
		return s
	}
	if s.rank() > behind.rank() {
		c := *s
		c.right = s.right.join(behind)
		return &c
	}
	c := *behind
	c.left = s.join(behind.left)
	return &c
}

// all yields the stretches by address.
func (s *addressTree[T]) all() iter.Seq[*addressTree[T]] {
	return func(yield func(*addressTree[T]) bool) { s.each(yield) }
}

func (s *addressTree[T]) each(yield func(*addressTree[T]) bool) bool {
	return s == nil || s.left.each(yield) && yield(s) && s.right.each(yield)
}
