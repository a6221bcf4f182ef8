package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// A mixed is one step of a random iteration: x[lo:hi], perhaps empty, is made of x[a:b], by a kernel or a Go function.
type mixed struct {
	kind         int // Fill, Mix, a Go task, one with children
	lo, hi, a, b int
	k            uint32
}

func randomMixed(r *rand.Rand, n, length int, cpu bool) (out []mixed) {
	for range n {
		lo := r.IntN(length - 1)
		m := mixed{kind: r.IntN(4), lo: lo, hi: lo + r.IntN(length-lo), k: r.Uint32()}
		m.a = r.IntN(length - 1)
		m.b = m.a + 1 + r.IntN(length-m.a-1)
		if m.kind == 1 && m.lo < m.b && m.a < m.hi {
			m.kind = 2 // a parallel loop must not read what other iterations write
		}
		if !cpu && m.kind >= 2 {
			m.kind = 0
		}
		out = append(out, m)
	}
	return out
}

func (m *mixed) apply(x []uint32) {
	if m.kind == 0 {
		Fill(m.lo, m.hi, m.k, x)
	} else {
		Mix(m.lo, m.hi, m.a, m.b, m.k, x, x)
	}
}

// submit gives the step to a recorder; lo and k, where they are there, are Args.
func (m *mixed) submit(r *task.Recorder, fill, mix *task.Kernel, x []uint32, lo, k any) (err error) {
	accesses := []task.Option{task.InOut(x[m.lo:m.hi]), task.In(x[m.a:m.b])}
	switch m.kind {
	case 0:
		_, err = fill.Submit(r, lo, m.hi, k, x)
	case 1:
		_, err = mix.With(task.Label("mix")).Submit(r, lo, m.hi, m.a, m.b, k, x, x)
	case 2:
		err = r.Go(func() error { m.apply(x); return nil }, accesses...)
	default:
		_, err = task.Taskloop(r, 0, 1, func(s *task.Scope, _, _ int) error {
			_, err := s.Go(func() error { m.apply(x); return nil }, accesses...)
			return err
		}, task.PerChunk(func(int, int) []task.Option { return accesses }))
	}
	return err
}

// TestReplaysOfKernelsAreSequential replays random iterations of kernels and Go tasks with new arguments, on many machines, with
// tasks between, and compares with running all of it in order.
func TestReplaysOfKernelsAreSequential(t *testing.T) {
	seeds := 300
	if testing.Short() || raceEnabled {
		seeds = 40
	}
	fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
	specs := append([]string{"sim:2(exec=cpu)", "smp:2", "sim:1(exec=simt)", "smp:1,sim:1(exec=cpu,speed=50MB/s,latency=10us)"}, graphSpecs...)
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 9))
		spec := specs[r.IntN(len(specs))]
		rt := open(t, task.Options{Devices: spec, Window: []int{0, 2}[r.IntN(2)]})
		const length = 120
		x, want := make([]uint32, length), make([]uint32, length)
		require.NoError(t, task.Register(rt, x))
		steps := randomMixed(r, 1+r.IntN(30), length, spec[:3] != "sim" || spec == graphSpecs[3])
		lo, k := make([]*task.Arg[int], len(steps)), make([]*task.Arg[uint32], len(steps))
		build := func(rec *task.Recorder) error {
			for i := range steps {
				lo[i], k[i] = task.NewArg(rec, steps[i].lo), task.NewArg(rec, steps[i].k)
				if err := steps[i].submit(rec, fill, mix, x, lo[i], k[i]); err != nil {
					return err
				}
			}
			return nil
		}
		it, err := rt.Record(build)
		require.NoError(t, err, "seed %d", seed)
		for range 5 {
			other := randomMixed(r, 1, length, false)[0]
			other.apply(want)
			if other.kind == 0 {
				_, err = fill.Submit(rt, other.lo, other.hi, other.k, x)
			} else {
				_, err = mix.Submit(rt, other.lo, other.hi, other.a, other.b, other.k, x, x)
			}
			require.NoError(t, err)
			for i := range steps {
				if steps[i].kind < 2 {
					steps[i].k++ // the structure stays
				}
			}
			if steps[0].kind == 0 && r.IntN(3) == 0 {
				steps[0].lo = r.IntN(steps[0].hi) // it may change
			}
			if r.IntN(2) == 0 {
				_, _, err = it.ReplayOrRecord(build)
			} else {
				for i := range steps {
					k[i].Set(steps[i].k)
					lo[i].Set(steps[i].lo)
				}
				_, err = it.Replay()
			}
			require.NoError(t, err)
			for i := range steps {
				steps[i].apply(want)
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, x, "seed %d on %s", seed, spec)
	}
}

