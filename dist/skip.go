package dist

import (
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/goid"
	"github.com/gompss/gompss/task"
)

// Block returns the number of a block of a vector: its buffer and its place in that. The blocks of
// matrices have none.
func (w *World) Block(buffer deps.BufferID, lo, hi int64) (number uint64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.directory.block(buffer, lo, hi)
}

func (d *directory) block(buffer deps.BufferID, lo, hi int64) (number uint64, ok bool) {
	if int(buffer) >= len(d.byID) || d.byID[buffer] == 0 {
		return 0, false
	}
	n := uint64(d.byID[buffer] - 1)
	b := d.buffers[n]
	k := lo / b.blockCol
	ok = b.cols == b.elements && lo == k*b.blockCol && hi == min(lo+b.blockCol, b.elements) && n < 1<<24 && k < 1<<32
	return n<<32 | uint64(k), ok
}

// elementsOf returns the elements of a block of b.
func (b *buffer) elementsOf(number uint64) (lo, hi int64) {
	lo = int64(uint32(number)) * b.blockCol
	return lo, min(lo+b.blockCol, b.elements)
}

// Skip counts a task that runs on another rank and moves no data of this one.
//
// Cost: some additions and a product an access; no lock and no allocation. Requires: one goroutine
// submits at a time. Source: the bound on ranks is 1 / (cost of a skipped task x tasks of a rank a
// second).
func (w *World) Skip(name string, n int, x, y, z task.BlockAccess) bool {
	r := &w.log.recent
	if (r.count == maxRecent || r.submitter != goid.Of()) && !resume(w) {
		return false
	}
	accesses := [task.SkipBlocks]task.BlockAccess{x, y, z}
	rank, hash, skipped := w.directory.skip(&accesses, n)
	if skipped {
		e := w.log.add(name, rank, r.nameHash(name, rank)+hash)
		e.block, e.kind = x, blockEntry
		if n == 0 {
			e.kind = noAccess
		}
	}
	return skipped
}

// resume makes room for recent submissions, and reports whether any may be skipped.
func resume(w *World) bool {
	w.lock()
	defer w.mu.Unlock()
	if w.simulation != nil {
		w.log.recent.submitter = 0 // Skip asks each time
		return false
	}
	select {
	case <-w.broken:
		w.log.recent.submitter = 0
		return false
	default:
		return true
	}
}

// skip is place and submit for a task that is none of this rank's business. Nothing has changed
// where it reports false. The hash is that of the accesses.
func (d *directory) skip(accesses *[task.SkipBlocks]task.BlockAccess, n int) (rank int32, hash uint64, skipped bool) {
	var cells [task.SkipBlocks]*cell
	best := task.BlockAccess(0)
	for i, a := range accesses[:n] {
		c := &d.buffers[a.Block()>>32].first[uint32(a.Block())]
		if c.split || c.op != 0 {
			return 0, 0, false
		}
		cells[i] = c
		hash = joinAccess(hash, a.Mode(), c.hash)
		if i == 0 || best == 0 && a.Mode() != deps.In { // the first that it writes, else reads
			rank, best = c.owner, a&0xff
		}
	}
	if rank == d.me {
		return 0, 0, false
	}
	held, same := true, true // the cells that it reads are there; those that it writes stay as they are
	for i, c := range cells[:n] {
		mode := accesses[i].Mode()
		if c.writer == rank {
			same = same && (mode == deps.In || len(c.ranks) == 0)
			continue
		}
		same = same && mode == deps.In
		if mode != deps.Out && !c.holds(rank) {
			held = false
			if c.mine && d.source(c) == d.me {
				return 0, 0, false
			}
		}
	}
	d.sequence++
	if !held {
		d.receive(accesses, &cells, n, rank)
	}
	if same {
		return rank, hash, true
	}
	for i, c := range cells[:n] {
		if accesses[i].Mode() != deps.In && (c.writer != rank || len(c.ranks) > 0) {
			d.written(c, rank)
		}
	}
	return rank, hash, true
}

// receive notes that a rank receives the cells that it reads.
func (d *directory) receive(accesses *[task.SkipBlocks]task.BlockAccess, cells *[task.SkipBlocks]*cell, n int, rank int32) {
	for i := range n {
		if c := cells[i]; accesses[i].Mode() != deps.Out && !c.holds(rank) {
			d.received(c, rank)
			d.messages++
		}
	}
}
