package task_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// everywhere runs f on one worker, on several, with a small window, and under every policy.
func everywhere(t *testing.T, f func(t *testing.T, rt *task.Runtime)) {
	t.Run("with accelerators", func(t *testing.T) {
		f(t, open(t, task.Options{Devices: "smp:2,sim:2(exec=cpu)"}))
	})
	for _, workers := range []int{1, 3} {
		for _, window := range []int{0, 2} {
			for _, policy := range sched.Policies() {
				t.Run(fmt.Sprintf("%d workers, window %d, %s", workers, window, policy), func(t *testing.T) {
					f(t, open(t, task.Options{Devices: fmt.Sprintf("smp:%d", workers), Window: window, Policy: policy}))
				})
			}
		}
	}
}

func fib(at task.Submitter, n int, out *int, submit func(task.Submitter, func(*task.Scope) error) error) error {
	return submit(at, func(s *task.Scope) error {
		if n < 2 {
			*out = n
			return nil
		}
		var a, b int
		if err := fib(s, n-1, &a, submit); err != nil {
			return err
		}
		if err := fib(s, n-2, &b, submit); err != nil {
			return err
		}
		if err := s.Wait(context.Background()); err != nil {
			return err
		}
		*out = a + b
		return nil
	})
}

// submitPlain submits a nested task without accesses.
func submitPlain(at task.Submitter, body func(*task.Scope) error) (err error) {
	switch at := at.(type) {
	case *task.Runtime:
		_, err = at.GoScope(body)
	case *task.Scope:
		_, err = at.GoScope(body)
	}
	return err
}

func TestRecursiveFibonacci(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		var got int
		require.NoError(t, fib(rt, 14, &got, submitPlain))
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, 377, got)
	})
}

func queens(s *task.Scope, n, row int, cols, up, down uint32, found *atomic.Int64) error {
	if row == n {
		found.Add(1)
		return nil
	}
	for free := (uint32(1)<<n - 1) &^ (cols | up | down); free != 0; free &= free - 1 {
		bit := free & -free
		_, err := s.GoScope(func(s *task.Scope) error {
			return queens(s, n, row+1, cols|bit, (up|bit)<<1, (down|bit)>>1, found)
		})
		if err != nil {
			return err
		}
	}
	return nil // nobody waits: a task is over when its children are
}

func TestQueensWithoutAnyWaitInside(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		var found atomic.Int64
		root, err := rt.GoScope(func(s *task.Scope) error { return queens(s, 7, 0, 0, 0, 0, &found) })
		require.NoError(t, err)
		require.NoError(t, root.Wait(context.Background()))
		require.EqualValues(t, 40, found.Load())
	})
}

// TestAChainOfWaitersIsDeep: each task waits for the one below it. One worker, no stack of workers.
func TestAChainOfWaitersIsDeep(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	var reached int
	var deeper func(s *task.Scope, left int) error
	deeper = func(s *task.Scope, left int) error {
		reached = max(reached, 3000-left)
		if left == 0 {
			return nil
		}
		child, err := s.GoScope(func(s *task.Scope) error { return deeper(s, left-1) })
		if err != nil {
			return err
		}
		if left%2 == 0 {
			return child.Wait(s.Context())
		}
		return s.Wait(context.Background())
	}
	_, err := rt.GoScope(func(s *task.Scope) error { return deeper(s, 3000) })
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 3000, reached)
}

// nestedCholesky factors the n by n matrix a, in tiles of size b, with tasks whose children work on tiles of their tiles.
func nestedCholesky(s *task.Scope, a []float64, n, lo, hi, b int) error {
	if hi-lo <= b {
		for j := lo; j < hi; j++ {
			d := a[j*n+j]
			for k := lo; k < j; k++ {
				d -= a[j*n+k] * a[j*n+k]
			}
			a[j*n+j] = math.Sqrt(d)
			for i := j + 1; i < hi; i++ {
				v := a[i*n+j]
				for k := lo; k < j; k++ {
					v -= a[i*n+k] * a[j*n+k]
				}
				a[i*n+j] = v / a[j*n+j]
			}
		}
		return nil
	}
	mid := lo + (hi-lo+1)/2
	tile := func(o task.Option, i0, i1, j0, j1 int) task.Option {
		return o.Box([]int{n, n}, []int{i0, j0}, []int{i1, j1})
	}
	_, err := s.GoScope(func(s *task.Scope) error { return nestedCholesky(s, a, n, lo, mid, b) }, tile(task.InOut(a), lo, mid, lo, mid))
	if err != nil {
		return err
	}
	for i0 := mid; i0 < hi; i0 += b {
		i1 := min(hi, i0+b)
		_, err = s.Go(func() error { // solve a row of tiles
			for i := i0; i < i1; i++ {
				for j := lo; j < mid; j++ {
					v := a[i*n+j]
					for k := lo; k < j; k++ {
						v -= a[i*n+k] * a[j*n+k]
					}
					a[i*n+j] = v / a[j*n+j]
				}
			}
			return nil
		}, tile(task.In(a), lo, mid, lo, mid), tile(task.InOut(a), i0, i1, lo, mid))
		if err != nil {
			return err
		}
	}
	for i0 := mid; i0 < hi; i0 += b {
		for j0 := mid; j0 <= i0; j0 += b {
			i1, j1 := min(hi, i0+b), min(hi, j0+b)
			_, err = s.Go(func() error {
				for i := i0; i < i1; i++ {
					for j := j0; j < j1; j++ {
						for k := lo; k < mid; k++ {
							a[i*n+j] -= a[i*n+k] * a[j*n+k]
						}
					}
				}
				return nil
			}, tile(task.In(a), i0, i1, lo, mid), tile(task.In(a), j0, j1, lo, mid), tile(task.InOut(a), i0, i1, j0, j1))
			if err != nil {
				return err
			}
		}
	}
	_, err = s.GoScope(func(s *task.Scope) error { return nestedCholesky(s, a, n, mid, hi, b) }, tile(task.InOut(a), mid, hi, mid, hi))
	return err
}