// The steps of a replay use all accelerators, and none waits for another that it has no edge from.
func TestAReplayUsesAllDevices(t *testing.T) {
	fill := kernelOf(t, Fill)
	rt := open(t, task.Options{Devices: "smp:1,sim:3(exec=cpu,latency=200us)"})
	x := make([]uint32, 24*64)
	require.NoError(t, task.Register(rt, x))
	it, err := rt.Record(func(r *task.Recorder) error {
		for i := 0; i < len(x); i += 64 {
			if _, err := fill.With(task.OnDevice("sim")).Submit(r, i, i+64, uint32(1), x); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Zero(t, it.Edges())
	for range 3 {
		_, err = it.Replay()
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	s := rt.Stats()
	for i := range 3 {
		require.Positive(t, s.ByDevice[fmt.Sprint("sim:", i)])
	}
	require.EqualValues(t, 72, s.ByDevice["sim:0"]+s.ByDevice["sim:1"]+s.ByDevice["sim:2"])
}

func TestAFailingStepSkipsThoseBehindIt(t *testing.T) {
	divide, fill := kernelOf(t, Divide), kernelOf(t, Fill)
	rt := open(t, task.Options{Devices: "smp:2,sim:2(exec=cpu)"})
	a, b, c := []int32{6, 8}, []int32{2, 0}, make([]int32, 2)
	y := make([]uint32, 8)
	var behind int
	it, err := rt.Record(func(r *task.Recorder) error {
		_, err := divide.Submit(r, a, b, c)
		_, other := fill.Submit(r, 0, 8, uint32(1), y)
		return errors.Join(err, other, r.Go(func() error { behind++; return nil }, task.In(c), task.Label("behind")))
	})
	require.NoError(t, err)
	one, err := it.Replay()
	require.NoError(t, err)
	require.Error(t, rt.Wait(context.Background()))
	var failed *task.FailedError
	require.ErrorAs(t, one.Err(), &failed)
	require.Len(t, failed.Failed, 1)
	require.Equal(t, "Divide", failed.Failed[0].Kernel)
	require.Equal(t, 1, failed.Skipped)
	require.Zero(t, behind)
	want := make([]uint32, 8)
	Fill(0, 8, 1, want)
	require.Equal(t, want, y, "a step beside it")
	b[1] = 4
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, []int32{3, 2}, c)
	require.Equal(t, 1, behind)
}

// An argument with which a step would leave its slice is an error of Replay, and nothing runs; with the next that is right it goes on.
func TestAReplayProvesItsNewArguments(t *testing.T) {
	fill := kernelOf(t, Fill)
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)"})
	x, want := make([]uint32, 16), make([]uint32, 16)
	var hi *task.Arg[int]
	it, err := rt.Record(func(r *task.Recorder) error {
		hi = task.NewArg(r, 8)
		_, err := fill.Submit(r, 0, hi, uint32(7), x)
		return err
	})
	require.NoError(t, err)
	hi.Set(17)
	for range 2 { // also where it is not set again
		_, err = it.Replay()
		require.ErrorContains(t, err, "task: replay: step 0: task: kernel Fill")
	}
	hi.Set(16)
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	Fill(0, 16, 7, want)
	require.Equal(t, want, x)
}

func TestAReplayOfKernelsEndsWithTheContext(t *testing.T) {
	fill := kernelOf(t, Fill)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	rt, err := task.New(task.Options{Devices: "smp:2,sim:2(exec=cpu)", Context: ctx})
	require.NoError(t, err)
	x := make([]uint32, 64)
	why := errors.New("enough")
	it, err := rt.Record(func(r *task.Recorder) error {
		err := r.Go(func() error { cancel(why); return nil }, task.Out(x))
		for range 20 {
			_, one := fill.Submit(r, 0, 64, uint32(1), x)
			err = errors.Join(err, one)
		}
		return err
	})
	require.NoError(t, err)
	one, err := it.Replay()
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), why)
	require.ErrorIs(t, one.Err(), why)
	require.NoError(t, rt.Close())
}

