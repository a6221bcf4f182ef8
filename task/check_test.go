package task_test

import (
	"bytes"
	"errors"
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
		_, err := rt.Go(func() error { x[7]++; return nil }, task.In(x[5:50]), task.Out(x[60:]), task.Label("sly"))
		require.NoError(t, err)
		err = rt.Wait()
		var v *task.ViolationError
		require.ErrorAs(t, err, &v)
		require.Equal(t, "sly", v.Label)
		require.EqualValues(t, 7, v.Index)
		require.False(t, v.Stray)
		require.EqualError(t, v, "check: element 7 of b0[5:50] changed while sly ran, which has declared it as in: it wrote it, or another task did that has not declared it")

		_, err = rt.Go(func() error { x[55]++; return nil }, task.In(x[5:50]), task.Out(x[60:]), task.Label("stray"))
		require.NoError(t, err)
		if err = rt.Wait(); spec == "smp:1" {
			require.EqualError(t, err, "task: stray on smp: check: stray wrote element 55 of buffer 0, which it has not declared")
		} else {
			require.NoError(t, err, "another task might have")
		}

		_, err = rt.Go(func() error { copy(x[60:], x[5:45]); x[3]++; return nil }, task.In(x[5:50]), task.Out(x[60:]), task.InOut(x[3:4]))
		require.NoError(t, err)
		_, err = rt.Go(func() error { x[30] = 9; return nil }, task.InOut(x).Box([]int{10, 10}, []int{0, 0}, []int{10, 1}), task.In(x[1:10]))
		require.NoError(t, err)
		_, err = rt.GoScope(func(s *task.Scope) error {
			_, err := s.Go(func() error { x[0] = 4; return nil }, task.Out(x[:1]))
			return errors.Join(err, s.Wait())
		}, task.InOut(x))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(), "these do what they say")
	}
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
	require.Error(t, rt.Wait())
	var out bytes.Buffer
	require.NoError(t, g.WriteDOT(&out))
	require.Equal(t, `digraph tasks {
	node [shape=box];
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
