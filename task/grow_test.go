package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

// issue 16 18: a kernel on a part of a slice, and then one on the whole, was an error.

func TestGrowth_PartsBecomePartsOfTheWhole(t *testing.T) {
	fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
	for _, devices := range []string{"smp:2", simOnly, "smp:1,sim:2(exec=cpu,memory=12KiB,granule=1KiB)", "sim:2(exec=simt)"} {
		for _, wait := range []bool{false, true} {
			rt := open(t, task.Options{Devices: devices})
			x, y := make([]uint32, 1000), make([]uint32, 1000)
			want, other := make([]uint32, 1000), make([]uint32, 1000)
			step := func(lo, hi int, k uint32) {
				t.Helper()
				_, err := fill.Submit(rt, 0, hi-lo, k, x[lo:hi:hi])
				require.NoError(t, err)
				Fill(0, hi-lo, k, want[lo:hi])
				if wait {
					require.NoError(t, rt.WaitOn(t.Context(), task.In(x[lo:hi]), task.NoCopyDeps()))
				}
			}
			step(10, 20, 1)
			step(500, 700, 2) // apart
			step(15, 30, 3)   // overlaps
			step(40, 50, 4)
			_, err := mix.Submit(rt, 0, 1000, 0, 1000, uint32(5), y, x) // the whole
			require.NoError(t, err)
			Mix(0, 1000, 0, 1000, 5, other, want)
			step(12, 18, 6) // a part again
			_, err = mix.Submit(rt, 0, 1000, 0, 1000, uint32(7), x, y)
			require.NoError(t, err)
			Mix(0, 1000, 0, 1000, 7, want, other)
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, want, x, devices)
			require.Equal(t, other, y, devices)
			require.EqualValues(t, 2, rt.Stats().Buffers)
			require.EqualValues(t, 8000, rt.Stats().Known)
			require.NoError(t, task.Unregister(rt, x))
			require.NoError(t, rt.Close())
		}
	}
}

// Both a part and the whole in one submission, and in one recording.
func TestGrowth_InOneSubmission(t *testing.T) {
	mix := kernelOf(t, Mix)
	for _, devices := range []string{"smp:2", simOnly} {
		rt := open(t, task.Options{Devices: devices})
		x := make([]uint32, 100)
		_, err := rt.Go(func() error { x[5]++; return nil }, task.InOut(x[5:6:6]), task.In(x))
		require.NoError(t, err)
		y, z := make([]uint32, 100), make([]uint32, 100)
		_, err = mix.Submit(rt, 0, 10, 0, 10, uint32(1), y[:10:10], z[20:30:30])
		require.NoError(t, err)
		_, err = mix.Submit(rt, 0, 10, 0, 100, uint32(1), y[50:60:60], z)
		require.NoError(t, err)
		it, err := rt.Record(func(r *task.Recorder) error {
			u := make([]uint32, 100)
			for i := range 100 {
				if err := r.Go(func() error { u[i] = uint32(i); return nil }, task.Out(u[i:i+1:i+1])); err != nil {
					return err
				}
			}
			return r.Go(func() error { x[0] = u[99] + u[0]; return nil }, task.In(u), task.InOut(x))
		})
		require.NoError(t, err)
		_, err = it.Replay()
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.EqualValues(t, 1, x[5])
		require.EqualValues(t, 99, x[0])
	}
}

// An iteration that was recorded with a part goes on with the whole.
func TestGrowth_OfWhatAnIterationUses(t *testing.T) {
	mix := kernelOf(t, Mix)
	for _, devices := range []string{"smp:2", simOnly} {
		rt := open(t, task.Options{Devices: devices})
		x, y := make([]uint32, 100), make([]uint32, 100)
		want, other := make([]uint32, 100), make([]uint32, 100)
		var its []*task.Iteration
		for _, kernels := range []bool{false, true} {
			it, err := rt.Record(func(r *task.Recorder) error {
				if kernels {
					_, err := mix.Submit(r, 0, 10, 0, 10, uint32(3), y[20:30:30], x[50:60:60])
					return err
				}
				return r.Go(func() error { x[50]++; return nil }, task.InOut(x[50:60:60]))
			})
			require.NoError(t, err)
			its = append(its, it)
		}
		for round := range 4 {
			for range 2 {
				_, err := its[0].Replay()
				require.NoError(t, err)
				want[50]++
				_, err = its[1].Replay()
				require.NoError(t, err)
				Mix(0, 10, 0, 10, 3, other[20:30], want[50:60])
			}
			at := 40 - 10*round
			_, err := mix.Submit(rt, 0, 60-at, 0, 10, uint32(round), x[at:60:60], y[20:30])
			require.NoError(t, err)
			Mix(0, 60-at, 0, 10, uint32(round), want[at:60], other[20:30])
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, x)
		require.Equal(t, other, y)
	}
}

