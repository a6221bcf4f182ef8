package task_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gompss/gompss/task"
)

// A task that needs the value of another waits for it in its body: with the context of its Scope, the worker has other work meanwhile.
func ExampleGoValue() {
	rt, err := task.New(task.Options{Devices: "smp:1"})
	check(err)
	defer rt.Close()
	for _, text := range []string{"20", "2o"} {
		parsed, err := task.GoValue(rt, func() (int, error) { return strconv.Atoi(text) }, task.Label("parse"))
		check(err)
		doubled, err := task.GoValueScope(rt, func(s *task.Scope) (int, error) {
			n, err := parsed.Get(s.Context())
			return 2 * n, err
		}, task.Label("double"))
		check(err)
		n, err := doubled.Get(context.Background())
		fmt.Println(n, errors.Is(err, strconv.ErrSyntax))
	}
	var failed *task.FailedError
	fmt.Println(errors.As(rt.Wait(context.Background()), &failed), len(failed.Failed), failed.Failed[0].Label)
	// Output:
	// 40 false
	// 0 true
	// true 2 parse
}

// The first worker that finds something ends the search of all: what has not begun does not run, what runs sees it by its context.
func ExampleGroup_Cancel() {
	rt, err := task.New(task.Options{Devices: "smp:2"})
	check(err)
	defer rt.Close()
	found := errors.New("found")
	search := task.NewGroup(rt)
	for i := range 1000 {
		_, err := search.GoScope(func(s *task.Scope) error {
			if i == 3 {
				search.Cancel(found)
			}
			return context.Cause(s.Context())
		})
		if errors.Is(err, found) {
			break // the group takes no more
		}
		check(err)
	}
	other, err := rt.Go(func() error { return nil }) // is not of the group
	check(err)
	fmt.Println(errors.Is(search.Wait(context.Background()), found), other.Wait(context.Background()))
	fmt.Println(rt.Wait(context.Background())) // a failure is told once: by the wait of the group
	// Output:
	// true <nil>
	// <nil>
}

// A task that is over when something outside has answered.
func ExampleScope_Event() {
	rt, err := task.New(task.Options{Devices: "smp:1"})
	check(err)
	defer rt.Close()
	answer, sum := make([]int, 1), 0
	_, err = rt.GoScope(func(s *task.Scope) error {
		answered, err := s.Event()
		if err != nil {
			return err
		}
		time.AfterFunc(time.Millisecond, func() { // no task waits for it meanwhile, and no worker
			answer[0] = 42
			check(answered.Fulfill(nil))
		})
		return nil
	}, task.Out(answer))
	check(err)
	_, err = rt.Go(func() error { sum += answer[0]; return nil }, task.In(answer), task.InOut(task.One(&sum)))
	check(err)
	check(rt.Wait(context.Background()))
	fmt.Println(sum)
	// Output: 42
}

// A sum over a range, in as many tasks as the runtime thinks fit.
func ExampleLoop() {
	rt, err := task.New(task.Options{Devices: "smp:2"})
	check(err)
	defer rt.Close()
	x, sum, most := make([]float64, 1000), []float64{0}, []float64{0}
	fill := func(_ *task.Scope, lo, hi int) error {
		for i := lo; i < hi; i++ {
			x[i] = float64(i)
		}
		return nil
	}
	_, err = task.Taskloop(rt, 0, len(x), fill, task.Grain(100), task.PerChunk(func(lo, hi int) []task.Option {
		return []task.Option{task.Out(x[lo:hi])}
	}))
	check(err)
	add := func(s *task.Scope, lo, hi int) error {
		sum, most := task.Private(s, sum), task.Private(s, most) // this task's own
		for _, v := range x[lo:hi] {
			sum[0] += v
			most[0] = max(most[0], v)
		}
		return nil
	}
	_, err = task.Taskloop(rt, 0, len(x), add,
		task.WithOptions(task.Reduce(sum, task.Sum[float64]())), task.WithOptions(task.Reduce(most, task.Max[float64]())),
		task.PerChunk(func(lo, hi int) []task.Option { return []task.Option{task.In(x[lo:hi])} }))
	check(err)
	check(rt.Wait(context.Background()))
	fmt.Println(sum[0], most[0])
	// Output: 499500 999
}

// One step of a simulation is recorded once, and replayed with another length of step.
func ExampleRuntime_Record() {
	rt, err := task.New(task.Options{Devices: "smp:2"})
	check(err)
	defer rt.Close()
	place, speed := []float64{0, 0}, []float64{1, 2}
	var dt *task.Arg[float64]
	step, err := rt.Record(func(r *task.Recorder) error {
		dt = task.NewArg(r, 1.0)
		for i := range place {
			err := r.Go(func() error { place[i] += dt.Get() * speed[i]; return nil }, task.InOut(place[i:i+1]), task.In(speed))
			if err != nil {
				return err
			}
		}
		return nil
	})
	check(err)
	for _, length := range []float64{1, 0.5, 0.25} {
		dt.Set(length)
		_, err := step.Replay() // all three may be in flight: each has its own dt
		check(err)
	}
	check(rt.Wait(context.Background()))
	fmt.Println(place, step.Tasks(), step.Edges())
	// Output: [1.75 3.5] 2 0
}
