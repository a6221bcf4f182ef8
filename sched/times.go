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

// Times is what has been learned of how long tasks run: for each version of a task (its kernel), kind of device and size class,
// which is the power of two of the bytes that it works on. Devices of one kind learn together. The zero Times knows nothing.
// Not safe for concurrent use, but for what Scheduler.GrantUnlocked looks up.
type Times struct {
	known atomic.Pointer[map[timeKey]*history] // replaced, never changed
	// cache has some of them that were asked for: most tasks are like others before them, and to compare is less than to look up.
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

// all returns what is known, for reading.
func (t *Times) all() map[timeKey]*history {
	if known := t.known.Load(); known != nil {
		return *known
	}
	return nil
}

// keptTimes is how many of the latest durations count, and fewTimes how many there must be before a history is believed.
const (
	keptTimes = 15
	fewTimes  = 3
	// aloneTimes is how many it takes for it to be compared with moving: while memory is being locked the host hears late of what is over.
	aloneTimes = 8
)

// An outlier is a duration that is outlierFactor times the median or more, or that part of it; what comes outlierRun times in a
// row is no outlier but a change.
const (
	outlierFactor = 4
	outlierRun    = 4
)

// After settled durations only one of learnEach counts, learnBlock one after the other: what is known does not change, and there are many.
// Of outliers it is seen whether they come in a row.
const (
	settled    = 4 * keptTimes
	learnEach  = 8
	learnBlock = 32
)

// A history is the latest durations of one key, those of items that ran beside each other as one share. What is expected is their mean,
// and not their median: kernels that share an accelerator end one soon after the other, so that most are told as short and a few as long,
// and it is their sum that keeps the accelerator busy. An outlier that is long counts as outlierFactor times the median, so that a few of
// them among many do not keep others from it.
type history struct {
	samplesKept []sample // a ring once it is full
	next        int
	outliers    []time.Duration // outliers since the last that was none
	// What others look up beside the lock.
	median  atomic.Int64 // nanoseconds
	mean    atomic.Int64 // the mean
	samples atomic.Int64
	alone   atomic.Bool // nothing was moved for the items that it is of
}

func (h *history) expected() expected {
	n := h.samples.Load()
	return expected{run: time.Duration(h.mean.Load()), median: time.Duration(h.median.Load()), samples: n, known: n >= fewTimes, alone: h.alone.Load() && n >= aloneTimes}
}

// forget makes room for the first time that has no moving in it. Where the host tells when a kernel was over, its time begins when it was
// enqueued, behind its copies; and before the first copies memory is locked, which takes seconds where a kernel takes a millisecond.
func (h *history) forget() {
	h.samplesKept, h.next, h.outliers = h.samplesKept[:0], 0, h.outliers[:0]
	h.samples.Store(min(h.samples.Load(), fewTimes-1))
	h.alone.Store(true)
}

// A sample is the durations of up to maxSampleItems items that ran beside each other, or of one that ran alone.
type sample struct{ sum, items time.Duration }

// maxSampleItems is how many durations are one share at the most.
const maxSampleItems = 8

func (s sample) mean() time.Duration { return s.sum / s.items }

func keyFor(it *Item, kind devices.Kind) timeKey {
	return timeKey{it.Version, kind, int8(bits.Len64(uint64(it.Work)))}
}

// of returns the history of it on a kind, nil if it has never run there.
func (t *Times) of(it *Item, kind devices.Kind) *history {
	k := keyFor(it, kind)
	l := &t.cache[(len(k.version)+len(k.kind)+int(k.class))%len(t.cache)]
	if l.of == nil || l.key != k {
		l.key, l.of = k, t.all()[k]
	}
	return l.of
}

// near returns the history of the size class next to that of it on a kind, the better known of both; nil if it never ran there.
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

// Expect returns how long it will run on a kind of device, and false when too little is known.
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

// Learn notes how long an item ran on a kind of device.
func (t *Times) Learn(it *Item, kind devices.Kind, took time.Duration) {
	t.learn(it, kind, took, weightOne)
}

// weight says how the time of an item counts that is learned.
type weight uint8

const (
	weightOne   weight = iota // as the next one
	weightBlock               // for learnEach of which others were left out
	weightNone                // to see whether outliers come in a row
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
	case it.moves && h.alone.Load():
		return // nothing new: what is known is better
	case !it.moves && !h.alone.Load():
		h.forget()
	}
	h.add(took, as, it.Beside)
}

// add notes a duration; beside says that it began when others had begun and ended when the one before it had ended.
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
		return // as ever
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

// addSample puts a share in the place of the oldest.
func (h *history) addSample(s sample) {
	if len(h.samplesKept) < keptTimes {
		h.samplesKept = append(h.samplesKept, s)
	} else {
		h.samplesKept[h.next] = s
		h.next = (h.next + 1) % keptTimes
	}
	h.summarise()
}

// restart forgets all but the outliers.
func (h *history) restart() {
	h.samplesKept, h.next = h.samplesKept[:0], 0
	for _, t := range h.outliers {
		h.samplesKept = append(h.samplesKept, sample{t, 1})
	}
	h.outliers = h.outliers[:0]
	h.summarise()
}

// extend adds a duration to the latest share, if that has room.
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

// summarise sets the median and the mean; or, where all of them have moving in them, the least, which is the nearest to what it runs.
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

// kept returns the durations that are written to a file, oldest first: those of items that ran beside others are as good as alike.
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
