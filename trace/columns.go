package trace

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/run"
)

// A table is the tasks of a run, to be written as columns. It changes only where the run does.
type table struct {
	run      *run.Run
	edges    []run.Edge
	lane     []uint16    // of each task
	classes  [][3]uint16 // see names.ofClasses
	copies   []*probe.Point
	copyLane []uint16
}

func tableOf(r *run.Run, names *names) *table {
	t := &table{run: r, edges: r.Edges(), classes: names.ofClasses(r)}
	t.copies, t.copyLane = names.copiesOf(r)
	_, t.lane = names.lanesOf(r)
	return t
}

// write writes the tasks as arrays, little-endian, each at a multiple of 8 bytes, by number of the
// task:
//
//	uint32 tasks, edges
//	float64 start; float32 running, submit, ready, choice, release (distances from start, ns);
//	uint32 id, last; uint16 lane, sort, variant, label;
//	uint8 flags (1 ran, 2 failed, 4 skipped, 8 short of tokens); float32 missing
//	uint32 first predecessor (tasks + 1 of them), uint32 predecessors (indices)
//	uint32 copies, 0; of each, in order of their beginning: float64 begin; float32 taking;
//	float64 bytes; uint32 task or 0; uint16 lane; uint8 failed
//
// lanes, sorts, variants and the lanes of copies are those of the state: names has their numbers.
func (t *table) write(to io.Writer) error {
	r, n := t.run, t.run.Len()
	c := &columnWriter{to: to}
	c.u32(uint32(n), uint32(len(t.edges)))
	rows := func(f func(i int, t run.Row)) { c.column(n, func(i int) { f(i, r.Row(i)) }) }
	rows(func(_ int, t run.Row) { c.f64(float64(t.Start())) })
	for _, of := range []func(t run.Row) time.Duration{run.Row.End, run.Row.Submit, run.Row.Ready, run.Row.Choice, run.Row.Release} {
		rows(func(_ int, t run.Row) { c.f32(float32(of(t) - t.Start())) })
	}
	rows(func(_ int, t run.Row) { c.u32(uint32(t.ID())) })
	rows(func(_ int, t run.Row) { c.u32(uint32(t.Last())) })
	c.column(n, func(i int) { c.u16(t.lane[i]) })
	for k := range 3 {
		c.column(n, func(i int) { c.u16(t.classes[r.ClassOf(i)][k]) })
	}
	rows(func(_ int, t run.Row) { c.out = append(c.out, flagsOf(t)) })
	rows(func(_ int, t run.Row) { c.f32(float32(t.Missing())) })
	at := 0
	c.column(n+1, func(i int) { // edges are in order of their successors
		for at < len(t.edges) && int(t.edges[at].Succ) < i {
			at++
		}
		c.u32(uint32(at))
	})
	c.column(len(t.edges), func(i int) { c.u32(uint32(t.edges[i].Pred)) })
	t.writeCopies(c)
	c.flush()
	return c.err
}

func flagsOf(t run.Row) (flags byte) {
	class := t.Class()
	for k, is := range [4]bool{t.Ran(), class.Err != "" && !class.Skipped, class.Skipped, class.Short} {
		if is {
			flags |= 1 << k
		}
	}
	return flags
}

func (t *table) writeCopies(c *columnWriter) {
	c.u32(uint32(len(t.copies)), 0)
	each := func(f func(i int, p *probe.Point)) {
		c.column(len(t.copies), func(i int) { f(i, t.copies[i]) })
	}
	each(func(_ int, p *probe.Point) { c.f64(float64(p.Begin)) })
	each(func(_ int, p *probe.Point) { c.f32(float32(max(0, p.Time-p.Begin))) })
	each(func(_ int, p *probe.Point) { c.f64(float64(p.Bytes)) })
	each(func(_ int, p *probe.Point) { c.u32(uint32(p.Task)) })
	each(func(i int, _ *probe.Point) { c.u16(t.copyLane[i]) })
	each(func(_ int, p *probe.Point) {
		failed := byte(0)
		if p.Err != nil {
			failed = 1
		}
		c.out = append(c.out, failed)
	})
}

// A columnWriter writes arrays. After an error it writes nothing more.
type columnWriter struct {
	to      io.Writer
	out     []byte
	flushed int // bytes
	err     error
}

// column writes an array: the output of f for each index, then zeros.
func (c *columnWriter) column(n int, f func(i int)) {
	const together = 1 << 13
	for from := 0; from < n && c.err == nil; from += together {
		for i := from; i < min(n, from+together); i++ {
			f(i)
		}
		c.flush()
	}
	for (c.flushed+len(c.out))%8 != 0 {
		c.out = append(c.out, 0)
	}
}

func (c *columnWriter) flush() {
	if c.err == nil {
		_, c.err = c.to.Write(c.out)
	}
	c.flushed, c.out = c.flushed+len(c.out), c.out[:0]
}

