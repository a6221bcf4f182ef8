package dist

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
)

// A Key names a message between two ranks: the submission that it is for, and its number among the
// messages of that one.
type Key struct {
	Submission uint64
	Part       uint32
}

// A stepKind is an action of a rank for a submission, besides running its task.
type stepKind uint8

const (
	stepSend stepKind = iota // its version of a region
	stepRecv                 // another rank's
	stepFold                 // receives a partial result and joins it with its own
	stepFill                 // sets its copy to the neutral element
)

func (k stepKind) String() string { return [...]string{"send", "recv", "fold", "fill"}[k] }

// A step is one action of this rank.
type step struct {
	kind   stepKind
	peer   int32
	buffer int32 // in directory.buffers
	op     deps.ReductionID
	key    Key
	region deps.Region
}

// A cell is a part of a block whose elements have the same version everywhere. What a skipped task
// needs comes first: 64 bytes.
type cell struct {
	writer int32   // has the current version
	latest int32   // of ranks
	owner  int32   // of buffer.first: of the block
	split  bool    // of buffer.first: the block has several cells, in buffer.cells
	mine   bool    // this rank has the current version
	hash   uint64  // of buffer.first: of the block, see intervalHash
	ranks  []int32 // that have received it, or have a partial result, in this order
	op     deps.ReductionID

	set []uint64 // ranks as bits, nil while they are few
	// version identifies it in a simulation.
	version int32
	region  deps.Region
}

// listed is the number of ranks up to which a cell looks through the list of those that have
// received it.
const listed = 8

// holds reports whether rank has the current version.
func (c *cell) holds(rank int32) bool {
	if c.writer == rank || c.latest == rank && len(c.ranks) > 0 {
		return true
	}
	if c.set != nil {
		return c.set[rank>>6]>>(rank&63)&1 != 0
	}
	return slices.Contains(c.ranks, rank)
}

// received adds a rank that does not hold c to those that do.
func (d *directory) received(c *cell, rank int32) {
	switch {
	case c.ranks == nil:
		c.ranks = make([]int32, 0, listed)
	case len(c.ranks) == listed && c.set == nil:
		c.set = make([]uint64, (d.ranks+63)/64)
		for _, r := range c.ranks {
			c.set[r>>6] |= 1 << (r & 63)
		}
	}
	c.ranks, c.latest = append(c.ranks, rank), rank
	if c.set != nil {
		c.set[rank>>6] |= 1 << (rank & 63)
	}
	c.mine = c.mine || rank == d.me
}

// written makes rank the only one that has the current version.
func (d *directory) written(c *cell, rank int32) {
	c.forget()
	c.writer, c.op, c.mine = rank, 0, rank == d.me
}

// forget empties the list of ranks.
func (c *cell) forget() {
	if c.set != nil {
		for _, r := range c.ranks {
			c.set[r>>6] = 0
		}
	}
	c.ranks = c.ranks[:0]
}

// A buffer is memory with a layout. Its number is the order of Distribute, the same on all ranks;
// id is this rank's own.
type buffer struct {
	layout
	id    deps.BufferID
	elem  int64    // bytes of an element
	cells [][]cell // by block
	first []cell   // the memory of those with one cell
}

// A directory holds the version of each cell that each rank has. It is the same on all ranks that
// have made the same submissions, and pure: it returns the steps of one rank.
//
// Cost of a submission: O(cells that its accesses overlap). No allocation where accesses are whole
// blocks or repeat.
type directory struct {
	me, ranks int32
	buffers   []*buffer
	byID      []int32 // by deps.BufferID, 1 + the number of the buffer
	sequence  uint64
	part      uint32
	steps     []step
	split     []cell
	messages  int64       // derived, of all ranks
	reducing  bool        // some cell has partial results
	watch     *simulation // of all ranks, where there is one
}

// add adds a buffer.
func (d *directory) add(id deps.BufferID, l layout) int {
	b := &buffer{layout: l, id: id, cells: make([][]cell, len(l.owners)), first: make([]cell, len(l.owners))}
	for k := range b.cells {
		c := &b.first[k]
		*c = cell{region: l.region(id, int64(k)), writer: l.owners[k], owner: l.owners[k], mine: l.owners[k] == d.me}
		c.hash = regionHash(&c.region, int32(len(d.buffers)+1))
		b.cells[k] = b.first[k : k+1 : k+1]
	}
	for int(id) >= len(d.byID) {
		d.byID = append(d.byID, 0)
	}
	d.buffers = append(d.buffers, b)
	d.byID[id] = int32(len(d.buffers))
	return len(d.buffers) - 1
}

