package deps

// maxLevels bounds the grid of two regions: the strides of both, or 1 for two single elements.
const maxLevels = 2 * MaxDims

// A grid numbers elements by mixed-radix digits relative to origin: digit k steps stride[k]
// elements and carries into digit k-1 at extent[k]. Digit 0 has no end. The tiles of one row-major
// array are boxes of one grid.
type grid struct {
	n              int
	origin         int64
	stride, extent [maxLevels]int64
}

// A box is the elements of a grid whose digit k is in [lo[k], lo[k]+count[k]).
type box struct{ lo, count [maxLevels]int64 }

// maxBoxes is the number of boxes that one region becomes at most in practice: a head, a middle and
// a tail for two wrapping levels.
const maxBoxes = 9

// gridOf returns the grid of the strides of r and s, with its origin at the first element of r, so
// that r is one box of it. It fails where a stride is no multiple of the next smaller one.
func gridOf(r, s *Region) (g grid, ok bool) {
	g.origin = r.Offset
	i, j := 0, 0
	for {
		a, b := strideAt(r, i), strideAt(s, j)
		next := max(a, b)
		if next == 0 {
			break
		}
		if a == next {
			i++
		}
		if b == next {
			j++
		}
		g.stride[g.n] = next
		if g.n > 0 {
			outer := g.stride[g.n-1]
			if outer%next != 0 {
				return g, false
			}
			g.extent[g.n] = outer / next
		}
		g.n++
	}
	if g.n == 0 {
		g.n, g.stride[0] = 1, 1
	}
	return g, true
}

// strideAt is the stride of dimension k, 0 past the last one that has more than one index.
func strideAt(r *Region, k int) int64 {
	if k >= int(r.N) || r.Dims[k].Count == 1 {
		return 0
	}
	return r.Dims[k].Stride
}

// boxes appends r as disjoint boxes of g: one unless r runs past the end of a row of the grid. It
// fails where the elements of r lie between those that g numbers; then r has none in common with
// the region at the origin.
func (g *grid) boxes(r *Region, out []box) ([]box, bool) {
	rest := r.Offset - g.origin
	var b box
	for k := range g.n {
		q := floorDiv(rest, g.stride[k])
		rest -= q * g.stride[k]
		b.lo[k], b.count[k] = q, 1
	}
	if rest != 0 {
		return out, false
	}
	k := 0
	for _, d := range r.dims() {
		for ; k < g.n; k++ {
			if g.stride[k] == d.Stride {
				b.count[k] = d.Count
				break
			}
		}
	}
	return g.split(g.n-1, b, out), true
}

// split cuts b where a digit of level k or above would pass its extent. A region steps over the
// whole extent of its inner dimensions, so a digit that wraps more than once stands alone above,
// and the middle part is a box too.
func (g *grid) split(k int, b box, out []box) []box {
	if k == 0 {
		return append(out, b)
	}
	e := g.extent[k]
	carry := b.lo[k] / e
	b.lo[k] -= carry * e
	b.lo[k-1] += carry
	end := b.lo[k] + b.count[k]
	if end <= e {
		return g.split(k-1, b, out)
	}
	rows, rest := end/e-1, end%e
	head := b
	head.count[k] = e - b.lo[k]
	out = g.split(k-1, head, out)
	if rows > 0 {
		middle := b
		middle.lo[k], middle.count[k] = 0, e
		middle.lo[k-1]++
		middle.count[k-1] += rows - 1
		out = g.split(k-1, middle, out)
	}
	if rest > 0 {
		tail := b
		tail.lo[k], tail.count[k] = 0, rest
		tail.lo[k-1] += rows + 1
		out = g.split(k-1, tail, out)
	}
	return out
}

// meet is the common box of a and b; ok is false when there is none.
func (g *grid) meet(a, b *box) (c box, ok bool) {
	for k := range g.n {
		lo := max(a.lo[k], b.lo[k])
		n := min(a.lo[k]+a.count[k], b.lo[k]+b.count[k]) - lo
		if n <= 0 {
			return c, false
		}
		c.lo[k], c.count[k] = lo, n
	}
	return c, true
}

func (g *grid) size(b *box) int64 {
	n := int64(1)
	for k := range g.n {
		n *= b.count[k]
	}
	return n
}

// cut appends a without b as disjoint boxes, outermost level first: the rest of whole rows stays
// whole.
func (g *grid) cut(a, b *box, out []box) []box {
	c, ok := g.meet(a, b)
	if !ok {
		return append(out, *a)
	}
	rest := *a
	for k := range g.n {
		if n := c.lo[k] - rest.lo[k]; n > 0 {
			before := rest
			before.count[k] = n
			out = append(out, before)
		}
		end := c.lo[k] + c.count[k]
		if n := rest.lo[k] + rest.count[k] - end; n > 0 {
			after := rest
			after.lo[k], after.count[k] = end, n
			out = append(out, after)
		}
		rest.lo[k], rest.count[k] = c.lo[k], c.count[k]
	}
	return out
}

// regions appends b as regions: one, or several where it needs more than MaxDims dimensions.
func (g *grid) regions(id BufferID, b *box, out []Region) []Region {
	var dims [maxLevels]Dim
	n, offset := 0, g.origin
	for k := range g.n {
		offset += b.lo[k] * g.stride[k]
		if b.count[k] > 1 {
			dims[n] = Dim{b.count[k], g.stride[k]}
			n++
		}
	}
	return spread(id, offset, dims[:n], out)
}

// spread appends the region with dims, cut along the outermost dimension while there are too many.
func spread(id BufferID, offset int64, dims []Dim, out []Region) []Region {
	if r, err := Strided(id, offset, dims); err == nil {
		return append(out, r)
	}
	for i := range dims[0].Count {
		out = spread(id, offset+i*dims[0].Stride, dims[1:], out)
	}
	return out
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
