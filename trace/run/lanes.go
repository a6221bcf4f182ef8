package run

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gompss/gompss/trace/probe"
)

// A Span is the time from From to To.
type Span struct{ From, To time.Duration }

// A Phase is an activity of the program or the runtime besides tasks.
type Phase struct {
	Name string
	Span
	Err string
}

// Phases returns the phases of the run and what was compiled, by their beginning.
func (r *Run) Phases() []Phase {
	var out []Phase
	for i := range r.Points {
		p := &r.Points[i]
		name := ""
		switch p.Kind {
		case probe.Phase:
			name = p.Label
		case probe.Compile:
			if name = "compile " + p.Kernel; p.Hit {
				name = "load " + p.Kernel
			}
		default:
			continue
		}
		if p.Device != "" {
			name += " " + p.Device
		}
		x := Phase{Name: name, Span: Span{p.Begin, max(p.Begin, p.Time)}}
		if p.Err != nil {
			x.Err = p.Err.Error()
		}
		out = append(out, x)
	}
	return out
}

// A Lane is a CPU worker or an accelerator: what runs on it runs one after the other, or overlaps
// where the device can do that.
type Lane struct {
	Place  int
	Worker int
	Name   string
	Tasks  []int32 // indices of Run.Tasks, by start
	// Overlap says that some start before the one before them has finished.
	Overlap bool
	// Segments are its states from the first to the last moment of the run; the times below are
	// their sums.
	Segments                       []Segment
	Busy, Transfer, Overhead, Idle time.Duration
}

// Lanes returns the lanes of all places, with how they spent the time between the bounds.
func (r *Run) Lanes() []Lane {
	return laneMaker{r}.lanes(func(l *Lane, d *division) { l.segment(d) })
}

// A laneMaker deals the tasks of a run to its lanes, and divides the time of each lane between its
// states.
type laneMaker struct{ run *Run }

// lanes is Lanes, and calls also for each lane instead of setting its segments.
func (m laneMaker) lanes(also func(l *Lane, d *division)) []Lane {
	lanes := m.run.TaskLanes()
	copies := m.copiesByPlace()
	from, to := m.run.Bounds()
	for i := range lanes {
		d := m.divide(&lanes[i], copies[lanes[i].Place], Span{from, to})
		lanes[i].spend(&d)
		also(&lanes[i], &d)
	}
	return lanes
}

// TaskLanes is Lanes without the states; it deals the tasks once.
func (r *Run) TaskLanes() []Lane {
	if r.lanes == nil {
		r.lanes = laneMaker{r}.deal()
	}
	return slices.Clone(r.lanes)
}

func (m laneMaker) deal() []Lane {
	r := m.run
	lanes, first := m.emptyLanes()
	over, mixed := make([]Span, len(lanes)), make([]bool, len(lanes))
	for i := range r.Len() {
		t := r.Row(i)
		place := int(t.Place())
		if !t.Ran() || place >= len(first)-1 {
			continue
		}
		at := first[place]
		if w := int(t.Class().Worker); w > 0 && r.Machine.Places[place].Host && at+w < first[place+1] {
			at += w
		}
		l, ran := &lanes[at], t.Span()
		if l.Tasks == nil { // as if they were spread evenly, and a little more
			l.Tasks = make([]int32, 0, r.Len()/len(lanes)*5/4+16)
		}
		l.Tasks = append(l.Tasks, int32(i))
		mixed[at] = mixed[at] || ran.From < over[at].From
		l.Overlap = l.Overlap || ran.From < over[at].To
		over[at] = ran
	}
	for i := range lanes {
		if mixed[i] {
			m.byStart(lanes[i].Tasks)
			lanes[i].Overlap = m.overlap(lanes[i].Tasks)
		}
	}
	return lanes
}

// byStart puts tasks in order of their start.
func (m laneMaker) byStart(tasks []int32) {
	before := slices.Clone(tasks)
	for i, at := range byTime(len(tasks), func(i int) time.Duration { return m.run.Row(int(before[i])).Start() }) {
		tasks[i] = before[at]
	}
}

// overlap reports whether one of the tasks starts before the one before it has finished.
func (m laneMaker) overlap(tasks []int32) bool {
	for i := 1; i < len(tasks); i++ {
		if m.run.Row(int(tasks[i])).Start() < m.run.Row(int(tasks[i-1])).End() {
			return true
		}
	}
	return false
}

func (m laneMaker) emptyLanes() (lanes []Lane, first []int) {
	for p, place := range m.run.Machine.Places {
		first = append(first, len(lanes))
		if !place.Host {
			lanes = append(lanes, Lane{Place: p, Name: place.Name})
			continue
		}
		for w := range max(1, place.Workers) {
			lanes = append(lanes, Lane{Place: p, Worker: w, Name: fmt.Sprintf("%s worker %d", place.Name, w)})
		}
	}
	return lanes, append(first, len(lanes))
}

