package dist_test

import (
	"context"
	"flag"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/lib"
	"github.com/gompss/gompss/task"
)

var fakeTasks = flag.Int("faketasks", 200_000, "tasks that a fake rank of 4096 submits")

// fakeRank returns the runtime of rank 17 of 4096, and the tiles of a matrix with owners.
func fakeRank(t testing.TB, tiles, size int) (*task.Runtime, *dist.World, func(i, j int) []float64) {
	w, err := dist.FakeRank(17, 4096)
	require.NoError(t, err)
	rt, err := task.New(task.Options{World: w, Devices: "smp:1"})
	require.NoError(t, err)
	a, err := task.Alloc[float64](rt, tiles*tiles*size)
	require.NoError(t, err)
	p, q := dist.Grid(4096)
	require.NoError(t, dist.Distribute(rt, a, dist.By(size, func(k, _ int) int { return k/tiles%p*q + k%tiles%q })))
	return rt, w, func(i, j int) []float64 { return a[(i*tiles+j)*size : (i*tiles+j+1)*size] }
}

// The rank of a large machine submits a Cholesky factorisation in 1 GiB, and with GOMPSS_SOAK
// within a second a million tasks.
func TestFakeRank_SubmitsAMillionTasksASecond(t *testing.T) {
	tiles := 1
	for tiles*tiles*tiles/6 < *fakeTasks {
		tiles++
	}
	rt, w, tile := fakeRank(t, tiles, 1<<12)
	defer rt.Close()
	body := func() error { return nil }
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	for k := range tiles {
		rt.Go(body, task.InOut(tile(k, k)))
		for i := k + 1; i < tiles; i++ {
			rt.Go(body, task.In(tile(k, k)), task.InOut(tile(i, k)))
		}
		for i := k + 1; i < tiles; i++ {
			for j := k + 1; j < i; j++ {
				if _, err := rt.Go(body, task.In(tile(i, k)), task.In(tile(j, k)), task.InOut(tile(i, j))); err != nil {
					t.Fatal(err)
				}
			}
			rt.Go(body, task.In(tile(i, k)), task.InOut(tile(i, i)))
		}
	}
	took := time.Since(began)
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	require.NoError(t, rt.Wait(context.Background()))
	n := w.Stats().Tasks
	million := took * 1_000_000 / time.Duration(n)
	t.Logf("%d tasks of %d tiles on a rank of 4096: %v, %v a million; %d MiB from the system; %d messages of this rank", n, tiles*tiles, took.Round(time.Millisecond), million.Round(time.Millisecond), after.Sys>>20, w.Stats().Messages)
	require.Less(t, after.Sys, uint64(1<<30))
	if raceDetector {
		return
	}
	require.Less(t, after.Mallocs-before.Mallocs, uint64(4*tiles*tiles)) // of tiles, none of tasks
	if os.Getenv("GOMPSS_SOAK") != "" {
		require.Less(t, million, time.Second) // on a machine that does nothing else
	}
}

// A skipped task allocates nothing.
func TestFakeRank_SkippingAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	rt, _, tile := fakeRank(t, 8, 64)
	defer rt.Close()
	a, b, c := tile(1, 2), tile(2, 1), tile(3, 3)
	body := func() error { return nil }
	n := testing.AllocsPerRun(10000, func() {
		rt.Go(body, task.In(a), task.In(b), task.InOut(c))
	})
	require.Zero(t, n)
}

// Goroutines that the program orders submit in turn, and each counts the tasks of those before.
func TestFakeRank_GoroutinesSubmitInTurn(t *testing.T) {
	rt, w, tile := fakeRank(t, 8, 64)
	defer rt.Close()
	for turn := range 10 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 30 {
				rt.Go(func() error { return nil }, task.In(tile(1, 2)), task.InOut(tile(3, 3)))
			}
			require.Equal(t, uint64(30*(turn+1)), w.Stats().Tasks)
		}()
		<-done
	}
	require.LessOrEqual(t, w.Stats().Tasks, uint64(300))
	require.NoError(t, rt.Wait(context.Background()))
	require.Greater(t, w.Stats().Tasks, uint64(299)) // and what Wait adds
}

func BenchmarkSkip(b *testing.B) {
	rt, _, tile := fakeRank(b, 8, 64)
	defer rt.Close()
	x, y, z := tile(1, 2), tile(2, 1), tile(3, 3)
	body := func() error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		rt.Go(body, task.In(x), task.In(y), task.InOut(z))
	}
}

// BenchmarkSkipKernel skips kernels by their wrappers.
func BenchmarkSkipKernel(b *testing.B) {
	rt, _, tile := fakeRank(b, 8, 64)
	defer rt.Close()
	sum, err := task.Alloc[float64](rt, 1)
	require.NoError(b, err)
	require.NoError(b, dist.Distribute(rt, sum, dist.On(66)))
	words, err := task.Alloc[uint32](rt, 128)
	require.NoError(b, err)
	require.NoError(b, dist.Distribute(rt, words, dist.By(64, func(k, _ int) int { return 66 + k })))
	x := tile(1, 2)
	b.Run("generic", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			lib.SubmitSum(rt, x, &sum[0])
		}
	})
	b.Run("two slices", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			lib.SubmitHistogram(rt, words[:64], words[64:])
		}
	})
}
