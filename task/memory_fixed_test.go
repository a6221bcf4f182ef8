package task_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

// What the random programs of memory found.

// The skipped tasks of a group that both a wait for all and the group's told of were subtracted
// from those of later tasks.
func TestMemoryFixed_SkippedTasksOfAGroupCountOnce(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y := make([]int, 4), make([]int, 4)
	skip := func(at interface {
		Go(body func() error, options ...task.Option) (task.Task, error)
	}, x []int) {
		_, err := at.Go(func() error { return errBoom }, task.Out(x))
		require.NoError(t, err)
		for range 2 {
			_, err = at.Go(nothing, task.InOut(x))
			require.NoError(t, err)
		}
	}
	outer := task.NewGroup(rt)
	inner := task.NewGroup(outer)
	skip(inner, x)
	require.NoError(t, toldCounts(rt.Wait(context.Background()), 1, 2))
	skip(rt, y)
	skip(outer, x[:2])
	require.NoError(t, toldCounts(inner.Wait(context.Background()), 1, 2))
	require.NoError(t, toldCounts(outer.Wait(context.Background()), 1, 2))
	require.NoError(t, toldCounts(rt.Wait(context.Background()), 1, 2))
	require.EqualValues(t, 6, rt.Stats().Skipped)
}

// Unregister left the data of a buffer on devices where a task on some part of it had failed.
func TestMemoryFixed_UnregisterBringsBackWhatDidNotFail(t *testing.T) {
	fill := kernelOf(t, Fill)
	for spec, device := range map[string]string{"smp:1,sim:1(exec=cpu)": "sim:0", "smp:2": "smp"} {
		rt := open(t, task.Options{Devices: spec})
		x := make([]uint32, 100)
		require.NoError(t, task.Register(rt, x))
		_, err := fill.With(task.OnDevice(device)).Submit(rt, 0, 90, uint32(7), x)
		require.NoError(t, err)
		_, err = rt.Go(func() error { return errBoom }, task.InOut(x[90:]))
		require.NoError(t, err)
		require.NoError(t, task.Unregister(rt, x))
		require.True(t, filled(7, x[:90]), spec)
		require.ErrorIs(t, rt.Wait(context.Background()), errBoom)
	}
}

// An iteration whose Arg had memory that was freed was refused for ever, also with other memory.
func TestMemoryFixed_ArgsGetOtherMemoryAfterFree(t *testing.T) {
	fill, lens := kernelOf(t, Fill), loadMemoryKernels(t).lens
	for _, spec := range []string{"smp:2", "smp:1,sim:1(exec=cpu)", simOnly} {
		rt := open(t, task.Options{Devices: spec})
		alloc := func() []uint32 {
			x, err := task.Alloc[uint32](rt, 50)
			require.NoError(t, err)
			return x
		}
		x, of, still := alloc(), alloc(), make([]uint32, 50)
		var d, s *task.Arg[[]uint32]
		it, err := rt.Record(func(r *task.Recorder) error {
			d, s = task.NewArg(r, x), task.NewArg(r, of)
			_, one := fill.Submit(r, 0, 50, uint32(3), d)
			_, two := lens.Submit(r, uint32(5), still, s)
			return errors.Join(one, two)
		})
		require.NoError(t, err)
		for range 3 {
			_, err = it.Replay()
			require.NoError(t, err)
			require.NoError(t, task.Free(rt, x))
			require.NoError(t, task.Free(rt, of))
			var changed *task.ChangedError
			_, err = it.Replay()
			require.ErrorAs(t, err, &changed)
			x, of = alloc(), alloc()
			d.Set(x)
			_, err = it.Replay()
			require.Error(t, err, "the length of freed memory")
			s.Set(of)
			_, err = it.Replay()
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			require.True(t, filled(3, x), spec)
		}
		require.NoError(t, task.Free(rt, of))
		s.Set(nil)
		_, err = it.Replay()
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.EqualValues(t, 49*5, still[49])
	}
}

