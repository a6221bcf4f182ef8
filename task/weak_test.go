package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// gates are signals of a test by name.
type gates struct {
	mu   sync.Mutex
	made map[string]chan struct{}
}

func (g *gates) of(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.made == nil {
		g.made = map[string]chan struct{}{}
	}
	if g.made[name] == nil {
		g.made[name] = make(chan struct{})
	}
	return g.made[name]
}

func (g *gates) open(name string) { close(g.of(name)) }
func (g *gates) pass(name string) { <-g.of(name) }
func (g *gates) closed(name string) bool {
	select {
	case <-g.of(name):
		return false
	default:
		return true
	}
}

// TestWeak_TheBodyStartsAndItsChildrenWait: a weak access does not keep the body, its child waits
// for the earlier task, and the later task for the child, not for another child.
func TestWeak_TheBodyStartsAndItsChildrenWait(t *testing.T) {
	for _, devices := range []string{"smp:4", "smp:4,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: devices})
		x, y := make([]int, 4), make([]int, 4)
		var g gates
		_, err := rt.Go(func() error { g.pass("first"); x[0] = 1; return nil }, task.Out(x))
		require.NoError(t, err)
		_, err = rt.GoScope(func(s *task.Scope) error {
			g.open("body")
			if _, err := s.Go(func() error { x[0] = 10*x[0] + 2; return nil }, task.InOut(x)); err != nil {
				return err
			}
			_, err := s.Go(func() error { g.pass("other"); y[0]++; return nil }, task.InOut(y))
			return err
		}, task.InOut(x).Weak(), task.InOut(y).Weak())
		require.NoError(t, err)
		_, err = rt.Go(func() error { x[0] = 10*x[0] + 3; g.open("last"); return nil }, task.InOut(x))
		require.NoError(t, err)
		g.pass("body")
		require.True(t, g.closed("last"))
		g.open("first")
		g.pass("last") // while the other child has not finished
		g.open("other")
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, 123, x[0])
		require.Equal(t, 1, y[0])
	}
}

// TestEarlyRelease_LaterTasksNeedNotWaitForAllChildren: with early release a strong access ends
// with its last child; without it, with the task.
func TestEarlyRelease_LaterTasksNeedNotWaitForAllChildren(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:3"})
	x, y := make([]int, 4), make([]int, 4)
	run := func(early bool) (g *gates) {
		g = &gates{}
		options := []task.Option{task.InOut(x), task.InOut(y)}
		if early {
			options = append(options, task.EarlyRelease())
		}
		_, err := rt.GoScope(func(s *task.Scope) error {
			x[0]++
			if _, err := s.Go(func() error { g.pass("x"); x[0]++; return nil }, task.InOut(x)); err != nil {
				return err
			}
			_, err := s.Go(func() error { g.pass("y"); y[0]++; return nil }, task.InOut(y))
			return err
		}, options...)
		require.NoError(t, err)
		_, err = rt.Go(func() error { x[0]++; g.open("later"); return nil }, task.InOut(x))
		require.NoError(t, err)
		return g
	}
	g := run(true)
	require.True(t, g.closed("later"))
	g.open("x")
	g.pass("later")
	g.open("y")
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 3, x[0])
	g = run(false)
	g.open("x")
	require.True(t, g.closed("later"))
	g.open("y")
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 6, x[0])
}

