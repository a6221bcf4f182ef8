package run

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
)

// A Summary is the numbers of a run. Durations are nanoseconds in JSON.
type Summary struct {
	Elapsed time.Duration
	Tasks   int64 // over: they ran, failed or were skipped
	Failed  int64
	Skipped int64
	Missing
	Damage   string // of the file
	Policy   string
	Places   []PlaceUse
	Absent   []string // optional devices that the run does not have, and why
	Kernels  []KernelUse
	Links    []LinkUse
	Critical time.Duration
	Path     []Link
	Chain    Chain
	TokenWaits
	Overhead time.Duration // of all lanes
	Compilation
	Memory
	Notes   []string // further remarks, a sentence each
	Verdict Verdict
}

// Missing lists data that a summary lacks, with the reason.
type Missing struct {
	Gone    int64  // counted in Tasks, in nothing else
	Dropped uint64 // records lost
	// Lost counts the records that were lost. Its tasks and copies count in all counts, sums and
	// extremes of s; spans of time, medians and the critical path are those of the tasks with a
	// record.
	Lost record.Losses
	// EdgesGone is the number of edges that were left out to bound the memory; the critical path is
	// that of all.
	EdgesGone int64
}

// Compilation counts the kernels that were compiled, and their time.
type Compilation struct {
	Compiled int64
	Cached   int64         // of these, found in a cache
	Compile  time.Duration // for all of them
	// CompileFirst is what of that was before the first submission, CompileAlone what was after it
	// while no task ran.
	CompileFirst, CompileAlone time.Duration
}

// Memory describes the memory of the program, as far as the runtime knew it.
type Memory struct {
	// Buffers is the number of buffers that the runtime knew at the end, or when the program waited
	// last, and Known their size; MostBuffers and MostKnown are the most that it knew when the program
	// waited.
	Buffers, MostBuffers int64
	Known, MostKnown     deps.Bytes
}

// TokenWaits is the time for which tasks waited for tokens, and the tokens that they held.
type TokenWaits struct {
	Short  int64         // tasks that lacked tokens at some time
	Waited time.Duration // by them, ready, until they got a place
	Held   []TokenUse
}

// A TokenUse is the use of the tokens of a kind.
type TokenUse struct {
	Kind  string
	Limit int
	Tasks int64         // that held some
	Time  time.Duration // tokens times the time from the choice of a place to the end, summed over tasks
}

// A PlaceUse is how a place spent its time: Busy, Transfer, Overhead and Idle add up to Elapsed
// times Lanes.
type PlaceUse struct {
	Name, Kind, Description        string
	Lanes                          int
	Tasks                          int64
	Busy, Transfer, Overhead, Idle time.Duration
	Busiest                        string        // the lane that was busy the longest
	Most                           time.Duration // and for how long
	Longest                        time.Duration // of the times of overhead at a stretch
	Before                         deps.TaskID   // the task that started after it
	Memory, Peak                   deps.Bytes    // 0 for host memory
	Evictions                      int64
	Evicted                        deps.Bytes
	Again                          deps.Bytes // that came once more after an eviction of its buffer
	ClockError                     time.Duration
}

// Share returns a part of a place's time, between 0 and 1.
func (p *PlaceUse) Share(part time.Duration) float64 {
	all := p.Busy + p.Transfer + p.Overhead + p.Idle
	if all <= 0 {
		return 0
	}
	return float64(part) / float64(all)
}

// A KernelUse is the tasks of one sort that one variant ran on places of one kind.
type KernelUse struct {
	Sort, Variant, Kind string
	Count               int64
	Total               time.Duration
	Least, Middle, Most time.Duration
	Strategy            string     // how its loops are mapped there, as far as that was explained
	Bytes               deps.Bytes // that the accesses of the tasks with a record name
	Timed               time.Duration
	// Kernels is the number of kernels in device graphs, which have no records of their own; 0 for
	// other tasks.
	Kernels int64
	// Peak is the bandwidth of the memory of the fastest place in bytes a second, 0 where that is not
	// known.
	Peak deps.Bytes
}

// Rate returns the bytes a second of the tasks whose accesses say how many they are: the traffic of
// the memory is no less where nothing stays in caches. It is 0 where none says that.
func (k *KernelUse) Rate() float64 {
	if k.Timed <= 0 {
		return 0
	}
	return float64(k.Bytes) / k.Timed.Seconds()
}

// Name returns the sort of the tasks, and for device graphs the number of kernels in each.
func (k *KernelUse) Name() string {
	if k.Kernels == 0 {
		return k.Sort
	}
	return fmt.Sprintf("%s (graph of %.4g kernels)", k.Sort, float64(k.Kernels)/float64(max(1, k.Count)))
}

