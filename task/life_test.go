package task_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
)

func TestPanicsAreErrorsOfTheirTask(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	cause := errors.New("cause")
	began := line()
	a, err := rt.Go(func() error {
		defer func() {
			if recover() != nil {
				panic(cause) // of two panics the later one is told
			}
		}()
		panic("earlier")
	}, task.Label("loud"))
	require.NoError(t, err)
	b, err := rt.Go(func() error {
		var s []int
		s[3] = 1
		return nil
	})
	require.NoError(t, err)
	c, err := rt.Go(func() error { runtime.Goexit(); return nil })
	require.NoError(t, err)
	misuse, err := rt.GoScope(func(s *task.Scope) error {
		task.Private(s, make([]int, 1))
		return nil
	})
	require.NoError(t, err)
	require.Error(t, rt.Wait(context.Background()))
	require.ErrorContains(t, misuse.Err(), fmt.Sprintf("life_test.go:%d: panic: task: go task (life_test.go:%d): private copy of memory, which it has not declared with Reduce", began+19, began+18))
	var p *task.PanicError
	require.ErrorAs(t, a.Err(), &p)
	require.ErrorIs(t, a.Err(), cause)
	require.Contains(t, string(p.Stack), "TestPanicsAreErrors")
	says(t, a.Err(), fmt.Sprintf("task: loud (LINE) on smp: life_test.go:%d: panic: cause", began+4))
	require.ErrorAs(t, b.Err(), &p)
	require.ErrorContains(t, b.Err(), fmt.Sprintf("life_test.go:%d: panic: runtime error: index out of range [3] with length 0", began+12))
	require.ErrorContains(t, c.Err(), "runtime.Goexit")
	ok, err := rt.Go(nothing)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, ok.Err())
}

// A task that is submitted after its predecessor has failed is skipped as surely as one submitted before, until Wait has
// told of the failure.
func TestLateSuccessorsOfAFailureAreSkipped(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int, 8)
	require.NoError(t, task.Register(rt, x))
	a, err := rt.Go(func() error { return errors.New("boom") }, task.In(x[4:]), task.Out(x[:4]), task.Label("a"))
	require.NoError(t, err)
	require.Error(t, a.Wait(context.Background()))
	reader, err := rt.Go(nothing, task.In(x[3:5]))
	require.NoError(t, err)
	require.ErrorIs(t, reader.Wait(context.Background()), task.ErrSkipped)
	writer, err := rt.Go(nothing, task.Out(x[7:]))
	require.NoError(t, err)
	require.ErrorIs(t, writer.Wait(context.Background()), task.ErrSkipped, "it would overwrite what the failed task was to read")
	beside, err := rt.Go(nothing, task.In(x[6:7]))
	require.NoError(t, err)
	require.NoError(t, beside.Wait(context.Background()))
	require.ErrorContains(t, rt.Wait(context.Background()), "boom")
	again, err := rt.Go(nothing, task.InOut(x))
	require.NoError(t, err)
	require.NoError(t, again.Wait(context.Background()), "the failure has been told")
}

func TestALongChainOfSkippedTasksIsNoDeepRecursion(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2", Window: -1})
	x := make([]int, 1)
	gate := make(chan struct{})
	_, err := rt.Go(func() error { <-gate; return errors.New("boom") }, task.InOut(x), task.Label("first"))
	require.NoError(t, err)
	var last task.Task
	for range 20000 {
		last, err = rt.Go(nothing, task.InOut(x))
		require.NoError(t, err)
	}
	close(gate)
	err = rt.Wait(context.Background())
	says(t, err, "task: first (LINE) on smp: boom\n20000 tasks that depend on it were skipped")
	require.Less(t, len(last.Err().Error()), 200)
	s := rt.Stats()
	require.EqualValues(t, 1, s.Failed)
	require.EqualValues(t, 20000, s.Skipped)
}

