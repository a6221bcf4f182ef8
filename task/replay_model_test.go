package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// TestRandomProgramsAreReplayed records random programs of tasks in every mode, with every clause, nested, in loops and groups, and
// replays them several times without waiting: the values must be those of running them as often one after the other.
func TestRandomProgramsAreReplayed(t *testing.T) {
	n := *modelSeeds / 5
	if testing.Short() || raceEnabled {
		n = min(n, 100)
	}
	ks := loadModelKernels(t)
	for i := range n {
		if err := replayModel(ks, *firstSeed+uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func replayModel(ks modelKernels, seed uint64) (err error) {
	return replayModelAs(ks, seed, &modelSetup{})
}

func replayModelAs(ks modelKernels, seed uint64, setup *modelSetup) (err error) {
	rng := rand.New(rand.NewPCG(seed, 99))
	policies := sched.Policies()
	o := task.Options{
		Devices: modelMachine(rng),
		Policy:  policies[rng.IntN(len(policies))],
		Seed:    seed,
		Window:  []int{0, 1, 3, 16}[rng.IntN(4)],
	}
	setup.apply(&o)
	defer func() {
		if err != nil {
			err = fmt.Errorf("seed %d (%s, %s, window %d): %w", seed, o.Devices, o.Policy, o.Window, err)
		}
	}()
	mk := &maker{rng: rng, bufs: 2}
	var all []area
	for b := range mk.bufs {
		all = append(all, area{buf: b, i1: modelRows, j1: modelCols, mode: deps.InOut})
	}
	program := withoutWaits(mk.steps(1+rng.IntN(20), rng.IntN(3), all))
	rt, err := task.New(o)
	if err != nil {
		return err
	}
	defer func() { setup.look(rt); err = errors.Join(err, rt.Close()) }()
	m := &modelRun{rt: rt, ks: ks, inOrder: setup.virtual, want: newInterpreter(mk.next), handles: make([]task.Task, mk.next), ran: make([]atomic.Int32, mk.next)}
	for range mk.bufs {
		x := make([]uint32, modelRows*modelCols)
		for i := range x {
			x[i] = rng.Uint32()
		}
		m.want.add(x)
		m.x = append(m.x, x)
		if err := task.Register(rt, x); err != nil {
			return err
		}
	}
	build := func(r *task.Recorder) error { return m.all(program, r) }
	it, err := rt.Record(build)
	if err != nil {
		return err
	}
	times := 1 + rng.IntN(4)
	for range times {
		if rng.IntN(4) == 0 {
			_, changed, err := it.ReplayOrRecord(build)
			if err != nil {
				return err
			}
			if changed {
				return errors.New("the same program counts as another")
			}
		} else if _, err := it.Replay(); err != nil {
			return err
		}
	}
	err = rt.Wait(context.Background())
	m.events.Wait()
	if p := m.bad.Load(); err == nil && p != nil {
		err = *p
	}
	if err != nil {
		return err
	}
	for range times { // not before: it writes into the steps, which bodies read
		m.want.run(program, &m.wanted, 0)
		m.want.run([]step{{kind: waitAll}}, &m.wanted, 0)
	}
	return m.compare()
}

// withoutWaits takes the waits of the program out of steps, which the recorder has no use for.
func withoutWaits(steps []step) (out []step) {
	for _, s := range steps {
		if s.kind != waitAll && s.kind != waitFor {
			out = append(out, s)
		}
	}
	return out
}

// Replays are asked for while the first one is held up: nobody waits, and each runs with the values that it was asked for with.
func TestReplaysQueue(t *testing.T) {
	for _, spec := range []string{"smp:2", "smp:1", "smp:1,sim:1(exec=cpu)"} {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec})
			fill, x, y := kernelOf(t, Fill), make([]int64, 1), make([]uint32, 8)
			gate := make(chan struct{})
			var digit *task.Arg[int64]
			var k *task.Arg[uint32]
			it, err := rt.Record(func(r *task.Recorder) error {
				digit, k = task.NewArg(r, int64(1)), task.NewArg(r, uint32(1))
				err := r.Go(func() error { <-gate; x[0] = x[0]*10 + digit.Get(); return nil }, task.InOut(x))
				if spec != "smp:2" {
					_, one := fill.Submit(r, 0, 8, k, y)
					err = errors.Join(err, one)
				}
				return err
			})
			require.NoError(t, err)
			for i := range int64(9) {
				digit.Set(i + 1)
				k.Set(uint32(i))
				_, err := it.Replay()
				require.NoError(t, err)
			}
			close(gate)
			require.NoError(t, rt.Wait(context.Background()))
			require.EqualValues(t, 123456789, x[0])
			if spec != "smp:2" {
				want := make([]uint32, 8)
				Fill(0, 8, 8, want)
				require.Equal(t, want, y)
			}
		})
	}
}