// TestWeak_UnusedAccessesAndThreeLevels: a region that no child uses is passed on; weak accesses of
// children of children wait for the earlier task outside.
func TestWeak_UnusedAccessesAndThreeLevels(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		x, y := make([]int, 8), make([]int, 8)
		add := func(at task.Submitter, part []int, digit int) error {
			return goAt(at, func() error {
				for i := range part {
					part[i] = 10*part[i] + digit
				}
				return nil
			}, task.InOut(part))
		}
		require.NoError(t, add(rt, x, 1))
		require.NoError(t, add(rt, y, 1))
		_, err := rt.GoScope(func(s *task.Scope) error {
			_, err := s.GoScope(func(s *task.Scope) error {
				_, err := s.GoScope(func(s *task.Scope) error { return add(s, x[:4], 2) }, task.InOut(x[:4]).Weak())
				return err
			}, task.InOut(x[:6]).Weak())
			if err != nil {
				return err
			}
			return add(s, x[2:], 3)
		}, task.InOut(x).Weak(), task.In(y).Weak())
		require.NoError(t, err)
		require.NoError(t, add(rt, x, 4))
		require.NoError(t, add(rt, y, 4))
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, []int{124, 124, 1234, 1234, 134, 134, 134, 134}, x)
		require.Equal(t, []int{14, 14, 14, 14, 14, 14, 14, 14}, y)
	})
}

func goAt(at task.Submitter, body func() error, options ...task.Option) (err error) {
	switch at := at.(type) {
	case *task.Runtime:
		_, err = at.Go(body, options...)
	case *task.Scope:
		_, err = at.Go(body, options...)
	case *task.Group:
		_, err = at.Go(body, options...)
	}
	return err
}

// TestWeak_WaitOnBringsTheData: the body waits for a weak access and uses the elements.
func TestWeak_WaitOnBringsTheData(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		x := make([]int, 8)
		_, err := rt.Go(func() error { x[3] = 7; return nil }, task.Out(x))
		require.NoError(t, err)
		seen := 0
		_, err = rt.GoScope(func(s *task.Scope) error {
			if err := s.WaitOn(s.Context(), task.In(x)); err != nil {
				return err
			}
			seen = x[3]
			return nil
		}, task.In(x).Weak())
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, 7, seen)
	})
}

var errWeak = errors.New("made to fail")

// TestWeak_AFailureOutsideSkipsTheChildren, and what comes after them; the body runs, and
// children on other memory.
func TestWeak_AFailureOutsideSkipsTheChildren(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		for _, waits := range []bool{false, true} {
			x, y := make([]int, 4), make([]int, 4)
			_, err := rt.Go(func() error { return errWeak }, task.Out(x))
			require.NoError(t, err)
			ran, waited := 0, error(nil)
			var late, other task.Task
			parent, err := rt.GoScope(func(s *task.Scope) (err error) {
				ran++
				if waits {
					if err := s.Wait(context.Background()); err != nil { // nothing was submitted
						return err
					}
					waited = s.WaitOn(s.Context(), task.In(x))
				}
				if late, err = s.Go(func() error { ran += 10; return nil }, task.InOut(x)); err != nil {
					return err
				}
				other, err = s.Go(func() error { y[0]++; return nil }, task.InOut(y))
				return err
			}, task.InOut(x).Weak(), task.InOut(y).Weak())
			require.NoError(t, err)
			after, err := rt.Go(func() error { ran += 100; return nil }, task.InOut(x))
			require.NoError(t, err)
			fine, err := rt.Go(func() error { y[0]++; return nil }, task.InOut(y))
			require.NoError(t, err)
			err = rt.Wait(context.Background())
			require.ErrorIs(t, err, errWeak)
			require.Equal(t, 1, ran)
			require.Equal(t, waits, waited != nil)
			require.ErrorIs(t, late.Err(), task.ErrSkipped)
			require.ErrorIs(t, after.Err(), task.ErrSkipped)
			require.ErrorIs(t, after.Err(), errWeak)
			require.NoError(t, other.Err())
			require.NoError(t, fine.Err())
			require.Error(t, parent.Err())
			require.Equal(t, 2, y[0])
		}
	})
}

