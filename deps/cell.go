package deps

// A cell is one region that tasks access, with the accesses to it that later ones may have to wait
// for.
//
//   - writers is the latest group of accesses that write: one alone, or several of one shared mode
//     (key);
//   - readers are those after it; every reader waits for every writer;
//   - before is what the members of a shared group wait for, as one that joins late has to wait for
//     it too.
//
// What came earlier is in no list: everything in the lists waits for it, so later accesses need
// not. Finished tasks stay in a list until a submission looks there: that makes completion cheap.
// Where all readers have finished, so are the writers before them. Cells whose regions have a
// common element know each other (over), so a region that repeats costs one look into the table and
// no search.
//
// Where many wait for the same many, they do so through one joint: see fanin.go.
//
// The fields are in the order of the cache lines that an access needs.
type cell struct {
	writers refs
	key     modeKey
	used    bool // since the latest sweep
	quiet   bool // only nodes of EnterQuietly have accessed it; then it is not used
	asked   list // that were long when a waiter walked through them
	region  Region
	room    [1]ref // for writers, as long as there is one at a time

	readers refs
	over    []*cell
	wide    *wide // of a cell with many in over that is used again, else nil
	tract   *tract

	before refs
	hash   uint64
	// The tree of the cells of a buffer, ordered by the first element: a treap whose nodes know the
	// highest end below them.
	left, right *cell
	end, top    int64
}

// refs are accesses to one region.
type refs []ref

// keptRefs is how many a cell keeps the memory for when it is used again.
const keptRefs = 64

// add appends n.
func (l *refs) add(n *Node) {
	if len(*l) == cap(*l) && len(*l) > 0 {
		if l.tidy(); 2*len(*l) > cap(*l) {
			*l = append(make(refs, 0, 2*cap(*l)), *l...)
		}
	}
	*l = append(*l, ref{n, uint32(n.ID)})
}

// tidy drops those that have finished.
func (l *refs) tidy() {
	kept := (*l)[:0]
	for _, r := range *l {
		if !r.over() {
			kept = append(kept, r)
		}
	}
	clear((*l)[len(kept):])
	*l = kept
}

// empty drops all.
func (l *refs) empty() {
	if cap(*l) > keptRefs {
		*l = nil
		return
	}
	*l = (*l)[:0]
}

// idle reports whether no access has to wait for one of c.
func (c *cell) idle() bool {
	c.writers.tidy()
	c.readers.tidy()
	c.before.tidy()
	return len(c.writers) == 0 && len(c.readers) == 0 && len(c.before) == 0
}

// enter puts an access of n into the cell and returns the number of edges found.
func (d *Domain) enter(n *Node, c *cell, key modeKey) int32 {
	if len(c.over) > 0 {
		return d.enterAmong(n, c, key)
	}
	edges := d.after(n, c, c.awaited(key))
	c.take(n, key)
	return edges
}

// take puts n into the list of those that others wait for.
func (c *cell) take(n *Node, key modeKey) {
	switch {
	case key == reading:
		c.readers.add(n)
		return
	case key.shared() || c.key.shared():
		if !c.joins(key) {
			c.open(key)
		}
	default: // open, where there can be nothing in before
		c.readers.empty()
		c.key, c.asked = key, 0
		if len(c.writers) == 1 {
			c.writers[0] = ref{n, uint32(n.ID)}
			return
		}
		c.writers.empty()
	}
	c.writers.add(n)
}

// joins reports whether an access that writes goes together with the writers.
func (c *cell) joins(key modeKey) bool { return key == c.key && key.shared() && len(c.readers) == 0 }

// latest is what a writer waits for: what the group that it joins waits for, or the readers, which
// wait for the writers before them, or else those.
func (c *cell) latest(key modeKey) *refs {
	switch {
	case c.joins(key):
		return &c.before
	case len(c.readers) > 0:
		return &c.readers
	}
	return &c.writers
}

// open begins a new group of writers.
func (c *cell) open(key modeKey) {
	c.before.empty()
	if key.shared() {
		if len(c.readers) > 0 {
			c.before, c.readers = c.readers, c.before
		} else {
			c.before, c.writers = c.writers, c.before
		}
	}
	c.readers.empty()
	c.writers.empty()
	c.key, c.asked = key, 0
}
