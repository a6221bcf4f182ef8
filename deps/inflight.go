package deps

// This file answers questions about a region for callers that submit nothing.

// InFlight adds to written the regions of unfinished nodes that write elements of r, and to read
// the regions of those that only read some. A region may reach out of r. Nodes for whose ID, or its
// lower 32 bits, ignored reports true do not count; ignored may be nil.
//
// Cost: O(log regions of the buffer) and O(accesses to the regions whose bounds overlap). Requires:
// as Busy.
func (d *Domain) InFlight(r *Region, ignored func(id uint32) bool, written, read *Set) {
	d.tracts.eachOver(r, func(c *cell) bool {
		c.writers.tidy()
		c.readers.tidy()
		c.before.tidy()
		switch {
		case c.writers.count(ignored) > 0 || c.before.count(ignored) > 0:
			written.Add(c.region)
		case c.readers.count(ignored) > 0:
			read.Add(c.region)
		}
		return true
	})
}

// count returns the number of nodes in l for which ignored does not report true.
func (l refs) count(ignored func(id uint32) bool) (n int) {
	for _, r := range l {
		if ignored == nil || r.node.joint() != nil || !ignored(r.tag) {
			n++
		}
	}
	return n
}

// Known reports whether a node, not of EnterQuietly, has accessed an element of r since the buffer
// was forgotten last. Requires: as Busy.
//
// Cost: as InFlight, plus that of a question to a Set.
func (d *Domain) Known(r *Region) bool {
	t := d.tracts[r.Buffer]
	if t == nil {
		return false
	}
	if t.dropped.Overlaps(*r) {
		return true
	}
	found := false
	d.tracts.eachOver(r, func(c *cell) bool { found = !c.quiet; return !found })
	return found
}

// EnterQuietly is Enter for a node that uses no data, so that Known ignores its accesses.
func (d *Domain) EnterQuietly(n *Node, accesses []Access) (edges int32) {
	var quiet []*Region
	for i := range accesses {
		r := &accesses[i].Region
		if c := d.table.find(r, hashOf(r)); r.N > 0 && (c == nil || c.quiet) {
			quiet = append(quiet, r)
		}
	}
	edges = d.Enter(n, accesses)
	for _, r := range quiet {
		c := d.table.find(r, hashOf(r))
		c.used, c.quiet = false, true
	}
	return edges
}

// Inherit makes known in buffer to what is known in buffer from, which begins at element shift of
// it. Requires: as Busy. Cost: O(regions of from).
func (d *Domain) Inherit(to, from BufferID, shift int64) {
	t := d.tracts[from]
	if t == nil {
		return
	}
	into := d.tracts.of(to)
	move := func(r Region) {
		r.Buffer = to
		into.remember(r.Translate(shift))
	}
	for _, r := range t.dropped.Regions() {
		move(r)
	}
	t.root.each(func(c *cell) {
		if !c.quiet {
			move(c.region)
		}
	})
}

// eachOver is tracts.eachOver for the cells below n and a region with bounds [lo, hi).
func (n *cell) eachOver(r *Region, lo, hi int64, f func(*cell) bool) bool {
	for n != nil && n.top > lo {
		if !n.left.eachOver(r, lo, hi, f) {
			return false
		}
		if n.region.Offset >= hi {
			return true
		}
		if n.end > lo && n.region.Overlaps(*r) && !f(n) {
			return false
		}
		n = n.right
	}
	return true
}

// droppedParts bounds the parts in which a tract remembers the regions of the cells that it has
// dropped.
const droppedParts = 1 << 8

// remember notes a region for Known: that of a cell that is being dropped, for example. A set of
// very many parts becomes the interval around them.
func (t *tract) remember(r Region) {
	if t.dropped.Contains(r) {
		return
	}
	t.dropped.Add(r)
	if t.dropped.parts() > droppedParts {
		lo, hi := r.Bounds()
		for _, p := range t.dropped.Regions() {
			from, to := p.Bounds()
			lo, hi = min(lo, from), max(hi, to)
		}
		t.dropped.Clear()
		t.dropped.Add(Interval(r.Buffer, lo, hi))
	}
}
