package trace

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/run"
)

// columns returns the tasks of a run as arrays, little-endian, each at a multiple of 8 bytes, by
// number of the task:
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
func columns(r *run.Run, names *names) []byte {
	n := r.Len()
	c := &columnWriter{out: make([]byte, 0, 64*n+1024)}
	_, lane := names.lanesOf(r)
	preds, first := predecessorsOf(r)
	c.u32(uint32(n), uint32(len(preds)))
	each := func(f func(i int)) {
		for i := range n {
			f(i)
		}
		c.pad()
	}
	each(func(i int) { c.f64(float64(r.SpanOf(int32(i)).From)) })
	for _, of := range []func(i int) time.Duration{
		func(i int) time.Duration { return r.Task(i).End },
		func(i int) time.Duration { return r.Task(i).Submit },
		func(i int) time.Duration { return r.Task(i).Ready },
		func(i int) time.Duration { return r.Task(i).Choice },
		func(i int) time.Duration { return r.Task(i).Release },
	} {
		each(func(i int) { c.f32(float32(of(i) - r.SpanOf(int32(i)).From)) })
	}
	each(func(i int) { c.u32(uint32(r.Task(i).ID)) })
	each(func(i int) { c.u32(uint32(r.Task(i).Last)) })
	each(func(i int) { c.u16(lane[i]) })
	each(func(i int) { c.u16(names.sorts.of(run.Sort(r.Task(i)))) })
	each(func(i int) { c.u16(names.variants.of(r.Task(i).Variant)) })
	each(func(i int) { c.u16(names.labels.of(run.Name(r.Task(i)))) })
	each(func(i int) {
		t, flags := r.Task(i), byte(0)
		for k, is := range []bool{run.Ran(t), t.Err != "" && !t.Skipped, t.Skipped, t.Short} {
			if is {
				flags |= 1 << k
			}
		}
		c.out = append(c.out, flags)
	})
	each(func(i int) { c.f32(float32(r.Task(i).Missing)) })
	c.u32(first...)
	c.pad()
	c.u32(preds...)
	c.pad()
	c.copies(r, names)
	return c.out
}

// copies writes the copies of a run.
func (c *columnWriter) copies(r *run.Run, names *names) {
	list, lane := names.copiesOf(r)
	c.u32(uint32(len(list)), 0)
	each := func(f func(i int, p *probe.Point)) {
		for i, p := range list {
			f(i, p)
		}
		c.pad()
	}
	each(func(_ int, p *probe.Point) { c.f64(float64(p.Begin)) })
	each(func(_ int, p *probe.Point) { c.f32(float32(max(0, p.Time-p.Begin))) })
	each(func(_ int, p *probe.Point) { c.f64(float64(p.Bytes)) })
	each(func(_ int, p *probe.Point) { c.u32(uint32(p.Task)) })
	each(func(i int, _ *probe.Point) { c.u16(lane[i]) })
	each(func(_ int, p *probe.Point) {
		failed := byte(0)
		if p.Err != nil {
			failed = 1
		}
		c.out = append(c.out, failed)
	})
}

type columnWriter struct{ out []byte }

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
func (c *columnWriter) pad() {
	for len(c.out)%8 != 0 {
		c.out = append(c.out, 0)
	}
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
	for i := range r.Len() {
		t := r.Task(i)
		n.sorts.of(run.Sort(t))
		n.variants.of(t.Variant)
		n.labels.of(run.Name(t))
	}
	n.copiesOf(r)
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
				spans[i] = r.SpanOf(t)
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

// predecessorsOf returns the edges between tasks of the run: those of task i are from first[i] to
// first[i+1].
func predecessorsOf(r *run.Run) (preds, first []uint32) {
	first = make([]uint32, r.Len()+1)
	at := 0
	for _, e := range r.Edges() {
		for ; at <= int(e.Succ); at++ {
			first[at] = uint32(len(preds))
		}
		preds = append(preds, uint32(e.Pred))
	}
	for ; at < len(first); at++ {
		first[at] = uint32(len(preds))
	}
	return preds, first
}
