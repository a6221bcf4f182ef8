package tune

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A machine has candidates that take so long, give or take noise.
type machine struct {
	takes []time.Duration
	noise float64
	rand  *rand.Rand
}

func (m *machine) time(i int) time.Duration {
	return time.Duration(float64(m.takes[i]) * (1 + m.noise*m.rand.Float64()))
}

// run makes n launches, each finished before the next, and returns what they took.
func (m *machine) run(r *Race, n int) (took time.Duration) {
	names := []string{"two", "three", "four"}
	for range n {
		i, timed := r.Next()
		d := m.time(i)
		took += d
		if timed {
			r.Took(d)
		}
		if r.Wants() {
			r.Start(names[:len(m.takes)-1], false)
		}
	}
	return took
}

func newMachine(noise float64, takes ...time.Duration) *machine {
	return &machine{takes: takes, noise: noise, rand: rand.New(rand.NewPCG(1, 2))}
}

const ms = time.Millisecond

func TestRace_FasterCandidateWins(t *testing.T) {
	for _, mode := range []Mode{Auto, Full} {
		r := NewRace(mode, "one")
		newMachine(0.02, 2*ms, 3*ms, 1*ms).run(r, 200)
		won, why := r.Winner()
		require.Equal(t, 2, won, mode)
		require.Equal(t, "it is the fastest", why)
		record, ok := r.Record()
		require.True(t, ok)
		require.Equal(t, "three", record.Winner)
		require.InDelta(t, 2, record.Gain(), 0.1)
		require.True(t, record.Results[1].Out, "one sample of what is slower by half is enough")
		require.Equal(t, 1, record.Results[1].Samples)
	}
}

// A candidate has to be faster by more than the margin, and by more than the noise.
func TestRace_NoiseDoesNotChoose(t *testing.T) {
	for _, c := range []struct {
		noise float64
		other time.Duration
	}{{0.01, 98 * ms / 100}, {0.5, 93 * ms / 100}, {0.02, ms}} {
		for seed := range uint64(50) {
			r := NewRace(Full, "one")
			m := newMachine(c.noise, ms, c.other)
			m.rand = rand.New(rand.NewPCG(seed, 9))
			m.run(r, 200)
			require.Equal(t, Decided, r.State())
			if won, _ := r.Winner(); won != 0 {
				record, _ := r.Record()
				require.Greater(t, record.Gain(), 1/(1-margin), "seed %d", seed)
				require.NotEqual(t, 0.01, c.noise, "seed %d", seed)
			}
		}
	}
}

// Until it is decided a race takes at most a twentieth more than the first candidate alone, whatever
// the others take, up to what one trial can take beyond twice the first.
func TestRace_StaysInItsBudget(t *testing.T) {
	for seed := range uint64(200) {
		m := newMachine(0.05, ms, ms, ms, ms)
		m.rand = rand.New(rand.NewPCG(seed, 4))
		for i := 1; i < 4; i++ {
			m.takes[i] = time.Duration((0.5 + 1.5*m.rand.Float64()) * float64(ms))
		}
		r := NewRace(Auto, "one")
		for n := 1; n <= 1000; n++ {
			var took time.Duration
			i, timed := r.Next()
			if took = m.time(i); timed {
				r.Took(took)
			}
			if r.Wants() {
				r.Start([]string{"two", "three", "four"}, false)
			}
			require.LessOrEqual(t, float64(r.spent), 1.1*budget*float64(n)*float64(ms)*1.05, "seed %d, launch %d", seed, n)
		}
		require.Equal(t, Decided, r.State(), "seed %d", seed)
		won, _ := r.Winner()
		require.LessOrEqual(t, m.takes[won], ms, "never slower than the first")
	}
}

// No candidate is wanted of a kernel whose launches are too short, nor before they have taken
// long enough to pay for a trial.
func TestRace_BeginsWhereItPays(t *testing.T) {
	r := NewRace(Auto, "one")
	m := newMachine(0, 5*time.Microsecond)
	m.run(r, 10)
	require.Equal(t, Decided, r.State())
	_, why := r.Winner()
	require.Equal(t, "a launch is too short to be timed", why)
	_, ok := r.Record()
	require.False(t, ok)

	r = NewRace(Auto, "one")
	for n := 1; n < int(1/budget); n++ {
		if _, timed := r.Next(); timed {
			r.Took(ms)
		}
		require.False(t, r.Wants(), "after %d launches", n)
	}
	r.Next()
	require.True(t, r.Wants())
}

func TestRace_Off(t *testing.T) {
	r := NewRace(Off, "one")
	for range 100 {
		i, timed := r.Next()
		require.Zero(t, i)
		require.False(t, timed)
	}
	require.False(t, r.Wants())
}

// One launch is timed at once, however many are enqueued before it has finished.
func TestRace_OneSampleAtOnce(t *testing.T) {
	r := NewRace(Full, "one")
	_, timed := r.Next()
	require.True(t, timed)
	for range 10 {
		i, timed := r.Next()
		require.Zero(t, i)
		require.False(t, timed)
	}
	r.Lost()
	_, timed = r.Next()
	require.True(t, timed)
}