// of returns the buffer of a region, nil where it has no layout.
func (d *directory) of(r *deps.Region) *buffer {
	if int(r.Buffer) >= len(d.byID) || d.byID[r.Buffer] == 0 {
		return nil
	}
	return d.buffers[d.byID[r.Buffer]-1]
}

// place returns the rank of a task with these accesses: the owner of the first element that it
// writes, else reads, else reduces into; rank 0 where it accesses nothing.
//
// Errors: memory without a layout.
func (d *directory) place(accesses []deps.Access) (int32, error) {
	rank, best := int32(0), 0
	for i := range accesses {
		a := &accesses[i]
		if a.Region.Empty() {
			continue
		}
		b := d.of(&a.Region)
		if b == nil {
			return 0, fmt.Errorf("access %d (%s) is of memory without an owner: see dist.Distribute", i+1, a.Mode)
		}
		weight := 3
		switch a.Mode {
		case deps.In:
			weight = 2
		case deps.Reduction:
			weight = 1
		}
		if weight > best {
			rank, best = b.owners[b.blockOf(a.Region.Offset)], weight
		}
	}
	return rank, nil
}

// submit counts a submission that runs on a rank and appends the steps of this rank to d.steps, in
// the order in which they come before it.
func (d *directory) submit(rank int32, accesses []deps.Access) {
	d.sequence++
	d.part = 0
	d.steps = d.steps[:0]
	for i := range accesses {
		if a := &accesses[i]; a.Mode != deps.Out && !a.Region.Empty() {
			d.access(rank, a)
		}
	}
	for i := range accesses {
		if a := &accesses[i]; a.Mode != deps.In && a.Mode != deps.Reduction && !a.Region.Empty() {
			d.write(rank, a)
		}
	}
}

// access makes the current version of what a reads valid on rank, or rank one of those that reduce
// into it.
func (d *directory) access(rank int32, a *deps.Access) {
	b := d.of(&a.Region)
	i0, i1, j0, j1 := b.blocks(&a.Region)
	for i := i0; i < i1; i++ {
		for k := i*b.across + j0; k < i*b.across+j1; k++ {
			d.cut(b, k, &a.Region)
			cells := b.cells[k]
			for n := range cells {
				c := &cells[n]
				if c.region != a.Region && !c.region.Overlaps(a.Region) {
					continue
				}
				switch {
				case a.Mode == deps.Reduction:
					d.reduce(b, c, rank, a.Op)
					if d.watch != nil {
						d.watch.reduced(c, rank)
					}
				default:
					d.bring(b, c, rank)
					if d.watch != nil {
						d.watch.read(c, rank)
					}
				}
			}
		}
	}
}

// write makes rank the only one with the version of the elements that a writes.
func (d *directory) write(rank int32, a *deps.Access) {
	b := d.of(&a.Region)
	i0, i1, j0, j1 := b.blocks(&a.Region)
	for i := i0; i < i1; i++ {
		for k := i*b.across + j0; k < i*b.across+j1; k++ {
			d.cut(b, k, &a.Region)
			cells := b.cells[k]
			for n := range cells {
				if c := &cells[n]; c.region == a.Region || c.region.Overlaps(a.Region) {
					d.written(c, rank)
					if d.watch != nil {
						d.watch.written(c, rank)
					}
				}
			}
			d.join(b, k, rank)
		}
	}
}

// cut makes cells of block k of which each is inside r or outside.
func (d *directory) cut(b *buffer, k int64, r *deps.Region) {
	cells := b.cells[k]
	d.split = d.split[:0]
	whole := true
	for n := range cells {
		c := &cells[n]
		if c.region == *r || r.Contains(c.region) || !c.region.Overlaps(*r) {
			continue
		}
		whole = false
		break
	}
	if whole {
		return
	}
	for n := range cells {
		c := &cells[n]
		inside := c.region.Intersect(*r)
		for _, p := range slices.Concat(inside, c.region.Subtract(*r)) {
			part := *c
			part.region, part.ranks, part.set, part.split = p, slices.Clone(c.ranks), slices.Clone(c.set), false
			d.split = append(d.split, part)
		}
	}
	b.cells[k] = slices.Clone(d.split)
	b.first[k].split = true
}

