package task

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gompss/gompss/task/internal/simple"
	"github.com/stretchr/testify/require"
)

func streamRuntime(t *testing.T, workers int) *Runtime {
	t.Helper()
	rt, err := New(Options{Devices: fmt.Sprintf("smp:%d", workers)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt
}

// streaming returns a runtime of n workers in a stream of short tasks.
func streaming(t *testing.T, n int) *Runtime {
	rt := streamRuntime(t, n)
	for began := time.Now(); !rt.core.Pool.Simple.Streaming(); {
		for range 4 * simple.MaxShare {
			_, err := rt.Go(func() error { return nil })
			require.NoError(t, err)
		}
		if time.Since(began) > 2*time.Second {
			t.Skip("no worker ran a share of short tasks: the machine is too busy")
		}
	}
	return rt
}

// A stream that was on when a long task began keeps no task from the workers that sleep.
func TestStream_TaskBehindALongOneRuns(t *testing.T) {
	for range 5 {
		rt := streaming(t, 3)
		done := make(chan struct{})
		for range 2 { // each waits for what is submitted later, and no goroutine calls Wait
			_, err := rt.Go(func() error { <-done; return nil })
			require.NoError(t, err)
		}
		_, err := rt.Go(func() error { close(done); return nil })
		require.NoError(t, err)
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("a task waits although a worker sleeps")
		}
		require.NoError(t, rt.Wait(context.Background()))
	}
}

// The end of a stream wakes workers for each queue with tasks, and not for one alone.
func TestStream_EndWakesForAllQueues(t *testing.T) {
	rt := streaming(t, gates)
	for range 300 {
		holdWorkers(t, rt)
	}
}

// A wake-up that several submissions counted on is passed on by the worker that it wakes, in whichever queue the tasks are.
func TestWakeUps_ReachEveryQueue(t *testing.T) {
	rt, err := New(Options{Devices: "smp:8"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	for range 300 {
		holdWorkers(t, rt)
	}
}

const gates = 8

// holdWorkers submits a task for each worker that occupies it until all of them run, and then some short ones.
func holdWorkers(t *testing.T, rt *Runtime) {
	gate, inside := make(chan struct{}), make(chan struct{}, gates)
	for range gates {
		_, err := rt.Go(func() error { inside <- struct{}{}; <-gate; return nil })
		require.NoError(t, err)
	}
	for range gates {
		select {
		case <-inside:
		case <-time.After(20 * time.Second):
			close(gate)
			t.Fatal("a task waits although a worker sleeps")
		}
	}
	close(gate)
	for range 2 * simple.MaxShare {
		_, err := rt.Go(func() error { return nil })
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
}

// Tasks that a body submits run beside it, though a worker, that of the body, is awake.
func TestStream_ChildrenRunBesideTheirParent(t *testing.T) {
	rt := streaming(t, simple.StreamWorkers)
	for range 50 {
		_, err := rt.GoScope(func(s *Scope) error {
			var ran atomic.Bool
			_, err := s.Go(func() error { ran.Store(true); return nil })
			for !ran.Load() {
				runtime.Gosched()
			}
			return err
		})
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background())) // two parents at once would occupy both workers
	}
}

func TestStream_EndsWithItsTasks(t *testing.T) {
	rt := streaming(t, simple.StreamWorkers)
	require.NoError(t, rt.Wait(context.Background()))
	require.Eventually(t, func() bool { return !rt.core.Pool.Simple.Streaming() && !rt.core.Pool.Simple.Watched() }, 20*time.Second, time.Millisecond)
}
