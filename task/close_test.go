package task_test

import (
	"errors"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// Close waits for what bodies submit to the runtime while it waits, and for what that submits, of all sorts; who is no body is refused.
func TestCloseWaitsForWhatBodiesSubmit(t *testing.T) {
	fill := kernelOf(t, Fill)
	for _, devices := range []string{"smp:1", "smp:3", "smp:2,sim:1(exec=cpu)"} {
		rt, err := task.New(task.Options{Devices: devices, Window: 4})
		require.NoError(t, err)
		x, y := make([]int, 1), make([]uint32, 8)
		require.NoError(t, task.Register(rt, y))
		var late []uint32
		closing := make(chan struct{})
		var next func(left int) error
		next = func(left int) error {
			x[0]++
			if left == 0 {
				return nil
			}
			_, err := rt.Go(func() error { return next(left - 1) }, task.InOut(x))
			_, beside := task.NewGroup(rt).Go(nothing)
			return errors.Join(err, beside)
		}
		_, err = rt.Go(func() error {
			<-closing
			_, filled := fill.Submit(rt, 0, 8, uint32(1), y)
			var made error
			late, made = task.Alloc[uint32](rt, 8)
			_, second := fill.Submit(rt, 0, 8, uint32(1), late)
			return errors.Join(next(50), filled, made, second)
		}, task.InOut(x))
		require.NoError(t, err)
		closed := make(chan error)
		go func() { closed <- rt.Close() }()
		for !errors.Is(err, task.ErrClosed) { // until it has begun
			err = task.Register(rt, y)
		}
		close(closing)
		require.NoError(t, <-closed, devices)
		require.Equal(t, 51, x[0], devices)
		require.NotZero(t, y[7], devices)
		_, err = rt.Go(nothing)
		require.ErrorIs(t, err, task.ErrClosed)
	}
}

// The body of another runtime's task is refused once all that a closed one ran is over.
func TestBodiesOfOthersSubmitWhileClosing(t *testing.T) {
	other := open(t, task.Options{Devices: "smp:2"})
	for range 50 {
		rt, err := task.New(task.Options{Devices: "smp:2"})
		require.NoError(t, err)
		begun := make(chan struct{})
		ended, err := task.GoValue(other, func() (error, error) {
			for i := 0; ; i++ {
				if i == 3 {
					close(begun)
				}
				if _, err := rt.Go(nothing); err != nil {
					return err, nil
				}
			}
		})
		require.NoError(t, err)
		<-begun
		require.NoError(t, rt.Close())
		why, err := ended.Get(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, why, task.ErrClosed)
	}
}
