package task_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/gompss/gompss/task"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func Example() {
	saxpy, err := task.NewKernel(Saxpy, kernelFile)
	check(err)
	rt, err := task.New(task.Options{Devices: "smp:2,sim:2"})
	check(err)
	defer rt.Close()
	x, err := task.Alloc[float32](rt, 1<<12)
	check(err)
	y, err := task.Alloc[float32](rt, 1<<12)
	check(err)
	_, err = rt.Go(func() error {
		for i := range x {
			x[i] = float32(i)
		}
		return nil
	}, task.Out(x))
	check(err)
	const tile = 1 << 10
	for i := 0; i < len(x); i += tile {
		_, err = saxpy.Submit(rt, float32(2), x[i:i+tile], y[i:i+tile])
		check(err)
	}
	check(rt.Wait(context.Background()))
	fmt.Println(y[1], y[4095])
	// Output: 2 8190
}

func ExampleRuntime_Go() {
	rt, err := task.New(task.Options{Devices: "smp:2"})
	check(err)
	defer rt.Close()
	grid := make([]int, 4*4)
	for row := range 4 {
		_, err := rt.Go(func() error {
			for col := range 4 {
				grid[row*4+col] = row * col
			}
			return nil
		}, task.Out(grid).Box([]int{4, 4}, []int{row, 0}, []int{row + 1, 4}))
		check(err)
	}
	sum := 0
	_, err = rt.Go(func() error {
		for row := range 4 {
			sum += grid[row*4+2]
		}
		return nil
	}, task.In(grid).Box([]int{4, 4}, []int{0, 2}, []int{4, 3}), task.InOut(task.One(&sum)))
	check(err)
	check(rt.Wait(context.Background()))
	fmt.Println(sum)
	// Output: 12
}

func ExampleErrSkipped() {
	rt, err := task.New(task.Options{Devices: "smp:1"})
	check(err)
	defer rt.Close()
	x := make([]int, 1)
	_, err = rt.Go(func() error { return errors.New("no such file") }, task.Out(x), task.Label("load"))
	check(err)
	sum, err := rt.Go(func() error { return nil }, task.In(x), task.Label("sum"))
	check(err)
	fmt.Println(rt.Wait(context.Background()))
	fmt.Println(errors.Is(sum.Err(), task.ErrSkipped), sum.Err())
	// Output:
	// task: load (example_test.go:76) on smp: no such file
	// 1 task that depends on it was skipped
	// true task: sum (example_test.go:78): skipped: predecessor failed: task: load (example_test.go:76) on smp: no such file
}