// A step that takes only the length of memory that was freed is an error of ReplayOrRecord, as it is
// one of a submission.
func TestMemoryFixed_RecordsNoLengthOfFreedMemory(t *testing.T) {
	lens := loadMemoryKernels(t).lens
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]uint32, 50)
	of, err := task.Alloc[uint32](rt, 50)
	require.NoError(t, err)
	build := func(r *task.Recorder) error {
		_, err := lens.Submit(r, uint32(5), x, of)
		return err
	}
	it, err := rt.Record(build)
	require.NoError(t, err)
	require.NoError(t, task.Free(rt, of))
	const why = "argument 3 (s): memory of Alloc that was freed"
	_, _, err = it.ReplayOrRecord(build)
	require.ErrorContains(t, err, why)
	_, err = lens.Submit(rt, uint32(5), x, of)
	require.ErrorContains(t, err, why)
	require.NoError(t, rt.Wait(context.Background()))
}

// A wait for memory that no task has used returned nil where it overlaps a buffer without lying in
// it.
func TestMemoryFixed_WaitOnBesideWhatIsUsed(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]uint32, 100)
	require.NoError(t, task.Register(rt, x[50:80:80]))
	require.ErrorIs(t, rt.WaitOn(t.Context(), task.In(x[40:60])), task.ErrUnused)
	_, err := rt.Go(nothing, task.InOut(x[50:55]))
	require.NoError(t, err)
	require.NoError(t, task.Register(rt, x[45:])) // no task uses the larger buffer yet
	require.ErrorIs(t, rt.WaitOn(t.Context(), task.In(x[60:70])), task.ErrUnused)
	require.NoError(t, rt.WaitOn(t.Context(), task.In(x[40:60])))
	require.NoError(t, rt.WaitOn(t.Context(), task.In(x[52:60])))
	require.NoError(t, rt.Wait(context.Background()))
}

// A wait for elements that no task has used returned nil where their buffer had become a part of a
// larger one.
func TestMemoryFixed_WaitOnUnusedMemoryOfWhatGrew(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]uint32, 100)
	unused := func(parts ...[2]int) {
		t.Helper()
		for _, p := range parts {
			require.ErrorIs(t, rt.WaitOn(t.Context(), task.In(x[p[0]:p[1]])), task.ErrUnused, p)
		}
	}
	use := func(p []uint32) {
		_, err := rt.Go(nothing, task.InOut(p))
		require.NoError(t, err)
	}
	require.NoError(t, task.Register(rt, x[40:60:60]))
	use(x[50:55])
	use(x[70:75:75])
	use(x[58:59]) // in the first buffer
	require.NoError(t, task.Register(rt, x[30:80:80]))
	use(x[35:36])
	unused([2]int{30, 35}, [2]int{40, 50}, [2]int{55, 58}, [2]int{59, 70}, [2]int{75, 80})
	require.NoError(t, rt.Wait(context.Background()))
	unused([2]int{40, 50}, [2]int{55, 58})
	require.NoError(t, task.Register(rt, x))
	use(x[99:])
	unused([2]int{0, 35}, [2]int{36, 50}, [2]int{59, 70}, [2]int{75, 99})
	for _, i := range []int{35, 50, 54, 58, 70, 74, 99} {
		require.NoError(t, rt.WaitOn(t.Context(), task.In(x[i:i+1])), i)
	}
	y := make([]uint32, 12)
	use(y[4:6:6])
	column := func(j int) task.Option { return task.In(y).Box([]int{3, 4}, []int{0, j}, []int{3, j + 1}) }
	require.ErrorIs(t, rt.WaitOn(t.Context(), column(3)), task.ErrUnused)
	require.NoError(t, rt.WaitOn(t.Context(), column(1)))
	use(x[30:80]) // the region of a part
	require.NoError(t, rt.WaitOn(t.Context(), task.In(x[30:31])))
	require.NoError(t, rt.Wait(context.Background()))
}

