package sched

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// Times holds the learned run times of tasks by version (the kernel), kind of device and size
// class, which is the power of two of the bytes of work. Devices of one kind learn together. The
// zero Times is empty.
//
// Times is not safe for concurrent use, except for the lookups of Scheduler.GrantUnlocked.
type Times struct {
	known atomic.Pointer[map[timeKey]*history] // replaced, never changed
	// cache has recently used histories: most tasks resemble the previous one, and a comparison is
	// cheaper than a map lookup.
	cache [8]struct {
		key timeKey
		of  *history
	}
}

type timeKey struct {
	version string
	kind    devices.Kind
	class   int8
}

// all returns the histories for reading.
func (t *Times) all() map[timeKey]*history {
	if known := t.known.Load(); known != nil {
		return *known
	}
	return nil
}

// A history holds the latest durations of one key; overlapping runs form one sample. The expected
// time is their mean and not their median: kernels that share an accelerator end shortly after one
// another, so that most durations are short and a few are long, and their sum is what occupies the
// accelerator. A long outlier counts as outlierFactor times the median, so that a few of them do
// not repel other items.
type history struct {
	samplesKept []sample // a ring once it is full
	next        int
	outliers    []time.Duration // outliers since the last that was none
	// The fields below are read without the lock.
	median  atomic.Int64 // nanoseconds
	mean    atomic.Int64 // the mean
	samples atomic.Int64
	alone   atomic.Bool // no sample includes transfers
}

func (h *history) expected() expected {
	n := h.samples.Load()
	return expected{run: time.Duration(h.mean.Load()), median: time.Duration(h.median.Load()), samples: n, known: n >= fewTimes, alone: h.alone.Load() && n >= aloneTimes}
}

// forget drops the samples that include transfers when the first sample without them arrives. Where
// the host observes the end of a kernel, its time begins when it was enqueued, behind its
// transfers; and pinning memory before the first transfers takes seconds where a kernel takes a
// millisecond.
func (h *history) forget() {
	h.samplesKept, h.next, h.outliers = h.samplesKept[:0], 0, h.outliers[:0]
	h.samples.Store(min(h.samples.Load(), fewTimes-1))
	h.alone.Store(true)
}

// A sample is the sum of the durations of up to maxSampleItems items that ran side by side, or the
// duration of one item.
type sample struct{ sum, items time.Duration }

func (s sample) mean() time.Duration { return s.sum / s.items }

func keyFor(it *Item, kind devices.Kind) timeKey {
	return timeKey{it.Version, kind, int8(bits.Len64(uint64(it.Work)))}
}

// of returns the history of it on a kind; nil if it has never run there.
func (t *Times) of(it *Item, kind devices.Kind) *history {
	k := keyFor(it, kind)
	l := &t.cache[(len(k.version)+len(k.kind)+int(k.class))%len(t.cache)]
	if l.of == nil || l.key != k {
		l.key, l.of = k, t.all()[k]
	}
	return l.of
}

// near returns the better-known history of the two neighbouring size classes; nil if neither has
// run there.
func (t *Times) near(it *Item, kind devices.Kind) *history {
	k := keyFor(it, kind)
	k.class--
	below := t.all()[k]
	k.class += 2
	above := t.all()[k]
	if below == nil || above != nil && above.samples.Load() > below.samples.Load() {
		return above
	}
	return below
}

// Expect returns the expected run time of it on a kind of device; false if too few runs are known.
func (t *Times) Expect(it *Item, kind devices.Kind) (time.Duration, bool) {
	e := t.expected(it, kind)
	return e.run, e.known
}

func (t *Times) expected(it *Item, kind devices.Kind) expected {
	if h := t.of(it, kind); h != nil {
		return h.expected()
	}
	return expected{}
}

// Learn adds a run time of an item on a kind of device.
func (t *Times) Learn(it *Item, kind devices.Kind, took time.Duration) {
	t.learn(it, kind, took, weightOne)
}

// A weight is the number of runs that a learned time stands for.
type weight uint8

const (
	weightOne   weight = iota // one run
	weightBlock               // learnEach runs, of which the others were left out
	weightNone                // none: only outliers in a row matter
)

func (t *Times) learn(it *Item, kind devices.Kind, took time.Duration, as weight) {
	h := t.of(it, kind)
	if h == nil {
		h = &history{}
		known := maps.Clone(t.all())
		if known == nil {
			known = map[timeKey]*history{}
		}
		known[keyFor(it, kind)] = h
		t.known.Store(&known)
	}
	switch {
	case it.marks.has(moves) && h.alone.Load():
		return // the known times without transfers are better
	case !it.marks.has(moves) && !h.alone.Load():
		h.forget()
	}
	h.add(took, as, it.Beside)
}

