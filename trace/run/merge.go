package run

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
)

// A messageKey names a message: both of its ends record it.
type messageKey struct {
	from, to   string
	submission deps.TaskID
	part       string
}

// isMessage reports whether a point is the end of a message, at the sender or at the receiver.
func isMessage(p *probe.Point) bool {
	return p.Kind == probe.Message || p.Kind == probe.Arrive && p.Kernel != "" && betweenRanks(p.From, p.To)
}

// betweenRanks reports whether a link is between two ranks: a memory of a rank has a name of two
// more words.
func betweenRanks(from, to string) bool {
	return strings.HasPrefix(from, "rank ") && strings.HasPrefix(to, "rank ") && strings.Count(from, " ") == 1 && strings.Count(to, " ") == 1
}

func keyOf(p *probe.Point) messageKey { return messageKey{p.From, p.To, p.Other, p.Kernel} }

// A part is the run of one rank as it goes into a merged one.
type part struct {
	*Run
	clock  aligned
	ids    []deps.TaskID // in the merged run, by index
	place  int16         // of its first place there
	blocks map[deps.TaskID]messageKey
	next   int
}

// Merge joins the runs of the ranks of one program: their places side by side, their times on the
// clock of rank 0, and a message as a copy from one rank to another, whose receiving task waits for
// the one that sends.
//
// Tasks get new numbers, in an order in which each comes after those that it waits for.
//
// Cost: O(tasks x log ranks + records). Errors: a run that is not of a rank; two of one rank; ranks
// of programs of other sizes. Ranks that are missing are left out: their messages have one end.
func Merge(runs []*Run) (*Run, error) {
	parts, out, err := partsOf(runs)
	if err != nil {
		return nil, err
	}
	sends := map[messageKey]end{}
	for i := range parts {
		for k := range parts[i].Points {
			if p := &parts[i].Points[k]; p.Kind == probe.Message {
				sends[keyOf(p)] = end{i, p.Task, parts[i].clock.at(p.Begin), p.Bytes}
			}
		}
	}
	number(parts, sends)
	for i := range parts {
		parts[i].tasks(out, parts, sends)
		parts[i].points(out, parts, sends)
	}
	out.Finish()
	return out, nil
}

// An end is the sending end of a message.
type end struct {
	part  int
	task  deps.TaskID
	begin time.Duration
	bytes deps.Bytes
}

func partsOf(runs []*Run) ([]part, *Run, error) {
	if len(runs) == 0 {
		return nil, nil, errors.New("trace: merge: no runs")
	}
	sorted := slices.Clone(runs)
	slices.SortFunc(sorted, func(a, b *Run) int { return cmp.Compare(a.Machine.Rank, b.Machine.Rank) })
	first := &sorted[0].Machine
	out := New(0)
	out.Machine = probe.Machine{Policy: first.Policy, Opened: first.Opened, Rank: -1, Ranks: first.Ranks}
	parts := make([]part, len(sorted))
	for i, r := range sorted {
		m := &r.Machine
		switch {
		case m.Ranks < 1 || m.Rank < 0:
			return nil, nil, errors.New("trace: merge: a run that is not of one rank of several")
		case m.Ranks != first.Ranks:
			return nil, nil, fmt.Errorf("trace: merge: rank %d is of %d ranks, rank %d of %d", m.Rank, m.Ranks, first.Rank, first.Ranks)
		case i > 0 && m.Rank == sorted[i-1].Machine.Rank:
			return nil, nil, fmt.Errorf("trace: merge: two runs of rank %d", m.Rank)
		}
		parts[i] = part{Run: r, clock: align(r, first), place: int16(len(out.Machine.Places)), blocks: map[deps.TaskID]messageKey{}}
		for _, p := range m.Places {
			p.Name, p.Rank, p.ClockError = rankOf(m.Rank, p.Name), m.Rank, p.ClockError+parts[i].clock.bound
			out.Machine.Places = append(out.Machine.Places, p)
		}
		for _, a := range m.Absent {
			out.Machine.Absent = append(out.Machine.Absent, rankOf(m.Rank, a))
		}
		for k := range r.Points {
			if p := &r.Points[k]; p.Kind == probe.Arrive && isMessage(p) {
				parts[i].blocks[p.Task] = keyOf(p)
			}
		}
		out.Dropped += r.Dropped
		out.Gone += r.Gone
		out.EdgesGone += r.EdgesGone
		out.Damage = worse(out.Damage, r.Damage)
	}
	return parts, out, nil
}

// rankOf is a name of one rank in a merged run.
func rankOf(rank int, name string) string { return fmt.Sprintf("rank %d %s", rank, name) }

func worse(a, b record.Damage) record.Damage {
	return record.Damage{Head: a.Head || b.Head, Open: a.Open || b.Open, Skipped: a.Skipped + b.Skipped, Blocks: a.Blocks + b.Blocks, Unknown: a.Unknown + b.Unknown, Lost: a.Lost + b.Lost}
}

