package task_test

import (
	"context"
	"regexp"
	"runtime"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// line returns the line that it is called in.
func line() int {
	_, _, n, _ := runtime.Caller(1)
	return n
}

// lines are where functions of tests begin, in errors.
var lines = regexp.MustCompile(`\(\w+_test\.go:\d+\)`)

// says requires the text of an error, in which LINE is the line of a function.
func says(t testing.TB, err error, want string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, lines.ReplaceAllString(err.Error(), "(LINE)"))
}

type failing struct{}

func (failing) run() error { return errBoom }

// The error of a Go task has the line where its function begins, however it was submitted, also in an iteration and for who was skipped.
func TestErrorsHaveTheLineOfTheFunction(t *testing.T) {
	for name, submit := range map[string]func(at task.Submitter, x []int) (int, error){
		"value": func(at task.Submitter, x []int) (int, error) {
			_, err := task.GoValue(at, func() (int, error) { return 0, errBoom }, task.Out(x))
			return line() - 1, err
		},
		"value with a scope": func(at task.Submitter, x []int) (int, error) {
			_, err := task.GoValueScope(at, func(*task.Scope) (int, error) { return 0, errBoom }, task.Out(x))
			return line() - 1, err
		},
		"loop": func(at task.Submitter, x []int) (int, error) {
			_, err := task.Taskloop(at, 0, 1, func(*task.Scope, int, int) error { return errBoom }, task.WithOptions(task.Out(x)))
			return line() - 1, err
		},
		"wide": func(at task.Submitter, x []int) (int, error) {
			_, err := task.ParallelFor(at, 0, 1, 1, func(int, int) error { panic(errBoom) }, task.Out(x))
			return line() - 1, err
		},
		"go": func(at task.Submitter, x []int) (int, error) {
			body := func() error { return errBoom }
			where := line() - 1
			switch at := at.(type) {
			case *task.Group:
				_, err := at.Go(body, task.Out(x))
				return where, err
			case *task.Recorder:
				return where, at.Go(body, task.Out(x))
			}
			_, err := at.(*task.Runtime).Go(body, task.Out(x))
			return where, err
		},
		"go with a context": func(at task.Submitter, x []int) (int, error) {
			if rt, ok := at.(*task.Runtime); ok {
				_, err := rt.GoContext(func(context.Context) error { return errBoom }, task.Out(x))
				return line() - 1, err
			}
			_, err := task.GoValue(at, func() (int, error) { return 0, errBoom }, task.Out(x))
			return line() - 1, err
		},
	} {
		rt := open(t, task.Options{Devices: "smp:2"})
		x := make([]int, 1)
		look := func(where int, err error) {
			t.Helper()
			var failed *task.FailedError
			require.ErrorAs(t, err, &failed, name)
			for len(failed.Failed) > 0 && failed.Failed[0].Label == "iteration" {
				require.ErrorAs(t, failed.Failed[0].Cause, &failed, name)
			}
			require.Len(t, failed.Failed, 1, name)
			require.Equal(t, "origin_test.go", failed.Failed[0].Pos.File, name)
			require.Equal(t, where, failed.Failed[0].Pos.Line, name)
			require.Contains(t, err.Error(), "(origin_test.go:", name)
		}
		where, err := submit(rt, x)
		require.NoError(t, err, name)
		skipped, err := rt.Go(nothing, task.In(x))
		require.NoError(t, err, name)
		look(where, rt.Wait(context.Background()))
		var of *task.Error
		require.ErrorAs(t, skipped.Err(), &of)
		require.Equal(t, "bench_test.go", of.Pos.File)
		g := task.NewGroup(rt)
		where, err = submit(g, x)
		require.NoError(t, err, name)
		look(where, g.Wait(context.Background()))
		it, err := rt.Record(func(r *task.Recorder) (err error) { where, err = submit(r, x); return err })
		require.NoError(t, err, name)
		_, err = it.Replay()
		require.NoError(t, err, name)
		look(where, rt.Wait(context.Background()))
		_, changed, err := it.ReplayOrRecord(func(r *task.Recorder) (err error) { where, err = submit(r, x); return err })
		require.NoError(t, err, name)
		require.False(t, changed, name)
		look(where, rt.Wait(context.Background()))
	}
	rt := open(t, task.Options{Devices: "smp:2"})
	_, err := rt.Go(failing{}.run)
	require.NoError(t, err)
	require.EqualError(t, rt.Wait(context.Background()), "task: go task task_test.failing.run on smp: boom", "the compiler has written a method value")
}
