package task_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

func TestCheckFindsWritesThatWereNotDeclared(t *testing.T) {
	for _, spec := range []string{"smp:1", "smp:2"} {
		t.Setenv(task.CheckVariable, "1")
		rt := open(t, task.Options{Devices: spec})
		x := make([]int32, 100)
		require.NoError(t, task.Register(rt, x))
		where := fmt.Sprintf("100 elements of 4 bytes at %p", x)
		_, err := rt.Go(func() error { x[7]++; return nil }, task.In(x[5:50]), task.Out(x[60:]), task.Label("sly"))
		require.NoError(t, err)
		err = rt.Wait(context.Background())
		var v *task.ViolationError
		require.ErrorAs(t, err, &v)
		require.Equal(t, "sly", v.Label)
		require.EqualValues(t, 7, v.Index)
		require.False(t, v.Stray)
		require.EqualError(t, v, "check: element 7 of b0[5:50] changed while sly ran, which has declared it as in: it wrote it, or another task did that has not declared it; b0 is "+where)

		_, err = rt.Go(func() error { x[55]++; return nil }, task.In(x[5:50]), task.Out(x[60:]), task.Label("stray"))
		require.NoError(t, err)
		says(t, rt.Wait(context.Background()), "task: stray (LINE) on smp: check: element 55 of b0[50:60] changed while stray ran, which has not declared it; b0 is "+where)

		_, err = rt.Go(func() error { copy(x[60:], x[5:45]); x[3]++; return nil }, task.In(x[5:50]), task.Out(x[60:]), task.InOut(x[3:4]))
		require.NoError(t, err)
		_, err = rt.Go(func() error { x[30] = 9; return nil }, task.InOut(x).Box([]int{10, 10}, []int{0, 0}, []int{10, 1}), task.In(x[1:10]))
		require.NoError(t, err)
		_, err = rt.GoScope(func(s *task.Scope) error {
			_, err := s.Go(func() error { x[0] = 4; return nil }, task.Out(x[:1]))
			return errors.Join(err, s.Wait(context.Background()))
		}, task.InOut(x))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()), "these do what they say")
	}
}

