// Package ordered sorts and searches short slices inside a kernel. The calling thread does all the
// work.
package ordered

import "cmp"

// Sort orders x from small to large, in place. Its time is quadratic in the length of x, linear
// where x is ordered already: it is for arrays of some dozen elements that a thread has for itself.
// Elements that compare equal keep their order; NaN is not ordered with any float.
func Sort[T cmp.Ordered](x []T) {
	for i := 1; i < len(x); i++ {
		v, j := x[i], i
		for j > 0 && v < x[j-1] {
			x[j] = x[j-1]
			j--
		}
		x[j] = v
	}
}

// Search returns the first index of x, ordered from small to large, whose element is not below v;
// len(x) if there is none. Its time is logarithmic in the length of x.
func Search[T cmp.Ordered](x []T, v T) int {
	lo, hi := 0, len(x)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); x[mid] < v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
