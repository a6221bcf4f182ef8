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

// A Lane is a CPU worker or an accelerator: what runs on it runs one after the other, or overlaps where the device can do that.
type Lane struct {
	Place                          int
	Worker                         int
	Name                           string
	Tasks                          []int32 // indices of Run.Tasks, by start
	Busy, Transfer, Overhead, Idle time.Duration
}

// Lanes returns the lanes of all places, with how they spent the time between the bounds.
func (r *Run) Lanes() []Lane {
	lanes, first := r.emptyLanes()
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if Ran(t) && int(t.Place) < len(first)-1 {
			at := first[t.Place]
			if w := int(t.Worker); r.Machine.Places[t.Place].Host && at+w < first[t.Place+1] {
				at += w
			}
			lanes[at].Tasks = append(lanes[at].Tasks, int32(i))
		}
	}
	copies := r.copiesByPlace()
	from, to := r.Bounds()
	for i := range lanes {
		slices.SortFunc(lanes[i].Tasks, func(a, b int32) int { return cmp.Compare(r.Tasks[a].Start, r.Tasks[b].Start) })
		r.spend(&lanes[i], copies[lanes[i].Place], Span{from, to})
	}
	return lanes
}

func (r *Run) emptyLanes() (lanes []Lane, first []int) {
	for p, place := range r.Machine.Places {
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

// copiesByPlace returns when copies to or from the memory of each place were under way; for the CPU workers only those to it.
func (r *Run) copiesByPlace() [][]Span {
	out := make([][]Span, len(r.Machine.Places))
	for i := range r.Points {
		p := &r.Points[i]
		if p.Kind != probe.Arrive {
			continue
		}
		for j, place := range r.Machine.Places {
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

// spend divides the time of a lane.
func (r *Run) spend(l *Lane, copies []Span, all Span) {
	var runs, waits []Span
	over := all.From
	for _, i := range l.Tasks {
		t := &r.Tasks[i]
		runs = append(runs, Span{t.Start, t.End})
		if from := max(over, t.Ready); from < t.Start {
			waits = append(waits, Span{from, t.Start})
		}
		over = max(over, t.End)
	}
	busy := union(runs)
	moving := union(append(slices.Clone(busy), copies...))
	working := union(append(slices.Clone(moving), waits...))
	busy = clip(busy, all)
	l.Busy = length(busy)
	l.Transfer = length(clip(moving, all)) - l.Busy
	l.Overhead = length(clip(working, all)) - length(clip(moving, all))
	l.Idle = all.To - all.From - l.Busy - l.Transfer - l.Overhead
}

// union returns the moments that are in any of the spans, in order and apart. It changes the order of spans.
func union(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var out []Span
	for _, s := range spans {
		if s.To <= s.From {
			continue
		}
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// clip returns what of spans lies in all.
func clip(spans []Span, all Span) []Span {
	var out []Span
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
