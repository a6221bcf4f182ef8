package task_test

import (
	"context"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// Who waits for room in the window goes on when the context of what is submitted ends, with its cause, and nothing was submitted.
func TestSubmissionsThatWaitForRoomAreCancelled(t *testing.T) {
	fill := kernelOf(t, Fill)
	y := make([]uint32, 8)
	for name, submit := range map[string]func(at task.Submitter, it *task.Iteration) error{
		"go": func(at task.Submitter, _ *task.Iteration) error {
			_, err := task.GoValue(at, func() (int, error) { return 0, nil })
			return err
		},
		"go with a scope": func(at task.Submitter, _ *task.Iteration) error {
			_, err := task.GoValueScope(at, func(*task.Scope) (int, error) { return 0, nil })
			return err
		},
		"loop": func(at task.Submitter, _ *task.Iteration) error {
			_, err := task.Taskloop(at, 0, 10, func(*task.Scope, int, int) error { return nil })
			return err
		},
		"kernel": func(at task.Submitter, _ *task.Iteration) error {
			_, err := fill.Submit(at, 0, 8, uint32(1), y)
			return err
		},
		"replay": func(at task.Submitter, it *task.Iteration) error {
			_, err := it.ReplayIn(at)
			return err
		},
	} {
		for _, inGroup := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				rt, err := task.New(task.Options{Devices: "smp:1", Window: 2, Context: ctx})
				require.NoError(t, err)
				ran := 0
				it, err := rt.Record(func(r *task.Recorder) error { return r.Go(func() error { ran++; return nil }, task.InOut(y)) })
				require.NoError(t, err)
				gate := make(chan struct{})
				_, err = rt.Go(func() error { <-gate; return nil })
				require.NoError(t, err)
				_, err = rt.Go(nothing)
				require.NoError(t, err)
				var at task.Submitter = rt
				g := task.NewGroup(rt)
				if inGroup {
					at, cancel = g, g.Cancel
				}
				refused := make(chan error)
				go func() { refused <- submit(at, it) }()
				select {
				case err := <-refused:
					require.Fail(t, "there was room", "%v", err)
				case <-time.After(2 * time.Millisecond):
				}
				cancel(errBoom)
				require.ErrorIs(t, <-refused, errBoom)
				close(gate)
				require.NoError(t, g.Wait(context.Background()))
				if inGroup {
					require.NoError(t, rt.Wait(context.Background()))
					_, err = rt.Go(nothing)
					require.NoError(t, err)
				}
				require.ErrorIs(t, rt.Close(), map[bool]error{false: errBoom}[inGroup])
				require.Zero(t, ran)
				require.Zero(t, y[0])
			})
		}
	}
}

// A body waits for its child where the window is full: as long as its context holds.
func TestBodiesThatWaitForRoomAreCancelled(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2", Window: 1})
	g, waits := task.NewGroup(rt), make(chan struct{})
	over := false
	_, err := g.GoScope(func(s *task.Scope) error {
		var opened *task.Event
		_, err := s.GoScope(func(child *task.Scope) (err error) {
			opened, err = child.Event()
			close(waits)
			return err
		})
		if err != nil {
			return err
		}
		over = true
		return opened.Fulfill(nil) // not before the child, which waits for it, was left alone
	})
	require.NoError(t, err)
	<-waits
	g.Cancel(errBoom)
	_ = g.Wait(context.Background())
	require.True(t, over)
	require.NoError(t, rt.Wait(context.Background()))
}

// Waits take no room: what they wait for may be all that keeps the others.
func TestWaitsNeedNoRoom(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2", Window: 2})
	x, gate := make([]int, 2), make(chan struct{})
	_, err := rt.Go(func() error { <-gate; return nil }, task.Out(x[:1]))
	require.NoError(t, err)
	_, err = rt.Go(func() error { x[1] = 5; return nil }, task.Out(x[1:]))
	require.NoError(t, err)
	require.NoError(t, rt.WaitOn(t.Context(), task.In(x[1:])))
	require.Equal(t, 5, x[1])
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
}