func (c *columnWriter) u32(list ...uint32) {
	for _, v := range list {
		c.out = binary.LittleEndian.AppendUint32(c.out, v)
	}
}
func (c *columnWriter) u16(v uint16)  { c.out = binary.LittleEndian.AppendUint16(c.out, v) }
func (c *columnWriter) f32(v float32) { c.u32(math.Float32bits(v)) }
func (c *columnWriter) f64(v float64) {
	c.out = binary.LittleEndian.AppendUint64(c.out, math.Float64bits(v))
}

// names are the numbers of sorts and variants, and of lanes. A name keeps its number, so that
// columns fit the states of other snapshots too.
type names struct {
	sorts, variants numbering
	labels          numbering      // of tasks: that, or what counts as one
	copies          numbering      // lanes of copies
	streams         map[string]int // of lanes, the most so far
}

// meet gives numbers to all names of a run.
func (n *names) meet(r *run.Run) {
	n.ofClasses(r)
	n.copiesOf(r)
}

// ofClasses returns the numbers of the sort, the variant and the label of each class of a run.
func (n *names) ofClasses(r *run.Run) (of [][3]uint16) {
	for _, c := range r.Classes() {
		of = append(of, [3]uint16{n.sorts.of(c.Sort()), n.variants.of(c.Variant), n.labels.of(c.Name())})
	}
	return of
}

// A numbering gives names numbers in the order of their first use; all after the most share the
// last number.
type numbering struct {
	names  []string
	number map[string]uint16
	last   uint16 // that was asked for: most tasks are like the one before
}

func (n *numbering) of(name string) uint16 {
	if int(n.last) < len(n.names) && n.names[n.last] == name {
		return n.last
	}
	id, ok := n.number[name]
	if ok {
		n.last = id
		return id
	}
	if n.number == nil {
		n.number = map[string]uint16{}
	}
	const most = 1 << 12
	if len(n.names) == most {
		n.names[most-1] = "others"
		return most - 1
	}
	id = uint16(len(n.names))
	n.number[name], n.names = id, append(n.names, name)
	return id
}

// noLane is the lane of a task that ran nowhere.
const noLane = math.MaxUint16

// mostStreams bounds the lanes of a device on a page.
const mostStreams = 16

// lanesOf returns the lanes of a page, and the number of that of each task: those of the run, but a
// device that does several tasks at once has a lane for each of its streams.
func (n *names) lanesOf(r *run.Run) (lanes []laneState, of []uint16) {
	of = slices.Repeat([]uint16{noLane}, r.Len())
	for _, l := range r.TaskLanes() {
		stream, most := []int(nil), 1
		if l.Overlap {
			spans := make([]run.Span, len(l.Tasks))
			for i, t := range l.Tasks {
				spans[i] = r.Row(int(t)).Span()
			}
			stream, most = run.Streams(spans)
		}
		if n.streams == nil {
			n.streams = map[string]int{}
		}
		most = min(mostStreams, max(most, n.streams[l.Name]))
		n.streams[l.Name] = most
		for i, t := range l.Tasks {
			at := 0
			if stream != nil {
				at = min(stream[i], most-1)
			}
			of[t] = uint16(len(lanes) + at)
		}
		for k := range most {
			name := l.Name
			if most > 1 {
				name = fmt.Sprintf("%s stream %d", l.Name, k)
			}
			lanes = append(lanes, laneState{name, l.Place, run.RankOf(r, int16(l.Place))})
		}
	}
	return lanes, of
}

// mostCopyStreams bounds the lanes of a link on a page.
const mostCopyStreams = 4

// copiesOf returns the copies of a run in order of their beginning, and the number of the lane of
// each: a link that has several copies under way at once has a lane for each of its streams.
func (n *names) copiesOf(r *run.Run) (list []*probe.Point, lane []uint16) {
	type link struct{ from, to string }
	free := map[link]*[mostCopyStreams]time.Duration{} // until when each stream is busy
	for i := range r.Points {
		if p := &r.Points[i]; p.Kind == probe.Arrive {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b *probe.Point) int { return cmp.Compare(a.Begin, b.Begin) })
	lane = make([]uint16, len(list))
	for i, p := range list {
		of := free[link{p.From, p.To}]
		if of == nil {
			of = new([mostCopyStreams]time.Duration)
			free[link{p.From, p.To}] = of
		}
		at := max(0, slices.IndexFunc(of[:], func(until time.Duration) bool { return until <= p.Begin }))
		of[at] = max(of[at], p.Time)
		name := p.From + " → " + p.To
		if at > 0 {
			name += fmt.Sprintf(" stream %d", at)
		}
		lane[i] = n.copies.of(name)
	}
	return list, lane
}