// join makes one cell of block k where all have been written by one rank and no rank has received
// them.
func (d *directory) join(b *buffer, k int64, rank int32) {
	cells := b.cells[k]
	if len(cells) == 1 {
		return
	}
	for n := range cells {
		if c := &cells[n]; c.writer != rank || len(c.ranks) > 0 || c.op != 0 {
			return
		}
	}
	// Cells that come again and again, as the edges of a stencil do, stay: a block has few.
	if len(cells) <= keptCells {
		return
	}
	last := int32(0)
	for n := range cells {
		last = max(last, cells[n].version)
	}
	b.cells[k] = b.first[k : k+1 : k+1]
	c := &b.first[k]
	c.split, c.version = false, last
	d.written(c, rank)
}

// keptCells is how many cells of one version a block keeps.
const keptCells = 16

// flat is the number of ranks that the writer itself sends to, before receivers forward the data.
const flat = 3

// bring makes rank receive c, if it has no current version.
func (d *directory) bring(b *buffer, c *cell, rank int32) {
	d.combine(b, c)
	if c.holds(rank) {
		return
	}
	d.message(b, c, d.source(c), rank, stepRecv)
	d.received(c, rank)
}

// source returns the rank that sends c to the next one that receives it: its parent in a tree in
// the order of receiving.
func (d *directory) source(c *cell) int32 {
	k := len(c.ranks) + 1 // the writer is 0
	if k <= flat {
		return c.writer
	}
	return c.ranks[k/2-1]
}

// pieceBytes is the length of the pieces of a large message. Each is a message of its own: while
// one travels, the next comes from the memory of a GPU, and a rank of a tree forwards the one
// before. At 25 GB/s it takes 170 us, and the tasks that send and receive it take some 5. Tests
// replace it; all ranks have the same.
var pieceBytes = int64(4 << 20)

// message adds the two ends of a message of c, in pieces where it is large.
func (d *directory) message(b *buffer, c *cell, from, to int32, recv stepKind) {
	bytes := c.region.Len() * b.elem
	if d.watch != nil {
		d.watch.message(c, from, to, bytes)
	}
	if recv != stepRecv || bytes <= pieceBytes || !c.region.Contiguous() {
		d.messages++
		d.piece(b, c, c.region, from, to, recv)
		return
	}
	lo, hi := c.region.Bounds()
	for n := max(1, pieceBytes/b.elem); lo < hi; lo += n {
		d.messages++
		d.piece(b, c, deps.Interval(b.id, lo, min(hi, lo+n)), from, to, recv)
	}
}

// piece adds the two ends of a message of a part of c.
func (d *directory) piece(b *buffer, c *cell, region deps.Region, from, to int32, recv stepKind) {
	key := Key{d.sequence, d.part}
	d.part++
	s := step{region: region, key: key, op: c.op, buffer: d.byID[b.id] - 1}
	if from == d.me {
		s.kind, s.peer = stepSend, to
		d.steps = append(d.steps, s)
	}
	if to == d.me {
		s.kind, s.peer = recv, from
		d.steps = append(d.steps, s)
	}
}

// reduce makes rank one of those that have a partial result of c.
func (d *directory) reduce(b *buffer, c *cell, rank int32, op deps.ReductionID) {
	if c.op != op {
		d.combine(b, c)
		c.forget()
		c.op, d.reducing = op, true
	}
	if c.holds(rank) {
		return
	}
	d.received(c, rank)
	if rank == d.me {
		d.steps = append(d.steps, step{kind: stepFill, region: c.region, op: op, buffer: d.byID[b.id] - 1})
	}
}

// combine joins the partial results of c on its writer, along a tree whose root that is.
func (d *directory) combine(b *buffer, c *cell) {
	if c.op == 0 {
		return
	}
	at := func(k int) int32 {
		if k == 0 {
			return c.writer
		}
		return c.ranks[k-1]
	}
	for k := len(c.ranks); k > 0; k-- {
		d.message(b, c, at(k), at((k-1)/2), stepFold)
	}
	d.written(c, c.writer)
}

// complete is a submission that combines all partial results.
func (d *directory) complete() {
	d.sequence++
	d.part = 0
	d.steps = d.steps[:0]
	if !d.reducing {
		return
	}
	d.reducing = false
	for _, b := range d.buffers {
		for _, cells := range b.cells {
			for n := range cells {
				d.combine(b, &cells[n])
			}
		}
	}
}
