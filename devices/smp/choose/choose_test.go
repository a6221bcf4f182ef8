package choose

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A machine takes so many nanoseconds for a launch of a size with each variant, and now and then much longer.
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

// Whatever runs beside it, the variant that is faster by more than the margin runs from some launch on, for each size on its own.
func TestTable_KeepsTheFasterVariant(t *testing.T) {
	for seed := range uint64(200) {
		m := machine{fixed: [2]float64{400, 20}, each: [2]float64{0.5, 2}, random: rand.New(rand.NewPCG(seed, 1))}
		var table Table
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
	var table Table
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

// A launch that vector code runs sixteen times as fast is not held up by trials: they cost a small part of all time.
func TestTable_TriesWhatItCanAfford(t *testing.T) {
	for seed := range uint64(50) {
		m := machine{each: [2]float64{10, 160}, random: rand.New(rand.NewPCG(seed, 2))}
		var table Table
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
	var table Table
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

// A trial that fails, or that is still running, decides nothing, and the next one comes.
func TestTable_FailedTrials(t *testing.T) {
	var table Table
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
	require.Equal(t, "1 iteration on 0 bytes", SizeOf(1, 0).String())
	require.NotEqual(t, SizeOf(0, 1<<62), SizeOf(1, 0))
}

// Any number of workers may use one table; a choice that is made costs no lock.
func TestTable_ManyWorkers(t *testing.T) {
	var table Table
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
	var table Table
	m := machine{fixed: [2]float64{400, 20}, random: rand.New(rand.NewPCG(1, 5))}
	for range 40 {
		m.launch(&table, 8)
	}
	for b.Loop() {
		table.Next(SizeOf(8, 64), 8)
	}
}
