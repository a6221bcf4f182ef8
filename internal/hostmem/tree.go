package hostmem

import "iter"

// A Tree is an address range [lo, hi) with its owner, and the root of a tree of disjoint ranges;
// nil is the empty tree. A tree is immutable: Insert and Remove return another, which shares all
// nodes but the path to the change, so that readers take no lock and n insertions take O(n log n)
// steps in any order (a treap: addresses decide between left and right, their hashes between above
// and below).
type Tree[T any] struct {
	Lo, Hi      uintptr
	Value       T
	left, right *Tree[T]
}

// rank is greater above than below. It is different for different addresses: each step can be
// undone.
func (s *Tree[T]) rank() uint64 {
	x := uint64(s.Lo)
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>32
}

// After returns the first range that ends after an address, nil if there is none.
func (s *Tree[T]) After(at uintptr) (first *Tree[T]) {
	for s != nil {
		if s.Hi > at {
			first, s = s, s.left
		} else {
			s = s.right
		}
	}
	return first
}

// Insert returns the tree with x, which has no children and overlaps no other range.
func (s *Tree[T]) Insert(x *Tree[T]) *Tree[T] {
	if s == nil {
		return x
	}
	if x.rank() > s.rank() {
		x.left, x.right = s.split(x.Lo)
		return x
	}
	c := *s
	if x.Lo < s.Lo {
		c.left = s.left.Insert(x)
	} else {
		c.right = s.right.Insert(x)
	}
	return &c
}

// split returns the trees of the ranges that begin before an address and of the rest.
func (s *Tree[T]) split(at uintptr) (before, rest *Tree[T]) {
	if s == nil {
		return nil, nil
	}
	c := *s
	if s.Lo < at {
		c.right, rest = s.right.split(at)
		return &c, rest
	}
	before, c.left = s.left.split(at)
	return before, &c
}

// Remove returns the tree without the range that begins at lo.
func (s *Tree[T]) Remove(lo uintptr) *Tree[T] {
	if s == nil {
		return nil
	}
	if lo == s.Lo {
		return s.left.join(s.right)
	}
	c := *s
	if lo < s.Lo {
		c.left = s.left.Remove(lo)
	} else {
		c.right = s.right.Remove(lo)
	}
	return &c
}

// join returns the tree of s and of the ranges after all of s.
func (s *Tree[T]) join(behind *Tree[T]) *Tree[T] {
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

// All yields the ranges by address.
func (s *Tree[T]) All() iter.Seq[*Tree[T]] {
	return func(yield func(*Tree[T]) bool) { s.each(yield) }
}

func (s *Tree[T]) each(yield func(*Tree[T]) bool) bool {
	return s == nil || s.left.each(yield) && yield(s) && s.right.each(yield)
}
