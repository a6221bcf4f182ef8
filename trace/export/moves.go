package export

import (
	"cmp"
	"slices"
	"time"

	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/run"
)

// A move is the copies of one link, by start.
type move struct {
	from, to string
	copies   []*probe.Point
	stream   []int // of each copy
	streams  int
}

// movesOf returns the copies that were made, by link.
func movesOf(r *run.Run) []move {
	var out []move
	for i := range r.Points {
		p := &r.Points[i]
		if p.Kind != probe.Arrive || p.Err != nil {
			continue
		}
		at := slices.IndexFunc(out, func(m move) bool { return m.from == p.From && m.to == p.To })
		if at < 0 {
			at = len(out)
			out = append(out, move{from: p.From, to: p.To})
		}
		out[at].copies = append(out[at].copies, p)
	}
	for i := range out {
		m := &out[i]
		spans := make([]run.Span, len(m.copies))
		for j, c := range m.copies {
			spans[j] = run.Span{From: c.Begin, To: c.Time}
		}
		m.stream, m.streams = run.Streams(spans)
	}
	return out
}

// A sample is the value of a counter from a moment on.
type sample struct {
	at    time.Duration
	value float64
}

// maxSamples is how many samples a counter has at most: beyond that, some are left out, never the highest of a stretch.
const maxSamples = 20000

// integrate turns changes into the value at each moment.
func integrate(changes []sample) []sample {
	slices.SortStableFunc(changes, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	sum := 0.0
	out := changes[:0]
	for _, c := range changes {
		sum += c.value
		if n := len(out); n > 0 && out[n-1].at == c.at {
			out[n-1].value = sum
		} else {
			out = append(out, sample{c.at, sum})
		}
	}
	return thin(out)
}

func thin(list []sample) []sample {
	if len(list) <= maxSamples {
		return list
	}
	step := (len(list) + maxSamples - 1) / maxSamples
	out := list[:0:0]
	for i := 0; i < len(list); i += step {
		best := list[i]
		for _, s := range list[i:min(i+step, len(list))] {
			if s.value > best.value {
				best = s
			}
		}
		out = append(out, best)
	}
	return append(out, list[len(list)-1])
}

// A counter is a number over time.
type counter struct {
	name    string
	unit    string // "" for a count
	samples []sample
}

// countersOf returns the queue, the memory of the devices and the rates of the links.
func countersOf(r *run.Run) []counter {
	var ready []sample
	for i := range r.Tasks {
		if t := &r.Tasks[i]; run.Ran(t) {
			ready = append(ready, sample{t.Ready, 1}, sample{t.Choice, -1})
		}
	}
	out := []counter{{"ready tasks", "", integrate(ready)}}
	for _, p := range r.Machine.Places {
		if p.Memory > 0 {
			out = append(out, counter{p.Name + " memory", "B", integrate(memoryOf(r, p.Name))})
		}
	}
	for _, m := range movesOf(r) {
		var rate []sample
		for _, c := range m.copies {
			if c.Time > c.Begin {
				v := float64(c.Bytes) / float64(c.Time-c.Begin) // bytes a nanosecond are GB/s
				rate = append(rate, sample{c.Begin, v}, sample{c.Time, -v})
			}
		}
		out = append(out, counter{m.from + " -> " + m.to, "GB/s", integrate(rate)})
	}
	return out
}

func memoryOf(r *run.Run, place string) []sample {
	var out []sample
	for i := range r.Points {
		p := &r.Points[i]
		switch {
		case p.Device != place || p.Err != nil:
		case p.Kind == probe.Alloc:
			out = append(out, sample{p.Time, float64(p.Bytes)})
		case p.Kind == probe.Evict:
			out = append(out, sample{p.Time, -float64(p.Bytes)})
		}
	}
	return out
}
