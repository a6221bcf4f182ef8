package deps

import (
	"slices"
	"sort"
	"strings"
)

// A Set is a union of regions of one buffer. The zero Set is empty.
//
// Contiguous parts are kept as sorted intervals that do not touch, so a buffer that is filled in pieces ends as one
// interval; strided parts are kept as disjoint boxes, joined with a neighbour where the two make a box.
// Cost: O(log n) for intervals, O(boxes) for strided regions. Not safe for concurrent use.
type Set struct {
	buffer BufferID
	flat   []run // sorted, disjoint, not touching
	boxes  []Region
}

// Empty reports whether the set has no element.
func (s *Set) Empty() bool { return len(s.flat) == 0 && len(s.boxes) == 0 }

// Len is the number of elements.
func (s *Set) Len() int64 {
	n := int64(0)
	for _, f := range s.flat {
		n += f.hi - f.lo
	}
	for _, b := range s.boxes {
		n += b.Len()
	}
	return n
}

// Regions returns the parts, disjoint.
func (s *Set) Regions() []Region {
	out := make([]Region, 0, len(s.flat)+len(s.boxes))
	for _, f := range s.flat {
		out = append(out, Interval(s.buffer, f.lo, f.hi))
	}
	return append(out, s.boxes...)
}

func (s *Set) String() string {
	var parts []string
	for _, r := range s.Regions() {
		parts = append(parts, r.String())
	}
	return strings.Join(parts, " ")
}

// Clear empties the set and keeps its memory.
func (s *Set) Clear() { s.flat, s.boxes = s.flat[:0], s.boxes[:0] }

// near is the range of s.flat that touches or overlaps [lo, hi).
func (s *Set) near(lo, hi int64) (i, j int) {
	i = sort.Search(len(s.flat), func(k int) bool { return s.flat[k].hi >= lo })
	j = i
	for j < len(s.flat) && s.flat[j].lo <= hi {
		j++
	}
	return i, j
}

// Add puts the elements of r into the set.
func (s *Set) Add(r Region) {
	if r.N == 0 {
		return
	}
	s.buffer = r.Buffer
	if r.Contiguous() {
		lo, hi := r.Bounds()
		s.dropBoxes(r)
		s.addFlat(lo, hi)
		return
	}
	if s.Contains(r) {
		return
	}
	parts := []Region{r}
	lo, hi := r.Bounds()
	i, j := s.near(lo, hi)
	for _, f := range s.flat[i:j] {
		parts = subtractAll(parts, Interval(s.buffer, f.lo, f.hi))
	}
	for _, b := range s.boxes {
		if b.Overlaps(r) {
			parts = subtractAll(parts, b)
		}
	}
	for _, p := range parts {
		s.addPart(p)
	}
}

func subtractAll(parts []Region, r Region) []Region {
	var out []Region
	for _, p := range parts {
		out = p.subtract(r, out)
	}
	return out
}

func (s *Set) addFlat(lo, hi int64) {
	i, j := s.near(lo, hi)
	if i < j {
		lo, hi = min(lo, s.flat[i].lo), max(hi, s.flat[j-1].hi)
	}
	s.flat = slices.Replace(s.flat, i, j, run{lo, hi})
}

// addPart adds a region that is disjoint from the set, joined with boxes as long as one fits.
func (s *Set) addPart(p Region) {
	for i := 0; i < len(s.boxes); {
		joined, ok := join(s.boxes[i], p)
		if !ok {
			i++
			continue
		}
		p = joined
		s.boxes = slices.Delete(s.boxes, i, i+1)
		i = 0
	}
	if p.Contiguous() {
		lo, hi := p.Bounds()
		s.addFlat(lo, hi)
		return
	}
	s.boxes = append(s.boxes, p)
}

