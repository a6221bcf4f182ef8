package task_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gompss/gompss/task"
)

// Tasks whose updates of the same memory are safe by themselves, as by atomics, run at once. Tasks
// before and behind them are ordered as ever.
func ExampleConcurrent() {
	rt := exampleRuntime()
	defer rt.Close()
	parts := make([]int, 2)
	for i := range parts {
		submitted(rt.Go(func() error { parts[i] = 10; return nil }, task.Concurrent(parts)))
	}
	submitted(rt.Go(func() error { fmt.Println(parts); return nil }, task.In(parts)))
	check(rt.Wait(context.Background()))
	// Output: [10 10]
}

func ExamplePriority() {
	rt, err := task.New(task.Options{Devices: "smp:1", Policy: "priority"})
	check(err)
	defer rt.Close()
	x, gate, order := make([]int, 1), make(chan struct{}), []string{}
	submitted(rt.Go(func() error { <-gate; return nil }, task.Out(x)))
	submitted(rt.Go(func() error { order = append(order, "low"); return nil }, task.In(x), task.Priority(1)))
	submitted(rt.Go(func() error { order = append(order, "high"); return nil }, task.In(x), task.Priority(2)))
	close(gate) // both become ready at once
	check(rt.Wait(context.Background()))
	fmt.Println(order)
	// Output: [high low]
}

// A task that is too small to be one runs in the call that submits it.
func ExampleIf() {
	rt := exampleRuntime()
	defer rt.Close()
	for _, n := range []int{1, 1_000_000} {
		x := make([]int, n)
		_, err := rt.Go(func() error {
			for i := range x {
				x[i] = 1
			}
			return nil
		}, task.Out(x), task.If(len(x) > 1000))
		check(err)
		if len(x) == 1 {
			fmt.Println(x) // it has finished
		}
	}
	check(rt.Wait(context.Background()))
	// Output: [1]
}

// Below a depth the tasks of a recursion run in their order, without a graph.
func ExampleFinal() {
	rt := exampleRuntime()
	defer rt.Close()
	var sum func(s *task.Scope, x []int, out *int) error
	sum = func(s *task.Scope, x []int, out *int) error {
		if len(x) == 1 {
			*out = x[0]
			return nil
		}
		half, parts := len(x)/2, make([]int, 2)
		for i, part := range [][]int{x[:half], x[half:]} {
			_, err := s.GoScope(func(s *task.Scope) error { return sum(s, part, &parts[i]) },
				task.Out(parts[i:i+1]), task.Final(len(part) <= 64))
			if err != nil {
				return err
			}
		}
		err := s.Wait(context.Background())
		*out = parts[0] + parts[1]
		return err
	}
	x, total := slices.Repeat([]int{1}, 1024), 0
	submitted(rt.GoScope(func(s *task.Scope) error { return sum(s, x, &total) }, task.In(x), task.Out(task.One(&total))))
	check(rt.Wait(context.Background()))
	fmt.Println(total)
	// Output: 1024
}

func ExampleOnDevice() {
	rt, err := task.New(task.Options{Devices: "smp:1,sim:2(exec=cpu)"})
	check(err)
	defer rt.Close()
	fill, err := task.NewKernel(Fill, kernelFile)
	check(err)
	x := make([]uint32, 8)
	submitted(fill.With(task.OnDevice("sim:1")).Submit(rt, 0, len(x), uint32(1), x))
	check(rt.Wait(context.Background()))
	fmt.Println(rt.Stats().ByDevice)
	// Output: map[sim:0:0 sim:1:1 smp:0]
}

// The kernel has clause taskloop(lo:hi): its tasks share the iterations among the devices.
func ExampleKernel_Taskloop() {
	rt, err := task.New(task.Options{Devices: "smp:1,sim:1(exec=cpu)"})
	check(err)
	defer rt.Close()
	sums, err := task.NewKernel(Sums, task.SourceFile{Name: "k.go", Text: nativeSource})
	check(err)
	x, y := []float32{1, 2, 3, 4}, make([]float32, 4)
	tasks, err := sums.Taskloop(rt, []any{0, len(y), 1, x, y}, task.Tasks(2))
	check(err)
	check(rt.Wait(context.Background()))
	fmt.Println(len(tasks), y)
	// Output: 2 [2 3 5 7]
}

func ExampleRegister() {
	rt := exampleRuntime()
	defer rt.Close()
	x := make([]float64, 1000)
	check(task.Register(rt, x)) // one buffer from the start, although tasks use parts first
	for lo := 0; lo < len(x); lo += 250 {
		submitted(rt.Go(func() error { x[lo] = 1; return nil }, task.Out(x[lo:lo+250])))
	}
	check(rt.Wait(context.Background()))
	fmt.Println(rt.Stats().Buffers)
	check(task.Unregister(rt, x))
	// Output: 1
}

func ExampleRuntime_Progress() {
	rt := exampleRuntime()
	defer rt.Close()
	for range 100 {
		submitted(rt.Go(func() error { return nil }))
	}
	var last *task.Status
	for s := range rt.Progress(context.Background(), 10*time.Millisecond) {
		last = s // a program prints s.Done and s.Submitted
	}
	fmt.Println(last.Done, "of", last.Submitted)
	check(rt.Wait(context.Background()))
	// Output: 100 of 100
}
