package deps

import (
	"math/bits"
	"slices"
)

// A table finds the cell of a region: open addressing, at most half full.
type table struct {
	slots []slot
	count int
}

type slot struct {
	hash uint64
	cell *cell
}

const firstSlots = 32

// find returns the cell of r, nil if there is none.
func (t *table) find(r *Region, hash uint64) *cell {
	slots := t.slots
	if len(slots) == 0 {
		return nil
	}
	mask := uint64(len(slots) - 1)
	for i := hash; ; i++ {
		s := &slots[i&mask]
		if s.cell == nil {
			return nil
		}
		if s.hash == hash && same(&s.cell.region, r) {
			return s.cell
		}
	}
}

func (t *table) insert(c *cell) {
	if t.count++; 2*t.count > len(t.slots) {
		old := t.slots
		t.slots = make([]slot, max(firstSlots, 2*len(old)))
		for _, s := range old {
			if s.cell != nil {
				t.put(s)
			}
		}
	}
	t.put(slot{c.hash, c})
}

func (t *table) put(s slot) {
	mask := uint64(len(t.slots) - 1)
	i := s.hash & mask
	for t.slots[i].cell != nil {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// remove takes c out and moves later slots of its chain up, so that no search ends early.
func (t *table) remove(c *cell) {
	mask := uint64(len(t.slots) - 1)
	hole := c.hash & mask
	for t.slots[hole].cell != c {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; t.slots[i].cell != nil; i = (i + 1) & mask {
		if home := t.slots[i].hash & mask; (i-home)&mask >= (i-hole)&mask {
			t.slots[hole] = t.slots[i]
			hole = i
		}
	}
	t.slots[hole] = slot{}
	t.count--
}

// hashOf mixes a region into 64 bits; what differs in one field only differs in the low bits too.
func hashOf(r *Region) uint64 {
	const a, b = 0x9e3779b97f4a7c15, 0xd1342543de82ef95
	h := (uint64(r.Offset) ^ uint64(r.Buffer)<<40) * a
	if r.N == 1 { // what the loop does, without one
		h = bits.RotateLeft64(h^uint64(r.Dims[0].Count), 29)*b ^ uint64(r.Dims[0].Stride)*a
		return h ^ h>>32
	}
	for k := range r.N & (2*MaxDims - 1) {
		d := &r.Dims[k&(MaxDims-1)]
		h = bits.RotateLeft64(h^uint64(d.Count), 29)*b ^ uint64(d.Stride)*a
	}
	return h ^ h>>32
}

// same is r == s, quick to find a difference.
func same(r, s *Region) bool {
	return r.Offset == s.Offset && r.Dims[0] == s.Dims[0] && r.Buffer == s.Buffer && r.N == s.N && (r.N < 2 || r.Dims == s.Dims)
}

// A tract is what a domain knows of one buffer.
type tract struct {
	writes uint64 // writing accesses so far
	root   *cell
	cells  int
	pairs  int // overlapping pairs of cells, each counted twice
	// dropped is the regions of cells that were swept, or inherited: Known finds them.
	dropped Set
	// The numbers from which cells without waiters are dropped, if they have not been used again:
	// regions that never repeat must not pile up, and those of a loop must stay.
	maxCells, maxPairs int
}

const (
	sweepCells   = 1 << 14
	sweepPairs   = 1 << 10
	pairsPerCell = 16

	keptNeighbours = 64 // a recycled cell keeps no more memory for others
)

// newCell makes the cell of a region seen for the first time and ties it to the cells that it
// overlaps.
//
// Cost: O(log cells) and an exact test for every cell whose bounds overlap.
func (d *Domain) newCell(r *Region, hash uint64) *cell {
	t := d.tracts.of(r.Buffer)
	if t.cells >= t.maxCells || t.pairs >= t.maxPairs+pairsPerCell*t.cells {
		d.sweep(t)
	}
	c := d.free
	if c == nil {
		c = &cell{}
		c.writers = c.room[:0]
	} else {
		d.free, c.left = c.left, nil
	}
	c.region, c.hash, c.tract, c.used, c.quiet = *r, hash, t, false, false
	_, c.end = r.Bounds()
	t.root.meeting(c)
	t.pairs += 2 * len(c.over)
	t.cells++
	t.root = t.root.insert(c)
	d.table.insert(c)
	return c
}

// meeting ties c to the cells below n that it overlaps.
func (n *cell) meeting(c *cell) {
	for n != nil && n.top > c.region.Offset {
		n.left.meeting(c)
		if n.region.Offset >= c.end {
			return
		}
		if n.end > c.region.Offset && n.region.Overlaps(c.region) {
			n.over = append(n.over, c)
			c.over = append(c.over, n)
		}
		n = n.right
	}
}

// sweep drops the cells without waiters that have not been used since the last sweep. The next one
// comes when the remainder has doubled, which spreads the cost.
func (d *Domain) sweep(t *tract) {
	d.swept = d.swept[:0]
	t.root.each(func(c *cell) {
		if c.idle() && !c.used {
			d.swept = append(d.swept, c)
		}
		c.used = false
	})
	for _, c := range d.swept {
		if !c.quiet {
			t.remember(c.region)
		}
		d.drop(c)
	}
	clear(d.swept)
	t.maxCells = max(sweepCells, 2*t.cells)
	t.maxPairs = max(sweepPairs, 2*t.pairs-pairsPerCell*t.cells)
}

// drop forgets a cell.
func (d *Domain) drop(c *cell) {
	t := c.tract
	for _, o := range c.over {
		o.over = without(o.over, c)
	}
	d.narrow(c)
	t.cells--
	t.pairs -= 2 * len(c.over)
	t.root = t.root.remove(c)
	d.table.remove(c)
	clear(c.over)
	over := c.over[:0]
	if cap(over) > keptNeighbours {
		over = nil
	}
	c.writers.empty()
	c.readers.empty()
	c.before.empty()
	*c = cell{over: over, left: d.free, writers: c.writers, readers: c.readers, before: c.before}
	d.free = c
}

// without takes c, which is there, out of list.
func without(list []*cell, c *cell) []*cell {
	i, last := slices.Index(list, c), len(list)-1
	list[i], list[last] = list[last], nil
	return list[:last]
}

// tracts are those of a domain, by buffer.
type tracts map[BufferID]*tract

// of returns the tract of a buffer, which it makes where there is none.
func (t *tracts) of(b BufferID) *tract {
	if *t == nil {
		*t = tracts{}
	}
	at := (*t)[b]
	if at == nil {
		at = &tract{maxCells: sweepCells, maxPairs: sweepPairs}
		(*t)[b] = at
	}
	return at
}

// eachOver calls f for the cells that have an element of r, until f returns false.
func (t tracts) eachOver(r *Region, f func(*cell) bool) {
	if at := t[r.Buffer]; at != nil && r.N > 0 {
		lo, hi := r.Bounds()
		at.root.eachOver(r, lo, hi, f)
	}
}