// A failure keeps back what would have waited for it without the growth, and nothing else.
func TestGrowth_BesideFailures(t *testing.T) {
	for _, after := range []bool{false, true} { // the task fails before or after the growth
		rt := open(t, task.Options{Devices: "smp:2"})
		x, gate, boom := make([]uint32, 100), make(chan struct{}), errors.New("boom")
		if !after {
			close(gate)
		}
		failing, err := rt.Go(func() error { <-gate; return boom }, task.InOut(x[10:20:20]))
		require.NoError(t, err)
		if !after {
			<-failing.Done()
		}
		good, err := rt.Go(func() error { x[30] = 7; return nil }, task.InOut(x[30:40:40]))
		require.NoError(t, err)
		whole, err := rt.Go(nothing, task.In(x))
		require.NoError(t, err)
		apart, err := rt.Go(func() error { x[31] = x[30]; return nil }, task.InOut(x[25:40]))
		require.NoError(t, err)
		touching, err := rt.Go(nothing, task.InOut(x[19:26]))
		require.NoError(t, err)
		if after {
			close(gate)
		}
		err = rt.Wait(context.Background())
		require.ErrorIs(t, err, boom)
		require.NoError(t, good.Err())
		require.ErrorIs(t, whole.Err(), task.ErrSkipped)
		require.ErrorIs(t, touching.Err(), task.ErrSkipped)
		require.NotNil(t, apart.Err(), "it waits for what reads the whole, which was skipped")
		_, err = rt.Go(func() error { x[31]++; return nil }, task.InOut(x))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
	}
}

// Children of a task go on with the part that the task accesses, whatever the program makes of it meanwhile.
func TestGrowth_BesideATaskWithChildren(t *testing.T) {
	for _, devices := range []string{"smp:2", "smp:2,sim:1(exec=cpu)"} {
		rt, fill := open(t, task.Options{Devices: devices}), kernelOf(t, Fill)
		x, want := make([]uint32, 300), make([]uint32, 300)
		begun, grown := make(chan struct{}), make(chan struct{})
		_, err := rt.GoScope(func(s *task.Scope) error {
			_, err := fill.Submit(s, 0, 50, uint32(1), x[100:150])
			close(begun)
			<-grown
			_, again := fill.Submit(s, 0, 20, uint32(2), x[110:130])
			local := make([]uint32, 90)
			_, one := fill.Submit(s, 0, 10, uint32(3), local[20:30:30])
			_, two := fill.Submit(s, 0, 90, uint32(4), local)
			if err = errors.Join(err, again, one, two, s.WaitOn(s.Context(), task.In(local))); err == nil && !filled(4, local) {
				err = errors.New("a buffer of the body did not grow")
			}
			return err
		}, task.InOut(x[100:150:150]))
		require.NoError(t, err)
		<-begun
		_, err = rt.Go(func() error { x[0] = x[120]; return nil }, task.InOut(x))
		require.NoError(t, err)
		close(grown)
		require.NoError(t, rt.Wait(context.Background()))
		Fill(0, 50, 1, want[100:])
		Fill(0, 20, 2, want[110:])
		want[0] = want[120]
		require.Equal(t, want, x, devices)
	}
}