// TestWeak_AFailureOfAChildSkipsWhatComesAfterIt and not what comes after the other children.
func TestWeak_AFailureOfAChildSkipsWhatComesAfterIt(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		for _, how := range [][]task.Option{nil, {task.EarlyRelease()}} {
			for _, told := range []bool{false, true} {
				x, y := make([]int, 4), make([]int, 4)
				accesses := []task.Option{task.InOut(x), task.InOut(y)}
				if how == nil {
					accesses = []task.Option{task.InOut(x).Weak(), task.InOut(y).Weak()}
				}
				parent, err := rt.GoScope(func(s *task.Scope) error {
					if err := goAt(s, func() error { return errWeak }, task.InOut(x)); err != nil {
						return err
					}
					if told {
						if err := s.Wait(context.Background()); !errors.Is(err, errWeak) {
							return fmt.Errorf("the wait returned %v", err)
						}
					}
					return goAt(s, func() error { y[0]++; return nil }, task.InOut(y))
				}, append(accesses, how...)...)
				require.NoError(t, err)
				after, err := rt.Go(func() error { x[0]++; return nil }, task.InOut(x))
				require.NoError(t, err)
				fine, err := rt.Go(func() error { y[0]++; return nil }, task.InOut(y))
				require.NoError(t, err)
				err = rt.Wait(context.Background())
				require.Equal(t, told, err == nil, "%v", err)
				require.Equal(t, told, parent.Err() == nil)
				require.Equal(t, told, after.Err() == nil)
				require.NoError(t, fine.Err())
				require.Equal(t, 2, y[0])
			}
		}
	})
}

// TestWeak_ATaskThatDoesNotRunPassesItsAccessesOn: a task that is skipped, whose body fails, or
// that is cancelled, skips what comes after its weak accesses too.
func TestWeak_ATaskThatDoesNotRunPassesItsAccessesOn(t *testing.T) {
	for _, devices := range []string{"smp:1", "smp:3", "smp:2,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: devices})
		for _, how := range []string{"skipped", "fails", "cancelled"} {
			x, y := make([]int, 4), make([]int, 4)
			g := task.NewGroup(rt)
			if how == "skipped" {
				require.NoError(t, goAt(rt, func() error { return errWeak }, task.InOut(y)))
			}
			gate := make(chan struct{})
			require.NoError(t, goAt(rt, func() error { <-gate; return nil }, task.InOut(x)))
			first := task.InOut(y)
			if how == "cancelled" {
				first = task.In(x[:1])
			}
			ran := 0
			_, err := g.GoScope(func(s *task.Scope) error { ran++; return errWeak }, first, task.InOut(x[1:]).Weak(), task.EarlyRelease())
			require.NoError(t, err)
			after, err := rt.Go(func() error { ran += 10; return nil }, task.InOut(x[1:]))
			require.NoError(t, err)
			if how == "cancelled" {
				g.Cancel(errWeak)
			}
			close(gate)
			require.ErrorIs(t, rt.Wait(context.Background()), errWeak)
			require.ErrorIs(t, after.Err(), task.ErrSkipped)
			require.Less(t, ran, 2)
			require.Equal(t, how == "fails", ran == 1)
			require.NoError(t, goAt(rt, func() error { x[2] = 5; return nil }, task.InOut(x)))
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, 5, x[2])
		}
	}
}

// TestWeak_BuffersGrow: the elements become part of a larger buffer while the link of a weak access
// waits, and while children use the part.
func TestWeak_BuffersGrow(t *testing.T) {
	for _, fails := range []bool{false, true} {
		for seed := range 20 {
			rt := open(t, task.Options{Devices: []string{"smp:1", "smp:3", "smp:2,sim:1(exec=cpu)"}[seed%3]})
			x := make([]int, 8)
			add := func(at task.Submitter, part []int, digit int) error {
				return goAt(at, func() error {
					delay(seed * 20)
					part[0] = 10*part[0] + digit
					if fails && digit == 2 {
						return errWeak
					}
					return nil
				}, task.InOut(part))
			}
			require.NoError(t, add(rt, x[2:4], 1))
			_, err := rt.GoScope(func(s *task.Scope) error {
				if err := add(s, x[2:4], 2); err != nil {
					return err
				}
				delay(seed * 20)
				return add(s, x[2:3], 3)
			}, task.InOut(x[2:4]).Weak())
			require.NoError(t, err)
			require.NoError(t, add(rt, x[2:6], 4))
			require.NoError(t, add(rt, x[1:8], 5))
			require.NoError(t, add(rt, x[2:3], 6))
			if err := rt.Wait(context.Background()); fails {
				require.ErrorIs(t, err, errWeak)
				require.Equal(t, []int{0, 0, 12, 0}, x[:4])
				continue
			}
			require.NoError(t, err)
			require.Equal(t, []int{0, 5, 12346, 0}, x[:4])
		}
	}
}

