package choose

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// never has no launch measured again, always has every one.
func never() uint32  { return 1 }
func always() uint32 { return 0 }

// A machine takes so many nanoseconds for a launch of a size with each variant, and now and then
// much longer.
type machine struct {
	fixed, each [2]float64
	random      *rand.Rand
	spent       [2]time.Duration
	runs        [2]int
}

func (m *machine) took(v Variant, work int64) time.Duration {
	took := m.fixed[v] + m.each[v]*float64(work)
	took *= 1 + 0.05*m.random.Float64()
	if m.random.IntN(8) == 0 {
		took += 4e6 // another process had the processor
	}
	m.spent[v] += time.Duration(took)
	m.runs[v]++
	return time.Duration(took)
}

func (m *machine) launch(t *Table, work int64) Variant {
	s := SizeOf(work, 8*work)
	v, measure := t.Next(s, work)
	if took := m.took(v, work); measure {
		t.Measured(s, v, work, took)
	}
	return v
}

// Whatever runs beside it, the variant that is faster by more than the margin runs from some launch
// on, for each size on its own.
func TestTable_KeepsTheFasterVariant(t *testing.T) {
	for seed := range uint64(200) {
		m := machine{fixed: [2]float64{400, 20}, each: [2]float64{0.5, 2}, random: rand.New(rand.NewPCG(seed, 1))}
		table := Table{random: never}
		for range 60 {
			m.launch(&table, 8)
			m.launch(&table, 4096)
		}
		require.Equal(t, Go, m.launch(&table, 8), "seed %d: %v", seed, table.Choices())
		require.Equal(t, Vector, m.launch(&table, 4096), "seed %d: %v", seed, table.Choices())
		require.Len(t, table.Choices(), 2)
	}
}

// Variants that take about as long stay with vector code: within the margin a change gains nothing.
func TestTable_StaysWithVectorCodeWithinTheMargin(t *testing.T) {
	m := machine{each: [2]float64{1.04, 1}, random: rand.New(rand.NewPCG(1, 1))}
	table := Table{random: never}
	s := SizeOf(1000, 8000)
	for range 2 * samples {
		v, measure := table.Next(s, 1000)
		require.True(t, measure)
		table.Measured(s, v, 1000, time.Duration(1000*m.each[v]))
	}
	v, measure := table.Next(s, 1000)
	require.Equal(t, Vector, v)
	require.False(t, measure)
}

// A launch that vector code runs sixteen times as fast is not held up by trials: they cost a small
// part of all time.
func TestTable_TriesWhatItCanAfford(t *testing.T) {
	for seed := range uint64(50) {
		m := machine{each: [2]float64{10, 160}, random: rand.New(rand.NewPCG(seed, 2))}
		table := Table{random: never}
		for range 1000 {
			m.launch(&table, 1e6) // 10 ms as vector code
		}
		require.Less(t, m.spent[Go], m.spent[Vector]/15, "seed %d: %d trials", seed, m.runs[Go])
		require.Equal(t, Vector, m.launch(&table, 1e6))
	}
}

// Where smaller launches have shown that vector code loses, long ones try the Go function at once.
func TestTable_LearnsFromOtherSizes(t *testing.T) {
	m := machine{each: [2]float64{20, 2}, random: rand.New(rand.NewPCG(1, 3))}
	table := Table{random: never}
	for range 40 {
		m.launch(&table, 100)
	}
	require.Equal(t, Go, m.launch(&table, 100))
	before := m.runs[Vector]
	for range 10 {
		m.launch(&table, 1e6)
	}
	require.Equal(t, Go, m.launch(&table, 1e6))
	require.LessOrEqual(t, m.runs[Vector]-before, samples+1)
}

// recorded are times of launches like those measured on a machine with six times as many processes
// as processors: those of kernels of the corpus, in ns for a unit of work, vector code first. The
// variants in truth take what was measured alone.
var recorded = []struct {
	kernel          string
	work            int64
	vector, goTimes []float64 // of the first launches
	truth           [2]float64
	want            Variant
}{
	{"ArrayReduce/10ms", 12e6, []float64{0.674}, []float64{4.1}, [2]float64{0.674, 0.48}, Go},
	{"ArrayReduce/10ms, held up twice", 12e6, []float64{0.674, 0.68}, []float64{4.1, 1.9}, [2]float64{0.674, 0.48}, Go},
	{"PracticeNeighbours/tiny", 139, []float64{21.3, 24, 22, 22}, []float64{5.56, 5.9, 61, 6}, [2]float64{21.3, 5.56}, Go},
	{"PracticeNeighbours/1ms", 61445, []float64{9.28, 30, 9.9, 9.5}, []float64{10.5, 12, 10.6, 11}, [2]float64{9.28, 10.5}, Vector},
	{"PracticeNeighbours/10ms", 207380, []float64{18.9, 40, 19, 22}, []float64{36.2, 33, 90, 40}, [2]float64{18.9, 28}, Vector},
	{"AddArrays/50us", 92168, []float64{0.26, 0.9, 0.3, 0.31}, []float64{0.58, 0.6, 0.6, 0.9}, [2]float64{0.26, 0.58}, Vector},
	{"AddArrays/50us, vector code held up", 92168, []float64{2.6, 1.9, 1.3, 3.1}, []float64{0.58, 0.6, 0.6, 0.9}, [2]float64{0.26, 0.58}, Vector},
}

