package dist

import (
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
)

// Skip counts a task that runs on another rank and moves no data of this one, and reports false
// where that is not so, or not plain to see: accesses that are not whole blocks of a vector.
//
// Cost: some 10 ns an access; no allocation. Source: the bound on ranks is 1 / (cost of a skipped
// task x tasks of a rank a second).
func (w *World) Skip(name string, n int, spans [task.SkipSpans]task.Span) bool {
	if w.simulation != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.broken:
		return false
	default:
	}
	rank, skipped := w.directory.skip(spans[:n])
	if skipped {
		w.noteSkipped(name, rank, spans[:n])
		w.counted.Tasks = w.directory.sequence
	}
	return skipped
}

// skip is place and submit for a task that is none of this rank's business. Nothing has changed
// where it reports false.
func (d *directory) skip(spans []task.Span) (rank int32, skipped bool) {
	var cells [task.SkipSpans]*cell
	best := 0
	for i := range spans {
		s := &spans[i]
		if int(s.Buffer) >= len(d.byID) || d.byID[s.Buffer] == 0 {
			return 0, false
		}
		b := d.buffers[d.byID[s.Buffer]-1]
		k := s.Lo / b.blockCol
		if b.cols != b.elements || s.Lo != k*b.blockCol || s.Hi != min(s.Lo+b.blockCol, b.elements) || len(b.cells[k]) != 1 {
			return 0, false
		}
		cells[i] = &b.cells[k][0]
		if weight := 2 + int(min(s.Mode, 1)); weight > best {
			rank, best = b.owners[k], weight
		}
	}
	if rank == d.me {
		return 0, false
	}
	for i := range spans {
		c := cells[i]
		if c.op != 0 || spans[i].Mode != deps.Out && !c.holds(rank) && d.source(c) == d.me {
			return 0, false
		}
	}
	d.sequence++
	for i := range spans {
		if c := cells[i]; spans[i].Mode != deps.Out && !c.holds(rank) {
			c.ranks = append(c.ranks, rank)
			d.messages++
		}
	}
	for i := range spans {
		if spans[i].Mode != deps.In {
			cells[i].written(rank)
		}
	}
	return rank, true
}