func TestCancellationEndsWhatHasNotStarted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	rt := open(t, task.Options{Devices: "smp:1", Context: ctx})
	x := make([]int, 1)
	running := make(chan struct{})
	a, err := rt.GoContext(func(ctx context.Context) error { close(running); <-ctx.Done(); return context.Cause(ctx) }, task.InOut(x))
	require.NoError(t, err)
	successor, err := rt.Go(nothing, task.InOut(x))
	require.NoError(t, err)
	queued, err := rt.Go(nothing)
	require.NoError(t, err)
	<-running
	why := errors.New("the user went home")
	cancel(why)
	require.Error(t, rt.Wait(context.Background()))
	for _, s := range []task.Task{a, successor, queued} {
		require.ErrorIs(t, s.Err(), why)
	}
	_, err = rt.Go(nothing)
	require.ErrorIs(t, err, why)
	require.NoError(t, rt.WaitOn(context.Background(), task.In(x)), "what there is may still be read")
}

func TestWindowBoundsTheTasksInFlight(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2", Window: 8})
	var submitters sync.WaitGroup
	for range 4 {
		submitters.Go(func() {
			for range 500 {
				if _, err := rt.Go(nothing); err != nil {
					t.Error(err)
				}
				if n := rt.Stats().InFlight; n > 8 {
					t.Errorf("%d tasks in flight", n)
				}
			}
		})
	}
	submitters.Wait()
	require.NoError(t, rt.Wait(context.Background()))
}

