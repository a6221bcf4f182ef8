package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/run"
)

// A state is the data of a page besides the tasks themselves. Times are nanoseconds.
type state struct {
	Version int64 // goes up with every snapshot
	Live    bool  // the run continues
	Title   string
	Program program
	Now     *probe.Status // of a run that continues: its counts, and its oldest tasks
	Summary *run.Summary
	Lanes   []laneState
	nameLists
	Series   series
	Failures []failure
	Compiled []compiled
	Evicted  []eviction
	Explain  []run.Explanation
	Learned  []run.LearnedTime
	Phases   []run.Phase // the longest
	span
	Shown int // tasks in the columns
	Links int // of the critical path: Summary has the first
}

// A span is the time that a run takes.
type span struct{ From, To time.Duration }

// nameLists are names by number: of kinds of tasks, variants, lanes of copies, and of the labels of
// tasks.
type nameLists struct{ Sorts, Variants, Copies, Names []string }

// A program describes the program that ran, its machine and its time.
type program struct {
	Name, Host string
	PID        int
	Opened     time.Time
	Ranks      int
}

// shownTasks is how many tasks in flight a page lists among the notes of a run that is stalled, and
// listedTasks how many in its table.
const (
	shownTasks  = 10
	listedTasks = 30
)

// show adds what is in flight. Where the run is stalled, that is the verdict, and the oldest tasks
// are notes.
func (s *state) show(now *probe.Status) {
	s.Now = &probe.Status{}
	*s.Now = *now
	s.Now.Tasks = now.Tasks[:min(len(now.Tasks), listedTasks)]
	s.Now.More = now.More + int64(len(now.Tasks)-len(s.Now.Tasks))
	counts := fmt.Sprintf("now %d submitted, %d blocked, %d ready, %d running, %d waiting, %d done", now.Submitted, now.Blocked, now.Ready, now.Running, now.Waiting, now.Done)
	if now.Verdict == "" {
		s.Summary.Notes = append([]string{counts}, s.Summary.Notes...)
		return
	}
	s.Summary.Verdict = run.Verdict{Bound: "stalled", Sentence: now.Verdict, Evidence: counts}
	var lines []string
	for i := range now.Tasks[:min(len(now.Tasks), shownTasks)] {
		k := &now.Tasks[i]
		line := k.Line()
		if k.Since > 0 {
			line += ", for " + probe.Ago(k.Since)
		}
		lines = append(lines, line)
	}
	s.Summary.Notes = append(lines, s.Summary.Notes...)
}

type laneState struct {
	Name  string
	Place int
	Rank  int `json:",omitempty"`
}

type failure struct {
	Task    deps.TaskID
	Name    string
	Place   string
	Skipped bool
	Text    string
	At      time.Duration
}

type compiled struct {
	Device, Kernel string
	Time           time.Duration
	Hit            bool
	Refused        string
}

type eviction struct {
	Device string
	At     time.Duration
	Bytes  deps.Bytes
}

// mostListed bounds the lists of a state: the newest are kept, and Summary has the numbers of all.
const mostListed = 200

// stateOf works out the state of a finished run.
func stateOf(r *run.Run, title string, names *names) *state {
	m := &r.Machine
	s := &state{Title: title, Summary: r.Summary(), Shown: r.Len(), Program: program{m.Program, m.Host, m.PID, m.Opened, m.Ranks}}
	s.Links = len(s.Summary.Path)
	s.Summary.Path = s.Summary.Path[:min(s.Links, mostListed)]
	s.Summary.Chain.Tasks = s.Summary.Chain.Tasks[:min(len(s.Summary.Chain.Tasks), mostListed)]
	names.meet(r)
	s.nameLists = nameLists{names.sorts.names, names.variants.names, names.copies.names, names.labels.names}
	s.From, s.To = r.Bounds()
	s.Lanes, _ = names.lanesOf(r)
	s.Series = seriesOf(r, s.From, s.To)
	for i := r.Len() - 1; i >= 0 && len(s.Failures) < mostListed; i-- {
		if r.Row(i).Class().Err != "" {
			t := r.Task(i)
			s.Failures = append(s.Failures, failure{t.ID, run.Name(t), r.PlaceName(t.Place), t.Skipped, t.Err, t.Release})
		}
	}
	for i := len(r.Points) - 1; i >= 0; i-- {
		switch p := &r.Points[i]; {
		case p.Kind == probe.Compile && len(s.Compiled) < mostListed:
			c := compiled{Device: p.Device, Kernel: p.Kernel, Time: p.Time - p.Begin, Hit: p.Hit}
			if p.Err != nil {
				c.Refused = p.Err.Error()
			}
			s.Compiled = append(s.Compiled, c)
		case p.Kind == probe.Evict && len(s.Evicted) < mostListed:
			s.Evicted = append(s.Evicted, eviction{p.Device, p.Time, p.Bytes})
		}
	}
	s.Explain, s.Learned, s.Phases = r.Explanations(), r.LearnedTimes(), r.Phases()
	slices.SortStableFunc(s.Phases, func(a, b run.Phase) int { return -cmp.Compare(a.To-a.From, b.To-b.From) })
	s.Phases = s.Phases[:min(len(s.Phases), mostListed)]
	return s
}