// aligned takes times of a rank to the clock of rank 0: two readings of that give a line, one a
// distance.
type aligned struct {
	base, ahead time.Duration // how far rank 0 is ahead at base
	rate        float64       // of its going ahead
	bound       time.Duration // of the error
}

func (a aligned) at(t time.Duration) time.Duration {
	return t + a.ahead + time.Duration(a.rate*float64(t-a.base))
}

// align returns how the times of r go to the clock of rank 0: by the most exact reading of each
// half of the run. Without one the clocks of the machines count, which may differ by milliseconds.
func align(r *Run, zero *probe.Machine) aligned {
	if r.Machine.Rank == 0 {
		return aligned{}
	}
	var clocks []*probe.Point
	for i := range r.Points {
		if p := &r.Points[i]; p.Kind == probe.Clock {
			clocks = append(clocks, p)
		}
	}
	if len(clocks) == 0 {
		return aligned{ahead: r.Machine.Opened.Sub(zero.Opened), bound: time.Millisecond}
	}
	best := func(list []*probe.Point) *probe.Point {
		return slices.MinFunc(list, func(a, b *probe.Point) int { return cmp.Compare(a.Time-a.Begin, b.Time-b.Begin) })
	}
	middle := clocks[0].Time/2 + clocks[len(clocks)-1].Time/2
	cut := slices.IndexFunc(clocks, func(p *probe.Point) bool { return p.Time > middle })
	if cut <= 0 {
		p := best(clocks)
		return aligned{base: p.Time, ahead: time.Duration(p.Bytes), bound: (p.Time - p.Begin) / 2}
	}
	p, q := best(clocks[:cut]), best(clocks[cut:])
	a := aligned{base: p.Time, ahead: time.Duration(p.Bytes), bound: max(p.Time-p.Begin, q.Time-q.Begin) / 2}
	if span := q.Time - p.Time; span > time.Second { // else the errors are more than the drift
		a.rate = float64(q.Bytes-p.Bytes) / float64(span)
	} else if q.Time-q.Begin < p.Time-p.Begin {
		a.base, a.ahead, a.bound = q.Time, time.Duration(q.Bytes), (q.Time-q.Begin)/2
	}
	return a
}

// number gives the tasks of all parts numbers in one order: each rank's own, a receiver behind its
// sender, else by submission.
func number(parts []part, sends map[messageKey]end) {
	h := &heads{parts: parts}
	given := map[messageKey]bool{}
	waiting := map[messageKey]int{}
	sent := map[end]messageKey{}
	for key, e := range sends {
		sent[end{part: e.part, task: e.task}] = key
	}
	for i := range parts {
		parts[i].ids = make([]deps.TaskID, parts[i].Len())
		if parts[i].Len() > 0 {
			h.list = append(h.list, i)
		}
	}
	heap.Init(h)
	for next := deps.TaskID(1); len(h.list)+len(waiting) > 0; {
		if len(h.list) == 0 { // records are missing: any that waits continues
			for key, i := range waiting {
				delete(waiting, key)
				given[key] = true
				heap.Push(h, i)
				break
			}
		}
		i := h.list[0]
		p := &parts[i]
		id := p.Run.tasks.id(p.next)
		if key, blocked := p.blocks[id]; blocked && !given[key] {
			if _, known := sends[key]; known {
				heap.Pop(h)
				waiting[key] = i
				continue
			}
		}
		p.ids[p.next] = next
		next++
		p.next++
		if p.next == p.Len() {
			heap.Pop(h)
		} else {
			heap.Fix(h, 0)
		}
		if key, ok := sent[end{part: i, task: id}]; ok {
			given[key] = true
			if k, waits := waiting[key]; waits {
				delete(waiting, key)
				heap.Push(h, k)
			}
		}
	}
}

// heads is a heap of parts by the submission of the next task of each.
type heads struct {
	parts []part
	list  []int
}

func (h *heads) at(i int) time.Duration {
	p := &h.parts[h.list[i]]
	return p.clock.at(p.Row(p.next).Submit())
}
func (h *heads) Len() int           { return len(h.list) }
func (h *heads) Less(i, j int) bool { return h.at(i) < h.at(j) }
func (h *heads) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *heads) Push(x any)         { h.list = append(h.list, x.(int)) }
func (h *heads) Pop() any {
	x := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return x
}

// id returns the number of a task in the merged run, 0 where it is not in the records.
func (p *part) id(of deps.TaskID) deps.TaskID {
	if i, ok := p.Index(of); ok && of != 0 {
		return p.ids[i]
	}
	return 0
}

// time is that of an event of a task: 0 says that it did not come to that.
func (p *part) time(t time.Duration) time.Duration {
	if t == 0 {
		return 0
	}
	return max(1, p.clock.at(t))
}

