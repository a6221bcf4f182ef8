package task_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

// TestReplayOrRecord_DoesNotWait holds the first replay and asks for others with other bodies: the
// calls return, and each replay runs the bodies that it was given.
func TestReplayOrRecord_DoesNotWait(t *testing.T) {
	for _, spec := range []string{"smp:2", "smp:2,sim:1(exec=cpu)"} {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec})
			mix := kernelOf(t, Mix)
			x, y, want := make([]uint32, 64), make([]uint32, 64), make([]uint32, 64)
			held := make(chan struct{})
			var it task.Iteration
			for k := range uint32(5) {
				_, changed, err := rt.ReplayOrRecord(&it, func(r *task.Recorder) error {
					err := r.Go(func() error { <-held; x[0] = 3*x[0] + k; return nil }, task.InOut(x), task.Label("first"))
					_, failed := mix.Submit(r, 0, 64, 0, 64, k, x, y)
					return errors.Join(err, failed)
				})
				require.NoError(t, err)
				require.Equal(t, k == 0, changed)
				want[0] = 3*want[0] + k
				Mix(0, 64, 0, 64, k, want, y)
			}
			close(held)
			_, err := it.Replay() // with the last bodies
			require.NoError(t, err)
			want[0] = 3*want[0] + 4
			Mix(0, 64, 0, 64, 4, want, y)
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, want, x)
		})
	}
}

// TestReplayOrRecord_BodiesOfASkippedReplay: bodies that were given to a replay that never began are
// those of the replays after it.
func TestReplayOrRecord_BodiesOfASkippedReplay(t *testing.T) {
	for _, spec := range []string{"smp:2", "smp:2,sim:1(exec=cpu)"} {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec})
			x := make([]int, 1)
			held := make(chan struct{})
			var it task.Iteration
			replay := func(body func() error) {
				_, _, err := rt.ReplayOrRecord(&it, func(r *task.Recorder) error { return r.Go(body, task.InOut(x)) })
				require.NoError(t, err)
			}
			replay(func() error { <-held; return errBoom })
			replay(func() error { x[0] = 7; return nil })
			close(held)
			require.ErrorIs(t, rt.Wait(context.Background()), errBoom)
			require.Zero(t, x[0])
			_, err := it.Replay()
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, 7, x[0])
		})
	}
}

// TestReplayOrRecord_BeforeARecording records with the first call that succeeds.
func TestReplayOrRecord_BeforeARecording(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	var it task.Iteration
	_, err := it.Replay()
	require.Error(t, err)
	_, _, err = it.ReplayOrRecord(func(*task.Recorder) error { return nil })
	require.Error(t, err)
	_, _, err = rt.ReplayOrRecord(&it, func(*task.Recorder) error { return errBoom })
	require.ErrorIs(t, err, errBoom)
	_, _, err = rt.ReplayOrRecord(nil, func(*task.Recorder) error { return nil })
	require.Error(t, err)
	_, _, err = rt.ReplayOrRecord(&it, nil)
	require.Error(t, err)
	n := 0
	build := func(r *task.Recorder) error {
		return r.Go(func() error { n++; return nil }, task.InOut(task.One(&n)))
	}
	for i := range 3 {
		_, changed, err := rt.ReplayOrRecord(&it, build)
		require.NoError(t, err)
		require.Equal(t, i == 0, changed)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 3, n)
	require.Equal(t, 1, it.Tasks())
	other := open(t, task.Options{Devices: "smp:1"})
	_, _, err = other.ReplayOrRecord(&it, build)
	require.ErrorIs(t, err, task.ErrNotRecordable)
	_, err = rt.Go(func() error {
		_, _, err := rt.ReplayOrRecord(&it, build)
		return err
	})
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), task.ErrInsideTask)
}

// TestReplays_OverlapWhereTheirDataAllow holds one step of a replay: the next replay runs the steps
// that do not depend on it, and only those.
func TestReplays_OverlapWhereTheirDataAllow(t *testing.T) {
	for _, spec := range []string{"smp:3,sim:1(exec=cpu)", "smp:3,sim:2(exec=cpu)"} {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec})
			mix := kernelOf(t, Mix)
			a, b, c := make([]uint32, 64), make([]uint32, 64), make([]uint32, 64)
			held, reached := make(chan struct{}), make(chan int, 10)
			n := 0
			it, err := rt.Record(func(r *task.Recorder) error {
				slow := r.Go(func() error { <-held; a[0]++; return nil }, task.InOut(a))
				_, kernel := mix.Submit(r, 0, 64, 0, 64, uint32(1), b, c)
				quick := r.Go(func() error { n++; reached <- n; return nil }, task.InOut(c), task.In(b))
				behind := r.Go(func() error { a[0] *= 2; return nil }, task.InOut(a))
				return errors.Join(slow, kernel, quick, behind)
			})
			require.NoError(t, err)
			first, err := it.Replay()
			require.NoError(t, err)
			_, err = it.Replay()
			require.NoError(t, err)
			require.Equal(t, 1, <-reached)
			require.Equal(t, 2, <-reached, "of the second replay, while the first has not finished")
			select {
			case <-first.Done():
				t.Error("the first replay has finished")
			default:
			}
			for range 3 {
				_, err = it.Replay()
				require.NoError(t, err)
			}
			close(held)
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, 5, n)
			var wantA, wantB [64]uint32
			for range 5 {
				wantA[0]++
				Mix(0, 64, 0, 64, 1, wantB[:], c)
				wantA[0] *= 2
			}
			require.Equal(t, wantA[:], a)
			require.Equal(t, wantB[:], b)
		})
	}
}

// TestReplays_AFailureSkipsTheReplayThatOverlaps: the replay after one that fails is skipped,
// though some of its steps have run.
func TestReplays_AFailureSkipsTheReplayThatOverlaps(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:3,sim:1(exec=cpu)"})
	a, b := make([]int, 1), make([]int, 1)
	held, reached := make(chan struct{}), make(chan struct{}, 10)
	it, err := rt.Record(func(r *task.Recorder) error {
		return errors.Join(
			r.Go(func() error { <-held; a[0]++; return errBoom }, task.InOut(a)),
			r.Go(func() error { b[0]++; reached <- struct{}{}; return nil }, task.InOut(b)))
	})
	require.NoError(t, err)
	first, err := it.Replay()
	require.NoError(t, err)
	second, err := it.Replay()
	require.NoError(t, err)
	third, err := it.Replay()
	require.NoError(t, err)
	<-reached
	<-reached
	close(held)
	require.ErrorIs(t, rt.Wait(context.Background()), errBoom)
	require.ErrorIs(t, first.Err(), errBoom)
	require.ErrorIs(t, second.Err(), task.ErrSkipped)
	require.ErrorIs(t, third.Err(), task.ErrSkipped)
	require.Equal(t, 1, a[0])
	_, err = it.Replay()
	require.NoError(t, err)
	require.Error(t, rt.Wait(context.Background()))
	require.Equal(t, 2, a[0])
}
