package task_test

import (
	"context"
	"math"
	"sync"
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
)

// atOnce is an observer that counts the bodies between Start and End, by kind, and the most there were.
type atOnce struct {
	mu        sync.Mutex
	now, most map[string]int
}

func (a *atOnce) Observe(p probe.Point) {
	if p.Kind != probe.Start && p.Kind != probe.End {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now == nil {
		a.now, a.most = map[string]int{}, map[string]int{}
	}
	kind := p.Device[:3]
	if p.Kind == probe.Start {
		a.now[kind]++
		a.most[kind] = max(a.most[kind], a.now[kind])
	} else {
		a.now[kind]--
	}
}

// With resources(acc: 1, smp: 40) no more than two tasks run on the CPU at a time, and the others go to the
// accelerators.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, section 4.1.
func TestTokensShareATaskBetweenKinds(t *testing.T) {
	count := kernelOf(t, Count)
	for _, policy := range []string{"fifo", "locality", "random"} {
		seen := &atOnce{}
		rt := open(t, task.Options{Devices: "smp:4,sim:2(exec=cpu)", Policy: policy, Observer: seen})
		cells, err := task.Alloc[uint32](rt, 64)
		require.NoError(t, err)
		for range 4 {
			for i := range cells {
				_, err := count.Submit(rt, 20000, cells[i:i+1])
				require.NoError(t, err)
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
		s := rt.Stats()
		require.LessOrEqual(t, seen.most["smp"], 2, policy)
		require.LessOrEqual(t, s.MostAtOnce["smp"], 2, policy)
		if policy == "locality" { // the others may give all to the accelerators, which are asked first
			require.Positive(t, s.ByDevice["smp"], policy)
		}
		require.Positive(t, s.ByDevice["sim:0"]+s.ByDevice["sim:1"], policy)
		require.EqualValues(t, 256, s.ByDevice["smp"]+s.ByDevice["sim:0"]+s.ByDevice["sim:1"])
		want := []uint32{0}
		Count(80000, want)
		for i := range cells {
			require.Equal(t, want[0], cells[i])
		}
	}
}

// STREAM's four operations, tiled over four accelerators: each tile goes to one of them once and stays; nothing moves
// between the host and the accelerators after that until the end.
func TestStreamMovesNothingAfterFirstTouch(t *testing.T) {
	cp, scale, add, triad := kernelOf(t, Copy), kernelOf(t, Scale), kernelOf(t, Add), kernelOf(t, Triad)
	rt := open(t, task.Options{Devices: "sim:4(exec=cpu)"})
	const n, tile = 64 << 10, 4 << 10
	var x [3][]float64
	for i := range x {
		var err error
		x[i], err = task.Alloc[float64](rt, n)
		require.NoError(t, err)
	}
	a, b, c := x[0], x[1], x[2]
	for i := range a {
		a[i] = float64(i)
	}
	repeat := func() {
		for lo := 0; lo < n; lo += tile {
			a, b, c := a[lo:lo+tile], b[lo:lo+tile], c[lo:lo+tile]
			var err [4]error
			_, err[0] = cp.Submit(rt, c, a)
			_, err[1] = scale.Submit(rt, b, c, 3.0)
			_, err[2] = add.Submit(rt, c, a, b)
			_, err[3] = triad.Submit(rt, a, b, c, 0.25)
			require.Equal(t, [4]error{}, err)
		}
	}
	repeat()
	settle(t, rt)
	first := rt.Stats()
	require.EqualValues(t, n*8, first.HostToDevice, "a, once; b and c are written only")
	require.Zero(t, first.DeviceToHost)
	for range 9 {
		repeat()
	}
	settle(t, rt)
	s := rt.Stats()
	require.Equal(t, first.HostToDevice, s.HostToDevice)
	require.Zero(t, s.DeviceToHost)
	// a device that fell far behind may lose a tile to another: rarely, but more often where kernels take longer than a tile takes to move
	part := deps.Bytes(20)
	if raceEnabled {
		part = 10
	}
	require.Less(t, s.DeviceToDevice, 10*10*n*8/part, "of what ten repetitions touch, one of %d", part)
	for _, name := range []string{"sim:0", "sim:1", "sim:2", "sim:3"} {
		require.Positive(t, s.ByDevice[name], name)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 3*n*8, rt.Stats().DeviceToHost, "all three, once, at the end")
	scaled := 1.0
	for range 10 {
		scaled = 3*scaled + 0.25*(scaled+3*scaled)
	}
	for i := range a {
		if a[i] != float64(i)*scaled {
			t.Fatalf("a[%d] = %v, want %v", i, a[i], float64(i)*scaled)
		}
	}
}

// settle waits until all tasks are over and leaves their data where they are.
func settle(t *testing.T, rt *task.Runtime) {
	t.Helper()
	require.Eventually(t, func() bool { return rt.Stats().InFlight == 0 }, 30e9, 1e6)
}

// N-Body: blocks of one step go to three accelerators and the CPU, two at a time there.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, section 4.1.
//
// A device that the system gives no processor for the length of the run gets no task, so one of three runs must use all of them.
func TestNBodyUsesTheWholeMachine(t *testing.T) {
	ran := map[string]int64{}
	for try := 0; try < 3 && !wholeMachine(ran); try++ {
		ran = runNBody(t)
	}
	require.True(t, wholeMachine(ran), "%v", ran)
}

func wholeMachine(ran map[string]int64) bool {
	return ran["smp"] > 0 && ran["sim:0"] > 0 && ran["sim:1"] > 0 && ran["sim:2"] > 0
}

// requireFloats wants the bits of a Go function, or what is near where Go fuses products and sums.
func requireFloats(t *testing.T, want, got [6][]float32) {
	t.Helper()
	if fusedError == 0 {
		require.Equal(t, want, got)
		return
	}
	for k := range want {
		for i, x := range want[k] {
			y := got[k][i]
			require.LessOrEqual(t, math.Abs(float64(x-y)), 100*fusedError*max(1, math.Abs(float64(x))), "%d, %d: %v for %v", k, i, y, x)
		}
	}
}

func runNBody(t *testing.T) map[string]int64 {
	t.Helper()
	forces, move := kernelOf(t, Forces), kernelOf(t, Move)
	n, blocks, steps := 4096, 16, 2
	if testing.Short() || raceEnabled {
		n = 512
	}
	got, want := bodies(n), bodies(n)
	seen := &atOnce{}
	rt := open(t, task.Options{Devices: "smp:2,sim:3(exec=cpu)", Observer: seen})
	for _, x := range got {
		require.NoError(t, task.Register(rt, x))
	}
	size := n / blocks
	for range steps {
		for lo := 0; lo < n; lo += size {
			_, err := forces.Submit(rt, lo, lo+size, float32(0.01), got[0], got[1], got[2], got[3], got[4], got[5])
			require.NoError(t, err)
		}
		for lo := 0; lo < n; lo += size {
			_, err := move.Submit(rt, lo, lo+size, float32(0.01), got[0], got[1], got[2], got[3], got[4], got[5])
			require.NoError(t, err)
		}
		Forces(0, n, 0.01, want[0], want[1], want[2], want[3], want[4], want[5])
		Move(0, n, 0.01, want[0], want[1], want[2], want[3], want[4], want[5])
	}
	require.NoError(t, rt.Wait(context.Background()))
	requireFloats(t, want, got)
	s := rt.Stats()
	require.LessOrEqual(t, seen.most["smp"], 2)
	require.LessOrEqual(t, s.MostAtOnce[devices.SMP], 2)
	return s.ByDevice
}

// bodies returns positions and velocities of n bodies, always the same.
func bodies(n int) [6][]float32 {
	var out [6][]float32
	state := uint32(1)
	for k := range out {
		out[k] = make([]float32, n)
		for i := range out[k] {
			state = state*1664525 + 1013904223
			out[k][i] = float32(state>>8)/(1<<23) - 1
		}
	}
	return out
}

func TestObserverSeesEveryByteThatMoves(t *testing.T) {
	mix := kernelOf(t, Mix)
	var mu sync.Mutex
	var moved deps.Bytes
	chosen := map[string]int64{}
	rt := open(t, task.Options{Devices: "smp:1,sim:2", Observer: probe.Func(func(p probe.Point) {
		mu.Lock()
		defer mu.Unlock()
		switch p.Kind {
		case probe.Transfer:
			moved += p.Bytes
		case probe.Choice:
			chosen[p.Device]++
		}
	})})
	x := make([]uint32, 4096)
	for i := range 32 {
		on := []string{"smp", "sim:0", "acc"}[i%3]
		_, err := mix.With(task.OnDevice(on)).Submit(rt, i*128, i*128+128, 0, 4096, uint32(i), x, x)
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	s := rt.Stats()
	require.Equal(t, moved, s.Moved())
	require.Positive(t, moved)
	require.EqualValues(t, 32, chosen["smp"]+chosen["sim:0"]+chosen["sim:1"])
	for name, n := range chosen {
		require.Equal(t, n, s.ByDevice[name], name)
	}
}