func TestRace_EndsWhereNothingIsAlone(t *testing.T) {
	r := NewRace(Auto, "one")
	for range mostLost {
		if _, timed := r.Next(); timed {
			r.Lost()
		}
	}
	require.Equal(t, Decided, r.State())
	won, why := r.Winner()
	require.Zero(t, won)
	require.Equal(t, "it never has the device to itself", why)
}

// What was stored is taken at once, and forgotten where its time is not this machine's.
func TestRace_Stored(t *testing.T) {
	stored := Record{Winner: "two", Median: ms}
	r := NewRace(Auto, "one")
	require.True(t, r.Take(stored, []string{"two", "three"}))
	for range firstSamples {
		i, timed := r.Next()
		require.Equal(t, 1, i)
		require.True(t, timed)
		r.Took(11 * ms / 10)
	}
	require.Equal(t, Decided, r.State())
	i, timed := r.Next()
	require.Equal(t, 1, i)
	require.False(t, timed)
	_, ok := r.Record()
	require.False(t, ok, "it is on disk already")

	for _, took := range []time.Duration{2 * ms, ms / 2} {
		r = NewRace(Auto, "one")
		require.True(t, r.Take(stored, []string{"two", "three"}))
		for range firstSamples {
			r.Next()
			r.Took(took)
		}
		require.Equal(t, Waiting, r.State())
		i, _ = r.Next()
		require.Zero(t, i)
	}

	r = NewRace(Auto, "one")
	require.False(t, r.Take(stored, []string{"three"}), "another version's")
	require.Equal(t, Waiting, r.State())
	require.True(t, r.Take(stored, []string{"two", "three"}))
	r.Drop(1) // its code cannot be made any more
	require.Equal(t, Waiting, r.State())
}

// A race that waits for candidates goes on meanwhile, and is decided when they have run too.
func TestRace_CandidatesJoin(t *testing.T) {
	r := NewRace(Full, "one")
	m := newMachine(0, 2*ms, 2*ms, ms)
	for range firstSamples {
		r.Next()
		r.Took(2 * ms)
	}
	r.Start([]string{"two"}, true)
	timings := 0
	for range 100 {
		if i, timed := r.Next(); timed {
			timings++
			r.Took(m.time(i))
		}
	}
	require.Equal(t, Running, r.State())
	require.Equal(t, 2*decisiveFull-firstSamples, timings, "no more than say how fast they are")
	r.Join([]string{"three"})
	m.run(r, 100)
	won, _ := r.Winner()
	require.Equal(t, 2, won)
}

// A candidate that cannot run is out; the others go on.
func TestRace_Drop(t *testing.T) {
	r := NewRace(Full, "one")
	m := newMachine(0, 2*ms, ms, ms)
	m.run(r, firstSamples)
	require.Equal(t, Running, r.State())
	for range 100 {
		i, timed := r.Next()
		if i == 1 && r.State() == Running {
			r.Drop(i)
			continue
		}
		if timed {
			r.Took(m.time(i))
		}
	}
	won, _ := r.Winner()
	require.Equal(t, 2, won)
}

func TestRecord_RefusesWhatItDoesNotMake(t *testing.T) {
	good := Record{Key: Key{"k", "c", "d", "n"}, Name: "K", Winner: "b", Median: 5,
		Results: []Result{{Name: "a", Median: 9, Samples: 5}, {Name: "b", Median: 5, Samples: 5}}}
	text, err := good.Encode()
	require.NoError(t, err)
	back, err := Decode(text)
	require.NoError(t, err)
	require.Equal(t, good, back)
	for i := range text { // no prefix of it
		_, err := Decode(text[:i])
		require.Error(t, err, i)
	}
	for _, change := range []func(r *Record){
		func(r *Record) { r.Winner = "c" }, func(r *Record) { r.Median = 0 }, func(r *Record) { r.Median = 6 },
		func(r *Record) { r.Results = nil }, func(r *Record) { r.Results = []Result{{Name: "b", Median: 5, Out: true}} },
	} {
		bad := good
		change(&bad)
		text, err := bad.Encode()
		require.NoError(t, err)
		_, err = Decode(text)
		require.Error(t, err)
	}
	require.NotEqual(t, Key{"a b", "c", "", ""}.String(), Key{"a", "b c", "", ""}.String())
}

func TestClass_OfLikeSizes(t *testing.T) {
	of := func(list ...int64) (c Class) {
		for _, n := range list {
			c = c.Add(n)
		}
		return c
	}
	require.Equal(t, of(1<<20, 5), of(1<<20+64, 5))
	require.NotEqual(t, of(1<<20), of(1<<20+1), "a multiple of 32 and not")
	require.NotEqual(t, of(1<<20), of(1<<21))
	require.NotEqual(t, of(1<<20), of(1<<20+1<<18))
	require.NotEqual(t, of(7), of(8))
	require.NotEqual(t, of(7, 8), of(8, 7))
	require.NotEqual(t, of(0), of())
	seen := map[Class]bool{}
	for n := int64(1); n < 1<<40; n += n/3 + 1 {
		seen[of(n)] = true
	}
	require.Greater(t, len(seen), 60)
	require.Less(t, len(seen), 260)
}

func TestMode_Words(t *testing.T) {
	for _, m := range []Mode{Auto, Off, Full} {
		got, err := ParseMode(m.String())
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	_, err := ParseMode("on")
	require.ErrorContains(t, err, "want auto, off or full")
}
