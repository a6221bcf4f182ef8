package task_test

import (
	"context"
	"errors"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// What cannot work is refused with a reason where it is submitted, and nothing else is harmed.
func TestWhatCannotWorkIsRefused(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, names, none := make([]int64, 8), make([]string, 8), make([]struct{}, 8)
	require.NoError(t, task.Register(rt, names))
	reduce := func(o task.Option) func(task.Submitter) error {
		return func(at task.Submitter) error {
			_, err := task.Taskloop(at, 0, 1, func(*task.Scope, int, int) error { return nil }, task.WithOptions(o))
			return err
		}
	}
	again := func(o task.Option) func(task.Submitter) error {
		return func(at task.Submitter) error {
			_, err := task.GoValue(at, func() (int, error) { return 0, nil }, o, task.Retry(1))
			return err
		}
	}
	for want, submit := range map[string]func(task.Submitter) error{
		"operator: nil":                      reduce(task.Reduce(x, nil)),
		"made without NewOperator":           reduce(task.Reduce(x, &task.Operator[int64]{})),
		"operator without a name":            reduce(task.Reduce(x, task.NewOperator("", int64(0), func(a, b int64) int64 { return a }))),
		"operator first: its function":       reduce(task.Reduce(x, task.NewOperator("first", int64(0), nil))),
		"operator join: type string holds":   reduce(task.Reduce(names, task.NewOperator("join", "", func(a, b string) string { return a + b }))),
		"retry: inout: its elements hold":    again(task.InOut(names)),
		"retry: commutative: its elements":   again(task.Commutative(names)),
		"retry: inout: its elements hold Go": again(task.InOut(task.One(&names[1]))),
		"hold Go pointers, and cannot be":    again(task.InOut(names).Box([]int{2, 4}, []int{0, 1}, []int{2, 2})),
		"elements without a size":            again(task.InOut(none)),
	} {
		require.ErrorContains(t, submit(rt), want)
		_, err := rt.Record(func(r *task.Recorder) error { return submit(r) })
		require.ErrorContains(t, err, want)
	}
	_, err := rt.Record(nil)
	require.ErrorContains(t, err, "build is nil")
	_, err = rt.RecordKernels("nothing", nil)
	require.ErrorContains(t, err, "build is nil")
	_, err = rt.Go(func() error { names[0] = "a"; return nil }, task.Out(names[:1]), task.Retry(1)) // written only: nothing is put back
	require.NoError(t, err)
	_, err = rt.Go(nothing, task.In(names), task.Retry(1))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, "a", names[0])
}

// A loop may be told what says nothing.
func TestALoopOfUntiedTasks(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	tasks, err := task.Taskloop(rt, 0, 4, func(*task.Scope, int, int) error { return nil }, task.Tasks(2), task.WithOptions(task.Untied()))
	require.NoError(t, err)
	require.Len(t, tasks, 2)
	_, err = task.Taskloop(rt, 0, 4, func(*task.Scope, int, int) error { return nil }, task.LoopOption{})
	require.ErrorContains(t, err, "says nothing")
	require.NoError(t, rt.Wait(context.Background()))
}

// Who recovers from a panic while an iteration is built again has one that is not replayed, until it is built.
func TestAgainThatPanics(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int64, 2)
	build := func(by int64, breaks bool) func(r *task.Recorder) error {
		return func(r *task.Recorder) error {
			err := r.Go(func() error { x[0] += by; return nil }, task.InOut(x[:1]))
			if breaks {
				panic(errBoom)
			}
			return errors.Join(err, r.Go(func() error { x[1] += by; return nil }, task.InOut(x[1:])))
		}
	}
	require.NoError(t, task.Register(rt, x))
	it, err := rt.Record(build(1, false))
	require.NoError(t, err)
	require.Panics(t, func() { _, _, _ = it.ReplayOrRecord(build(10, true)) })
	_, err = it.Replay()
	var changed *task.ChangedError
	require.ErrorAs(t, err, &changed)
	_, _, err = it.ReplayOrRecord(build(100, false))
	require.NoError(t, err)
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, []int64{200, 200}, x)
}

// Recording waits for nothing, also in a body.
func TestRecordInABody(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x, now := make([]int32, 8), kernelOf(t, SometimesNow)
	require.NoError(t, task.Register(rt, x))
	var it *task.Iteration
	_, err := rt.Go(func() (err error) {
		it, err = rt.Record(func(r *task.Recorder) error {
			_, err := now.Submit(r, false, x)
			return errors.Join(err, r.Go(func() error { x[0]++; return nil }, task.InOut(x), task.If(false)))
		})
		return err
	})
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, []int32{2, 1}, x[:2])
}
