package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// A move is a task of a random iteration: it makes one cell of others.
type move struct {
	from []int
	to   int
	add  int64
}

func randomMoves(r *rand.Rand, n, cells int) []move {
	moves := make([]move, n)
	for i := range moves {
		m := move{to: r.IntN(cells), add: r.Int64N(100)}
		for range r.IntN(4) {
			m.from = append(m.from, r.IntN(cells))
		}
		moves[i] = m
	}
	return moves
}

func (m move) apply(x []int64) {
	sum := m.add
	for _, f := range m.from {
		sum += 3 * x[f]
	}
	x[m.to] = x[m.to]*7 + sum
}

// options declare what apply touches; a cell in two modes is declared twice.
func (m move) options(x []int64) []task.Option {
	out := []task.Option{task.InOut(x[m.to : m.to+1])}
	for _, f := range m.from {
		out = append(out, task.In(x[f:f+1]))
	}
	return out
}

// TestReplaysAreSequential replays random iterations, with other tasks before, between and after, and compares with running
// all of it in order.
func TestReplaysAreSequential(t *testing.T) {
	seeds := 200
	if testing.Short() {
		seeds = 20
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 77))
		rt := open(t, task.Options{Devices: []string{"smp:1", "smp:2", "smp:4"}[seed%3]})
		const cells = 12
		x, want := make([]int64, cells), make([]int64, cells)
		require.NoError(t, task.Register(rt, x))
		moves := randomMoves(r, r.IntN(120), cells)
		build := func(rec *task.Recorder) error {
			for _, m := range moves {
				if err := rec.Go(func() error { m.apply(x); return nil }, m.options(x)...); err != nil {
					return err
				}
			}
			return nil
		}
		it, err := rt.Record(build)
		require.NoError(t, err)
		require.Equal(t, len(moves), it.Tasks())
		for range 6 {
			for _, m := range randomMoves(r, r.IntN(3), cells) {
				m.apply(want)
				_, err := rt.Go(func() error { m.apply(x); return nil }, m.options(x)...)
				require.NoError(t, err)
			}
			var changes bool
			if r.IntN(2) == 0 { // other moves, of the same structure or of another
				before := len(moves)
				if changes = r.IntN(2) == 0; changes {
					at := r.IntN(before + 1)
					moves = append(append([]move{}, moves[:at]...), randomMoves(r, 1+r.IntN(2), cells)...)
				}
				for i := range moves {
					moves[i].add++
				}
				_, changed, err := it.ReplayOrRecord(build)
				require.NoError(t, err)
				if len(moves) != before {
					require.True(t, changed, "seed %d", seed)
				} else if !changes {
					require.False(t, changed, "seed %d", seed)
				}
			} else {
				_, err = it.Replay()
				require.NoError(t, err)
			}
			for _, m := range moves {
				m.apply(want)
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, x, "seed %d", seed)
	}
}

// TestAgainSeesEveryChange changes one thing at a time.
func TestAgainSeesEveryChange(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y := make([]int64, 16), make([]int64, 16)
	require.NoError(t, task.Register(rt, x))
	require.NoError(t, task.Register(rt, y))
	var ran atomic.Int64
	build := func(options ...[]task.Option) func(r *task.Recorder) error {
		return func(r *task.Recorder) error {
			for _, o := range options {
				if err := r.Go(func() error { ran.Add(1); return nil }, o...); err != nil {
					return err
				}
			}
			return nil
		}
	}
	one := func(o ...task.Option) []task.Option { return o }
	box := func(lo, hi int) task.Option { return task.InOut(x).Box([]int{4, 4}, []int{0, lo}, []int{4, hi}) }
	base := [][]task.Option{one(task.Out(x[0:4])), one(task.In(x[0:4]), task.Out(y[0:4])), one(box(1, 2))}
	it, err := rt.Record(build(base...))
	require.NoError(t, err)
	for _, c := range []struct {
		name    string
		changed bool
		steps   [][]task.Option
	}{
		{"the same", false, base},
		{"the same with a label", false, [][]task.Option{one(task.Label("a"), task.Out(x[0:4])), base[1], base[2]}},
		{"a mode", true, [][]task.Option{one(task.InOut(x[0:4])), base[1], base[2]}},
		{"a length", true, [][]task.Option{one(task.Out(x[0:5])), base[1], base[2]}},
		{"an offset", true, [][]task.Option{base[0], one(task.In(x[1:5]), task.Out(y[0:4])), base[2]}},
		{"a buffer", true, [][]task.Option{base[0], one(task.In(y[0:4]), task.Out(x[0:4])), base[2]}},
		{"an access more", true, [][]task.Option{base[0], base[1], one(box(1, 2), task.In(y))}},
		{"an access less", true, [][]task.Option{base[0], one(task.In(x[0:4])), base[2]}},
		{"a task more", true, [][]task.Option{base[0], base[1], base[2], base[0]}},
		{"a task less", true, base[:2]},
		{"the order", true, [][]task.Option{base[1], base[0], base[2]}},
		{"a box", true, [][]task.Option{base[0], base[1], one(box(1, 3))}},
		{"nothing is left", true, nil},
	} {
		_, _, err := it.ReplayOrRecord(build(base...))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		ran.Store(0)
		_, changed, err := it.ReplayOrRecord(build(c.steps...))
		require.NoError(t, err)
		require.Equal(t, c.changed, changed, c.name)
		require.NoError(t, rt.Wait(context.Background()))
		require.EqualValues(t, len(c.steps), ran.Load(), c.name)
		require.Equal(t, len(c.steps), it.Tasks(), c.name)
	}
}

