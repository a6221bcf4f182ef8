package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/trace/probe"
)

// An explainer is a policy that can describe what it decides by.
type explainer interface {
	// view returns the number of items queued at p, the expected time of those and of the items in
	// flight there, and the expected run time of it there.
	view(it *Item, p PlaceID) (queued int, ahead, run time.Duration, known bool)
}

// recordCandidates records what the policy knows of each allowed place before it chooses.
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

// markChosen records the chosen place.
func (s *Scheduler) markChosen(it *Item) {
	for i := range it.seen {
		it.seen[i].Meant = s.explainer != nil && PlaceID(it.seen[i].Place) == it.at
	}
}

// Seen returns what the policy knew of the places when the item was pushed. It is empty unless
// Options.Watched is set, for items with one allowed place, and for items that were never pushed.
// It is valid until the next push.
func (it *Item) Seen() []probe.Candidate { return it.seen }

func (l *locality) view(it *Item, p PlaceID) (queued int, ahead, run time.Duration, known bool) {
	run, known = l.state.Times.Expect(it, l.state.Places[p].Kind)
	return l.queues[p].len, l.load(p), run, known
}

// A Learned is the learned time of one version on one kind of device for one size class.
type Learned struct {
	Version string
	Kind    devices.Kind
	// Size is the least number of bytes of work of this size class.
	Size    deps.Bytes
	Samples int64
	Kept    int           // durations that count
	Middle  time.Duration // of them, what is expected
	Least   time.Duration
	Most    time.Duration
}

// List returns the learned times by version, kind and size.
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
