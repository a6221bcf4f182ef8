package dist_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
)

var simRanks = flag.Int("simranks", 64, "the most ranks of the simulated weak scaling")

func simulated(t *testing.T, m dist.Model, submit func(rt *task.Runtime) error) dist.Simulation {
	t.Helper()
	w, err := dist.Simulated(m)
	require.NoError(t, err)
	rt, err := task.New(task.Options{World: w, Devices: "smp:1"})
	require.NoError(t, err)
	defer rt.Close()
	require.NoError(t, submit(rt))
	s, err := w.Simulate()
	require.NoError(t, err)
	again, err := w.Simulate()
	require.NoError(t, err)
	require.Equal(t, s, again)
	return s
}

// A chain that goes to and fro takes the sum of its tasks and messages, to the nanosecond.
func TestSimulated_Chain(t *testing.T) {
	m := dist.Model{Ranks: 2, Workers: 3, Latency: time.Microsecond, Overhead: 200, Gap: 300, Bandwidth: 1e9,
		Duration: func(string, deps.Bytes) time.Duration { return 10 * time.Microsecond }}
	s := simulated(t, m, func(rt *task.Runtime) error {
		x, err := vector(rt, 2000, dist.Block(1))
		if err != nil {
			return err
		}
		for i := range 10 {
			from, to := x[i%2*1000:i%2*1000+1000], x[(1-i%2)*1000:(1-i%2)*1000+1000]
			if _, err := rt.Go(func() error { return nil }, task.In(from), task.InOut(to)); err != nil {
				return err
			}
		}
		return nil
	})
	require.Equal(t, 10, s.Tasks)
	require.Equal(t, 10, s.Messages)
	require.Equal(t, deps.Bytes(80000), s.Bytes)
	message := 200 + time.Microsecond + 8*time.Microsecond + 200
	require.Equal(t, 10*(10*time.Microsecond+message), s.Elapsed)
}

// Partial results of a sum come together along a tree: each message waits for the task, or the
// messages, that its sender has.
func TestSimulated_Reduction(t *testing.T) {
	m := dist.Model{Ranks: 8, Workers: 1, Latency: time.Millisecond, Bandwidth: 1e9,
		Duration: func(string, deps.Bytes) time.Duration { return 10 * time.Millisecond }}
	s := simulated(t, m, func(rt *task.Runtime) error {
		sum, err := vector(rt, 1, dist.On(0))
		for rank := range 8 {
			if err == nil {
				_, err = rt.GoScope(func(*task.Scope) error { return nil }, task.Reduce(sum, task.Sum[int64]()), task.OnRank(rank))
			}
		}
		if err == nil {
			_, err = rt.Go(func() error { return nil }, task.InOut(sum))
		}
		return err
	})
	require.Equal(t, 9, s.Tasks)
	require.Equal(t, 7, s.Messages)
	require.InDelta(t, 23*time.Millisecond, s.Elapsed, float64(time.Millisecond)) // two tasks, a tree of three levels
}

// Tasks without a message run on all workers of their ranks; submission is paid for.
func TestSimulated_Workers(t *testing.T) {
	m := dist.Model{Ranks: 4, Workers: 2, Bandwidth: 1e9, Submit: time.Microsecond, Skip: 10,
		Duration: func(string, deps.Bytes) time.Duration { return time.Millisecond }}
	s := simulated(t, m, func(rt *task.Runtime) error {
		x, err := vector(rt, 32, dist.Block(1))
		for i := range x {
			if err == nil {
				_, err = rt.Go(func() error { return nil }, task.InOut(x[i:i+1]))
			}
		}
		return err
	})
	require.Zero(t, s.Messages)
	require.Equal(t, 32*time.Millisecond, s.Busy)
	require.GreaterOrEqual(t, s.Elapsed, 4*time.Millisecond)
	require.Less(t, s.Elapsed, 4*time.Millisecond+20*time.Microsecond)
}

// The weak scaling of a Cholesky factorisation, printed with the parameters of its model:
// -simranks 1024 goes as far as that.
func TestSimulated_WeakScaling(t *testing.T) {
	last := 0.0
	for ranks := 4; ranks <= *simRanks; ranks *= 4 {
		m := dist.Model{Ranks: ranks, Workers: 16, Latency: 2 * time.Microsecond, Overhead: 500, Gap: 500, Bandwidth: 25e9, Submit: 2 * time.Microsecond, Skip: 150,
			Duration: func(name string, _ deps.Bytes) time.Duration {
				return map[string]time.Duration{"Gemm": 6700 * time.Microsecond, "Trsm": 3400 * time.Microsecond, "Potrf": 2200 * time.Microsecond}[name]
			}}
		tiles := 1
		for tiles*tiles*tiles/6 < 500*ranks {
			tiles++
		}
		began := time.Now()
		s := simulated(t, m, func(rt *task.Runtime) error { return submitCholesky(rt, tiles, 1<<18) })
		t.Logf("%v: %d tiles of 2 MiB, %d tasks, %d messages, %v; %v in virtual time, efficiency %.3f (%v here)", &m, tiles*tiles, s.Tasks, s.Messages, s.Bytes, s.Elapsed.Round(time.Millisecond), s.Efficiency, time.Since(began).Round(time.Millisecond))
		require.Greater(t, s.Efficiency, 0.0)
		require.Less(t, s.Efficiency, 1.0)
		last = s.Efficiency
	}
	require.Positive(t, last)
}

// submitCholesky submits a factorisation of tiles by tiles blocks of size elements.
func submitCholesky(rt *task.Runtime, tiles, size int) error {
	a, err := task.Alloc[float64](rt, tiles*tiles*size)
	if err != nil {
		return err
	}
	err = dist.Distribute(rt, a, dist.By(size, func(k, ranks int) int {
		p, q := dist.Grid(ranks)
		return k/tiles%p*q + k%tiles%q
	}))
	tile := func(i, j int) []float64 { return a[(i*tiles+j)*size : (i*tiles+j+1)*size] }
	submit := func(name string, options ...task.Option) {
		if err == nil {
			_, err = rt.Go(func() error { return nil }, append(options, task.Label(name))...)
		}
	}
	for k := range tiles {
		submit("Potrf", task.InOut(tile(k, k)))
		for i := k + 1; i < tiles; i++ {
			submit("Trsm", task.In(tile(k, k)), task.InOut(tile(i, k)))
		}
		for i := k + 1; i < tiles; i++ {
			for j := k + 1; j < i; j++ {
				submit("Gemm", task.In(tile(i, k)), task.In(tile(j, k)), task.InOut(tile(i, j)))
			}
			submit("Gemm", task.In(tile(i, k)), task.InOut(tile(i, i)))
		}
	}
	return err
}