// tasks adds the tasks of p and their details to out.
func (p *part) tasks(out *Run, parts []part, sends map[messageKey]end) {
	for i := range p.Len() {
		t := p.Task(i)
		from, received := sends[p.blocks[t.ID]]
		t.ID, t.Last, t.Parent = p.ids[i], p.id(t.Last), p.id(t.Parent)
		for _, at := range []*time.Duration{&t.Submit, &t.Ready, &t.Choice, &t.Launch, &t.Start, &t.End, &t.Release} {
			*at = p.time(*at)
		}
		if t.Place >= 0 {
			t.Place += p.place
		}
		if received {
			if pred := parts[from.part].id(from.task); pred != 0 {
				if from.begin >= t.End { // the task waited for its sender, not for a task of its rank
					t.Last = pred
				}
				out.details.add(&record.Detail{Task: t.ID, What: record.Waits, Count: 1, Values: [6]int64{int64(pred)}})
			}
		}
		out.tasks.add(t)
	}
	for d := range p.Run.details.all() {
		if p.detail(d) {
			out.details.add(d)
		}
	}
}

// detail takes d to the merged run, where its task is present.
func (p *part) detail(d *record.Detail) bool {
	if d.Task = p.id(d.Task); d.Task == 0 {
		return false
	}
	switch d.What {
	case record.Candidate:
		d.Place += p.place
	case record.Inside:
		d.Values[0] = int64(p.id(deps.TaskID(d.Values[0])))
	case record.Waits:
		kept := *d
		kept.Count, kept.Values = 0, [6]int64{}
		if int(d.Count) <= goneAt {
			kept.Values[goneAt] = d.Values[goneAt]
		}
		for _, v := range d.Values[:d.Count] {
			if id := p.id(deps.TaskID(v)); id != 0 {
				kept.Values[kept.Count] = int64(id)
				kept.Count++
			}
		}
		*d = kept
	}
	return true
}

// points adds the points of p to out: a message once, from where its sender has posted it.
func (p *part) points(out *Run, parts []part, sends map[messageKey]end) {
	rank := p.Machine.Rank
	for i := range p.Points {
		x := p.Points[i]
		if x.Kind == probe.Clock {
			continue
		}
		begin := p.clock.at(x.Begin)
		if x.Kind == probe.Message {
			if missing := p.hasReceiver(parts, x.To); missing {
				continue
			}
		} else if from, ok := sends[keyOf(&x)]; ok && isMessage(&x) {
			begin = from.begin
		}
		x.Task, x.Begin, x.Time = p.id(x.Task), max(0, begin), max(0, p.clock.at(x.Time))
		x.Begin = min(x.Begin, x.Time)
		for _, name := range []*string{&x.Device, &x.From, &x.To} {
			if *name != "" && !strings.HasPrefix(*name, "rank ") {
				*name = rankOf(rank, *name)
			}
		}
		out.Points = append(out.Points, x)
	}
}

// hasReceiver reports whether the rank of a name is one of parts.
func (p *part) hasReceiver(parts []part, name string) bool {
	return slices.ContainsFunc(parts, func(of part) bool { return fmt.Sprintf("rank %d", of.Machine.Rank) == name })
}

// MessagesOf returns the messages that tasks of a run received, by the task.
func MessagesOf(r *Run) map[deps.TaskID]*probe.Point {
	var out map[deps.TaskID]*probe.Point
	for i := range r.Points {
		if p := &r.Points[i]; p.Kind == probe.Arrive && isMessage(p) && p.Task != 0 {
			if out == nil {
				out = map[deps.TaskID]*probe.Point{}
			}
			out[p.Task] = p
		}
	}
	return out
}

// SenderOf returns the task of another rank that a task waited for, 0 where there is none.
func SenderOf(r *Run, t *probe.Task) deps.TaskID {
	for _, id := range r.Predecessors(t.ID) {
		if from := r.Find(id); from != nil && RankOf(r, from.Place) != RankOf(r, t.Place) {
			return id
		}
	}
	return 0
}

// RankOf returns the rank of a place, 0 where there is but one.
func RankOf(r *Run, place int16) int {
	if place < 0 || int(place) >= len(r.Machine.Places) {
		return 0
	}
	return r.Machine.Places[place].Rank
}

// Write gives the records of a finished run to a sink: that of a file, for one that was merged.
func Write(r *Run, s record.Sink) error {
	const batch = 1 << 10
	if err := s.Open(&r.Machine); err != nil {
		return errors.Join(err, s.Close())
	}
	var b record.Batch
	give := func(least int) error {
		if b.Dropped = r.Dropped; b.Len() < least {
			return nil
		}
		err := s.Take(&b)
		b.Tasks, b.Details, b.Points = b.Tasks[:0], b.Details[:0], nil
		return err
	}
	for i := range r.Len() {
		b.Tasks = append(b.Tasks, *r.Task(i))
		if err := give(batch); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	for d := range r.details.all() {
		b.Details = append(b.Details, *d)
		if err := give(batch); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	for part := range slices.Chunk(r.Points, batch) {
		b.Points = part
		if err := give(1); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return errors.Join(give(1), s.Close())
}