// Each of these tasks touches what it has not declared, in one way or another; beside each run others that do as they say.
func TestCheckFindsEveryKindOfWrite(t *testing.T) {
	for _, spec := range []string{"smp:1", "smp:3"} {
		x, y, shared := make([]int32, 100), make([]int32, 100), make([]int32, 30)
		liar := kernelWith("EveryOther", func(*task.Args) { x[3] = 9 })
		inside := func(s *task.Scope, f func() error, options ...task.Option) error {
			_, err := s.Go(f, options...)
			return errors.Join(err, s.Wait(context.Background()))
		}
		for name, c := range map[string]struct {
			submit func(rt *task.Runtime) error
			label  string
			region string
		}{
			"an in region": {func(rt *task.Runtime) error {
				_, err := rt.Go(func() error { x[1]++; return nil }, task.In(x[:10]), task.Label("bad"))
				return err
			}, "bad", "element 1 of b0[0:10]"},
			"outside of an inout region": {func(rt *task.Runtime) error {
				_, err := rt.Go(func() error { x[10]++; return nil }, task.InOut(x[:10]), task.Label("bad"))
				return err
			}, "bad", "element 10 of b0[10:100]"},
			"between the rows of a box": {func(rt *task.Runtime) error {
				_, err := rt.Go(func() error { x[15]++; return nil }, task.InOut(x).Box([]int{10, 10}, []int{0, 0}, []int{3, 5}), task.Label("bad"))
				return err
			}, "bad", "element 15 of b0"},
			"another buffer": {func(rt *task.Runtime) error {
				_, err := rt.Go(func() error { y[10]++; return nil }, task.InOut(x[:10]), task.Label("bad"))
				return err
			}, "bad", "b1[0:100]"},
			"with a retry": {func(rt *task.Runtime) error {
				_, err := rt.Go(func() error { x[1]++; return nil }, task.In(x[:10]), task.Retry(1), task.Label("bad"))
				return err
			}, "bad", "element 1 of b0[0:10]"},
			"by a child": {func(rt *task.Runtime) error {
				_, err := rt.GoScope(func(s *task.Scope) error {
					return inside(s, func() error { x[7]++; return nil }, task.InOut(x[:5]), task.Label("bad"))
				}, task.InOut(x[:50]))
				return err
			}, "bad", "element 7 of b0[5:100]"},
			"by a body with a scope": {func(rt *task.Runtime) error {
				_, err := rt.GoScope(func(s *task.Scope) error {
					x[60]++
					return inside(s, func() error { x[7]++; return nil }, task.InOut(x[7:8]))
				}, task.InOut(x[:50]), task.Label("bad"))
				return err
			}, "bad", "element 60 of b0[50:100]"},
			"by a child with a scope": {func(rt *task.Runtime) error {
				_, err := rt.GoScope(func(s *task.Scope) error {
					_, err := s.GoScope(func(*task.Scope) error { x[70]++; return nil }, task.InOut(x[:5]), task.Label("bad"))
					return errors.Join(err, s.Wait(context.Background()))
				}, task.InOut(x[:50]))
				return err
			}, "bad", "element 70 of b0[5:100]"},
			"by a loop": {func(rt *task.Runtime) error {
				_, err := task.Taskloop(rt, 0, 40, func(_ *task.Scope, lo, hi int) error {
					for i := lo; i < hi; i++ {
						x[i]++
					}
					if lo == 20 {
						x[hi]++ // of the neighbour
					}
					return nil
				}, task.Tasks(4), task.WithOptions(task.Label("bad")), task.PerChunk(func(lo, hi int) []task.Option { return []task.Option{task.InOut(x[lo:hi])} }))
				return err
			}, "bad", "element 30 of b0[30:100]"},
			"instead of the private copy": {func(rt *task.Runtime) error {
				_, err := rt.GoScope(func(s *task.Scope) error { task.Private(s, x[:4])[0]++; x[2]++; return nil },
					task.Reduce(x[:4], task.Sum[int32]()), task.Label("bad"))
				return err
			}, "bad", "element 2 of b0[0:4] changed while bad ran, which reduces into it"},
			"by an iteration": {func(rt *task.Runtime) error {
				it, err := rt.Record(func(r *task.Recorder) error {
					return errors.Join(r.Go(func() error { x[20]++; return nil }, task.InOut(x[:5]), task.Priority(1), task.Label("bad")),
						r.Go(func() error { x[20]++; return nil }, task.InOut(x[20:25]), task.Priority(1)))
				})
				if err != nil {
					return err
				}
				_, err = it.Replay()
				return err
			}, "bad", "element 20 of b0[5:100]"},
			"by a kernel": {func(rt *task.Runtime) error {
				_, err := liar.Submit(rt, 0, x[:3])
				return err
			}, "EveryOther", "element 3 of b0[3:100]"},
		} {
			t.Run(spec+"/"+name, func(t *testing.T) {
				rt := open(t, task.Options{Devices: spec, Check: true, Vector: task.VectorOff})
				for _, b := range [][]int32{x, y, shared} {
					require.NoError(t, task.Register(rt, b))
				}
				for i := range 30 {
					if i == 15 {
						require.NoError(t, c.submit(rt))
					}
					_, err := rt.Go(func() error { delay(200); shared[i]++; return nil }, task.InOut(shared[i:i+1]))
					require.NoError(t, err)
				}
				var v *task.ViolationError
				err := rt.Wait(context.Background())
				require.ErrorAs(t, err, &v)
				require.Equal(t, c.label, v.Label)
				require.Contains(t, v.Error(), c.region)
				var f *task.FailedError
				require.ErrorAs(t, err, &f)
				require.Len(t, f.Failed, 1, "%v", err)
			})
		}
	}
}

// Random programs do what they say: nobody is accused.
func TestCheckAccusesNobodyInnocent(t *testing.T) {
	if raceEnabled {
		t.Skip("what is not declared is looked at while others may write it: then nothing is judged by it, but it is a race")
	}
	ks := loadModelKernels(t)
	for seed := range uint64(150) {
		t.Setenv(task.CheckVariable, []string{"1", "reads"}[seed%2])
		require.NoError(t, runModel(ks, *firstSeed+seed))
		require.NoError(t, replayModel(ks, *firstSeed+seed))
	}
}

