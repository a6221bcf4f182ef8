package export

import (
	"cmp"
	"maps"
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

// maxSamples is the number of samples that a counter has at most: beyond that, some are left out,
// never the highest of a stretch.
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
	t := thinner{step: (len(list) + maxSamples - 1) / maxSamples}
	for _, s := range list {
		t.add(s)
	}
	return t.end()
}

// A thinner keeps the highest of every step samples, and the last.
type thinner struct {
	step int
	n    int
	best sample
	last sample
	out  []sample
}

func (t *thinner) add(s sample) {
	if t.last = s; t.n == 0 || s.value > t.best.value {
		t.best = s
	}
	if t.n++; t.n >= t.step {
		t.out, t.n = append(t.out, t.best), 0
	}
}

func (t *thinner) end() []sample {
	if t.n > 0 {
		t.out = append(t.out, t.best)
	}
	if n := len(t.out); n > 0 && t.out[n-1] != t.last {
		t.out = append(t.out, t.last)
	}
	return t.out
}

// A counter is a number over time.
type counter struct {
	name    string
	unit    string // "" for a count
	samples []sample
}

// countersOf returns the queue, the memory of the devices and the rates of the links.
func countersOf(r *run.Run, f *flowSet) []counter {
	out := append([]counter{{"ready tasks", "", readyOf(f.ready, f.taken)}}, tokensOf(r, f.holding)...)
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

// readyOf returns how many tasks are ready and have no place, from the moments at which that
// changes. These are nearly in order, so they are sorted by themselves.
func readyOf(up, down []time.Duration) []sample {
	slices.Sort(up)
	slices.Sort(down)
	var out thinner
	out.step = (2*len(up) + maxSamples) / maxSamples
	for i, k := 0, 0; k < len(down); {
		at := down[k]
		if i < len(up) {
			at = min(at, up[i])
		}
		for ; i < len(up) && up[i] == at; i++ {
		}
		for ; k < len(down) && down[k] == at; k++ {
		}
		out.add(sample{at, float64(i - k)})
	}
	return out.end()
}

// tokensOf returns the tokens that are held, by kind.
func tokensOf(r *run.Run, holding []int32) (out []counter) {
	held := map[string][]sample{}
	for _, i := range holding {
		if t := r.Task(int(i)); int(t.Place) < len(r.Machine.Places) {
			kind := r.Machine.Places[t.Place].Kind
			held[kind] = append(held[kind], sample{t.Choice, float64(t.Tokens)}, sample{t.End, -float64(t.Tokens)})
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(held)) {
		out = append(out, counter{kind + " tokens", "", integrate(held[kind])})
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
