package deps

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// A Set is a union of regions of one buffer. The zero Set is empty.
//
// Contiguous parts are kept as sorted intervals that do not touch, so a buffer that is filled in
// pieces ends as one interval; strided parts are kept as disjoint boxes, joined with a neighbour
// where the two make a box.
//
// Cost of a question: O(log parts) for what was added at each question, and for intervals; else
// O(parts whose bounds overlap). A change also moves what lies behind it in memory. Not safe for
// concurrent use.
type Set struct {
	buffer BufferID
	flat   []run    // sorted, disjoint, not touching
	boxes  []Region // sorted by first element, disjoint
	reach  int64    // no box reaches further from its first element, a row more included
}

// Empty reports whether the set has no element.
func (s *Set) Empty() bool { return len(s.flat) == 0 && len(s.boxes) == 0 }

// parts is the number of parts.
func (s *Set) parts() int { return len(s.flat) + len(s.boxes) }

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
func (s *Set) Clear() { s.flat, s.boxes, s.reach = s.flat[:0], s.boxes[:0], 0 }

// near is the range of s.flat that touches or overlaps [lo, hi).
func (s *Set) near(lo, hi int64) (i, j int) {
	i = sort.Search(len(s.flat), func(k int) bool { return s.flat[k].hi >= lo })
	j = i
	for j < len(s.flat) && s.flat[j].lo <= hi {
		j++
	}
	return i, j
}

// nearBoxes is the boxes that may overlap [lo, hi): a range of s.boxes.
func (s *Set) nearBoxes(lo, hi int64) []Region {
	i, j := s.boxRange(lo-s.reach, hi)
	return s.boxes[i:j]
}

// boxRange is the range of s.boxes whose first elements are in [lo, hi).
func (s *Set) boxRange(lo, hi int64) (i, j int) {
	first := func(at int64) int {
		return sort.Search(len(s.boxes), func(k int) bool { return s.boxes[k].Offset >= at })
	}
	if len(s.boxes) == 0 {
		return 0, 0
	}
	i = first(lo)
	return i, max(i, first(hi))
}

// holds reports whether r is one of the boxes.
func (s *Set) holds(r *Region) bool {
	i, _ := s.boxRange(r.Offset, r.Offset)
	return i < len(s.boxes) && same(&s.boxes[i], r)
}

// Add puts the elements of r into the set.
func (s *Set) Add(r Region) {
	if r.N == 0 {
		return
	}
	if s.Empty() {
		s.buffer = r.Buffer
	} else if s.buffer != r.Buffer {
		panic(fmt.Sprintf("gompss: bug: %v added to a set of regions of buffer %d", r, s.buffer))
	}
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
	for _, b := range s.nearBoxes(lo, hi) {
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
	for !p.Contiguous() && s.joinNeighbour(&p) {
	}
	if p.Contiguous() {
		lo, hi := p.Bounds()
		s.addFlat(lo, hi)
		return
	}
	s.reach = max(s.reach, reach(&p))
	i, _ := s.boxRange(p.Offset, p.Offset)
	s.boxes = slices.Insert(s.boxes, i, p)
}

// reach is how far the row after r begins from its first element.
func reach(r *Region) int64 { return r.Dims[0].Count * r.Dims[0].Stride }

// joinNeighbour makes p one region with a box that continues it, which leaves the set.
func (s *Set) joinNeighbour(p *Region) bool {
	far := max(s.reach, reach(p))
	i, j := s.boxRange(p.Offset-far, p.Offset+far+1)
	for k := i; k < j; k++ {
		if joined, ok := join(s.boxes[k], *p); ok {
			*p = joined
			s.boxes = slices.Delete(s.boxes, k, k+1)
			return true
		}
	}
	return false
}

// join makes one region of two disjoint ones that continue each other along one dimension.
func join(a, b Region) (Region, bool) {
	if a.Offset > b.Offset {
		a, b = b, a
	}
	n := int(max(a.N, b.N))
	x, y := a.lifted(&b), b.lifted(&a)
	for k := range n {
		if b.Offset-a.Offset != x[k].Count*x[k].Stride || x[k].Stride != y[k].Stride {
			continue
		}
		sum := x
		sum[k].Count += y[k].Count
		y[k].Count, x[k].Count = 0, 0
		if x != y {
			return Region{}, false
		}
		r, err := Strided(a.Buffer, a.Offset, sum[:n])
		return r, err == nil
	}
	return Region{}, false
}

// lifted is the dimensions of r with those of one index that s has and a canonical form leaves out:
// a row as a box of one row.
func (r *Region) lifted(s *Region) [MaxDims]Dim {
	d := r.Dims
	switch {
	case s.N == r.N+1:
		copy(d[1:], r.dims())
		d[0] = Dim{1, s.Dims[0].Stride}
	case s.N == r.N && r.N == 1 && d[0].Count == 1:
		d[0].Stride = s.Dims[0].Stride
	}
	return d
}

// Remove takes the elements of r out of the set.
func (s *Set) Remove(r Region) {
	if r.N == 0 || s.Empty() || s.buffer != r.Buffer {
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
	if !slices.ContainsFunc(s.nearBoxes(r.Bounds()), r.Overlaps) {
		return
	}
	lo, hi := r.Bounds()
	i, j := s.boxRange(lo-s.reach, hi)
	var parts []Region
	kept := i
	for _, b := range s.boxes[i:j] {
		if b.Overlaps(r) {
			parts = b.subtract(r, parts)
			continue
		}
		s.boxes[kept] = b
		kept++
	}
	s.boxes = slices.Delete(s.boxes, kept, j)
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
	for _, b := range s.nearBoxes(lo, hi) {
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
	if j == i+1 && s.flat[i].lo <= lo && s.flat[i].hi >= hi || s.holds(&r) {
		return r.Len()
	}
	n := int64(0)
	for _, f := range s.flat[i:j] {
		flat := Interval(s.buffer, f.lo, f.hi)
		n += overlapLen(&flat, &r)
	}
	boxes := s.nearBoxes(lo, hi)
	for i := range boxes {
		n += overlapLen(&boxes[i], &r)
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
	return slices.ContainsFunc(s.nearBoxes(lo, hi), r.Overlaps)
}