// Tasks reduce together into a part and into the whole as they would into the whole alone: their copies are combined once.
func TestGrowth_ReductionsGoOn(t *testing.T) {
	sum := kernelOf(t, ModelSum)
	for _, devices := range []string{"smp:2", simOnly, "smp:1,sim:2(exec=cpu)"} {
		for _, fails := range []int{-1, 0, 1, 2} {
			for _, registered := range []bool{false, true} {
				name := fmt.Sprintf("%s, %d fails, registered %v", devices, fails, registered)
				rt := open(t, task.Options{Devices: devices})
				x, want, boom := make([]uint32, 100), make([]uint32, 100), errors.New("boom")
				if registered {
					require.NoError(t, task.Register(rt, x))
				}
				gate := make(chan struct{})
				var tasks []task.Task
				step := func(lo, hi int) {
					i, own := len(tasks), x[lo:hi:hi]
					var one task.Task
					var err error
					if devices == simOnly { // without workers there are kernels alone, of which none fails
						one, err = sum.Submit(rt, 0, hi-lo, uint32(i+1), own)
					} else {
						one, err = rt.GoScope(func(s *task.Scope) error {
							if <-gate; i == fails {
								return boom
							}
							ModelSum(0, hi-lo, uint32(i+1), task.Private(s, own))
							return nil
						}, task.Reduce(own, task.Sum[uint32]()))
					}
					require.NoError(t, err)
					if tasks = append(tasks, one); fails < 0 || devices == simOnly {
						ModelSum(0, hi-lo, uint32(i+1), want[lo:hi])
					}
				}
				step(10, 20)
				step(15, 60)
				step(0, 100)
				step(12, 18)
				close(gate)
				waited := rt.Wait(context.Background())
				var f *task.FailedError
				if fails < 0 || devices == simOnly {
					require.NoError(t, waited, name)
				} else {
					require.ErrorAs(t, waited, &f, name)
					require.Len(t, f.Failed, 1, name)
					require.Equal(t, 1, f.Skipped, "%s: the combination", name)
				}
				for i, one := range tasks {
					require.Equal(t, i == fails && devices != simOnly, one.Err() != nil, name)
				}
				require.Equal(t, want, x, name)
				require.NoError(t, rt.Close())
			}
		}
	}
}

// A failure keeps back what comes after it, though the buffer has grown twice before the task failed.
func TestGrowth_TwiceBeforeAFailure(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, gate, boom := make([]uint32, 100), make(chan struct{}), errors.New("boom")
	_, err := rt.Go(func() error { <-gate; return boom }, task.InOut(x[25:30:30]))
	require.NoError(t, err)
	around, err := rt.Go(nothing, task.InOut(x[19:35:35]))
	require.NoError(t, err)
	beside, err := rt.Go(nothing, task.InOut(x).Box([]int{100}, []int{50}, []int{60}))
	require.NoError(t, err)
	close(gate)
	var f *task.FailedError
	require.ErrorAs(t, rt.Wait(context.Background()), &f)
	require.ErrorIs(t, around.Err(), task.ErrSkipped)
	require.NoError(t, beside.Err())
	require.Len(t, f.Failed, 1)
	require.Equal(t, 1, f.Skipped)
}

