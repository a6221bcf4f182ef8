package task_test

import (
	"context"
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// What the random programs found.

// ran submits an empty task and returns a function that reports, after a wait, whether it ran.
func ran(t *testing.T, at task.Submitter, options ...task.Option) func() bool {
	t.Helper()
	done := false
	require.NoError(t, goAt(at, func() error { done = true; return nil }, options...))
	return func() bool { return done }
}

// A task of a group was skipped before the predecessors of its weak access had finished. Tasks
// submitted after the wait of the group, which reports that, were skipped, too, unless those
// predecessors finished before the wait.
func TestModelFixed_ReportedSkipOfATaskWithAWeakAccess(t *testing.T) {
	for _, late := range []bool{false, true} {
		rt := open(t, task.Options{Devices: "smp:2"})
		x, y := make([]int, 4), make([]int, 4)
		var g gates
		_, err := rt.Go(func() error { g.pass("y"); return nil }, task.InOut(y))
		require.NoError(t, err)
		_, err = rt.Go(func() error { return errBoom }, task.InOut(x))
		require.NoError(t, err)
		group := task.NewGroup(rt)
		_, err = group.GoScope(func(*task.Scope) error { return nil }, task.In(x), task.InOut(y).Weak())
		require.NoError(t, err)
		before := ran(t, rt, task.In(y[:1]))
		if !late {
			g.open("y")
			require.Error(t, rt.WaitOn(t.Context(), task.In(y[:1])))
		}
		require.NoError(t, toldCounts(group.Wait(t.Context()), 0, 1))
		after := ran(t, rt, task.InOut(y[1:2]))
		if late {
			g.open("y")
		}
		require.NoError(t, toldCounts(rt.Wait(context.Background()), 1, 1))
		require.False(t, before())
		require.True(t, after())
	}
}

// The same in the body of a task, whose Wait reports the skipped child.
func TestModelFixed_ReportedSkipOfAChildWithAWeakAccess(t *testing.T) {
	for _, late := range []bool{false, true} {
		rt := open(t, task.Options{Devices: "smp:3"})
		x, y := make([]int, 4), make([]int, 4)
		var g gates
		_, err := rt.Go(func() error { g.pass("y"); return nil }, task.InOut(y))
		require.NoError(t, err)
		if !late {
			g.open("y")
			require.NoError(t, rt.WaitOn(t.Context(), task.In(y)))
		}
		var after func() bool
		_, err = rt.GoScope(func(s *task.Scope) error {
			if _, err := s.Go(func() error { return errBoom }, task.InOut(x)); err != nil {
				return err
			}
			if _, err := s.GoScope(func(*task.Scope) error { return nil }, task.In(x), task.InOut(y).Weak()); err != nil {
				return err
			}
			if err := toldCounts(s.Wait(s.Context()), 1, 1); err != nil {
				return err
			}
			after = ran(t, s, task.InOut(y))
			if late {
				g.open("y")
			}
			return nil
		}, task.InOut(x), task.InOut(y).Weak())
		require.NoError(t, err)
		last := ran(t, rt, task.InOut(y))
		require.NoError(t, rt.Wait(context.Background()))
		require.True(t, after())
		require.True(t, last())
	}
}

// A task of a group with a weak access and no children finishes before an earlier task has failed
// on a part of the region. Tasks on other parts, submitted after the wait of the group, were skipped
// or not, depending on whether the failure or the wait was first.
func TestModelFixed_FailureBehindAWeakAccessOfAGroup(t *testing.T) {
	for _, late := range []bool{false, true} {
		rt := open(t, task.Options{Devices: "smp:2"})
		x := make([]int, 4)
		require.NoError(t, task.Register(rt, x))
		var g gates
		_, err := rt.Go(func() error { g.pass("fail"); return errBoom }, task.InOut(x[:1]))
		require.NoError(t, err)
		if !late {
			g.open("fail")
			require.Error(t, rt.WaitOn(t.Context(), task.InOut(x[:1])))
		}
		group := task.NewGroup(rt)
		_, err = group.GoScope(func(*task.Scope) error { return nil }, task.In(x).Weak())
		require.NoError(t, err)
		before := ran(t, rt, task.InOut(x[1:2]))
		require.NoError(t, group.Wait(t.Context()))
		after, both := ran(t, rt, task.InOut(x[2:3])), ran(t, rt, task.InOut(x[:1]))
		if late {
			g.open("fail")
		}
		require.NoError(t, rt.WaitOn(t.Context(), task.InOut(x[3:])))
		require.NoError(t, toldCounts(rt.Wait(context.Background()), 1, 2))
		require.False(t, before())
		require.True(t, after())
		require.False(t, both(), "its part depends on the failed task")
	}
}

// A buffer grew behind a task that only read what a failed task should have written. Another reader,
// submitted after the growth, ran.
func TestModelFixed_GrowthBehindAReaderOfWhatFailed(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int, 6)
	var g gates
	_, err := rt.Go(func() error { g.pass("fail"); return errBoom }, task.InOut(x[4:]))
	require.NoError(t, err)
	first := ran(t, rt, task.In(x[4:]))
	whole := ran(t, rt, task.InOut(x).Box([]int{6}, []int{0}, []int{2}), task.In(x).Box([]int{6}, []int{4}, []int{6}))
	other := ran(t, rt, task.InOut(x[2:4]))
	g.open("fail")
	require.NoError(t, toldCounts(rt.Wait(context.Background()), 1, 2))
	require.False(t, first())
	require.False(t, whole())
	require.True(t, other())
}

// A buffer grew behind a failed task of a group and an unfinished one. Tasks submitted after the
// wait of the group, while the buffer grew, were skipped.
func TestModelFixed_GrowthAcrossTheWaitOfAGroup(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int, 6)
	var g gates
	_, err := rt.Go(func() error { g.pass("slow"); return nil }, task.InOut(x[:2:2]))
	require.NoError(t, err)
	group := task.NewGroup(rt)
	_, err = group.Go(func() error { g.pass("fail"); return errBoom }, task.InOut(x[4:]))
	require.NoError(t, err)
	part := func(lo, hi int) task.Option { return task.InOut(x).Box([]int{6}, []int{lo}, []int{hi}) }
	before := ran(t, rt, part(4, 5))
	g.open("fail")
	require.NoError(t, toldCounts(group.Wait(t.Context()), 1, 0))
	after := ran(t, rt, part(5, 6))
	g.open("slow")
	require.NoError(t, toldCounts(rt.Wait(context.Background()), 0, 1))
	require.False(t, before())
	require.True(t, after())
}

// A group has a task with a weak access that has no children: its wait does not wait for the earlier
// tasks on the region, so that the model must not compare these elements.
func TestModelFixed_WeakAccessWithoutChildrenWritesNothing(t *testing.T) {
	ks := loadModelKernels(t)
	row := func(i int, mode deps.Mode, weak bool) area {
		return area{i0: i, i1: i + 1, j1: modelCols, mode: mode, weak: weak}
	}
	for range 5 {
		c := &modelCase{bufs: 1, tasks: 3, values: [][]uint32{make([]uint32, modelRows*modelCols)}}
		c.options.Devices = "smp:2"
		c.program = []step{
			{id: 0, k: 1999 << 20, accs: []area{row(0, deps.Reduction, false)}},
			{kind: groupOf, id: 1, body: []step{{kind: nestedTask, id: 1, k: 1, accs: []area{row(0, deps.InOut, true), row(1, deps.InOut, false)}}}},
			{kind: waitAll},
		}
		require.NoError(t, c.run(ks))
	}
}