// Mean returns the mean running time.
func (k *KernelUse) Mean() time.Duration { return k.Total / time.Duration(max(1, k.Count)) }

// A LinkUse is the traffic from one address space to another.
type LinkUse struct {
	From, To string
	Copies   int64
	Failed   int64
	Bytes    deps.Bytes
	Time     time.Duration // in which at least one copy with a record was under way
	Recorded deps.Bytes    // of the copies with a record
}

// Rate returns bytes a second while copies were under way.
func (l *LinkUse) Rate() float64 {
	if l.Time <= 0 {
		return 0
	}
	return float64(l.Recorded) / l.Time.Seconds()
}

// A counter counts the records of a run for its Summary, one part of it a method. It does not
// change the run.
type counter struct{ run *Run }

func (c counter) countTasks(s *Summary) {
	lost := c.run.Lost.Sum()
	s.Tasks = int64(c.run.Len()) + c.run.Gone + lost.Count
	s.Failed, s.Skipped, s.Short, s.Waited = lost.Failed, lost.Skipped, lost.Short, lost.Waited
	for i := range c.run.Len() {
		t := c.run.Row(i)
		switch class := t.Class(); {
		case class.Skipped:
			s.Skipped++
		case class.Err != "":
			s.Failed++
		}
		if t.Class().Short {
			s.Short++
			s.Waited += max(0, t.Choice()-t.Ready())
		}
	}
}

