package deps

// Overlaps reports whether r and s have a common element. Exact for any shapes.
//
// Cost: O(1) for two regions with at most two different strides between them (intervals, tiles of
// one matrix, columns), O(dimensions) where every stride is a multiple of the next smaller one, as
// for boxes of one array; else O(runs).
func (r Region) Overlaps(s Region) bool {
	if r.Buffer != s.Buffer || r.N == 0 || s.N == 0 || apart(&r, &s) {
		return false
	}
	if r.Contiguous() && s.Contiguous() {
		return true
	}
	if hit, ok := solveOverlap(&r, &s); ok {
		return hit
	}
	if g, ok := gridOf(&r, &s); ok {
		return g.overlapSize(&r, &s, true) > 0
	}
	return runsOverlap(r, s)
}

// apart reports whether the bounds of r and s have nothing in common.
func apart(r, s *Region) bool {
	_, rhi := r.Bounds()
	_, shi := s.Bounds()
	return rhi <= s.Offset || shi <= r.Offset
}

// Contains reports whether every element of s is in r. Exact; cost as Overlaps.
func (r Region) Contains(s Region) bool {
	if s.N == 0 || r == s {
		return true
	}
	return r.Buffer == s.Buffer && r.N > 0 && overlapLen(&r, &s) == s.Len()
}

// Intersect returns the common elements of r and s as disjoint regions. Cost as Overlaps: one
// region, or a few, for boxes of one array.
func (r Region) Intersect(s Region) []Region { return r.intersect(s, nil) }

func (r Region) intersect(s Region, out []Region) []Region {
	if r.Buffer != s.Buffer || r.N == 0 || s.N == 0 || apart(&r, &s) {
		return out
	}
	if r.covers(&s) {
		return append(out, s)
	}
	if s.covers(&r) {
		return append(out, r)
	}
	if r.Contiguous() && s.Contiguous() {
		return append(out, Interval(r.Buffer, max(r.Offset, s.Offset), min(r.Offset+r.Dims[0].Count, s.Offset+s.Dims[0].Count)))
	}
	if g, ok := gridOf(&r, &s); ok {
		return g.intersect(&r, &s, out)
	}
	return compress(r.Buffer, meetRuns(r, s), out)
}

// Subtract returns the elements of r that are not in s as disjoint regions. Cost as Overlaps.
func (r Region) Subtract(s Region) []Region { return r.subtract(s, nil) }

func (r Region) subtract(s Region, out []Region) []Region {
	switch {
	case r.N == 0 || r.Buffer == s.Buffer && s.covers(&r):
		return out
	case !r.Overlaps(s):
		return append(out, r)
	case r.Contiguous() && s.Contiguous():
		return r.cutInterval(&s, out)
	}
	if g, ok := gridOf(&s, &r); ok {
		return g.subtract(&r, &s, out)
	}
	return compress(r.Buffer, dropRuns(r, s), out)
}

// cutInterval appends the rest of r on both sides of s.
func (r *Region) cutInterval(s *Region, out []Region) []Region {
	rhi, shi := r.Offset+r.Dims[0].Count, s.Offset+s.Dims[0].Count
	if r.Offset < s.Offset {
		out = append(out, Interval(r.Buffer, r.Offset, s.Offset))
	}
	if shi < rhi {
		out = append(out, Interval(r.Buffer, shi, rhi))
	}
	return out
}

// covers reports, cheaply, that r is an interval around all of s. Requires: regions of one buffer.
func (r *Region) covers(s *Region) bool {
	if r.N != 1 || r.Dims[0].Stride != 1 || s.Offset < r.Offset {
		return false
	}
	_, hi := s.Bounds()
	return hi <= r.Offset+r.Dims[0].Count
}

// overlapLen is the number of common elements. Requires: regions of one buffer, not empty.
func overlapLen(r, s *Region) int64 {
	if apart(r, s) {
		return 0
	}
	if r.covers(s) {
		return s.Len()
	}
	if s.covers(r) {
		return r.Len()
	}
	if g, ok := gridOf(r, s); ok {
		return g.overlapSize(r, s, false)
	}
	n := int64(0)
	for _, run := range meetRuns(*r, *s) {
		n += run.hi - run.lo
	}
	return n
}

// overlapSize is the number of common elements of the two regions of the grid; with any set, it
// stops at the first box that has some.
func (g *grid) overlapSize(r, s *Region, any bool) int64 {
	var x, y [maxBoxes]box
	as, _ := g.boxes(r, x[:0])
	bs, _ := g.boxes(s, y[:0])
	n := int64(0)
	for i := range as {
		for j := range bs {
			if c, ok := g.meet(&as[i], &bs[j]); ok {
				n += g.size(&c)
				if any {
					return n
				}
			}
		}
	}
	return n
}

func (g *grid) intersect(r, s *Region, out []Region) []Region {
	var x, y [maxBoxes]box
	as, _ := g.boxes(r, x[:0])
	bs, _ := g.boxes(s, y[:0])
	for i := range as {
		for j := range bs {
			if c, ok := g.meet(&as[i], &bs[j]); ok {
				out = g.regions(r.Buffer, &c, out)
			}
		}
	}
	return out
}

// subtract appends r without s. Requires: the grid is that of s and r, which overlap.
func (g *grid) subtract(r, s *Region, out []Region) []Region {
	var x, y [maxBoxes]box
	left, _ := g.boxes(r, x[:0])
	holes, _ := g.boxes(s, y[:0])
	for j := range holes {
		var next []box
		for i := range left {
			next = g.cut(&left[i], &holes[j], next)
		}
		left = next
	}
	for i := range left {
		out = g.regions(r.Buffer, &left[i], out)
	}
	return out
}
