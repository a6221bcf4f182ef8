package deps

import (
	"slices"
	"sort"
)

// sweepAfter is the number of cells from which a buffer drops those that are not in use.
const sweepAfter = 256

// bufferState is what a domain knows of one buffer: the regions in use as cells, found by key for exact repeats and by their
// bounds for overlaps.
type bufferState struct {
	writes  uint64 // writing accesses so far
	live    int
	flat    map[run]*cell    // contiguous regions
	shaped  map[Region]*cell // others
	last    *cell            // the latest found: chains ask again
	sorted  []*cell          // by lower bound
	longest int64            // no cell's bounds are longer
	sweepAt int
}

// cell returns the cell of region r, a new one if r has not been seen.
func (b *bufferState) cell(r Region) *cell {
	if b.last != nil && b.last.region == r {
		return b.last
	}
	var c *cell
	if r.Contiguous() {
		lo, hi := r.Bounds()
		c = b.flat[run{lo, hi}]
	} else {
		c = b.shaped[r]
	}
	if c == nil {
		c = b.insert(r)
	}
	b.last = c
	return c
}

// insert makes the cell of a region seen for the first time and ties it to the cells that it overlaps.
func (b *bufferState) insert(r Region) *cell {
	if b.flat == nil {
		b.flat, b.shaped, b.sweepAt = map[run]*cell{}, map[Region]*cell{}, sweepAfter
	}
	if len(b.sorted) >= b.sweepAt {
		b.sweep()
	}
	c := &cell{region: r}
	lo, hi := r.Bounds()
	b.longest = max(b.longest, hi-lo)
	first := sort.Search(len(b.sorted), func(i int) bool { return b.sorted[i].region.Offset > lo-b.longest })
	at := first
	for i := first; i < len(b.sorted) && b.sorted[i].region.Offset < hi; i++ {
		o := b.sorted[i]
		if o.region.Offset <= lo {
			at = i + 1
		}
		if o.region.Overlaps(r) {
			c.over = append(c.over, o)
			o.over = append(o.over, c)
		}
	}
	b.sorted = slices.Insert(b.sorted, at, c)
	if r.Contiguous() {
		b.flat[run{lo, hi}] = c
	} else {
		b.shaped[r] = c
	}
	return c
}

// sweep drops the cells without live accesses: nothing has to wait for what they had seen. The next sweep comes when the cells have
// doubled, so its cost is spread.
func (b *bufferState) sweep() {
	kept := b.sorted[:0]
	b.longest = 0
	for _, c := range b.sorted {
		if c.live > 0 {
			kept = append(kept, c)
			lo, hi := c.region.Bounds()
			b.longest = max(b.longest, hi-lo)
			continue
		}
		if c.region.Contiguous() {
			lo, hi := c.region.Bounds()
			delete(b.flat, run{lo, hi})
		} else {
			delete(b.shaped, c.region)
		}
	}
	clear(b.sorted[len(kept):])
	b.sorted = kept
	for _, c := range kept {
		c.over = slices.DeleteFunc(c.over, func(o *cell) bool { return o.live == 0 })
	}
	b.last = nil
	b.sweepAt = max(sweepAfter, 2*len(kept))
}