func (c counter) sumTokens() (out []TokenUse) {
	at := map[string]int{}
	for i := range c.run.Len() {
		t := c.run.Row(i)
		tokens := t.Class().Tokens
		if tokens <= 0 || !t.Ran() || int(t.Place()) >= len(c.run.Machine.Places) {
			continue
		}
		p := &c.run.Machine.Places[t.Place()]
		k, ok := at[p.Kind]
		if !ok {
			k = len(out)
			at[p.Kind] = k
			out = append(out, TokenUse{Kind: p.Kind, Limit: p.Tokens})
		}
		out[k].Tasks++
		out[k].Time += time.Duration(tokens) * (t.End() - t.Choice())
	}
	slices.SortFunc(out, func(a, b TokenUse) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// sumPlaces returns when each accelerator ran tasks, by place.
func (c counter) sumPlaces(s *Summary) (busy [][]Span) {
	busy = make([][]Span, len(c.run.Machine.Places))
	for _, p := range c.run.Machine.Places {
		s.Places = append(s.Places, PlaceUse{Name: p.Name, Kind: p.Kind, Description: p.Description, Memory: p.Memory, ClockError: p.ClockError})
	}
	for _, l := range laneMaker(c).lanes(func(l *Lane, d *division) {
		if p := &s.Places[l.Place]; p.Memory > 0 {
			busy[l.Place] = d[Busy]
			p.Longest, p.Before = c.longestWait(l, d[Overhead])
		}
	}) {
		p := &s.Places[l.Place]
		p.Lanes++
		p.Tasks += int64(len(l.Tasks))
		if p.Busy += l.Busy; l.Busy > p.Most {
			p.Busiest, p.Most = l.Name, l.Busy
		}
		p.Transfer += l.Transfer
		p.Overhead += l.Overhead
		p.Idle += l.Idle
		s.Overhead += l.Overhead
	}
	for i := range c.run.Lost.Tasks {
		if t := &c.run.Lost.Tasks[i]; t.Place >= 0 && int(t.Place) < len(s.Places) {
			s.Places[t.Place].Tasks += t.Ran
		}
	}
	return busy
}

// longestWait returns the longest of the times of overhead of a lane, and the task that started at
// its end.
func (c counter) longestWait(l *Lane, overhead []Span) (longest time.Duration, before deps.TaskID) {
	for _, s := range overhead {
		if s.To-s.From <= longest {
			continue
		}
		longest, before = s.To-s.From, 0
		if i := sort.Search(len(l.Tasks), func(i int) bool { return c.run.Row(int(l.Tasks[i])).Start() >= s.To }); i < len(l.Tasks) {
			before = c.run.tasks.id(int(l.Tasks[i]))
		}
	}
	return longest, before
}

// sumMemory follows what was backed and taken away, what came back after that, and what was
// compiled.
func (c counter) sumMemory(s *Summary) {
	type part struct {
		device string
		region deps.Region
	}
	type whole struct {
		device string
		buffer deps.BufferID
	}
	came, evictions := map[part]int{}, map[whole]int{} // evictions of its buffer by the time it came last, plus 1
	backed := map[string]deps.Bytes{}
	short := map[string]bool{} // the memories that evict: of others nothing can come again
	for i := range c.run.Points {
		if p := &c.run.Points[i]; p.Kind == probe.Evict {
			short[p.Device] = true
		}
	}
	for i := range c.run.Points {
		p := &c.run.Points[i]
		at := slices.IndexFunc(s.Places, func(u PlaceUse) bool { return u.Name == p.Device })
		switch {
		case p.Kind == probe.Compile:
			s.Compiled++
			s.Compile += p.Time - p.Begin
			if p.Hit {
				s.Cached++
			}
		case p.Kind == probe.Arrive && p.Err == nil && short[p.To]:
			to := slices.IndexFunc(s.Places, func(u PlaceUse) bool { return u.Name == p.To })
			n := evictions[whole{p.To, p.Region.Buffer}] + 1
			if last := came[part{p.To, p.Region}]; to >= 0 && last > 0 && last < n {
				s.Places[to].Again += p.Bytes
			}
			if to >= 0 {
				came[part{p.To, p.Region}] = n
			}
		case at < 0 || p.Err != nil:
		case p.Kind == probe.Alloc:
			backed[p.Device] += p.Bytes
			s.Places[at].Peak = max(s.Places[at].Peak, backed[p.Device])
		case p.Kind == probe.Evict:
			backed[p.Device] -= p.Bytes
			evictions[whole{p.Device, deps.BufferID(p.Other)}]++
			s.Places[at].Evictions++
			s.Places[at].Evicted += p.Bytes
		}
	}
}

// sumKnown finds the memory of the program that the runtime knew.
func (c counter) sumKnown(s *Summary) {
	last := time.Duration(-1)
	for i := range c.run.Points {
		p := &c.run.Points[i]
		if p.Kind != probe.Phase || p.Label != probe.PhaseWait && p.Label != probe.PhaseClose {
			continue
		}
		if p.Time >= last {
			last, s.Buffers, s.Known = p.Time, int64(p.Other), p.Bytes
		}
		s.MostBuffers, s.MostKnown = max(s.MostBuffers, int64(p.Other)), max(s.MostKnown, p.Bytes)
	}
}

// sumCompiling finds the times at which variants were made and no task ran.
func (c counter) sumCompiling(s *Summary) {
	var made, ran []Span
	for i := range c.run.Points {
		if p := &c.run.Points[i]; p.Kind == probe.Compile && !p.Hit {
			made = append(made, Span{p.Begin, p.Time})
		}
	}
	if len(made) == 0 || c.run.Len() == 0 {
		return
	}
	from, to := c.run.Bounds()
	all := union(made)
	if c.run.Gone == 0 { // else what was made before belongs to tasks that are gone
		s.CompileFirst = length(clip(slices.Clone(all), Span{math.MinInt64, from}))
	}
	if all = clip(all, Span{from, to}); len(all) == 0 {
		return
	}
	for i := range c.run.Len() {
		if t := c.run.Row(i); t.Ran() {
			ran = append(ran, t.Span())
		}
	}
	busy := clip(union(ran), Span{from, to})
	s.CompileAlone = length(merged(busy, all)) - length(busy)
}

func (c counter) sumKernels() []KernelUse {
	type key struct {
		sort, variant string
		place         int16
	}
	type list struct {
		key
		times []time.Duration
		bytes deps.Bytes
		timed time.Duration // of the tasks with bytes
	}
	var lists []*list
	at, byClass := map[key]*list{}, make([]*list, len(c.run.Classes()))
	for i := range c.run.Len() {
		t := c.run.Row(i)
		if !t.Ran() || int(t.Place()) >= len(c.run.Machine.Places) {
			continue
		}
		l := byClass[c.run.ClassOf(i)]
		if l == nil {
			k := key{t.Class().Sort(), t.Class().Variant, t.Place()}
			if l = at[k]; l == nil {
				l = &list{key: k}
				at[k], lists = l, append(lists, l)
			}
			byClass[c.run.ClassOf(i)] = l
		}
		l.times = append(l.times, t.End()-t.Start())
		if n := t.Bytes(); n > 0 {
			l.bytes += n
			l.timed += t.End() - t.Start()
		}
	}
	type total struct {
		KernelUse
		times []time.Duration
	}
	byKind := map[[3]string]*total{}
	for _, l := range lists {
		place := &c.run.Machine.Places[l.place]
		k := [3]string{l.sort, l.variant, place.Kind}
		u := byKind[k]
		if u == nil {
			u = &total{KernelUse: KernelUse{Sort: k[0], Variant: k[1], Kind: k[2]}}
			byKind[k] = u
		}
		if u.times == nil {
			u.times = l.times
		} else {
			u.times = append(u.times, l.times...)
		}
		u.Bytes, u.Timed, u.Peak = u.Bytes+l.bytes, u.Timed+l.timed, max(u.Peak, place.Bandwidth)
	}
	var out []KernelUse
	texts, graphs := c.run.Explanations(), c.sumGraphs()
	for _, u := range byKind {
		slices.Sort(u.times)
		u.Count, u.Least, u.Middle, u.Most = int64(len(u.times)), u.times[0], u.times[len(u.times)/2], u.times[len(u.times)-1]
		for _, d := range u.times {
			u.Total += d
		}
		u.Strategy, u.Kernels = strategy(texts, u.Sort, u.Kind), graphs[[3]string{u.Sort, u.Variant, u.Kind}]
		if u.Kernels > 0 {
			u.Strategy = "a device graph, whose kernels are not timed one by one"
		}
		out = append(out, u.KernelUse)
	}
	out = c.addLostTasks(out)
	slices.SortFunc(out, func(a, b KernelUse) int {
		return cmp.Or(-cmp.Compare(a.Total, b.Total), cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.Variant, b.Variant), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// sumGraphs returns the numbers of kernels in device graphs, by sort, variant and kind.
func (c counter) sumGraphs() map[[3]string]int64 {
	out := map[[3]string]int64{}
	if c.run.details.inside == 0 {
		return out
	}
	for d := range c.run.details.all() {
		if d.What != record.Inside || d.Nesting().Steps == 0 {
			continue
		}
		if i, ok := c.run.Index(d.Task); ok && c.run.Row(i).Ran() && int(c.run.Row(i).Place()) < len(c.run.Machine.Places) {
			class := c.run.Row(i).Class()
			out[[3]string{class.Sort(), class.Variant, c.run.Machine.Places[class.Place].Kind}] += int64(d.Nesting().Steps)
		}
	}
	return out
}

// addLostTasks adds the tasks without a record to the rows of their kernels.
func (c counter) addLostTasks(out []KernelUse) []KernelUse {
	for i := range c.run.Lost.Tasks {
		t := &c.run.Lost.Tasks[i]
		if t.Ran == 0 || t.Place < 0 || int(t.Place) >= len(c.run.Machine.Places) {
			continue
		}
		sort, kind := Sort(&probe.Task{Kernel: t.Kernel, Label: t.Label}), c.run.Machine.Places[t.Place].Kind
		j := slices.IndexFunc(out, func(u KernelUse) bool { return u.Sort == sort && u.Variant == t.Variant && u.Kind == kind })
		if j < 0 {
			j = len(out)
			mean := t.Running / time.Duration(t.Ran)
			out = append(out, KernelUse{Sort: sort, Variant: t.Variant, Kind: kind, Least: t.Least, Middle: mean, Most: t.Most})
		}
		u := &out[j]
		u.Count, u.Total, u.Kernels = u.Count+t.Ran, u.Total+t.Running, u.Kernels+t.Steps
		u.Least, u.Most = min(u.Least, t.Least), max(u.Most, t.Most)
	}
	return out
}

// addLostCopies adds the copies without a record to their links.
func (c counter) addLostCopies(out []LinkUse) []LinkUse {
	for i := range c.run.Lost.Copies {
		lost := &c.run.Lost.Copies[i]
		j := slices.IndexFunc(out, func(u LinkUse) bool { return u.From == lost.From && u.To == lost.To })
		if j < 0 {
			j = len(out)
			out = append(out, LinkUse{From: lost.From, To: lost.To})
		}
		out[j].Copies, out[j].Failed, out[j].Bytes = out[j].Copies+lost.Copies, out[j].Failed+lost.Failed, out[j].Bytes+lost.Bytes
		out[j].Recorded = out[j].Bytes - lost.Bytes
	}
	return out
}

func (c counter) sumLinks() []LinkUse {
	type key struct{ from, to string }
	at := map[key]int{}
	var out []LinkUse
	var spans [][]Span
	for i := range c.run.Points {
		p := &c.run.Points[i]
		if p.Kind != probe.Arrive {
			continue
		}
		k := key{p.From, p.To}
		j, ok := at[k]
		if !ok {
			j = len(out)
			at[k] = j
			out, spans = append(out, LinkUse{From: p.From, To: p.To}), append(spans, nil)
		}
		if p.Err != nil {
			out[j].Failed++
			continue
		}
		out[j].Copies++
		out[j].Bytes += p.Bytes
		spans[j] = append(spans[j], Span{p.Begin, p.Time})
	}
	for j := range out {
		out[j].Time, out[j].Recorded = length(union(spans[j])), out[j].Bytes
	}
	out = c.addLostCopies(out)
	slices.SortFunc(out, func(a, b LinkUse) int {
		return cmp.Or(-cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}