// TestEarlyRelease_EventsKeepTheData: an access is not released before the events are fulfilled.
func TestEarlyRelease_EventsKeepTheData(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	for _, fails := range []bool{false, true} {
		x := make([]int, 4)
		events := make(chan *task.Event, 1)
		_, err := rt.GoScope(func(s *task.Scope) error {
			e, err := s.Event()
			events <- e
			return err
		}, task.InOut(x), task.EarlyRelease())
		require.NoError(t, err)
		after, err := rt.Go(func() error { x[0] *= 2; return nil }, task.InOut(x))
		require.NoError(t, err)
		e := <-events
		x[0] = 21
		if fails {
			require.NoError(t, e.Fulfill(errWeak))
			require.ErrorIs(t, rt.Wait(context.Background()), errWeak)
			require.ErrorIs(t, after.Err(), task.ErrSkipped)
			continue
		}
		require.NoError(t, e.Fulfill(nil))
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, 42, x[0])
	}
}

// TestWeak_TracesSayWhenTasksAreReady: what comes after a weak access, or one that was released
// early, is ready when the last child has ended, or the body, or the task before.
func TestWeak_TracesSayWhenTasksAreReady(t *testing.T) {
	for _, children := range []bool{false, true} {
		for _, accesses := range [][]task.Option{{task.EarlyRelease()}, {}} {
			var ended, first, parent, after task.Task
			r := traced(t, task.Options{Devices: "smp:2"}, func(rt *task.Runtime) {
				x, hold := make([]int, 4), make(chan struct{})
				access := task.InOut(x)
				if len(accesses) == 0 {
					access = access.Weak()
				}
				var err error
				first, err = rt.Go(func() error { <-hold; return nil }, task.InOut(x))
				require.NoError(t, err)
				parent, err = rt.GoScope(func(s *task.Scope) (err error) {
					if children {
						ended, err = s.Go(nothing, task.InOut(x))
					}
					return err
				}, append(accesses, access)...)
				require.NoError(t, err)
				after, err = rt.Go(nothing, task.InOut(x))
				require.NoError(t, err)
				close(hold)
				require.NoError(t, rt.Wait(context.Background()))
				if !children && len(accesses) > 0 {
					ended = parent
				} else if !children {
					ended = first
				}
			})
			last, next := r.Find(ended.ID()), r.Find(after.ID())
			require.GreaterOrEqual(t, next.Ready, last.End, "children %v, early %v", children, len(accesses))
			require.GreaterOrEqual(t, next.Start, next.Ready)
		}
	}
}