// add learns a duration. beside means that the run overlapped with others: it began after them and
// ended after the previous one ended.
func (h *history) add(took time.Duration, as weight, beside bool) {
	var samples int64
	switch as {
	case weightOne:
		samples = h.samples.Add(1)
	case weightBlock:
		samples = h.samples.Add(learnEach)
	default:
		samples = h.samples.Load()
	}
	enters := samples <= settled || as == weightBlock || as == weightOne && samples/learnBlock%learnEach == 0
	if beside && (!enters || as == weightOne && h.extend(took)) {
		return
	}
	median := time.Duration(h.median.Load())
	odd := !beside && isOutlier(took, median)
	if !enters && len(h.outliers) == 0 && !odd {
		return // as expected
	}
	if odd = odd && samples > fewTimes; !odd {
		h.outliers = h.outliers[:0]
	} else if h.outliers = append(h.outliers, took); len(h.outliers) == outlierRun {
		h.restart()
		return
	} else {
		took = min(took, outlierFactor*median)
	}
	if enters {
		h.addSample(sample{took, 1})
	}
}

// addSample replaces the oldest sample once the ring is full.
func (h *history) addSample(s sample) {
	if len(h.samplesKept) < keptTimes {
		h.samplesKept = append(h.samplesKept, s)
	} else {
		h.samplesKept[h.next] = s
		h.next = (h.next + 1) % keptTimes
	}
	h.summarise()
}

// restart drops everything but the outliers, which are the new behaviour.
func (h *history) restart() {
	h.samplesKept, h.next = h.samplesKept[:0], 0
	for _, t := range h.outliers {
		h.samplesKept = append(h.samplesKept, sample{t, 1})
	}
	h.outliers = h.outliers[:0]
	h.summarise()
}

// extend adds a duration to the latest sample if that has room.
func (h *history) extend(took time.Duration) bool {
	if len(h.samplesKept) == 0 {
		return false
	}
	last := &h.samplesKept[(h.next+len(h.samplesKept)-1)%len(h.samplesKept)]
	if last.items == maxSampleItems {
		return false
	}
	last.sum += took
	last.items++
	h.summarise()
	return true
}

// summarise computes the median and the mean; where every sample includes transfers, the minimum
// stands for the mean, because it is closest to the run time.
func (h *history) summarise() {
	var room [keptTimes]time.Duration
	sorted := room[:0]
	for _, s := range h.samplesKept {
		sorted = append(sorted, s.mean())
	}
	slices.Sort(sorted)
	median := sorted[len(sorted)/2]
	var all sample
	for _, s := range h.samplesKept {
		all.sum += min(s.sum, s.items*outlierFactor*median)
		all.items += s.items
	}
	h.median.Store(int64(median))
	if !h.alone.Load() {
		h.mean.Store(int64(sorted[0]))
		return
	}
	h.mean.Store(int64(all.mean()))
}

// kept returns the durations to write to a file, oldest first. Samples of several items are written
// as the mean.
func (h *history) kept() (list []int64) {
	for i := range h.samplesKept {
		s := h.samplesKept[(h.next+i)%len(h.samplesKept)]
		if s.items > 1 {
			s.sum, s.items = h.expected().run, 1
		}
		list = append(list, int64(s.sum))
	}
	return list
}

func isOutlier(took, median time.Duration) bool {
	return took >= outlierFactor*median || took <= median/outlierFactor
}

// A timeEntry is a history as it is kept in a file.
type timeEntry struct {
	Version string       `json:"version"`
	Kind    devices.Kind `json:"kind"`
	Class   int8         `json:"log2_bytes"`
	Nanos   []int64      `json:"ns"`
}

// MarshalJSON writes what has been learned, in a fixed order.
func (t *Times) MarshalJSON() ([]byte, error) {
	entries := []timeEntry{}
	for k, h := range t.all() {
		entries = append(entries, timeEntry{Version: k.version, Kind: k.kind, Class: k.class, Nanos: h.kept()})
	}
	sort.Slice(entries, func(i, j int) bool {
		a, b := &entries[i], &entries[j]
		if a.Version != b.Version {
			return a.Version < b.Version
		}
		return a.Kind < b.Kind || a.Kind == b.Kind && a.Class < b.Class
	})
	return json.Marshal(entries)
}

// UnmarshalJSON replaces what has been learned by what was written.
func (t *Times) UnmarshalJSON(text []byte) error {
	var entries []timeEntry
	if err := json.Unmarshal(text, &entries); err != nil {
		return fmt.Errorf("sched: learned times: %w", err)
	}
	*t = Times{}
	for _, e := range entries {
		it := Item{Version: e.Version}
		if e.Class > 0 {
			it.Work = deps.Bytes(1) << (e.Class - 1)
		}
		for _, ns := range e.Nanos {
			if ns < 0 || e.Class < 0 || e.Class > 63 {
				return fmt.Errorf("sched: learned times: %s on %s: %d ns in size class %d", e.Version, e.Kind, ns, e.Class)
			}
			t.Learn(&it, e.Kind, time.Duration(ns))
		}
	}
	return nil
}