// A kernel that takes only the length of a slice failed where the buffer of that became a part of a
// larger one before it ran.
func TestMemoryFixed_LengthsOfWhatGrows(t *testing.T) {
	lens := loadMemoryKernels(t).lens
	for _, spec := range []string{"smp:2", "smp:2,sim:1(exec=cpu)", "sim:2(exec=simt),smp:2"} {
		rt := open(t, task.Options{Devices: spec})
		x, d, gate := make([]uint32, 100), make([]uint32, 20), make(chan struct{})
		_, err := rt.Go(func() error { <-gate; return nil }, task.InOut(d))
		require.NoError(t, err)
		_, err = lens.Submit(rt, uint32(2), d, x[40:60:60])
		require.NoError(t, err)
		whole, err := rt.Go(func() error { x[0] = 1; return nil }, task.InOut(x))
		require.NoError(t, err)
		require.NoError(t, whole.Wait(context.Background()))
		delay(20000)
		close(gate)
		require.NoError(t, rt.Wait(context.Background()), spec)
		require.EqualValues(t, 19*2+20, d[19])
	}
}

// A step whose Arg got memory that overlaps what another step uses was not ordered with that.
func TestMemoryFixed_ArgsThatMakeOtherStepsGrow(t *testing.T) {
	ks := loadMemoryKernels(t)
	for _, spec := range []string{"smp:3,sim:3(exec=cpu,peer=off)", "smp:4"} {
		rt := open(t, task.Options{Devices: spec})
		x, other, want := make([]uint32, 100), make([]uint32, 40), make([]uint32, 100)
		var d *task.Arg[[]uint32]
		it, err := rt.Record(func(r *task.Recorder) error {
			d = task.NewArg(r, other)
			_, one := ks.fill.Submit(r, 0, 40, uint32(3), d)
			_, two := ks.view.Submit(r, 0, 70, memView{Data: x[20:90:90], Shift: 5})
			return errors.Join(one, two)
		})
		require.NoError(t, err)
		require.Zero(t, it.Edges())
		d.Set(x[10:50])
		_, err = it.Replay()
		require.NoError(t, err)
		require.Equal(t, 1, it.Edges())
		Fill(0, 40, 3, want[10:50])
		MemView(0, 70, memView{Data: want[20:90], Shift: 5})
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, x, spec)
	}
}

// A replay was refused where the number of memory that an Arg had was that of a buffer of a Go step
// by then.
func TestMemoryFixed_NumbersOfBuffersAreUsedAgain(t *testing.T) {
	fill := kernelOf(t, Fill)
	for _, spec := range []string{"smp:2", "smp:1,sim:1(exec=cpu)"} {
		for _, nested := range []bool{false, true} {
			rt := open(t, task.Options{Devices: spec})
			first, err := task.Alloc[uint32](rt, 50)
			require.NoError(t, err)
			x, other := make([]uint32, 100), make([]uint32, 50)
			var arg *task.Arg[[]uint32]
			it, err := rt.Record(func(r *task.Recorder) error {
				arg = task.NewArg(r, first)
				_, err := fill.Submit(r, 0, 50, uint32(3), arg)
				if nested {
					return errors.Join(err, r.GoScope(func(*task.Scope) error { x[60]++; return nil }, task.InOut(x[60:80])))
				}
				return errors.Join(err, r.Go(func() error { x[60]++; return nil }, task.InOut(x[60:80])))
			})
			require.NoError(t, err)
			_, err = it.Replay()
			require.NoError(t, err)
			require.NoError(t, task.Free(rt, first))
			_, err = rt.Go(nothing, task.InOut(x)) // the buffer around x[60:80] gets the number
			require.NoError(t, err)
			arg.Set(other)
			for range 2 {
				_, err = it.Replay()
				require.NoError(t, err, spec)
			}
			require.NoError(t, rt.Wait(t.Context()))
			require.True(t, filled(3, other), spec)
			require.EqualValues(t, 3, x[60], spec)
			require.NoError(t, task.Unregister(rt, x)) // which the Go step needs
			_, err = it.Replay()
			require.ErrorContains(t, err, ", which step 1, ", spec)
			require.ErrorContains(t, err, "was given back by Unregister", spec)
		}
	}
}