// Bodies that talk to each other are not run one at a time for ever.
func TestCheckLetsBodiesTalk(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2", Check: true})
	x, ping := make([]int, 2), make(chan int)
	_, err := rt.Go(func() error { x[0] = <-ping; return nil }, task.Out(x[:1]))
	require.NoError(t, err)
	_, err = rt.Go(func() error { ping <- 5; x[1] = 6; return nil }, task.Out(x[1:]))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, []int{5, 6}, x)
}

func TestGraphIsWritten(t *testing.T) {
	g := task.NewGraph()
	rt := open(t, task.Options{Devices: "smp:1", Observer: g})
	x, gate := make([]int, 2), make(chan struct{})
	require.NoError(t, task.Register(rt, x))
	_, err := rt.Go(func() error { <-gate; return nil }, task.Out(x), task.Label("first"))
	require.NoError(t, err)
	_, err = rt.GoScope(func(s *task.Scope) error {
		_, err := s.Go(nothing, task.InOut(x[:1]), task.Label("child"))
		return err
	}, task.InOut(x[:1]), task.Label("parent"))
	require.NoError(t, err)
	_, err = rt.Go(func() error { return errors.New("boom") }, task.In(x[1:]), task.Label("bad"))
	require.NoError(t, err)
	close(gate)
	require.Error(t, rt.Wait(context.Background()))
	var out bytes.Buffer
	require.NoError(t, g.WriteDOT(&out))
	require.Equal(t, `digraph tasks {
	node [shape=box, fontname="sans-serif"];
	t1 [label="1 first\nsmp"];
	t2 [label="2 parent\nsmp"];
	subgraph cluster_2 {
		label="2 parent\nsmp";
		t4 [label="4 child\nsmp"];
	}
	t3 [label="3 bad\nsmp", color=red];
	t1 -> t2;
	t1 -> t3;
}
`, out.String())
}

// What a task has written without a right to it is not put back: a retry would run on it.
func TestAViolationIsNotRetried(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2", Check: true})
	x, runs := make([]int, 10), 0
	_, err := rt.Go(func() error { runs++; x[5] += x[0]; return nil }, task.In(x[:6]), task.Retry(3))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()), "nothing has changed")
	x[0] = 1
	_, err = rt.Go(func() error { runs++; x[5] += x[0]; return nil }, task.In(x[:6]), task.Retry(3))
	require.NoError(t, err)
	var v *task.ViolationError
	require.ErrorAs(t, rt.Wait(context.Background()), &v)
	require.Equal(t, 2, runs)
}

// Who makes an event happen touches what the task of the event may touch: what runs meanwhile is not accused of it.
func TestCheckKnowsOfEvents(t *testing.T) {
	if raceEnabled {
		t.Skip("what is not declared is looked at while others may write it: then nothing is judged by it, but it is a race")
	}
	rt := open(t, task.Options{Devices: "smp:2", Check: true})
	x, y := make([]int64, 200), make([]int64, 200)
	require.NoError(t, task.Register(rt, x))
	require.NoError(t, task.Register(rt, y))
	for i := range x {
		_, err := rt.GoScope(func(s *task.Scope) error {
			e, err := s.Event()
			if err == nil {
				go func() { x[i] = 7; _ = e.Fulfill(nil) }()
			}
			return err
		}, task.Out(x[i:i+1]))
		require.NoError(t, err)
		_, err = rt.Go(func() error { y[i]++; return nil }, task.InOut(y[i:i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 7, x[199])
}

// Beside accelerators the checks find less, which a run with them said nothing of.
func TestCheck_SaysWhatItDoesNotFind(t *testing.T) {
	require.Empty(t, task.LimitedChecks(true, true, false))
	require.Empty(t, task.LimitedChecks(false, false, true))
	require.Contains(t, task.LimitedChecks(true, false, true), "GOMPSS_CHECK finds no writes without any declaration")
	require.Contains(t, task.LimitedChecks(true, true, true), "GOMPSS_CHECK=reads finds neither reads nor writes")
}