// What fails, is written by a group, or is used beside memory that grows, among the children of a task that goes on with a part.
func TestGrowth_ChildrenKeepToThePart(t *testing.T) {
	fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
	for _, devices := range []string{"smp:3", "smp:3,sim:1(exec=cpu)"} {
		rt, boom := open(t, task.Options{Devices: devices}), errors.New("boom")
		x, want := make([]uint32, 300), make([]uint32, 300)
		begun, grown := make(chan struct{}), make(chan struct{})
		part := x[100:150:150]
		_, err := rt.GoScope(func(s *task.Scope) error {
			g := task.NewGroup(s)
			_, err := fill.Submit(g, 0, 50, uint32(1), part)
			if err != nil {
				return err
			}
			close(begun)
			<-grown
			if err := g.Wait(s.Context()); err != nil {
				return err
			}
			if !filled(1, part) {
				return errors.New("the group did not bring back what it wrote")
			}

			gate, local := make(chan struct{}), make([]uint32, 90)
			_, one := s.Go(func() error { <-gate; part[7] = 9; return nil }, task.InOut(part))
			_, two := fill.Submit(s, 0, 10, uint32(3), local[20:30:30])
			_, three := mix.Submit(s, 0, 90, 0, 50, uint32(4), local, part) // the memory of the body grows
			time.Sleep(2 * time.Millisecond)
			close(gate)
			if err := errors.Join(one, two, three, s.WaitOn(s.Context(), task.In(local)), s.WaitOn(s.Context(), task.In(part))); err != nil {
				return err
			}
			other := make([]uint32, 90)
			Fill(0, 10, 3, other[20:])
			if Mix(0, 90, 0, 50, 4, other, part); part[7] != 9 || !slices.Equal(other, local) {
				return errors.New("a task ran before one that it depends on")
			}

			_, one = s.Go(func() error { return boom }, task.InOut(part[:20]))
			if one != nil {
				return one
			}
			if err := s.WaitOn(s.Context(), task.In(part[:1])); !errors.Is(err, task.ErrSkipped) {
				return fmt.Errorf("a wait behind a failure returned %w", err)
			}
			after, err := s.Go(func() error { part[10] = 1; return nil }, task.InOut(part[10:11]))
			if err != nil {
				return err
			}
			if err := s.Wait(s.Context()); !errors.Is(err, boom) || !errors.Is(after.Err(), task.ErrSkipped) {
				return fmt.Errorf("a failure kept nothing back: %w", err)
			}
			return nil
		}, task.InOut(part))
		require.NoError(t, err)
		<-begun
		_, err = rt.Go(func() error { x[0] = x[120]; return nil }, task.InOut(x))
		require.NoError(t, err)
		close(grown)
		require.NoError(t, rt.Wait(context.Background()))
		Fill(0, 50, 1, want[100:])
		want[0], want[107] = want[120], 9
		require.Equal(t, want, x, devices)
	}
}

// Children find the part that their parent accesses at any moment of the growth.
func TestGrowth_WhileChildrenAreSubmitted(t *testing.T) {
	for range 50 {
		rt := open(t, task.Options{Devices: "smp:4"})
		x := make([]uint32, 400)
		var begun sync.WaitGroup
		for i := range 4 {
			begun.Add(1)
			own := x[i*100+10 : i*100+90 : i*100+90]
			_, err := rt.GoScope(func(s *task.Scope) error {
				begun.Done()
				for range 40 {
					if _, err := s.Go(func() error { own[3]++; return nil }, task.InOut(own[3:5])); err != nil {
						return err
					}
				}
				return nil
			}, task.InOut(own))
			require.NoError(t, err)
		}
		begun.Wait()
		_, err := rt.Go(nothing, task.In(x))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		for i := range 4 {
			require.EqualValues(t, 40, x[i*100+13])
		}
		require.NoError(t, rt.Close())
	}
}

func TestGrowth_ThatIsNotPossible(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x, err := task.Alloc[uint32](rt, 1<<12)
	require.NoError(t, err)
	y := make([]uint32, 8)
	_, err = rt.Go(nothing, task.InOut(y[1:3:3]))
	require.NoError(t, err)
	_, err = rt.GoScope(func(s *task.Scope) error {
		_, err := s.Go(nothing, task.InOut(y))
		return err
	}, task.InOut(x))
	require.NoError(t, err)
	var overlap *task.OverlapError
	require.ErrorAs(t, rt.Wait(context.Background()), &overlap)
}

// addressInText is where a slice of the program lies, which differs between runs.
var addressInText = regexp.MustCompile(` at 0x[0-9a-f]+`)

// Numbers of tasks and buffers are the same in every run, however the tasks are timed.
func TestGrowth_NumbersAreDeterministic(t *testing.T) {
	var first string
	for run := range 10 {
		rt, fill := open(t, task.Options{Devices: "smp:2,sim:1(exec=cpu)"}), kernelOf(t, Fill)
		text, rng := "", rand.New(rand.NewPCG(7, 7))
		x := make([]uint32, 400)
		for i := range 60 {
			lo := rng.IntN(390)
			hi := lo + 1 + rng.IntN(min(10+i*8, 400-lo))
			one, err := fill.Submit(rt, 0, hi-lo, uint32(i), x[lo:hi:hi])
			require.NoError(t, err)
			_, wrong := rt.GoScope(func(s *task.Scope) error { return nil }, task.OnDevice("none"), task.InOut(x[lo:hi]))
			text += fmt.Sprint(one.ID(), wrong)
			if run%2 == 1 {
				<-one.Done()
			}
		}
		_, err := rt.GoScope(func(s *task.Scope) error {
			_, err := s.Go(nothing, task.InOut(x))
			return err
		}, task.In(x))
		require.NoError(t, err)
		text += addressInText.ReplaceAllString(rt.Wait(context.Background()).Error(), "")
		if run == 0 {
			first = text
		}
		require.Equal(t, first, text)
	}
}