// copiesByPlace returns when copies to or from the memory of each place were under way; for the CPU
// workers only those to it.
func (m laneMaker) copiesByPlace() [][]Span {
	out := make([][]Span, len(m.run.Machine.Places))
	for i := range m.run.Points {
		p := &m.run.Points[i]
		if p.Kind != probe.Arrive {
			continue
		}
		for j, place := range m.run.Machine.Places {
			if place.Host && p.To == "host" || !place.Host && (p.To == place.Name || p.From == place.Name) {
				out[j] = append(out[j], Span{p.Begin, p.Time})
			}
		}
	}
	for j := range out {
		out[j] = union(out[j])
	}
	return out
}

// A State is the activity of a lane at a moment.
type State uint8

// The states of lanes.
const (
	Idle State = iota
	Busy
	Transferring
	Overhead
)

var stateNames = [...]string{"idle", "busy", "transfer", "overhead"}

func (s State) String() string { return stateNames[s] }

// A Segment is a time in one state.
type Segment struct {
	Span
	State State
}

// A division is how a lane spent the time of the run: spans in order and apart.
type division [len(stateNames)][]Span

// divide divides the time of a lane. Cost: O(tasks + copies).
func (m laneMaker) divide(l *Lane, copies []Span, all Span) (d division) {
	runs, waits := make([]Span, 0, len(l.Tasks)), make([]Span, 0, len(l.Tasks))
	over := all.From
	for _, i := range l.Tasks {
		t := m.run.Row(int(i))
		ran := t.Span()
		runs = append(runs, ran)
		if from := max(over, t.Ready()); from < ran.From {
			waits = append(waits, Span{from, ran.From})
		}
		over = max(over, ran.To)
	}
	busy := clip(union(runs), all)
	moving := clip(merged(busy, copies), all)
	working := clip(merged(moving, union(waits)), all)
	return division{Busy: busy, Transferring: subtract(moving, busy), Overhead: subtract(working, moving), Idle: subtract([]Span{all}, working)}
}

// spend sets the times of a lane.
func (l *Lane) spend(d *division) {
	l.Busy, l.Transfer, l.Overhead, l.Idle = length(d[Busy]), length(d[Transferring]), length(d[Overhead]), length(d[Idle])
}

func (l *Lane) segment(d *division) {
	l.Segments = make([]Segment, 0, len(d[Busy])+len(d[Transferring])+len(d[Overhead])+len(d[Idle]))
	for state, spans := range d {
		l.enter(State(state), spans)
	}
	slices.SortFunc(l.Segments, func(a, b Segment) int { return cmp.Compare(a.From, b.From) })
}

func (l *Lane) enter(state State, spans []Span) {
	for _, s := range spans {
		l.Segments = append(l.Segments, Segment{s, state})
	}
}

// subtract returns what of a, which is in order and apart, is not in b, which lies within a and is
// so too.
func subtract(a, b []Span) []Span {
	out := make([]Span, 0, len(a)+len(b))
	for _, s := range a {
		for len(b) > 0 && b[0].From < s.To {
			if s.From < b[0].From {
				out = append(out, Span{s.From, b[0].From})
			}
			s.From = b[0].To
			b = b[1:]
		}
		if s.From < s.To {
			out = append(out, s)
		}
	}
	return out
}

// Streams deals spans, in order of their start, to as few streams as there are spans at once, so
// that those of one stream do not overlap. It returns the stream of each and the number of streams.
func Streams(spans []Span) (stream []int, n int) {
	var free []time.Duration
	stream = make([]int, len(spans))
	for i, s := range spans {
		at := slices.IndexFunc(free, func(until time.Duration) bool { return until <= s.From })
		if at < 0 {
			at = len(free)
			free = append(free, 0)
		}
		free[at], stream[i] = s.To, at
	}
	return stream, len(free)
}

// union returns the moments that are in any of the spans, in order and apart, in the place of
// spans.
func union(spans []Span) []Span {
	byFrom := func(a, b Span) int { return cmp.Compare(a.From, b.From) }
	if !slices.IsSortedFunc(spans, byFrom) {
		slices.SortFunc(spans, byFrom)
	}
	out := spans[:0]
	for _, s := range spans {
		out = join(out, s)
	}
	return out
}

// join adds a span that starts after those of out.
func join(out []Span, s Span) []Span {
	if s.To <= s.From {
		return out
	}
	if n := len(out); n > 0 && s.From <= out[n-1].To {
		out[n-1].To = max(out[n-1].To, s.To)
		return out
	}
	return append(out, s)
}

// merged returns the union of two lists that are in order.
func merged(a, b []Span) []Span {
	out := make([]Span, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].From <= b[0].From {
			out, a = join(out, a[0]), a[1:]
		} else {
			out, b = join(out, b[0]), b[1:]
		}
	}
	for _, s := range a {
		out = join(out, s)
	}
	for _, s := range b {
		out = join(out, s)
	}
	return out
}

// clip returns what of spans lies in all, in the place of spans.
func clip(spans []Span, all Span) []Span {
	out := spans[:0]
	for _, s := range spans {
		if s.From, s.To = max(s.From, all.From), min(s.To, all.To); s.From < s.To {
			out = append(out, s)
		}
	}
	return out
}

// length returns the sum of spans that are apart.
func length(spans []Span) (sum time.Duration) {
	for _, s := range spans {
		sum += s.To - s.From
	}
	return sum
}
