package task_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/task"
)

// exampleRuntime returns a runtime of two CPU workers.
func exampleRuntime() *task.Runtime {
	rt, err := task.New(task.Options{Devices: "smp:2"})
	check(err)
	return rt
}

// submitted takes the results of a submission.
func submitted(_ task.Task, err error) { check(err) }

func ExampleAlloc() {
	rt := exampleRuntime()
	defer rt.Close()
	x, err := task.Alloc[float64](rt, 1000) // zero, outside the Go heap
	check(err)
	submitted(rt.Go(func() error { x[999] = 1; return nil }, task.Out(x[500:])))
	check(rt.Wait(context.Background()))
	fmt.Println(len(x), x[0], x[999])
	check(task.Free(rt, x)) // x must not be used from here on
	// Output: 1000 0 1
}

func ExampleParallelFor() {
	rt := exampleRuntime()
	defer rt.Close()
	squares := make([]int, 10)
	submitted(task.ParallelFor(rt, 0, len(squares), 3, func(lo, hi int) error { // at most 3 iterations at a time
		for i := lo; i < hi; i++ {
			squares[i] = i * i
		}
		return nil
	}, task.Out(squares)))
	check(rt.Wait(context.Background()))
	fmt.Println(squares)
	// Output: [0 1 4 9 16 25 36 49 64 81]
}

func ExampleTaskloop() {
	rt := exampleRuntime()
	defer rt.Close()
	x := make([]int, 8)
	tasks, err := task.Taskloop(rt, 0, len(x), func(_ *task.Scope, lo, hi int) error {
		for i := lo; i < hi; i++ {
			x[i] = lo
		}
		return nil
	}, task.Tasks(2), task.PerChunk(func(lo, hi int) []task.Option { return []task.Option{task.Out(x[lo:hi])} }))
	check(err)
	check(rt.Wait(context.Background()))
	fmt.Println(len(tasks), x)
	// Output: 2 [0 0 0 0 4 4 4 4]
}

func ExampleRuntime_GoScope() {
	rt := exampleRuntime()
	defer rt.Close()
	x := make([]int, 4)
	submitted(rt.GoScope(func(s *task.Scope) error {
		for i := range x { // children: their accesses lie in those of the task
			submitted(s.Go(func() error { x[i] = i + 1; return nil }, task.Out(x[i:i+1])))
		}
		return nil // the task has finished when they have
	}, task.Out(x)))
	sum := 0
	submitted(rt.Go(func() error {
		for _, v := range x {
			sum += v
		}
		return nil
	}, task.In(x), task.InOut(task.One(&sum))))
	check(rt.Wait(context.Background()))
	fmt.Println(sum)
	// Output: 10
}

func ExampleRuntime_WaitOn() {
	rt := exampleRuntime()
	defer rt.Close()
	ready, other := 0, 0
	submitted(rt.Go(func() error { ready = 1; return nil }, task.Out(task.One(&ready))))
	submitted(rt.Go(func() error { other = 1; return nil }, task.Out(task.One(&other))))
	check(rt.WaitOn(context.Background(), task.In(task.One(&ready)))) // other may still be running
	fmt.Println(ready)
	check(rt.Wait(context.Background()))
	fmt.Println(ready + other)
	// Output:
	// 1
	// 2
}

func ExampleRuntime_Prepare() {
	saxpy, err := task.NewKernel(Saxpy, kernelFile)
	check(err)
	rt, err := task.New(task.Options{Devices: "smp:1,sim:1"})
	check(err)
	defer rt.Close()
	check(rt.Prepare(context.Background(), saxpy)) // the first task does not wait for code
	x, y := []float32{1, 2}, []float32{10, 20}
	submitted(saxpy.Submit(rt, float32(2), x, y))
	check(rt.Wait(context.Background()))
	fmt.Println(y)
	// Output: [12 24]
}

func ExampleNewGroup() {
	rt := exampleRuntime()
	defer rt.Close()
	a, b := task.NewGroup(rt), task.NewGroup(rt)
	x, y := make([]int, 1), make([]int, 1)
	submitted(a.Go(func() error { x[0] = 1; return nil }, task.Out(x)))
	submitted(b.Go(func() error { return errPaper }, task.Out(y), task.Label("print")))
	fmt.Println(a.Wait(context.Background()), x[0])
	fmt.Println(errors.Is(b.Wait(context.Background()), errPaper))
	// Output:
	// <nil> 1
	// true
}

var errPaper = errors.New("no paper")

func ExampleRetry() {
	rt := exampleRuntime()
	defer rt.Close()
	tries := 0
	submitted(rt.Go(func() error {
		if tries++; tries < 3 {
			return errors.New("busy")
		}
		return nil
	}, task.Retry(5)))
	fmt.Println(rt.Wait(context.Background()), tries)
	// Output: <nil> 3
}

func ExampleCommutative() {
	rt := exampleRuntime()
	defer rt.Close()
	log, n := make([]int, 4), 0
	for i := range log { // one at a time, in any order
		submitted(rt.Go(func() error { log[n] = i; n++; return nil }, task.Commutative(log), task.Commutative(task.One(&n))))
	}
	check(rt.Wait(context.Background()))
	slices.Sort(log)
	fmt.Println(log)
	// Output: [0 1 2 3]
}

func ExampleNewOperator() {
	rt := exampleRuntime()
	defer rt.Close()
	type span struct{ Low, High int }
	join := task.NewOperator("join", span{100, 0}, func(a, b span) span { return span{min(a.Low, b.Low), max(a.High, b.High)} })
	all := []span{{100, 0}}
	for _, v := range []int{30, 10, 20} {
		submitted(rt.GoScope(func(s *task.Scope) error {
			own := task.Private(s, all)
			own[0] = span{min(own[0].Low, v), max(own[0].High, v)}
			return nil
		}, task.Reduce(all, join)))
	}
	check(rt.Wait(context.Background()))
	fmt.Println(all[0])
	// Output: {10 30}
}

func ExampleRuntime_Stats() {
	rt := exampleRuntime()
	defer rt.Close()
	for range 3 {
		submitted(rt.Go(func() error { return nil }))
	}
	check(rt.Wait(context.Background()))
	s := rt.Stats()
	fmt.Println(s.Submitted, s.Failed, s.ByDevice["smp"])
	// Output: 3 0 3
}
