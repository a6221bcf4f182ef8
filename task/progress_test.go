package task_test

import (
	"context"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// Progress yields while tasks are in flight, a last time when none is, and ends with its context and with the loop.
func TestProgress_YieldsUntilNothingIsInFlight(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	gate := make(chan struct{})
	_, err := rt.Go(func() error { <-gate; return nil })
	require.NoError(t, err)
	_, err = rt.Go(nothing)
	require.NoError(t, err)
	var done []int64
	for s := range rt.Progress(context.Background(), time.Millisecond) {
		require.EqualValues(t, 2, s.Submitted)
		if done = append(done, s.Done); len(done) == 3 {
			close(gate)
		}
	}
	require.GreaterOrEqual(t, len(done), 4)
	require.EqualValues(t, 2, done[len(done)-1])
	for range rt.Progress(context.Background(), time.Hour) {
		break
	}
	require.NoError(t, rt.Wait(context.Background()))

	stuck := make(chan struct{})
	_, err = rt.Go(func() error { <-stuck; return nil })
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	n := 0
	for range rt.Progress(ctx, time.Hour) {
		n++
	}
	require.Equal(t, 2, n, "at once, and when the context ends")
	close(stuck)
	require.NoError(t, rt.Wait(context.Background()))
}
