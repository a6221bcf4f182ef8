package task

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/gompss/gompss/task/internal/engine"
	"github.com/stretchr/testify/require"
)

// TestFreeWhileOthersReplay frees memory while another goroutine replays what uses it: each replay either runs before the memory goes,
// or is refused.
func TestFreeWhileOthersReplay(t *testing.T) {
	for round := range 20 {
		rt, err := New(Options{Devices: "smp:2"})
		require.NoError(t, err)
		x, err := Alloc[int64](rt, 64)
		require.NoError(t, err)
		y, err := Alloc[int64](rt, 64)
		require.NoError(t, err)
		it, err := rt.Record(func(r *Recorder) error {
			for i := 0; i < 64; i += 8 {
				if err := r.Go(func() error { x[i]++; y[i] = x[i]; return nil }, InOut(x[i:i+8]), Out(y[i:i+8])); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, err)
		var replaying sync.WaitGroup
		started, ran, refused := make(chan struct{}), 0, error(nil)
		replaying.Go(func() {
			defer func() {
				if ran == 0 {
					close(started)
				}
			}()
			for refused == nil {
				var last Task
				if last, refused = it.Replay(); refused != nil {
					return
				}
				if ran++; ran == 1 {
					close(started)
				}
				if round%2 == 0 {
					refused = last.Wait(context.Background())
				}
			}
		})
		<-started
		require.NoError(t, Free(rt, x))
		replaying.Wait()
		var changed *ChangedError
		require.ErrorAs(t, refused, &changed)
		require.NoError(t, rt.Wait(context.Background()))
		require.EqualValues(t, ran, y[0])
		require.NoError(t, rt.Close())
	}
}

// TestCloseWhileOthersFree: memory is given back once, by who frees it or by Close, and who comes too late is told.
func TestCloseWhileOthersFree(t *testing.T) {
	for range 60 {
		rt, err := New(Options{Devices: "smp:2"})
		require.NoError(t, err)
		var slices [6][]int64
		for i := range slices {
			slices[i], err = Alloc[int64](rt, 8)
			require.NoError(t, err)
			_, err = rt.Go(func() error { slices[i][0]++; return nil }, InOut(slices[i]))
			require.NoError(t, err)
		}
		errs := make([]error, 2*len(slices))
		var all sync.WaitGroup
		for i := range errs { // each is freed twice at once
			all.Go(func() { errs[i] = Free(rt, slices[i/2]) })
		}
		require.NoError(t, rt.Close())
		all.Wait()
		for i := range slices {
			require.False(t, errs[2*i] == nil && errs[2*i+1] == nil, "freed twice")
		}
		for _, err := range errs {
			if err != nil && !errors.Is(err, engine.ErrClosed) {
				require.Regexp(t, "done already|not the beginning of a buffer", err.Error())
			}
		}
	}
}