// A device that is lost while an iteration is replayed costs nothing where no data are lost with it.
func TestAReplayGoesOnWithoutALostDevice(t *testing.T) {
	fill := kernelOf(t, Fill)
	for n := int64(1); n < 12; n++ {
		var o task.Options
		o.Devices = "sim:2(exec=cpu),smp:1"
		o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Launch: n, Lose: true}}}
		rt, err := task.New(o)
		require.NoError(t, err)
		x := make([]uint32, 16*16)
		require.NoError(t, task.Register(rt, x))
		it, err := rt.Record(func(r *task.Recorder) error {
			for i := 0; i < len(x); i += 16 {
				if _, err := fill.Submit(r, i, i+16, uint32(3), x); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, err)
		one, err := it.Replay()
		require.NoError(t, err)
		waited := rt.Wait(context.Background())
		var lost *devices.LostError
		if one.Err() == nil && !errors.As(waited, &lost) {
			want := make([]uint32, len(x))
			Fill(0, len(x), 3, want)
			require.Equal(t, want, x)
		}
		_, err = it.Replay() // on what is left: all is written anew
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()), "launch %d", n)
		want := make([]uint32, len(x))
		Fill(0, len(x), 3, want)
		require.True(t, slices.Equal(want, x))
		var leak *task.LeakError
		require.False(t, errors.As(rt.Close(), &leak), "%v", leak)
	}
}

// A replay allocates nothing for a step but what the devices take for it.
func TestAReplayOfTasksIsCheap(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	rt := open(t, task.Options{Devices: "smp:1"})
	fill := kernelOf(t, Fill)
	x := make([]uint32, 64)
	it, err := rt.Record(func(r *task.Recorder) error {
		for i := range 64 {
			if _, err := fill.Submit(r, i, i+1, uint32(1), x); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	replay := func() {
		one, err := it.Replay()
		if err != nil || one.Wait(context.Background()) != nil {
			t.Error("replay failed")
		}
	}
	for range 10 {
		replay()
	}
	require.Less(t, testing.AllocsPerRun(20, replay), 32.0, "for 64 steps")
}

// A buffer that is freed while a sequence is recorded, and whose id another one has then, is found when the sequence is replayed.
func TestMemoryThatIsFreedWhileRecording(t *testing.T) {
	fill := kernelOf(t, Fill)
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)"})
	for _, later := range []int{0, 1 << 12} {
		var other []uint32
		drop := func(x []uint32) error {
			err := task.Free(rt, x)
			if later > 0 {
				other, _ = task.Alloc[uint32](rt, later)
			}
			return err
		}
		x, err := task.Alloc[uint32](rt, 64)
		require.NoError(t, err)
		it, err := rt.Record(func(r *task.Recorder) error {
			err := r.Go(func() error { return nil }, task.InOut(x))
			return errors.Join(err, drop(x))
		})
		require.NoError(t, err)
		var changed *task.ChangedError
		_, err = it.Replay()
		require.ErrorAs(t, err, &changed)

		x, err = task.Alloc[uint32](rt, 64)
		require.NoError(t, err)
		kernels, err := rt.RecordKernels("fill", func(r *task.KernelRecorder) error {
			err := r.Submit(fill, 0, 64, uint32(1), x)
			return errors.Join(err, drop(x))
		})
		require.NoError(t, err)
		_, err = kernels.Replay()
		require.ErrorAs(t, err, &changed)
		require.NotContains(t, other, uint32(1))
	}
}

// TestRecordedAccessesMayBeEmpty: a worker beside accelerators looked for the buffer of an empty access. Here no buffer is there.
func TestRecordedAccessesMayBeEmpty(t *testing.T) {
	for _, spec := range []string{"smp:1", "smp:1,sim:1(exec=cpu)"} {
		rt, x, ran := open(t, task.Options{Devices: spec}), make([]uint32, 8), 0
		it, err := rt.Record(func(r *task.Recorder) error {
			for _, o := range []task.Option{task.In(x[3:3]), task.Out(x[8:]), task.Commutative(x[5:5])} {
				if err := r.Go(func() error { ran++; return nil }, o); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, err)
		_, err = it.Replay()
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, 3, ran, spec)
	}
}