// join makes one region of two disjoint ones that continue each other along one dimension.
func join(a, b Region) (Region, bool) {
	if a.Offset > b.Offset {
		a, b = b, a
	}
	delta := b.Offset - a.Offset
	try := func(da, db []Dim, k int) (Region, bool) {
		for i := range da {
			if i != k && da[i] != db[i] {
				return Region{}, false
			}
		}
		if da[k].Stride != db[k].Stride || delta != da[k].Count*da[k].Stride {
			return Region{}, false
		}
		dims := slices.Clone(da)
		dims[k].Count += db[k].Count
		r, err := Strided(a.Buffer, a.Offset, dims)
		return r, err == nil
	}
	if a.N == b.N {
		for k := range a.dims() {
			if r, ok := try(a.dims(), b.dims(), k); ok {
				return r, true
			}
		}
		// Equal shapes at any distance make a new outer dimension: rows of a tile, one by one.
		if a.Dims == b.Dims && a.N < MaxDims {
			if r, err := Strided(a.Buffer, a.Offset, append([]Dim{{2, delta}}, a.dims()...)); err == nil && r.N <= a.N {
				return r, true
			}
		}
	}
	// One row more for a box, or one row before it.
	if a.N == b.N+1 {
		if r, ok := try(a.dims(), append([]Dim{{1, a.Dims[0].Stride}}, b.dims()...), 0); ok {
			return r, true
		}
	}
	if b.N == a.N+1 {
		return try(append([]Dim{{1, b.Dims[0].Stride}}, a.dims()...), b.dims(), 0)
	}
	return Region{}, false
}

// Remove takes the elements of r out of the set.
func (s *Set) Remove(r Region) {
	if r.N == 0 || s.Empty() {
		return
	}
	s.dropBoxes(r)
	lo, hi := r.Bounds()
	i, j := s.near(lo, hi)
	if i == j {
		return
	}
	if r.Contiguous() {
		var keep []run
		for _, f := range s.flat[i:j] {
			if f.lo < lo {
				keep = append(keep, run{f.lo, min(f.hi, lo)})
			}
			if f.hi > hi {
				keep = append(keep, run{max(f.lo, hi), f.hi})
			}
		}
		s.flat = slices.Replace(s.flat, i, j, keep...)
		return
	}
	cut := slices.Clone(s.flat[i:j])
	s.flat = slices.Delete(s.flat, i, j)
	for _, f := range cut {
		for _, p := range Interval(s.buffer, f.lo, f.hi).Subtract(r) {
			s.addPart(p)
		}
	}
}

// dropBoxes takes r out of the strided parts.
func (s *Set) dropBoxes(r Region) {
	if !slices.ContainsFunc(s.boxes, r.Overlaps) {
		return
	}
	old := s.boxes
	s.boxes = make([]Region, 0, len(old))
	var parts []Region
	for _, b := range old {
		if !b.Overlaps(r) {
			s.boxes = append(s.boxes, b)
			continue
		}
		parts = b.subtract(r, parts)
	}
	for _, p := range parts {
		s.addPart(p)
	}
}

// Intersect appends the common elements of the set and r to dst, as disjoint regions.
func (s *Set) Intersect(r Region, dst []Region) []Region {
	if r.N == 0 || s.Empty() || s.buffer != r.Buffer {
		return dst
	}
	lo, hi := r.Bounds()
	i, j := s.near(lo, hi)
	for _, f := range s.flat[i:j] {
		dst = Interval(s.buffer, f.lo, f.hi).intersect(r, dst)
	}
	for _, b := range s.boxes {
		dst = b.intersect(r, dst)
	}
	return dst
}

// Count is how many elements of r are in the set.
func (s *Set) Count(r Region) int64 {
	if r.N == 0 || s.Empty() || s.buffer != r.Buffer {
		return 0
	}
	lo, hi := r.Bounds()
	i, j := s.near(lo, hi)
	if j == i+1 && s.flat[i].lo <= lo && s.flat[i].hi >= hi {
		return r.Len()
	}
	n := int64(0)
	for _, f := range s.flat[i:j] {
		flat := Interval(s.buffer, f.lo, f.hi)
		n += overlapLen(&flat, &r)
	}
	for i := range s.boxes {
		n += overlapLen(&s.boxes[i], &r)
	}
	return n
}

// Contains reports whether all of r is in the set.
func (s *Set) Contains(r Region) bool { return r.N == 0 || s.Count(r) == r.Len() }

// Overlaps reports whether some element of r is in the set.
func (s *Set) Overlaps(r Region) bool {
	if r.N == 0 || s.Empty() || s.buffer != r.Buffer {
		return false
	}
	lo, hi := r.Bounds()
	i, j := s.near(lo, hi)
	for _, f := range s.flat[i:j] {
		if Interval(s.buffer, f.lo, f.hi).Overlaps(r) {
			return true
		}
	}
	return slices.ContainsFunc(s.boxes, r.Overlaps)
}