// What runs in the end is at most 1.05 times as slow as the Go function, whatever the first
// launches were held up by, and finding out has cost little: the test of the runtime with real
// launches is codegen's TestFaster_TasksAgainstGoFunctions.
func TestTable_RecordedLaunches(t *testing.T) {
	for _, r := range recorded {
		random := rand.New(rand.NewPCG(1, 6))
		table := Table{random: random.Uint32}
		size := SizeOf(r.work, 8*r.work)
		count, spent, least := [2]int{}, 0.0, 0.0
		launch := func() Variant {
			v, measure := table.Next(size, r.work)
			each := r.truth[v]
			if first := [2][]float64{r.vector, r.goTimes}[v]; count[v] < len(first) {
				each = first[count[v]]
			}
			count[v]++
			if measure {
				table.Measured(size, v, r.work, time.Duration(each*float64(r.work)))
			}
			spent, least = spent+each, least+min(r.truth[Vector], r.truth[Go])
			return v
		}
		const launches = 40000
		for range launches {
			launch()
		}
		chosen, ok := table.Chosen(size)
		require.True(t, ok, r.kernel)
		require.Equal(t, r.want, chosen, "%s: %v", r.kernel, table.Choices())
		require.LessOrEqual(t, r.truth[chosen], Margin*r.truth[Go], r.kernel)
		require.Less(t, spent, 1.06*least, "%s: trials, and what ran before the choice was right, of %v launches", r.kernel, count)
	}
}

// A variant that lost since it was held up runs again now and then, which costs no more than a
// hundredth of the time, and wins.
func TestTable_LooksAgain(t *testing.T) {
	table := Table{random: always}
	s := SizeOf(1000, 8000)
	for range samples {
		v, _ := table.Next(s, 1000)
		table.Measured(s, v, 1000, 1000)
		v, _ = table.Next(s, 1000)
		table.Measured(s, v, 1000, 9000)
	}
	v, ok := table.Chosen(s)
	require.True(t, ok)
	require.Equal(t, Vector, v)
	runs := 0
	for range 100 {
		v, measure := table.Next(s, 1000)
		require.True(t, measure)
		if v == Go {
			runs++
			other, _ := table.Next(s, 1000)
			require.Equal(t, Vector, other, "one at a time")
			if runs == 1 {
				_, changed := table.Measured(s, Go, 1000, 0) // it has failed
				require.False(t, changed)
				continue
			}
			made, changed := table.Measured(s, Go, 1000, 500)
			require.True(t, changed)
			require.Equal(t, Choice{s, Go, Vector, [2]float64{1, 0.5}}, made)
			break
		}
		table.Measured(s, v, 1000, 1000)
	}
	require.Equal(t, 2, runs)
	v, _ = table.Chosen(s)
	require.Equal(t, Go, v)
	require.Len(t, table.Choices(), 1)
}

// A trial that fails, or that is still running, decides nothing, and the next one comes.
func TestTable_FailedTrials(t *testing.T) {
	table := Table{random: never}
	s := SizeOf(10, 80)
	v, _ := table.Next(s, 10)
	require.Equal(t, Vector, v)
	table.Measured(s, v, 10, time.Microsecond)
	for range 3 {
		v, _ = table.Next(s, 10)
		require.Equal(t, Go, v)
		other, _ := table.Next(s, 10)
		require.Equal(t, Vector, other, "one trial at a time")
		table.Measured(s, v, 10, 0)
	}
	require.Empty(t, table.Choices())
}

func TestSize_Text(t *testing.T) {
	require.Equal(t, "64 to 127 iterations on 512 to 1023 bytes", SizeOf(100, 800).String())
	require.Equal(t, "512 to 1023 bytes", SizeOf(0, 800).String())
	require.Equal(t, "1 to 2 KiB", SizeOf(0, 1024).String())
	require.Equal(t, "512 to 1024 KiB", SizeOf(0, 1<<20-1).String())
	require.Equal(t, "2 to 4 MiB", SizeOf(0, 5<<19).String())
	require.Equal(t, "1 iteration on 0 bytes", SizeOf(1, 0).String())
	require.NotEqual(t, SizeOf(0, 1<<62), SizeOf(1, 0))
}

// Any number of workers may use one table; a choice that is made costs no lock.
func TestTable_ManyWorkers(t *testing.T) {
	table := Table{random: never}
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			m := machine{fixed: [2]float64{400, 20}, each: [2]float64{0.5, 2}, random: rand.New(rand.NewPCG(uint64(w), 4))}
			for i := range 2000 {
				m.launch(&table, int64(8)<<(i%5*3))
			}
		})
	}
	all.Wait()
	require.Len(t, table.Choices(), 5)
	require.Zero(t, testing.AllocsPerRun(100, func() { table.Next(SizeOf(8, 64), 8) }))
}

func BenchmarkNext(b *testing.B) {
	table := Table{random: never}
	m := machine{fixed: [2]float64{400, 20}, random: rand.New(rand.NewPCG(1, 5))}
	for range 40 {
		m.launch(&table, 8)
	}
	for b.Loop() {
		table.Next(SizeOf(8, 64), 8)
	}
}