// A series is numbers over time, in equal steps from the first to the last moment.
type series struct {
	At     []float64            // seconds
	Tasks  []float64            // ended a second
	Ready  []float64            // ready and without a place, on average
	Moved  []float64            // GB/s over all links
	Busy   map[string][]float64 // by place: share of the lanes
	Memory map[string][]float64 // by accelerator: bytes backed at the end of the step
	Tokens map[string][]float64 // by kind: held, on average
}

const steps = 240

// seriesOf spreads what happened over the steps. Cost: O(tasks + steps of the long ones).
func seriesOf(r *run.Run, from, to time.Duration) series {
	s := series{Busy: map[string][]float64{}, Memory: map[string][]float64{}, Tokens: map[string][]float64{}}
	width := (to - from) / steps
	if width <= 0 {
		return s
	}
	zeros := func() []float64 { return make([]float64, steps) }
	s.Tasks, s.Ready, s.Moved = zeros(), zeros(), zeros()
	for i := range steps {
		s.At = append(s.At, (from + time.Duration(i)*width).Seconds())
	}
	for _, p := range r.Machine.Places {
		s.Busy[p.Name], s.Tokens[p.Kind] = zeros(), zeros()
	}
	spread := func(to []float64, a, b time.Duration, weight float64) {
		for i := max(0, int((a-from)/width)); i < steps && from+time.Duration(i)*width < b; i++ {
			lo := from + time.Duration(i)*width
			to[i] += weight * float64(min(b, lo+width)-max(a, lo)) / float64(width)
		}
	}
	type row struct{ busy, tokens []float64 }
	var places []row
	for _, p := range r.Machine.Places {
		places = append(places, row{s.Busy[p.Name], s.Tokens[p.Kind]})
	}
	for i := range r.Len() {
		t := r.Row(i)
		c := t.Class()
		if !t.Ran() || int(c.Place) >= len(places) {
			continue
		}
		p, choice, ran := &r.Machine.Places[c.Place], t.Choice(), t.Span()
		spread(places[c.Place].busy, ran.From, ran.To, 1/float64(max(1, p.Workers)))
		spread(s.Ready, t.Ready(), choice, 1)
		if c.Tokens > 0 {
			spread(places[c.Place].tokens, choice, ran.To, float64(c.Tokens))
		}
		s.Tasks[min(steps-1, max(0, int((ran.To-from)/width)))] += 1 / width.Seconds()
	}
	s.points(r, from, width, spread)
	s.shorten()
	return s
}

// shorten rounds to the precision of a page, which halves the text.
func (s *series) shorten() {
	rows := [][]float64{s.Tasks, s.Ready, s.Moved}
	for _, of := range []map[string][]float64{s.Busy, s.Memory, s.Tokens} {
		for _, row := range of {
			rows = append(rows, row)
		}
	}
	for _, row := range rows {
		for i, v := range row {
			row[i] = rounded(v)
		}
	}
	for i, v := range s.At {
		s.At[i] = math.Round(v*1e9) / 1e9
	}
}

// rounded is v with six digits.
func rounded(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	unit := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(v))))
	if unit <= 1 {
		return math.Round(v)
	}
	return math.Round(v*unit) / unit
}

// points adds the points of copies and memory.
func (s *series) points(r *run.Run, from, width time.Duration, spread func(to []float64, a, b time.Duration, weight float64)) {
	backed := map[string]float64{}
	at := map[string]int{}
	for _, p := range r.Machine.Places {
		if p.Memory > 0 {
			s.Memory[p.Name] = make([]float64, steps)
		}
	}
	fill := func(device string, until int) {
		for ; at[device] < min(until, steps); at[device]++ {
			s.Memory[device][at[device]] = backed[device]
		}
	}
	for i := range r.Points {
		p := &r.Points[i]
		switch {
		case p.Err != nil:
		case p.Kind == probe.Arrive && p.Time > p.Begin:
			spread(s.Moved, p.Begin, p.Time, float64(p.Bytes)/float64(p.Time-p.Begin))
		case (p.Kind == probe.Alloc || p.Kind == probe.Evict) && s.Memory[p.Device] != nil:
			fill(p.Device, int((p.Time-from)/width))
			if p.Kind == probe.Evict {
				backed[p.Device] -= float64(p.Bytes)
			} else {
				backed[p.Device] += float64(p.Bytes)
			}
		}
	}
	for device := range s.Memory {
		fill(device, steps)
	}
}