func TestArgumentsOfReplays(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int64, 1)
	var add *task.Arg[int64]
	it, err := rt.Record(func(r *task.Recorder) error {
		add = task.NewArg(r, int64(1))
		return r.Go(func() error { x[0] = x[0]*10 + add.Get(); return nil }, task.InOut(x))
	})
	require.NoError(t, err)
	for i := range int64(5) {
		if i > 0 {
			add.Set(i + 1)
		}
		_, err := it.Replay()
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 12345, x[0])
}

func TestStepsThatFail(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int64, 4)
	require.NoError(t, task.Register(rt, x))
	wrong := errors.New("wrong")
	how := func() error { return wrong }
	var after, beside atomic.Int64
	it, err := rt.Record(func(r *task.Recorder) error {
		return errors.Join(
			r.Go(func() error { return how() }, task.Label("first"), task.Out(x[0:1])),
			r.Go(func() error { after.Add(1); return nil }, task.Label("second"), task.InOut(x[0:1])),
			r.Go(func() error { after.Add(1); return nil }, task.In(x[0:1]), task.Out(x[1:2])),
			r.Go(func() error { beside.Add(1); return nil }, task.Out(x[2:3])))
	})
	require.NoError(t, err)
	fails := func() *task.FailedError {
		_, err := it.Replay()
		require.NoError(t, err)
		err = rt.Wait(context.Background())
		require.Error(t, err)
		var outer *task.Error
		require.ErrorAs(t, err, &outer)
		require.Equal(t, "iteration", outer.Label)
		var failed *task.FailedError
		require.ErrorAs(t, outer.Cause, &failed)
		require.Len(t, failed.Failed, 1)
		require.Equal(t, "first", failed.Failed[0].Label)
		require.Equal(t, 2, failed.Skipped)
		return failed
	}
	require.ErrorIs(t, fails(), wrong)
	how = func() error { panic("oh") }
	var panicked *task.PanicError
	require.ErrorAs(t, fails(), &panicked)
	require.Zero(t, after.Load())
	require.EqualValues(t, 2, beside.Load())
	how = func() error { return nil }
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()), "what failed before is forgotten")
	require.EqualValues(t, 2, after.Load())
}