func TestWeak_Misuse(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x := make([]int, 8)
	none := func(*task.Scope) error { return nil }
	scoped := func(options ...task.Option) error { _, err := rt.GoScope(none, options...); return err }
	require.ErrorContains(t, goAt(rt, func() error { return nil }, task.In(x).Weak()), "use GoScope")
	require.ErrorContains(t, goAt(rt, func() error { return nil }, task.EarlyRelease()), "use GoScope")
	require.ErrorContains(t, scoped(task.Label("a").Weak()), "not an access")
	require.ErrorContains(t, scoped(task.Concurrent(x).Weak()), "weak concurrent")
	require.ErrorContains(t, scoped(task.Reduce(x, task.Sum[int]()).Weak()), "weak reduction")
	require.ErrorContains(t, scoped(task.Commutative(x), task.EarlyRelease()), "commutative")
	require.ErrorContains(t, scoped(task.Commutative(x[4:]), task.InOut(x[:4]).Weak()), "which would keep from running what its children wait for")
	require.ErrorContains(t, scoped(task.InOut(x[:4]).Weak(), task.In(x[2:])), "name the parts apart")
	require.ErrorContains(t, scoped(task.In(x[:4]).Weak(), task.In(x[2:]).Weak()), "name the parts apart")
	require.NoError(t, scoped(task.InOut(x).Weak(), task.InOut(x), task.In(x[1:2]).Weak(), task.In(x[:0]).Weak()))
	require.ErrorContains(t, rt.WaitOn(context.Background(), task.In(x).Weak()), "weak")
	_, err := rt.GoScope(func(s *task.Scope) error {
		return goAt(s, func() error { return nil }, task.InOut(x))
	}, task.In(x).Weak())
	require.NoError(t, err)
	require.ErrorContains(t, rt.Wait(context.Background()), "the parent must declare what its children use")
	for _, o := range []task.Option{task.In(x).Weak(), task.EarlyRelease()} {
		_, err := rt.Record(func(r *task.Recorder) error { return r.GoScope(none, o) })
		require.ErrorContains(t, err, "recording")
	}
}

// TestWeak_RandomTreesAreSequential runs trees of tasks with weak accesses and early release on
// parts of a vector, which do not commute.
func TestWeak_RandomTreesAreSequential(t *testing.T) {
	for seed := range uint64(60) {
		machines := []string{"smp:1", "smp:4", "smp:2,sim:2(exec=cpu)"}
		rng := rand.New(rand.NewPCG(seed, 9))
		options := task.Options{Devices: machines[seed%3], Window: []int{0, 3}[rng.IntN(2)]}
		rt := open(t, options)
		x, want := make([]uint32, 16), make([]uint32, 16)
		require.NoError(t, task.Register(rt, x))
		var k uint32
		var plant func(lo, hi, depth int) func(at task.Submitter) error
		plant = func(lo, hi, depth int) func(at task.Submitter) error {
			var children []func(task.Submitter) error
			k++
			me := k
			a := lo + rng.IntN(hi-lo)
			b := a + 1 + rng.IntN(hi-a)
			if depth == 0 {
				for i := a; i < b; i++ {
					want[i] = want[i]*31 + me
				}
				return func(at task.Submitter) error {
					return goAt(at, func() error {
						for i := a; i < b; i++ {
							x[i] = x[i]*31 + me
						}
						return nil
					}, task.InOut(x[a:b]))
				}
			}
			var options []task.Option
			for i := a; i < b; { // in parts
				j := i + 1 + rng.IntN(b-i)
				o := task.InOut(x[i:j])
				if rng.IntN(3) > 0 {
					o = o.Weak()
				}
				options = append(options, o)
				i = j
			}
			if rng.IntN(2) == 0 {
				options = append(options, task.EarlyRelease())
			}
			for range rng.IntN(5) {
				children = append(children, plant(a, b, rng.IntN(depth)))
			}
			waits := rng.IntN(4) == 0
			body := func(s *task.Scope) error {
				for i, c := range children {
					if err := c(s); err != nil {
						return err
					}
					if waits && i == 1 {
						if err := s.Wait(context.Background()); err != nil {
							return err
						}
					}
				}
				return nil
			}
			return func(at task.Submitter) (err error) {
				switch at := at.(type) {
				case *task.Runtime:
					_, err = at.GoScope(body, options...)
				case *task.Scope:
					_, err = at.GoScope(body, options...)
				}
				return err
			}
		}
		for range 30 {
			require.NoError(t, plant(0, 16, rng.IntN(4))(rt))
		}
		require.NoError(t, rt.Wait(context.Background()), "seed %d", seed)
		require.True(t, slices.Equal(want, x), "seed %d: %v, want %v", seed, x, want)
	}
}
