package cpu_test

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu"
)

// Kernels whose single iterations take long: sums over millions of elements, in one loop of scalars and in one of lanes.
func longKernels(t *testing.T) map[string]func() error {
	t.Helper()
	o, err := cpu.Detect()
	if err != nil {
		t.Skip(err)
	}
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, arena.Close()) })
	p := loadKernels(t)
	const n = 4 << 20
	x, out := make([]float32, n), make([]float32, n)
	wide := make([]float64, n)
	make1 := func(name string, args ...any) func() error {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		r, err := cpu.NewKernelRunner(arena, k, o)
		require.NoError(t, err)
		return func() error { return r.Call(values(args), nil) }
	}
	return map[string]func() error{
		"loop of scalars": make1("Forces", 0, 16, float32(0.1), x, x, x, out, out, out),
		"loop of lanes":   make1("RowSums", 1, n, wide, wide[:1]),
	}
}

// TestLongLoopsDoNotDelayTheCollector stops the world again and again while one iteration of a kernel runs for a long time. On a machine with
// other work a wait is that of a goroutine in a plain Go loop at least, so the worst of these is the measure there.
func TestLongLoopsDoNotDelayTheCollector(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor: nothing can stop the world meanwhile")
	}
	busy := func() error {
		for began, x := time.Now(), 1.0; time.Since(began) < 100*time.Millisecond; {
			for range 1000 {
				x = math.Sqrt(x + 1)
			}
		}
		return nil
	}
	for name, run := range longKernels(t) {
		t.Run(name, func(t *testing.T) {
			var worst, plain time.Duration
			for range 5 { // other processes may take our processor in any one of these
				plain = max(plain, longestStop(t, busy))
				worst = longestStop(t, run)
				if worst < 5*time.Millisecond {
					break
				}
			}
			t.Logf("%v, a plain loop: %v", worst, plain)
			require.Less(t, worst, max(5*time.Millisecond, 3*plain))
		})
	}
}

// longestStop is the longest time that stopping the world took while run ran, again and again for a tenth of a second.
func longestStop(t *testing.T, run func() error) time.Duration {
	t.Helper()
	done, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-done:
				failed <- nil
				return
			default:
				err = run()
			}
		}
		failed <- err
	}()
	var worst time.Duration
	var stats runtime.MemStats
	for began := time.Now(); time.Since(began) < 100*time.Millisecond; {
		before := time.Now()
		runtime.ReadMemStats(&stats)
		worst = max(worst, time.Since(before))
	}
	close(done)
	require.NoError(t, <-failed)
	return worst
}

// TestCallsDoNotAllocate runs a plain kernel, one with a sum over all iterations and one that asks Go on the way.
func TestCallsDoNotAllocate(t *testing.T) {
	p := loadKernels(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for _, name := range []string{"TriadStrict32", "Total", "Odd"} {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		r, err := cpu.NewKernelRunner(arena, k, cpu.Options{})
		require.NoError(t, err)
		x := make([]float32, 1000)
		args := values([]any{x, x, x, float32(2)}[:len(k.Params)])
		require.NoError(t, r.Call(args, nil))
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = r.Call(args, nil) }), name)
	}
}