// TestStepsThatEndTheirGoroutine has many of them among others: all steps are over in the end, and the iteration fails.
func TestStepsThatEndTheirGoroutine(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:3"})
	x := make([]int64, 8)
	require.NoError(t, task.Register(rt, x))
	var ran atomic.Int64
	ends := true
	it, err := rt.Record(func(r *task.Recorder) error {
		for i := range 300 {
			err := r.Go(func() error {
				ran.Add(1)
				if ends && i%7 == 0 {
					runtime.Goexit()
				}
				return nil
			}, task.In(x[i%8:i%8+1]))
			if err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	for range 5 {
		_, err = it.Replay()
		require.NoError(t, err)
		require.ErrorContains(t, rt.Wait(context.Background()), "Goexit")
	}
	require.EqualValues(t, 5*300, ran.Load())
	ends = false
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 6*300, ran.Load())
}

// A replay after one of the buffers was given back names the buffer, who used it, who gave it back, and what to do.
func TestReplayWithoutABuffer(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)"})
	x, y := make([]int64, 8), make([]int64, 16)
	build := func(r *task.Recorder) error {
		return errors.Join(r.Go(nothing, task.Out(x)), r.Go(nothing, task.Out(y), task.Label("smooth")))
	}
	it, err := rt.Record(build)
	require.NoError(t, err)
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, task.Unregister(rt, y))
	for range 2 {
		_, err = it.Replay()
		require.EqualError(t, err, fmt.Sprintf("task: replay: buffer 1 (16 elements of 8 bytes at %p), which step 1, smooth, uses, was given back by Unregister since it was recorded: record it again", y))
	}
	require.NoError(t, task.Register(rt, y))
	_, err = it.Replay()
	require.ErrorContains(t, err, "record it again", "it is another buffer")
	it, err = rt.Record(build)
	require.NoError(t, err)
	_, err = it.Replay()
	require.NoError(t, err)

	z, err := task.Alloc[uint32](rt, 64)
	require.NoError(t, err)
	fill := kernelOf(t, Fill)
	w := make([]uint32, 8)
	step, err := rt.Record(func(r *task.Recorder) error {
		_, err := fill.Submit(r, 0, 8, uint32(1), w)
		return err
	})
	require.NoError(t, err)
	require.NoError(t, task.Unregister(rt, w))
	_, err = step.Replay()
	require.ErrorContains(t, err, ", which step 0, Fill, uses, was given back")
	kernels, err := rt.RecordKernels("fill", func(r *task.KernelRecorder) error { return r.Submit(fill, 0, 64, uint32(1), z) })
	require.NoError(t, err)
	at := fmt.Sprintf("%p", z)
	require.NoError(t, task.Free(rt, z))
	_, err = kernels.Replay()
	require.ErrorContains(t, err, "(64 elements of 4 bytes at "+at+") was given back by Free since it was recorded: record it again")
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, rt.Close())
	_, err = it.Replay()
	require.ErrorIs(t, err, task.ErrClosed)
	_, err = kernels.Replay()
	require.ErrorIs(t, err, task.ErrClosed)
}

func TestWhatCannotBeReplayed(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x, err := task.Alloc[int64](rt, 8)
	require.NoError(t, err)
	build := func(r *task.Recorder) error { return r.Go(nothing, task.Out(x)) }
	it, err := rt.Record(build)
	require.NoError(t, err)
	require.NoError(t, task.Free(rt, x))
	var changed *task.ChangedError
	_, err = it.Replay()
	require.ErrorAs(t, err, &changed)
	x = make([]int64, 8)
	_, again, err := it.ReplayOrRecord(build)
	require.NoError(t, err)
	require.True(t, again)

	_, _, err = it.ReplayOrRecord(func(r *task.Recorder) error { return errors.New("no") })
	require.EqualError(t, err, "no")
	_, err = it.Replay()
	require.ErrorAs(t, err, &changed)
	_, again, err = it.ReplayOrRecord(build)
	require.NoError(t, err)
	require.True(t, again)

	_, err = rt.Record(func(r *task.Recorder) error { return r.Go(nil) })
	require.ErrorContains(t, err, "body is nil")
	sim := open(t, task.Options{Devices: "sim:1"})
	_, err = sim.Record(build)
	require.ErrorContains(t, err, "needs CPU workers")
}

func TestAReplayEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	rt := open(t, task.Options{Devices: "smp:2", Context: ctx})
	x := make([]int64, 1)
	it, err := rt.Record(func(r *task.Recorder) error {
		for i := range 100 {
			if err := r.Go(func() error {
				if i == 50 {
					cancel()
					for !errors.Is(ctx.Err(), context.Canceled) {
						runtime.Gosched()
					}
				}
				x[0]++
				return nil
			}, task.InOut(x)); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	_, err = it.Replay()
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), context.Canceled)
	require.GreaterOrEqual(t, x[0], int64(51))
}

func TestReplaysAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int64, 64)
	require.NoError(t, task.Register(rt, x))
	build := func(r *task.Recorder) error {
		for i := range 1000 {
			if err := r.Go(nothing, task.InOut(x[i%64:i%64+1]), task.In(x[(i+1)%64:(i+1)%64+1])); err != nil {
				return err
			}
		}
		return nil
	}
	it, err := rt.Record(build)
	require.NoError(t, err)
	require.Less(t, testing.AllocsPerRun(20, func() {
		_, err := it.Replay()
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
	}), 5.0, "for all of 1000 steps")
	require.Less(t, testing.AllocsPerRun(20, func() {
		_, changed, err := it.ReplayOrRecord(build)
		require.NoError(t, err)
		require.False(t, changed)
		require.NoError(t, rt.Wait(context.Background()))
	}), 5.0, "for all of 1000 steps")
}
