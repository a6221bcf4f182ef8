package deps

import "slices"

// Overlaps reports whether r and s have a common element. Exact for any shapes. Cost: O(dimensions) where both are boxes of one
// grid, as tiles of one matrix are; else O(runs).
func (r Region) Overlaps(s Region) bool {
	if r.Buffer != s.Buffer || r.N == 0 || s.N == 0 {
		return false
	}
	rlo, rhi := r.Bounds()
	slo, shi := s.Bounds()
	if rhi <= slo || shi <= rlo {
		return false
	}
	if r.Contiguous() && s.Contiguous() {
		return true
	}
	if x, y, ok := onOneGrid(r, s); ok {
		for k := range x.axes[:x.n] {
			if x.axes[k].meet(y.axes[k]).count == 0 {
				return false
			}
		}
		return true
	}
	return runsOverlap(r, s)
}

// Contains reports whether every element of s is in r. Exact; cost as Overlaps.
func (r Region) Contains(s Region) bool {
	if s.N == 0 {
		return true
	}
	if r == s {
		return true
	}
	return r.Buffer == s.Buffer && r.N > 0 && overlapLen(r, s) == s.Len()
}

// Intersect returns the common elements of r and s as disjoint regions.
func (r Region) Intersect(s Region) []Region { return r.intersect(s, nil) }

func (r Region) intersect(s Region, out []Region) []Region {
	if !r.Overlaps(s) {
		return out
	}
	if r.Contiguous() && s.Contiguous() {
		rlo, rhi := r.Bounds()
		slo, shi := s.Bounds()
		return append(out, Interval(r.Buffer, max(rlo, slo), min(rhi, shi)))
	}
	if x, y, ok := onOneGrid(r, s); ok {
		for k := range x.axes[:x.n] {
			x.axes[k] = x.axes[k].meet(y.axes[k])
		}
		return x.regions(r.Buffer, out)
	}
	return append(out, compress(r.Buffer, meetRuns(r, s))...)
}

// Subtract returns the elements of r that are not in s as disjoint regions.
func (r Region) Subtract(s Region) []Region { return r.subtract(s, nil) }

func (r Region) subtract(s Region, out []Region) []Region {
	if r.N == 0 {
		return out
	}
	if !r.Overlaps(s) {
		return append(out, r)
	}
	if r.Contiguous() && s.Contiguous() {
		rlo, rhi := r.Bounds()
		slo, shi := s.Bounds()
		if slo > rlo {
			out = append(out, Interval(r.Buffer, rlo, slo))
		}
		if shi < rhi {
			out = append(out, Interval(r.Buffer, shi, rhi))
		}
		return out
	}
	if x, y, ok := onOneGrid(r, s); ok {
		return x.subtract(y, r.Buffer, out)
	}
	return append(out, compress(r.Buffer, dropRuns(r, s))...)
}

func overlapLen(r, s Region) int64 {
	n := int64(0)
	for _, p := range r.intersect(s, nil) {
		n += p.Len()
	}
	return n
}

// An axis is an arithmetic progression of indices along one dimension of a grid: lo, lo+step, ...
type axis struct{ lo, count, step int64 }

func (a axis) last() int64 { return a.lo + (a.count-1)*a.step }

// meet is the common indices of two progressions: a progression again, by the Chinese remainder theorem.
func (a axis) meet(b axis) axis {
	if a.count == 0 || b.count == 0 {
		return axis{}
	}
	lo, hi := max(a.lo, b.lo), min(a.last(), b.last())
	if a.step == 1 && b.step == 1 {
		return axis{lo, max(0, hi-lo+1), 1}
	}
	g, p, _ := extendedGCD(a.step, b.step)
	if (b.lo-a.lo)%g != 0 {
		return axis{}
	}
	step := a.step / g * b.step
	// x = a.lo + a.step*k with a.step*k = b.lo-a.lo modulo b.step
	m := b.step / g
	k := mod(mod((b.lo-a.lo)/g, m)*mod(p, m), m)
	first := a.lo + a.step*k
	if first < lo {
		first += (lo - first + step - 1) / step * step
	} else {
		first -= (first - lo) / step * step
	}
	if first > hi {
		return axis{}
	}
	return axis{first, (hi-first)/step + 1, step}
}

