package deps

// A cell is one region that tasks access, with the unfinished accesses to it that later ones may have to wait for.
//
//   - writers is the latest group of accesses that write: one alone, or several of one shared mode (key);
//   - readers are those after it; every reader waits for every writer;
//   - before is what the members of a shared group wait for, as one that joins late has to wait for it too.
//
// What came earlier is in no list: whatever is in the lists waits for it, so nobody else needs to. Cells whose regions have a
// common element know each other (over), so a region that repeats costs one look into the table and no search.
type cell struct {
	writers, readers, before *link

	over   []*cell
	key    modeKey
	used   bool // since the latest sweep
	tract  *tract
	region Region
	hash   uint64

	// The tree of the cells of a buffer, ordered by the first element: a treap whose nodes know the highest end below them.
	left, right *cell
	end, top    int64
}

// idle reports whether nobody has to wait for an access of c.
func (c *cell) idle() bool { return c.writers == nil && c.readers == nil && c.before == nil }

// enter puts the access l of n into the cell and returns the number of edges found.
func (d *Domain) enter(n *Node, c *cell, l *link, key modeKey) int32 {
	edges := int32(0)
	if key == reading {
		edges += d.after(n, c.writers)
		for _, o := range c.over {
			edges += d.after(n, o.writers)
		}
		l.push(&c.readers)
		return edges
	}
	if key == c.key && key.shared() && c.readers == nil {
		edges += d.after(n, c.before)
	} else {
		edges += d.after(n, c.latest())
		c.open(key)
	}
	for _, o := range c.over {
		if key == o.key && key.shared() && o.readers == nil {
			edges += d.after(n, o.before)
		} else {
			edges += d.after(n, o.latest())
		}
	}
	l.push(&c.writers)
	return edges
}

// latest is what a writer waits for: the readers, who wait for the writers before them, or else those.
func (c *cell) latest() *link {
	if c.readers != nil {
		return c.readers
	}
	return c.writers
}

// open begins a new group of writers.
func (c *cell) open(key modeKey) {
	detach(&c.before)
	if key.shared() {
		if c.readers != nil {
			move(&c.readers, &c.before)
		} else {
			move(&c.writers, &c.before)
		}
	}
	detach(&c.readers)
	detach(&c.writers)
	c.key = key
}