// TestGrowth_RandomPrograms has several goroutines use parts of the same slices, first small and then larger ones, with kernels, Go tasks,
// reductions and waits, each in its own columns of the elements, and one that uses all of it.
func TestGrowth_RandomPrograms(t *testing.T) {
	fill, mix, sum := kernelOf(t, Fill), kernelOf(t, Mix), kernelOf(t, ModelSum)
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 18))
		rt := open(t, task.Options{Devices: modelMachine(rng), Window: []int{0, 2, 9}[rng.IntN(3)]})
		const size = 500
		var got, want [3][]uint32
		for b := range got {
			got[b], want[b] = make([]uint32, size), make([]uint32, size)
		}
		part := func(i int) (int, int) {
			lo := rng.IntN(size - 1)
			return lo, lo + 1 + rng.IntN(min(size-lo-1, 4+i*i/4)+0)
		}
		g := task.NewGroup(rt)
		for i := range 60 {
			b, k := rng.IntN(3), rng.Uint32()
			lo, hi := part(i)
			x, y := got[b][lo:hi:hi], want[b][lo:hi]
			at := []task.Submitter{rt, g}[rng.IntN(2)]
			var err error
			switch rng.IntN(8) {
			case 0, 1:
				_, err = fill.Submit(at, 0, hi-lo, k, x)
				Fill(0, hi-lo, k, y)
			case 2, 3:
				from, to := part(i)
				_, err = mix.Submit(at, 0, hi-lo, 0, to-from, k, x, got[(b+1)%3][from:to:to])
				Mix(0, hi-lo, 0, to-from, k, y, want[(b+1)%3][from:to])
			case 4:
				_, err = task.GoValue(at, func() (int, error) { Fill(0, hi-lo, k, x); return 0, nil }, task.Out(x))
				Fill(0, hi-lo, k, y)
			case 5:
				_, err = sum.Submit(at, 0, hi-lo, k, x)
				ModelSum(0, hi-lo, k, y)
			case 6:
				err = g.Wait(context.Background())
				g = task.NewGroup(rt)
			default:
				if err = rt.WaitOn(t.Context(), task.InOut(x)); err == nil {
					require.Equal(t, y, x, "seed %d", seed)
				} else if errors.Is(err, task.ErrUnused) {
					err = nil
				}
			}
			require.NoError(t, err, "seed %d", seed)
		}
		require.NoError(t, rt.Wait(context.Background()), "seed %d", seed)
		require.Equal(t, want, got, "seed %d", seed)
		require.NoError(t, rt.Close(), "seed %d", seed)
	}
}

// Several goroutines make the same buffer grow at once.
func TestGrowth_ByManyAtOnce(t *testing.T) {
	fill := kernelOf(t, Fill)
	for range 30 {
		rt := open(t, task.Options{Devices: simOnly})
		const each, many = 64, 8
		x := make([]uint32, each*many)
		var all sync.WaitGroup
		for n := range many {
			all.Go(func() {
				own := x[n*each : (n+1)*each]
				for size := 4; size <= each; size *= 2 {
					at := (each - size) / 2
					if _, err := fill.Submit(rt, 0, size, uint32(size+n), own[at:at+size:at+size]); err != nil {
						t.Error(err)
					}
					if n == 0 {
						if _, err := rt.Go(nothing, task.In(x)); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		all.Wait()
		require.NoError(t, rt.Wait(context.Background()))
		for n := range many {
			require.True(t, filled(uint32(each+n), x[n*each:(n+1)*each]))
		}
		require.NoError(t, rt.Close())
	}
}
