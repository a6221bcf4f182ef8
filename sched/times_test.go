package sched

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/stretchr/testify/require"
)

// TestWhatRunsBesideOthersIsExpectedByItsMean: kernels that run four at once on each of four
// accelerators are given as one long time and three short ones, those of all accelerators mixed;
// what is expected is what each keeps its accelerator busy for, from the first round on.
func TestWhatRunsBesideOthersIsExpectedByItsMean(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var h history
	h.forget()
	for round := range 200 {
		type one struct {
			took   time.Duration
			beside bool
		}
		var told []one
		for range 4 {
			told = append(told, one{30 * time.Millisecond, false})
		}
		for range 4 {
			told = append(told, one{10 * time.Millisecond, true}, one{3 * time.Millisecond, true}, one{time.Millisecond, true})
		}
		r.Shuffle(12, func(i, j int) { told[4+i], told[4+j] = told[4+j], told[4+i] })
		for _, o := range told {
			h.add(o.took, weightOne, o.beside)
		}
		require.InDelta(t, 11, h.expected().run.Seconds()*1e3, 5, "round %d: 44 ms for four", round)
	}
	require.EqualValues(t, 200*16, h.samples.Load())
}

// TestTimesOnTheHostHaveNoMoving: a time on the host begins when all data are there, so what was
// moved for it does not make its shortest time what is expected. Potrf was expected on workers in
// the 3.8 ms of its first run, and took 4.2 to 12.4.
func TestTimesOnTheHostHaveNoMoving(t *testing.T) {
	s, err := New(Options{Places: []Place{{Name: "smp", Kind: "smp", Width: 4, Host: true}, {Name: "cuda:0", Kind: "cuda", Width: 4}}})
	require.NoError(t, err)
	it := &Item{Version: "Potrf", Work: 2 << 20}
	for _, took := range []time.Duration{3800, 6400, 5300, 5900, 4400, 5200} {
		it.Missing = append(it.Missing[:0], 4<<20, 0)
		require.NoError(t, s.Prepare(it, 1, nil))
		require.True(t, s.Push(it))
		require.Same(t, it, s.Pop(0))
		it.Took = took * time.Microsecond
		s.Done(it)
	}
	run, known := s.Times.Expect(it, "smp")
	require.True(t, known)
	require.Equal(t, 31*time.Millisecond/6, run, "the mean of all")
}

// TestTimesWithMovingCountUntilOneWithoutIsKnown: where the host tells when a kernel finished, its
// first time has the locking of memory in it, and the first of each block a copy; a block of STREAM
// went to another GPU for that.
func TestTimesWithMovingCountUntilOneWithoutIsKnown(t *testing.T) {
	var times Times
	moved := Item{Version: "Triad", Work: 768 << 20, marks: marks(moves)}
	for _, took := range []time.Duration{2700 * time.Millisecond, 950 * time.Millisecond, 12 * time.Millisecond, 40 * time.Millisecond} {
		times.Learn(&moved, "cuda", took)
	}
	e := times.expected(&moved, "cuda")
	require.True(t, e.known)
	require.False(t, e.alone)
	require.Equal(t, 12*time.Millisecond, e.run, "no more than the least of them")
	s := &State{Times: &times, Places: []Place{{Kind: "cuda", Width: 4}, {Kind: "cuda", Width: 4}}}
	require.False(t, s.WorthMoving(&moved, 0, 1, 20, 512<<20), "by bytes, as long as its time is not known alone")
	require.True(t, s.WorthMoving(&moved, 0, 1, 22, 512<<20))

	alone := moved
	alone.marks.set(moves, false)
	times.Learn(&alone, "cuda", 180*time.Microsecond)
	require.Equal(t, 180*time.Microsecond, times.expected(&alone, "cuda").run, "what was known before is forgotten")
	for range aloneTimes {
		times.Learn(&alone, "cuda", 190*time.Microsecond)
	}
	times.Learn(&moved, "cuda", 2*time.Second)
	e = times.expected(&alone, "cuda")
	require.True(t, e.known && e.alone)
	require.InDelta(t, 185e3, e.run, 10e3, "and what has moving in it tells nothing any more")
}

// TestWhatIsInFlightSinceBeforeItsTimeWasKnownDrawsNobodyAway: an accelerator that waited for
// memory to be locked keeps what has its home there.
func TestWhatIsInFlightSinceBeforeItsTimeWasKnownDrawsNobodyAway(t *testing.T) {
	places := []Place{{Name: "cuda:0", Kind: "cuda", Width: 4}, {Name: "cuda:1", Kind: "cuda", Width: 4}}
	s, err := New(Options{Policy: "locality", Places: places})
	require.NoError(t, err)
	item := func(missing deps.Bytes) *Item {
		it := &Item{Version: "Triad", Work: 768 << 20, Missing: []deps.Bytes{missing, 512 << 20}, Home: 1, Changes: true}
		require.NoError(t, s.Prepare(it, 3, nil))
		return it
	}
	run := func(missing deps.Bytes, took time.Duration) {
		it := item(missing)
		s.Grant(it, 0)
		it.Took = took
		s.Done(it)
	}
	for range fewTimes {
		run(512<<20, 500*time.Millisecond)
	}
	for range 4 {
		s.Grant(item(512<<20), 0)
	}
	for range aloneTimes {
		run(0, 180*time.Microsecond)
	}
	it := item(0)
	require.True(t, s.Push(it))
	require.Nil(t, s.Pop(1), "it would move 512 MiB for what takes a millisecond")
	require.Same(t, it, s.Pop(0))
}
