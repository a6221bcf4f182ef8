package sched

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/stretchr/testify/require"
)

// A bench of places runs items one after the other with known times and counts where they went.
type bench struct {
	t    *testing.T
	s    *Scheduler
	took func(it *Item, p PlaceID) time.Duration
	ran  map[string]int // by version and kind
}

func newBench(t *testing.T, times *Times, took func(it *Item, p PlaceID) time.Duration) *bench {
	places := []Place{{Name: "smp", Kind: "smp", Width: 2, Host: true}, {Name: "gpu:0", Kind: "gpu", Width: 1}, {Name: "gpu:1", Kind: "gpu", Width: 1}}
	s, err := New(Options{Policy: "versioning", Places: places, Times: times})
	require.NoError(t, err)
	require.True(t, s.Learns())
	return &bench{t: t, s: s, took: took, ran: map[string]int{}}
}

// run pushes n items of a version one at a time: nothing waits, so what counts is how long each
// runs.
func (b *bench) run(n int, version string, work deps.Bytes) {
	for range n {
		it := &Item{Version: version, Work: work}
		require.NoError(b.t, b.s.Prepare(it, 7, nil))
		require.True(b.t, b.s.Push(it))
		p := it.at
		require.Same(b.t, it, b.s.Pop(p))
		it.Took = b.took(it, p)
		b.ran[fmt.Sprint(version, " ", b.s.Places[p].Kind)]++
		b.s.Done(it)
	}
}

// byKind has one version quick on the host and another on the accelerators.
func byKind(it *Item, p PlaceID) time.Duration {
	if (it.Version == "branchy") == (p == 0) {
		return time.Millisecond
	}
	return 10 * time.Millisecond
}

func TestVersioningLearnsWhereVersionsAreQuick(t *testing.T) {
	b := newBench(t, nil, byKind)
	b.run(1000, "branchy", 1<<20)
	b.run(1000, "wide", 1<<20)
	require.Greater(t, b.ran["branchy smp"], 950)
	require.Greater(t, b.ran["wide gpu"], 950)
	require.Greater(t, b.ran["branchy gpu"], fewTimes, "it tries again")
}

func TestVersioningLearnsBySize(t *testing.T) {
	b := newBench(t, nil, func(it *Item, p PlaceID) time.Duration {
		if p == 0 {
			return time.Duration(it.Work) // ns a byte
		}
		return 50*time.Microsecond + time.Duration(it.Work)/100
	})
	b.run(500, "k", 1<<10)
	require.Greater(t, b.ran["k smp"], 450)
	b.ran = map[string]int{}
	b.run(500, "k", 1<<20)
	require.Greater(t, b.ran["k gpu"], 450)
}

// TestOutliersDoNotPoison gives one duration in ten as a thousand times longer on the quick kind:
// it stays the choice.
func TestOutliersDoNotPoison(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	b := newBench(t, nil, func(it *Item, p PlaceID) time.Duration {
		d := byKind(it, p)
		if p > 0 && r.IntN(10) == 0 {
			d *= 1000
		}
		return d
	})
	b.run(2000, "wide", 1<<20)
	require.Greater(t, b.ran["wide gpu"], 1900)
}

func TestVersioningFollowsAChange(t *testing.T) {
	quick := PlaceID(0)
	b := newBench(t, nil, func(_ *Item, p PlaceID) time.Duration {
		if (p == 0) == (quick == 0) {
			return time.Millisecond
		}
		return 20 * time.Millisecond
	})
	b.run(500, "k", 1)
	require.Greater(t, b.ran["k smp"], 450)
	quick = 1
	b.run(1000, "k", 1)
	require.Greater(t, b.ran["k gpu"], 1000-(outlierRun+1)*exploreEach, "as soon as it has been tried often enough to be believed")
}

// TestVersioningSharesAQueue has many items ready at once that are a little quicker on the
// accelerators: all places work.
func TestVersioningSharesAQueue(t *testing.T) {
	b := newBench(t, nil, func(_ *Item, p PlaceID) time.Duration {
		if p == 0 {
			return 2 * time.Millisecond
		}
		return time.Millisecond
	})
	b.run(tryCritical+fewTimes+1, "k", 1) // until then no trial delays an accelerator that has nothing else
	meant := map[PlaceID]int{}
	for range 60 {
		it := &Item{Version: "k", Work: 1}
		require.NoError(t, b.s.Prepare(it, 7, nil))
		b.s.Push(it)
		meant[it.at]++
	}
	require.InDelta(t, 20, meant[0], 3, "two workers at half the speed")
	require.InDelta(t, 20, meant[1], 3)
	require.InDelta(t, 20, meant[2], 3)
}

// TestItemsBehindOthersAreTriedOnTheHost has many items ready at once whose data are all on one accelerator, while the other one is idle: the
// first is on the critical path, and of those behind it one is tried on the host. The workers got nothing where as few as these came. Issue 16.
func TestItemsBehindOthersAreTriedOnTheHost(t *testing.T) {
	b := newBench(t, nil, func(*Item, PlaceID) time.Duration { return 2 * time.Millisecond })
	b.run(fewTimes, "k", 1<<20)
	require.Zero(t, b.ran["k smp"])
	meant := map[PlaceID]int{}
	for n := range 16 {
		it := &Item{Version: "k", Work: 1 << 20, Missing: []deps.Bytes{1 << 10, 0, 1 << 20}, Changes: true, Home: PlaceSet(0).With(1)}
		require.NoError(t, b.s.Prepare(it, 7, nil))
		b.s.Push(it)
		if meant[it.at]++; n == 0 {
			require.Equal(t, map[PlaceID]int{1: 1}, meant, "the first one begins at once")
		}
	}
	require.Equal(t, map[PlaceID]int{0: 1, 1: 15}, meant)
}

func TestLearnedTimesAreKept(t *testing.T) {
	b := newBench(t, nil, byKind)
	b.run(100, "branchy", 1<<20)
	b.run(100, "wide", 1<<10)
	text, err := json.Marshal(b.s.Times)
	require.NoError(t, err)
	var times Times
	require.NoError(t, json.Unmarshal(text, &times))
	again, err := json.Marshal(&times)
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))

	b = newBench(t, &times, byKind)
	b.run(50, "branchy", 1<<20)
	require.Equal(t, 50, b.ran["branchy smp"], "nothing has to be tried")

	require.ErrorContains(t, json.Unmarshal([]byte(`{"a":1}`), &times), "sched: learned times")
	require.ErrorContains(t, json.Unmarshal([]byte(`[{"version":"k","kind":"smp","log2_bytes":3,"ns":[-4]}]`), &times), "-4 ns")
}