func TestTokensBoundWhatRunsAtOnce(t *testing.T) {
	for _, policy := range sched.Policies() {
		rt := open(t, task.Options{Devices: "smp:8", Policy: policy})
		var now, most atomic.Int32
		for range 200 {
			_, err := rt.Go(func() error {
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				runtime.Gosched()
				now.Add(-1)
				return nil
			}, task.Resources("smp", 40))
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.LessOrEqual(t, most.Load(), int32(2), policy)
		require.LessOrEqual(t, rt.Stats().MostAtOnce["smp"], 2, policy)
		require.EqualValues(t, 200, rt.Stats().ByDevice["smp"])
	}
}

func TestWrongCallsOfGo(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1", Tokens: map[devices.Kind]int{"smp": 50}})
	x := make([]float32, 100)
	require.NoError(t, task.Register(rt, x[10:20:20]))
	require.NoError(t, task.Register(rt, x[50:60:60]))
	m := make([]float32, 100)
	type one struct{ a, b float32 }
	ran := false
	body := func() error { ran = true; return nil }
	for _, c := range []struct {
		body    func() error
		options []task.Option
		want    string
	}{
		{nil, nil, "task: go: body is nil"},
		{body, []task.Option{task.Resources("smp", 51)}, "needs smp:51, limits are smp:50"},
		{body, []task.Option{task.Resources("smp", -1)}, "-1 tokens"},
		{body, []task.Option{task.Resources("", 1)}, `resources: no kind of devices is called ""`},
		{body, []task.Option{task.Resources("cudaa", 1)}, `resources: no kind of devices is called "cudaa": known are acc, cuda, `},
		{body, []task.Option{task.OnDevice("cuda")}, `no device "cuda": the devices are smp`},
		{body, []task.Option{task.In(m).Box([]int{4, 4}, []int{0, 0}, []int{4, 5})}, "dimension 2: [0:5] is outside of 0 to 4"},
		{body, []task.Option{task.In(m).Box([]int{4, 4}, []int{0, 3}, []int{4, 2})}, "dimension 2: [3:2] of 4"},
		{body, []task.Option{task.In(m).Box([]int{11, 10}, []int{0, 0}, []int{1, 1})}, "needs more than the 100 elements"},
		{body, []task.Option{task.In(m).Box([]int{4, 4}, []int{0}, []int{4, 4})}, "all must be the same"},
		{body, []task.Option{task.Label("x").Box([]int{1}, []int{0}, []int{1})}, "not an access"},
	} {
		_, err := rt.Go(c.body, c.options...)
		require.ErrorContains(t, err, c.want)
	}
	y := make([]one, 4)
	require.NoError(t, task.Register(rt, y))
	y[1].a = 1
	_, err := rt.Go(body, task.In(task.One(&y[1].b)))
	var elements *task.ElementError
	require.ErrorAs(t, err, &elements)
	require.NoError(t, rt.Wait(context.Background()))
	require.False(t, ran)
	require.Zero(t, rt.Stats().Submitted)
}

func TestWrongOptionsOfNew(t *testing.T) {
	for _, c := range []struct {
		o    task.Options
		want string
	}{
		{task.Options{Devices: "gpu:2"}, `unknown kind "gpu": known are`},
		{task.Options{Devices: "smp:0"}, "count"},
		{task.Options{Devices: "smp", Policy: "best"}, `policy "best": unknown: the policies are fifo, locality, priority, random`},
		{task.Options{Devices: "smp", Tokens: map[devices.Kind]int{"smp": -5}}, "-5 is not between"},
		{task.Options{Devices: "smp", Tokens: map[devices.Kind]int{"smpp": 5}}, `task: new: options: tokens: no kind of devices is called "smpp": known are acc, `},
		{task.Options{Devices: "smp", Tokens: map[devices.Kind]int{"sim:0": 5}}, `no kind of devices is called "sim:0"`},
		{task.Options{Devices: "smp", Machine: task.MachineOptions{ByKind: map[devices.Kind]any{"simm": nil}}}, `options: machine: no kind of devices is called "simm"`},
	} {
		_, err := task.New(c.o)
		require.ErrorContains(t, err, c.want)
	}
	rt, err := task.New(task.Options{Devices: "smp:1", Tokens: map[devices.Kind]int{"smp": 5, "cuda": 7, "acc": 9, "opencl": 3, "sim": 2}})
	require.NoError(t, err, "kinds that this run has none of")
	require.NoError(t, rt.Close())
}

func TestDevicesComeFromTheEnvironment(t *testing.T) {
	t.Setenv(task.DevicesVariable, "smp:3")
	rt := open(t, task.Options{})
	require.Contains(t, rt.Machine().Devices()[0].Properties().Description, "3 workers")
}

func TestAllocAndFree(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x, err := task.Alloc[float64](rt, 1000)
	require.NoError(t, err)
	_, err = rt.Go(func() error { x[999] += 2; return nil }, task.InOut(x[900:]))
	require.NoError(t, err)
	require.NoError(t, rt.WaitOn(context.Background(), task.In(x[999:])))
	require.Equal(t, 2.0, x[999])
	gate := make(chan struct{})
	_, err = rt.Go(func() error { <-gate; x[0] = 1; return nil }, task.Out(x))
	require.NoError(t, err)
	time.AfterFunc(time.Millisecond, func() { close(gate) })
	require.ErrorContains(t, task.Free(rt, x[1:]), "not the beginning of a buffer made by Alloc")
	require.NoError(t, task.Free(rt, x), "it waits for the task")
	require.ErrorContains(t, task.Free(rt, make([]int, 1)), "not the beginning")
	_, err = task.Alloc[*int](rt, 4)
	require.ErrorContains(t, err, "holds Go pointers")
	_, err = task.Alloc[struct {
		n int
		s string
	}](rt, 4)
	require.ErrorContains(t, err, "field s")
	_, err = task.Alloc[int](rt, -1)
	require.ErrorContains(t, err, "not a size")
	empty, err := task.Alloc[int](rt, 0)
	require.NoError(t, err)
	require.Empty(t, empty)
	y := make([]int, 4)
	require.NoError(t, task.Register(rt, y))
	require.NoError(t, task.Register(rt, y[1:]), "inside of a buffer")
	require.ErrorContains(t, task.Free(rt, y), "an ordinary slice, which Unregister gives back")
	require.ErrorContains(t, task.Unregister(rt, x), "not the beginning")
	require.NoError(t, task.Unregister(rt, y))
	require.ErrorContains(t, task.Unregister(rt, y), "not the beginning")
	z, err := task.Alloc[int](rt, 4)
	require.NoError(t, err)
	require.ErrorContains(t, task.Unregister(rt, z), "memory of Alloc, which Free gives back")
}

func TestClosedRuntime(t *testing.T) {
	rt, err := task.New(task.Options{Devices: "smp:2"})
	require.NoError(t, err)
	x := make([]int, 1)
	for range 100 {
		_, err = rt.Go(func() error { x[0]++; return nil }, task.InOut(x))
		require.NoError(t, err)
	}
	boom := errors.New("boom")
	_, err = rt.Go(func() error { return boom })
	require.NoError(t, err)
	require.ErrorIs(t, rt.Close(), boom)
	require.Equal(t, 100, x[0])
	require.NoError(t, rt.Close())
	_, err = rt.Go(nothing)
	require.ErrorIs(t, err, task.ErrClosed)
	require.ErrorIs(t, rt.WaitOn(context.Background(), task.In(x)), task.ErrClosed)
	_, err = task.Alloc[int](rt, 1)
	require.ErrorIs(t, err, task.ErrClosed)
	require.ErrorIs(t, task.Register(rt, x), task.ErrClosed)
}

func TestWaitOnWaitsForItsDataOnly(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y := make([]int, 1), make([]int, 1)
	gate := make(chan struct{})
	_, err := rt.Go(func() error { <-gate; x[0] = 1; return nil }, task.Out(x))
	require.NoError(t, err)
	_, err = rt.Go(func() error { y[0] = 2; return nil }, task.Out(y))
	require.NoError(t, err)
	require.NoError(t, rt.WaitOn(context.Background(), task.In(y)))
	require.Equal(t, 2, y[0])
	soon, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, rt.WaitOn(soon, task.In(x)), context.DeadlineExceeded)
	close(gate)
	require.NoError(t, rt.WaitOn(context.Background(), task.In(x)))
	require.Equal(t, 1, x[0])
}

