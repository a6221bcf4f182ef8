package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/trace/probe"
)

// An explainer is a policy that can say what it goes by, before it is given an item.
type explainer interface {
	// view returns how many items wait for p, how long it has to do with them and with what it runs, and how long this one is
	// expected to run there.
	view(it *Item, p PlaceID) (queued int, ahead, run time.Duration, known bool)
}

// recordCandidates notes what the policy sees of the places that it is about to choose from.
func (s *Scheduler) recordCandidates(it *Item) {
	it.seen = it.seen[:0]
	if !s.watched || it.Allowed.Len() < 2 {
		return
	}
	for rest := it.Allowed; rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		k := s.pool[p]
		c := probe.Candidate{Place: int16(p), Missing: it.missing(p), Load: int32(s.Load(p)), Need: it.need[k], Free: int32(s.pools[k].free)}
		if s.explainer != nil {
			queued, ahead, run, known := s.explainer.view(it, p)
			c.Queued, c.Ahead, c.Run, c.Known = int32(queued), max(0, ahead), run, known
		}
		it.seen = append(it.seen, c)
	}
}

// markChosen notes which place the policy meant it for.
func (s *Scheduler) markChosen(it *Item) {
	for i := range it.seen {
		it.seen[i].Meant = s.explainer != nil && PlaceID(it.seen[i].Place) == it.at
	}
}

// Seen returns what the policy saw of the places when the item was pushed: nothing unless Options.Watched, and for items that may run at
// one place only or were never pushed. It is good until the next push of the item.
func (it *Item) Seen() []probe.Candidate { return it.seen }

func (l *locality) view(it *Item, p PlaceID) (queued int, ahead, run time.Duration, known bool) {
	run, known = l.state.Times.Expect(it, l.state.Places[p].Kind)
	return l.queues[p].len, l.load(p), run, known
}

// A Learned is what has been learned of one version on one kind of device, for one size.
type Learned struct {
	Version string
	Kind    devices.Kind
	// Size is the least number of bytes worked on that belongs here; the next power of two does not.
	Size    deps.Bytes
	Samples int64
	Kept    int           // durations that count
	Middle  time.Duration // of them, what is expected
	Least   time.Duration
	Most    time.Duration
}

// List returns what has been learned, by version, kind and size.
func (t *Times) List() []Learned {
	var out []Learned
	for k, h := range t.all() {
		if len(h.samplesKept) == 0 {
			continue
		}
		e := h.expected()
		l := Learned{Version: k.version, Kind: k.kind, Samples: e.samples, Kept: len(h.samplesKept), Middle: e.run, Least: h.samplesKept[0].mean()}
		for _, x := range h.samplesKept {
			l.Least, l.Most = min(l.Least, x.mean()), max(l.Most, x.mean())
		}
		if k.class > 0 {
			l.Size = 1 << (k.class - 1)
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Learned) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Size, b.Size))
	})
	return out
}
