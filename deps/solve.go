package deps

import "math/bits"

// A term is one unknown of the question whether r and s overlap. With r at offset x and s at y,
// they do if and only if
//
//	y - x = d1*stride1 + d2*stride2 + ...
//
// for some d where lo <= dk <= hi: the difference of the two index vectors along each stride, taken
// together where both regions have that stride. Two terms at most are solved in closed form,
// without looking at rows.
type term struct{ stride, lo, hi int64 }

// solveOverlap reports whether r and s overlap, where the two have at most two different strides.
func solveOverlap(r, s *Region) (hit, ok bool) {
	var ts [2]term
	i, j, n := 0, 0, 0
	for {
		a, b := strideAt(r, i), strideAt(s, j)
		next := max(a, b)
		if next == 0 {
			break
		}
		if n == len(ts) {
			return false, false
		}
		ts[n].stride = next
		if a == next {
			ts[n].hi = r.Dims[i].Count - 1
			i++
		}
		if b == next {
			ts[n].lo = 1 - s.Dims[j].Count
			j++
		}
		n++
	}
	delta := s.Offset - r.Offset
	switch n {
	case 0:
		return delta == 0, true
	case 1:
		q := delta / ts[0].stride
		return q*ts[0].stride == delta && ts[0].lo <= q && q <= ts[0].hi, true
	}
	return solveTwo(ts[0], ts[1], delta), true
}

// solveTwo reports whether delta = x*a.stride + y*b.stride with x and y in their ranges.
func solveTwo(a, b term, delta int64) bool {
	// The range of x that leaves b a value in its range, as if every multiple were possible.
	lo := max(a.lo, -floorDiv(b.hi*b.stride-delta, a.stride))
	hi := min(a.hi, floorDiv(delta-b.lo*b.stride, a.stride))
	if lo > hi {
		return false
	}
	if b.stride == 1 {
		return true
	}
	g, inverse := gcdInverse(a.stride, b.stride)
	if delta%g != 0 {
		return false
	}
	// x*a.stride = delta modulo b.stride fixes x modulo m.
	m := b.stride / g
	x := mulMod(mod(delta/g, m), mod(inverse, m), m)
	return lo+mod(x-lo, m) <= hi
}

// gcdInverse returns the greatest common divisor of a and b, and x with a*x = g modulo b.
func gcdInverse(a, b int64) (g, x int64) {
	x, next := int64(1), int64(0)
	for b != 0 {
		q := a / b
		a, b = b, a-q*b
		x, next = next, x-q*next
	}
	return a, x
}

// mulMod is a*b modulo m, for 0 <= a, b < m.
func mulMod(a, b, m int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(bits.Rem64(hi, lo, uint64(m)))
}

func mod(a, m int64) int64 {
	if a %= m; a < 0 {
		a += m
	}
	return a
}