// without returns the indices of a that are not in c, which is part of a.
func (a axis) without(c axis) []axis {
	if c.count == 0 {
		return []axis{a}
	}
	var out []axis
	add := func(x axis) {
		if x.count > 0 {
			out = append(out, x)
		}
	}
	before := (c.lo - a.lo) / a.step
	add(axis{a.lo, before, a.step})
	if c.count > 1 {
		for r := a.step; r < c.step; r += a.step { // the residues between two members of c
			add(axis{c.lo + r, c.count - 1, c.step})
		}
	}
	after := c.last() + a.step
	add(axis{after, (a.last()-after)/a.step + 1, a.step})
	return out
}

func extendedGCD(a, b int64) (g, x, y int64) {
	if b == 0 {
		return a, 1, 0
	}
	g, x, y = extendedGCD(b, a%b)
	return g, y, x - a/b*y
}

func mod(a, m int64) int64 {
	if a %= m; a < 0 {
		a += m
	}
	return a
}

// maxAxes bounds the grid of two regions: the strides of both and 1.
const maxAxes = 2*MaxDims + 1

// A gridBox is a region as a box in a grid: along axis k the element index grows by unit[k].
type gridBox struct {
	n    int
	unit [maxAxes]int64
	axes [maxAxes]axis
}

// onOneGrid expresses both regions as boxes of the grid whose units are the strides of either. It fails where a box would wrap
// around the end of a row of the grid.
func onOneGrid(r, s Region) (x, y gridBox, ok bool) {
	var units [maxAxes]int64
	n := 0
	add := func(u int64) {
		if !slices.Contains(units[:n], u) {
			units[n] = u
			n++
		}
	}
	add(1)
	for _, d := range r.dims() {
		add(d.Stride)
	}
	for _, d := range s.dims() {
		add(d.Stride)
	}
	slices.SortFunc(units[:n], func(a, b int64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	x, ok = fit(r, units, n)
	if !ok {
		return x, y, false
	}
	y, ok = fit(s, units, n)
	return x, y, ok
}

// fit writes r in the grid: element offsets become digits, greedily from the largest unit. It fails where the box would carry
// from one digit into the next, since then an element would not be its digits.
func fit(r Region, units [maxAxes]int64, n int) (gridBox, bool) {
	b := gridBox{n: n, unit: units}
	rest := r.Offset
	for k := range n {
		u := units[k]
		lo := floorDiv(rest, u)
		rest -= lo * u
		b.axes[k] = axis{lo, 1, 1}
		for _, d := range r.dims() {
			if d.Stride == u {
				b.axes[k].count = d.Count
			}
		}
	}
	tail := int64(0)
	for k := n - 1; k > 0; k-- {
		tail += b.axes[k].last() * units[k]
		if tail >= units[k-1] {
			return b, false
		}
	}
	return b, true
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// regions adds the box to out: one region, or several where it needs more than MaxDims dimensions.
func (b *gridBox) regions(id BufferID, out []Region) []Region {
	wide, least := 0, -1
	for k, a := range b.axes[:b.n] {
		if a.count > 1 {
			wide++
			if least < 0 || a.count < b.axes[least].count {
				least = k
			}
		}
	}
	if wide <= MaxDims {
		return append(out, b.region(id))
	}
	for i := range b.axes[least].count {
		slice := *b
		slice.axes[least] = axis{b.axes[least].lo + i*b.axes[least].step, 1, 1}
		out = slice.regions(id, out)
	}
	return out
}

func (b *gridBox) region(id BufferID) Region {
	dims := make([]Dim, 0, maxAxes)
	offset := int64(0)
	for k := range b.n {
		a := b.axes[k]
		offset += a.lo * b.unit[k]
		dims = append(dims, Dim{a.count, a.step * b.unit[k]})
	}
	return mustStrided(id, offset, dims)
}

// subtract cuts b minus c into boxes, axis by axis.
func (b *gridBox) subtract(c gridBox, id BufferID, out []Region) []Region {
	rest := *b
	for k := range b.n {
		common := rest.axes[k].meet(c.axes[k])
		for _, a := range rest.axes[k].without(common) {
			piece := rest
			piece.axes[k] = a
			out = piece.regions(id, out)
		}
		rest.axes[k] = common
	}
	return out
}