func TestWaitOnTellsOfAFailureOnlyToWhoWaits(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int, 2)
	require.NoError(t, task.Register(rt, x))
	_, err := rt.Go(func() error { return errors.New("boom") }, task.Out(x[:1]))
	require.NoError(t, err)
	require.ErrorIs(t, rt.WaitOn(context.Background(), task.In(x)), task.ErrSkipped)
	// the wait that could not be has no successors that suffer
	after, err := rt.Go(nothing, task.Out(x[1:]))
	require.NoError(t, err)
	require.NoError(t, after.Wait(context.Background()))
	err = rt.Wait(context.Background())
	require.ErrorContains(t, err, "boom")
	require.NotContains(t, err.Error(), "skipped")
}

// Tasks submitted from bodies are siblings in the order of submission.
func TestTasksSubmitTasks(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	var leaves atomic.Int64
	var grow func(depth int) func() error
	grow = func(depth int) func() error {
		return func() error {
			if depth == 0 {
				leaves.Add(1)
				return nil
			}
			for range 3 {
				if _, err := rt.Go(grow(depth - 1)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	_, err := rt.Go(grow(6))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 729, leaves.Load())
}

func TestHandlesOutliveTheirRecords(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	boom := errors.New("boom")
	var good, bad []task.Task
	for i := range 200 {
		a, err := rt.Go(nothing)
		require.NoError(t, err)
		b, err := rt.Go(func() error { return fmt.Errorf("%d: %w", i, boom) })
		require.NoError(t, err)
		good, bad = append(good, a), append(bad, b)
		if i%3 == 0 {
			require.Error(t, b.Wait(context.Background()))
		}
	}
	require.Error(t, rt.Wait(context.Background()))
	for i := range good {
		require.NoError(t, good[i].Wait(context.Background()))
		require.ErrorContains(t, bad[i].Wait(context.Background()), fmt.Sprintf("%d: boom", i))
	}
	require.NoError(t, task.Task{}.Wait(context.Background()))
}

func TestHammer(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:4", Window: 64})
	const submitters, each = 4, 300
	shared := make([]int64, submitters)
	require.NoError(t, task.Register(rt, shared))
	var all sync.WaitGroup
	for s := range submitters {
		all.Go(func() {
			for i := range each {
				mine := shared[s : s+1]
				a, err := rt.Go(func() error { mine[0]++; return nil }, task.InOut(mine))
				if err != nil {
					t.Error(err)
					return
				}
				switch i % 7 {
				case 0:
					if err := a.Wait(context.Background()); err != nil {
						t.Error(err)
					}
				case 1:
					if err := rt.WaitOn(context.Background(), task.In(mine)); err != nil || mine[0] != int64(i+1) {
						t.Errorf("%v, %d after %d tasks", err, mine[0], i+1)
					}
				case 2:
					rt.Stats()
				case 3:
					if err := rt.Wait(context.Background()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, rt.Wait(context.Background()))
	for _, n := range shared {
		require.EqualValues(t, each, n)
	}
}

func TestSubmissionAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	rt := open(t, task.Options{Devices: "smp:1"})
	x := make([]float64, 64)
	require.NoError(t, task.Register(rt, x))
	submit := func() {
		for i := range 16 {
			if _, err := rt.Go(nothing, task.In(x[i:i+1]), task.InOut(x[i+16:i+18]), task.Label("x")); err != nil {
				t.Fatal(err)
			}
		}
		if err := rt.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		submit()
	}
	require.Less(t, testing.AllocsPerRun(200, submit), 3.0, "16 tasks: none of them, two of Wait, which looks who calls it")
}

// taskflow#244, #255, #339: idle workers that spin.
func TestIdleRuntimeUsesNoProcessorTime(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:8,sim:2"})
	_, err := rt.Go(nothing)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	var least time.Duration = time.Hour
	for range 5 { // other tests' garbage may still be collected: the best of five counts
		before := processorTime(t)
		<-time.After(50 * time.Millisecond)
		least = min(least, processorTime(t)-before)
	}
	require.Less(t, least, 10*time.Millisecond)
}

// record is an observer that keeps all points.
type recorder struct {
	mu     sync.Mutex
	points []probe.Point
}

func (r *recorder) Observe(p probe.Point) {
	r.mu.Lock()
	r.points = append(r.points, p)
	r.mu.Unlock()
}

func (r *recorder) kinds(label string) string {
	id := r.points[0].Task
	for _, p := range r.points {
		if p.Label == label {
			id = p.Task
			break
		}
	}
	var words []string
	for _, p := range r.points {
		if p.Task == id {
			words = append(words, p.Kind.String())
		}
	}
	return strings.Join(words, " ")
}

func TestObserverSeesTheLifeOfATask(t *testing.T) {
	seen := &recorder{}
	rt := open(t, task.Options{Devices: "smp:1", Observer: seen})
	x := make([]int, 1)
	gate := make(chan struct{})
	_, err := rt.Go(func() error { <-gate; return nil }, task.Out(x), task.Label("a"))
	require.NoError(t, err)
	_, err = rt.Go(func() error { return errors.New("boom") }, task.InOut(x), task.Label("b"))
	require.NoError(t, err)
	_, err = rt.Go(nothing, task.In(x), task.Label("c"))
	require.NoError(t, err)
	close(gate)
	require.Error(t, rt.Wait(context.Background()))
	require.Equal(t, "submit ready choice start end release", seen.kinds("a"))
	require.Equal(t, "submit edge ready choice start end failure release", seen.kinds("b"))
	require.Equal(t, "submit edge failure release", seen.kinds("c"))
	for i := range seen.points[1:] {
		require.LessOrEqual(t, seen.points[i].Kind, probe.Failure)
	}
}

func TestPrioritiesOrderWhatIsReady(t *testing.T) {
	for _, policy := range []string{"priority", "locality"} {
		rt := open(t, task.Options{Devices: "smp:1", Policy: policy})
		gate := make(chan struct{})
		started := make(chan struct{})
		_, err := rt.Go(func() error { close(started); <-gate; return nil })
		require.NoError(t, err)
		<-started
		var order []int
		for _, n := range []int{0, 5, -1, 5, 9} {
			_, err := rt.Go(func() error { order = append(order, n); return nil }, task.Priority(n))
			require.NoError(t, err)
		}
		close(gate)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, []int{9, 5, 5, 0, -1}, order, policy)
	}
}

func TestConcurrentTasksMeet(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int64, 1)
	meet := make(chan struct{})
	one := func() error {
		select {
		case meet <- struct{}{}:
		case <-meet:
		}
		atomic.AddInt64(&x[0], 1)
		return nil
	}
	for range 2 {
		_, err := rt.Go(one, task.Concurrent(x))
		require.NoError(t, err)
	}
	after, err := rt.Go(func() error {
		if x[0] != 2 {
			return fmt.Errorf("%d", x[0])
		}
		return nil
	}, task.In(x))
	require.NoError(t, err)
	require.NoError(t, after.Wait(context.Background()))
}

func TestCommutativeTasksExcludeEachOther(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:4"})
	x := make([]int, 1)
	for range 500 {
		_, err := rt.Go(func() error { x[0]++; return nil }, task.Commutative(x))
		require.NoError(t, err)
	}
	require.NoError(t, rt.WaitOn(context.Background(), task.In(x)))
	require.Equal(t, 500, x[0])
}

// What Close does not find any more nobody else gives back.
func TestBuffersMadeWhileClosing(t *testing.T) {
	for range 200 {
		rt, err := task.New(task.Options{Devices: "smp:1"})
		require.NoError(t, err)
		var wg, begun sync.WaitGroup
		makes := []func() error{
			func() error { return task.Register(rt, make([]uint32, 8)) },
			func() error { _, err := task.Alloc[uint32](rt, 8); return err },
		}
		errs := make([]error, len(makes))
		for g, f := range makes {
			begun.Add(1)
			wg.Go(func() {
				errs[g] = f()
				for begun.Done(); errs[g] == nil; {
					errs[g] = f()
				}
			})
		}
		begun.Wait()
		require.NoError(t, rt.Close())
		wg.Wait()
		for _, err := range errs {
			require.ErrorIs(t, err, task.ErrClosed)
		}
	}
	runtime.GC() // finds what is pinned by nobody
	runtime.GC()
}

// Kernels are described without the lock of submission: Close waits for that, so that nothing of theirs is left in what it has closed.
func TestSubmissionsWhileClosing(t *testing.T) {
	fill := kernelOf(t, Fill)
	for round := range 60 {
		rt, err := task.New(task.Options{Devices: []string{"smp:2", "smp:1,sim:1(exec=cpu)"}[round%2]})
		require.NoError(t, err)
		x := make([]uint32, 96)
		require.NoError(t, task.Register(rt, x))
		submit := []func(part []uint32) (task.Task, error){
			func(part []uint32) (task.Task, error) { return fill.Submit(rt, 0, 32, uint32(1), part) },
			func(part []uint32) (task.Task, error) { return fill.Submit(rt, 0, 32, uint32(2), part) },
			func(part []uint32) (task.Task, error) {
				return rt.Go(func() error { Fill(0, 32, 3, part); return nil }, task.InOut(part))
			},
		}
		var wg, begun sync.WaitGroup
		errs := make([]error, len(submit))
		for g, f := range submit {
			begun.Add(1)
			wg.Go(func() {
				part := x[g*32 : g*32+32]
				_, errs[g] = f(part)
				for begun.Done(); errs[g] == nil; {
					_, errs[g] = f(part)
				}
			})
		}
		begun.Wait()
		require.NoError(t, rt.Close())
		wg.Wait()
		for _, err := range errs {
			require.ErrorIs(t, err, task.ErrClosed)
		}
	}
}