// A replay that is skipped takes its values with it: the next one has its own.
func TestASkippedReplayKeepsNobodysValues(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int64, 1)
	var v *task.Arg[int64]
	it, err := rt.Record(func(r *task.Recorder) error {
		v = task.NewArg(r, int64(0))
		return r.Go(func() error { x[0] += v.Get(); return nil }, task.InOut(x))
	})
	require.NoError(t, err)
	_, err = rt.Go(func() error { return errBoom }, task.InOut(x))
	require.NoError(t, err)
	for i := range int64(3) {
		v.Set(i + 1)
		_, err = it.Replay()
		require.NoError(t, err)
	}
	require.ErrorIs(t, rt.Wait(context.Background()), errBoom)
	v.Set(100)
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 100, x[0])
}

// Iterations that have nothing to do with each other run at the same time: each waits for the other, also when one worker takes the step
// of what the other replays.
func TestIterationsRunBesideEachOther(t *testing.T) {
	for _, spec := range []string{"smp:2", "smp:2,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: spec})
		var its [2]*task.Iteration
		var here [2]chan struct{}
		for i := range its {
			here[i] = make(chan struct{}, 1)
		}
		for i := range its {
			x := make([]int64, 1)
			var err error
			its[i], err = rt.Record(func(r *task.Recorder) error {
				return r.Go(func() error { here[i] <- struct{}{}; <-here[1-i]; return nil }, task.InOut(x))
			})
			require.NoError(t, err)
		}
		for range 20 {
			for _, it := range its {
				_, err := it.Replay()
				require.NoError(t, err)
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
	}
}

// An if clause whose value changes is another structure.
func TestAnIfThatChanges(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2,sim:1(exec=cpu)"})
	k := kernelOf(t, SometimesNow)
	x, y := make([]int32, 8), make([]int32, 8)
	var now *task.Arg[bool]
	it, err := rt.Record(func(r *task.Recorder) error {
		now = task.NewArg(r, true)
		_, err := k.Submit(r, now, x)
		_, more := k.Submit(r, true, y)
		return errors.Join(err, more)
	})
	require.NoError(t, err)
	require.Equal(t, 0, it.Edges(), "the two have nothing in common")
	for i, edges := range []int{0, 1, 1, 0} {
		now.Set(edges == 0)
		_, err = it.Replay()
		require.NoError(t, err)
		require.Equal(t, edges, it.Edges(), "replay %d", i)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 4, x[0])
	require.EqualValues(t, 4, y[7])
	_, err = rt.Record(func(r *task.Recorder) error {
		return errors.Join(r.Go(nothing, task.If(false)), r.Go(nothing), r.Go(nothing, task.If(false)), r.Go(nothing))
	})
	require.NoError(t, err)
}

// What is recorded after the wait of a group comes after its tasks, and cancelling it ends those of the replay that runs.
func TestRecordedGroups(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	var before, after atomic.Int64
	var g *task.Group
	stop, cause := false, errors.New("enough")
	x := make([]int, 1)
	it, err := rt.Record(func(r *task.Recorder) error {
		outer := task.NewGroup(r)
		g = task.NewGroup(outer)
		err := r.Go(func() error {
			before.Store(0)
			if stop {
				g.Cancel(cause)
			}
			return nil
		}, task.InOut(x), task.If(false))
		for range 20 {
			_, one := g.Go(func() error { delay(300); before.Add(1); return nil })
			err = errors.Join(err, one)
		}
		return errors.Join(err, outer.Wait(context.Background()), r.Go(func() error { after.Store(before.Load()); return nil }))
	})
	require.NoError(t, err)
	for i := range 4 {
		stop = i == 1
		_, err = it.Replay()
		require.NoError(t, err)
		if err := rt.Wait(context.Background()); stop {
			require.ErrorIs(t, err, cause)
			require.EqualValues(t, 0, before.Load())
			continue
		}
		require.NoError(t, err)
		require.EqualValues(t, 20, after.Load())
	}
	require.ErrorIs(t, g.Wait(context.Background()), task.ErrFinished)

	whole := task.NewGroup(rt)
	_, err = it.ReplayIn(whole)
	require.NoError(t, err)
	require.NoError(t, whole.Wait(context.Background()))
	whole = task.NewGroup(rt)
	whole.Cancel(cause)
	_, err = it.ReplayIn(whole)
	require.ErrorIs(t, err, cause)
	require.NoError(t, whole.Wait(context.Background()))
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
}

// Values of steps: for others of the same replay, and for the program.
func TestRecordedValues(t *testing.T) {
	for _, spec := range []string{"smp:1", "smp:2,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: spec})
		x := make([]int, 1)
		var n *task.Arg[int]
		var first, second *task.Future[int]
		it, err := rt.Record(func(r *task.Recorder) (err error) {
			n = task.NewArg(r, 1)
			if first, err = task.GoValue(r, func() (int, error) { return n.Get() * 10, nil }, task.InOut(x)); err != nil {
				return err
			}
			second, err = task.GoValueScope(r, func(s *task.Scope) (int, error) {
				v, err := first.Get(s.Context())
				return v + 1, err
			})
			return err
		})
		require.NoError(t, err)
		_, err = first.Get(context.Background())
		require.ErrorIs(t, err, task.ErrNotReplayed)
		for i := range 5 {
			n.Set(i)
			_, err := it.Replay()
			require.NoError(t, err)
			v, err := second.Get(t.Context())
			require.NoError(t, err)
			require.Equal(t, i*10+1, v)
		}
		require.NoError(t, rt.Wait(context.Background()))
	}
}

// A failure in the middle of a recorded reduction leaves nothing behind, nor does the end of the context.
func TestARecordedReductionThatFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rt := open(t, task.Options{Devices: "smp:2", Context: ctx})
	x := make([]int, 4)
	fails, stops := false, false
	it, err := rt.Record(func(r *task.Recorder) error {
		var all error
		for i := range 10 {
			all = errors.Join(all, r.GoScope(func(s *task.Scope) error {
				task.Private(s, x)[0]++
				switch {
				case fails && i == 5:
					return errBoom
				case stops && i == 3:
					cancel()
				}
				return nil
			}, task.Reduce(x, task.Sum[int]())))
		}
		return errors.Join(all, r.Go(func() error { x[1] = x[0]; return nil }, task.InOut(x)))
	})
	require.NoError(t, err)
	require.Equal(t, 12, it.Tasks())
	for i := range 4 {
		fails, stops = i == 1, i == 3
		x[0] = 0
		_, err := it.Replay()
		require.NoError(t, err)
		if err := rt.Wait(context.Background()); fails {
			require.ErrorIs(t, err, errBoom)
		} else if !stops {
			require.NoError(t, err)
			require.Equal(t, 10, x[1])
		}
	}
}

func TestARecorderThatIsOver(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	var kept *task.Recorder
	it, err := rt.Record(func(r *task.Recorder) error { kept = r; return r.Go(nothing) })
	require.NoError(t, err)
	require.ErrorIs(t, kept.Go(nothing), task.ErrFinished)
	_, _, err = it.ReplayOrRecord(func(r *task.Recorder) error { kept = r; return r.Go(nothing) })
	require.NoError(t, err)
	require.ErrorIs(t, kept.Go(nothing), task.ErrFinished)
	_, err = task.NewGroup(kept).Go(nothing)
	require.ErrorIs(t, err, task.ErrFinished)
	require.NoError(t, rt.Wait(context.Background()))
}