func TestNestedCholesky(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		const n = 40
		a, want := make([]float64, n*n), make([]float64, n*n)
		l := func(i, j int) float64 {
			switch {
			case j > i:
				return 0
			case i == j:
				return float64(2 + i%3)
			}
			return float64((i*7+j*5)%5-2) / 4
		}
		for i := range n {
			for j := range n {
				for k := range n {
					a[i*n+j] += l(i, k) * l(j, k)
				}
				want[i*n+j] = l(i, j)
			}
		}
		_, err := rt.GoScope(func(s *task.Scope) error { return nestedCholesky(s, a, n, 0, n, 5) }, task.InOut(a))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		for i := range n {
			for j := range i + 1 {
				require.InDelta(t, want[i*n+j], a[i*n+j], 1e-9, "%d,%d", i, j)
			}
		}
	})
}

func TestChildrenMustBeCoveredByTheirParent(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y := make([]int, 10), make([]int, 10)
	require.NoError(t, task.Register(rt, y))
	var read, write, outside, named, other, both, fresh error
	_, err := rt.GoScope(func(s *task.Scope) error {
		_, read = s.Go(nothing, task.In(x[:3]))
		_, write = s.Go(nothing, task.InOut(x[:3]))
		_, outside = s.Go(nothing, task.InOut(x[5:9]))
		_, named = s.Go(func() error { return nil }, task.InOut(x[5:9]), task.Label("child"))
		_, other = s.Go(nothing, task.In(y))
		_, both = s.Go(nothing, task.In(x[2:8]))
		local := make([]int, 4)
		_, fresh = s.Go(nothing, task.Out(local))
		return nil
	}, task.In(x[:5]), task.InOut(x[5:8]), task.Label("parent"))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, read)
	require.NoError(t, fresh)
	var u *task.UncoveredError
	require.ErrorAs(t, write, &u)
	require.ErrorContains(t, write, "): inout of b1[0:3]: its parent parent has in: the parent must declare what its children use")
	require.ErrorContains(t, outside, "): inout of b1[5:9]: no access of its parent parent covers it: the parent must declare what its children use")
	require.ErrorContains(t, outside, "; b1 is 10 elements of 8 bytes at 0x")
	require.NotContains(t, outside.Error(), "the child is at", "it has no label, so that its line is there")
	require.ErrorContains(t, named, "; b1 is 10 elements of 8 bytes at 0x")
	require.ErrorContains(t, named, "; the child is at nest_test.go:")
	require.ErrorAs(t, other, &u)
	require.NoError(t, both, "two accesses of the parent cover it together")
}

func TestAParentEndsAfterItsChildren(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int, 1)
	gate := make(chan struct{})
	parent, err := rt.GoScope(func(s *task.Scope) error {
		_, err := s.Go(func() error { <-gate; x[0] = 7; return nil }, task.Out(x))
		return err
	}, task.Out(x))
	require.NoError(t, err)
	seen := 0
	successor, err := rt.Go(func() error { seen = x[0]; return nil }, task.In(x))
	require.NoError(t, err)
	select {
	case <-parent.Done():
		t.Fatal("the parent is over before its child")
	case <-successor.Done():
		t.Fatal("the successor ran before the child")
	default:
	}
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 7, seen)
}

