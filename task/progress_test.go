package task_test

import (
	"context"
	"os"
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

// What a program expects is what Status measures by: tasks that ended before do not count.
func TestExpect_SaysWhatIsLeft(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	for range 5 {
		_, err := rt.Go(nothing)
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Zero(t, rt.Status(0).Expected)
	task.Expect(rt, 10)
	require.EqualValues(t, 15, rt.Status(0).Expected)
	require.Zero(t, rt.Status(0).Left, "no task has ended since")
	for range 2 {
		_, err := rt.Go(nothing)
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	s := rt.Status(0)
	require.EqualValues(t, 7, s.Done)
	require.Positive(t, s.Left)
	require.Contains(t, s.String(), "; 47 % of 15, about ")
	for range 8 {
		_, err := rt.Go(nothing)
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Zero(t, rt.Status(0).Left)
	task.Expect(rt, 0)
	require.Zero(t, rt.Status(0).Expected)
}

// A traced kernel has the bytes that its accesses name, and the trace the name of the program.
func TestTrace_BytesOfKernels(t *testing.T) {
	r := traced(t, task.Options{Devices: "smp:1"}, func(rt *task.Runtime) {
		_, err := kernelOf(t, Fill).Submit(rt, 0, 64, uint32(7), make([]uint32, 100))
		require.NoError(t, err)
		_, err = rt.Go(nothing, task.Out(make([]int64, 10)))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
	})
	require.NotZero(t, r.Find(1).Bytes)
	require.Zero(t, r.Find(1).Bytes%256, "64 elements of 4 bytes, once or twice")
	require.Zero(t, r.Find(2).Bytes, "no kernel")
	require.Equal(t, os.Getpid(), r.Machine.PID)
	require.NotEmpty(t, r.Machine.Program)
}