// A replay was refused where an Arg of a reduction had memory that was freed, also with other
// memory.
func TestMemoryFixed_ReductionsIntoOtherMemory(t *testing.T) {
	dot := kernelOf(t, Dot)
	for _, spec := range []string{"smp:2", "smp:1,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: spec})
		x := []int32{1, 2, 3, 4, 5, 6, 7, 8}
		sum, err := task.Alloc[int32](rt, 1)
		require.NoError(t, err)
		var arg *task.Arg[[]int32]
		it, err := rt.Record(func(r *task.Recorder) error {
			arg = task.NewArg(r, sum)
			_, one := dot.Submit(r, 0, 4, x, x, arg)
			_, two := dot.Submit(r, 4, 8, x, x, arg)
			return errors.Join(one, two)
		})
		require.NoError(t, err)
		for range 2 {
			_, err = it.Replay()
			require.NoError(t, err)
			require.NoError(t, rt.Wait(t.Context()))
			require.EqualValues(t, 204, sum[0], spec)
			require.NoError(t, task.Free(rt, sum))
			sum, err = task.Alloc[int32](rt, 1)
			require.NoError(t, err)
			arg.Set(sum)
		}
	}
}

// A wait for memory of which tasks have used a part made all of it known, so that a later wait for
// the rest returned nil.
func TestMemoryFixed_WaitsUseNothing(t *testing.T) {
	for _, spec := range []string{"smp:2", "smp:1,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: spec})
		x, y, z := make([]uint32, 100), make([]uint32, 100), make([]uint32, 100)
		_, err := rt.Go(nothing, task.InOut(x[:10]))
		require.NoError(t, err)
		wait := func(at interface {
			WaitOn(context.Context, ...task.Option) error
		}, ctx context.Context, x []uint32) error {
			require.ErrorIs(t, at.WaitOn(ctx, task.In(x[20:30])), task.ErrUnused)
			for _, o := range []task.Option{task.In(x), task.InOut(x[5:])} {
				require.NoError(t, at.WaitOn(ctx, o))
				require.ErrorIs(t, at.WaitOn(ctx, task.In(x[20:30])), task.ErrUnused, spec)
			}
			return nil
		}
		require.NoError(t, wait(rt, t.Context(), x))
		require.NoError(t, rt.WaitOn(t.Context(), task.In(x[9:11]), task.In(x[:1])))
		require.ErrorIs(t, rt.WaitOn(t.Context(), task.In(x[:1]), task.In(x[10:11])), task.ErrUnused, spec)
		_, err = rt.GoScope(func(s *task.Scope) error {
			if _, err := s.Go(nothing, task.InOut(y[:10])); err != nil {
				return err
			}
			return wait(s, s.Context(), y)
		})
		require.NoError(t, err)
		// A wait in a body, below a weak access, uses nothing of what is outside of it.
		_, err = rt.GoScope(func(s *task.Scope) error {
			if _, err := s.Go(nothing, task.InOut(z[:10])); err != nil {
				return err
			}
			return s.WaitOn(s.Context(), task.In(z[:20]))
		}, task.InOut(z[:20]).Weak())
		require.NoError(t, err)
		require.NoError(t, rt.WaitOn(t.Context(), task.In(z)))
		require.ErrorIs(t, rt.WaitOn(t.Context(), task.In(z[20:])), task.ErrUnused, spec)
		_, err = rt.Go(nothing, task.InOut(x)) // the region of a wait
		require.NoError(t, err)
		require.NoError(t, rt.WaitOn(t.Context(), task.In(x[20:30])))
		require.NoError(t, rt.Wait(context.Background()))
	}
}