func TestFailuresOfChildrenReachTheirParent(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	boom := errors.New("boom")
	x := make([]int, 1)
	parent, err := rt.GoScope(func(s *task.Scope) error {
		_, err := s.Go(func() error { return boom }, task.Label("child"))
		return err
	}, task.Label("parent"), task.Out(x))
	require.NoError(t, err)
	successor, err := rt.Go(nothing, task.In(x))
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), boom)
	says(t, parent.Err(), "task: parent (LINE): task: child (LINE) on smp: boom")
	require.ErrorIs(t, successor.Err(), task.ErrSkipped)
	require.ErrorIs(t, successor.Err(), boom)

	parent, err = rt.GoScope(func(s *task.Scope) error {
		child, err := s.Go(func() error { return boom }, task.Out(x))
		if err != nil {
			return err
		}
		skipped, err := s.Go(nothing, task.In(x))
		if err != nil {
			return err
		}
		if err := s.Wait(context.Background()); !errors.Is(err, boom) || !errors.Is(child.Err(), boom) || !errors.Is(skipped.Err(), task.ErrSkipped) {
			return fmt.Errorf("wait returned %w", err)
		}
		_, err = s.Go(nothing, task.InOut(x)) // told: the data can be used again
		return err
	}, task.Out(x))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()), "the parent has dealt with it")
	require.NoError(t, parent.Err())
}

func TestScopesEndWithTheirBody(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	var kept *task.Scope
	_, err := rt.GoScope(func(s *task.Scope) error { kept = s; return nil })
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	_, err = kept.Go(nothing)
	require.ErrorIs(t, err, task.ErrFinished)
}

func TestTokensAreGivenBackWhileATaskWaits(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	ran := 0
	for range 3 {
		_, err := rt.GoScope(func(s *task.Scope) error {
			for range 3 {
				if _, err := s.Go(func() error { ran++; return nil }, task.Resources("smp", 100)); err != nil {
					return err
				}
			}
			return s.Wait(context.Background())
		}, task.Resources("smp", 60))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 9, ran)
}

// TestGoexitOfAChildOnItsParentsStack: the parent runs its child itself, and goes with its goroutine.
func TestGoexitOfAChildOnItsParentsStack(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	for range 20 {
		parent, err := rt.GoScope(func(s *task.Scope) error {
			if _, err := s.Go(func() error { runtime.Goexit(); return nil }, task.Label("child")); err != nil {
				return err
			}
			return s.Wait(context.Background())
		})
		require.NoError(t, err)
		require.ErrorContains(t, rt.Wait(context.Background()), "Goexit")
		require.Error(t, parent.Err())
	}
	var got int
	require.NoError(t, fib(rt, 8, &got, submitPlain))
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 21, got)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	ctx, cancel := context.WithCancel(context.Background())
	gate := make(chan struct{})
	started := make(chan struct{})
	_, err := rt.GoScope(func(s *task.Scope) error {
		if _, err := s.Go(func() error { close(started); <-gate; return nil }); err != nil {
			return err
		}
		if err := s.Wait(ctx); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("wait returned %w", err)
		}
		close(gate)
		return s.Wait(context.Background())
	})
	require.NoError(t, err)
	<-started
	ended, end := context.WithCancel(context.Background())
	end()
	require.ErrorIs(t, rt.Wait(ended), context.Canceled)
	cancel()
	require.NoError(t, rt.Wait(context.Background()))
}

// Bodies of tasks with children on accelerators: data go there and come back where the body waits.
func TestChildrenOnAccelerators(t *testing.T) {
	fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
	rt := open(t, task.Options{Devices: "smp:1,sim:2(exec=cpu)"})
	const n = 500
	x, want := make([]uint32, n), make([]uint32, n)
	for range 10 {
		_, err := rt.GoScope(func(s *task.Scope) error {
			local := make([]uint32, n)
			for i := range 20 {
				k := uint32(i + 1)
				if _, err := fill.With(task.OnDevice("acc")).Submit(s, 0, n, k, local); err != nil {
					return err
				}
				if _, err := mix.With(task.OnDevice("acc")).Submit(s, i, n, 0, n, k, x, local); err != nil {
					return err
				}
				if i%3 == 0 {
					if err := s.Wait(context.Background()); err != nil {
						return err
					}
					x[i] += local[i] // on the host again
				}
				if i%7 == 0 {
					if err := s.WaitOn(s.Context(), task.InOut(x[:n/2])); err != nil {
						return err
					}
					x[i+1]++
				}
			}
			return nil
		}, task.InOut(x))
		require.NoError(t, err)
		local := make([]uint32, n)
		for i := range 20 {
			k := uint32(i + 1)
			Fill(0, n, k, local)
			Mix(i, n, 0, n, k, want, local)
			if i%3 == 0 {
				want[i] += local[i]
			}
			if i%7 == 0 {
				want[i+1]++
			}
		}
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, want, x)
	require.Positive(t, rt.Stats().ByDevice["sim:0"])
}
