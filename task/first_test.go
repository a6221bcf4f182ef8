package task_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

func TestFirstError_KeepsTheFirst(t *testing.T) {
	rt, err := task.New(task.Options{Devices: "smp:2"})
	require.NoError(t, err)
	defer rt.Close()
	var first task.FirstError
	require.NoError(t, first.Err())
	x := make([]int, 1)
	good := first.Of(rt.Go(func() error { x[0]++; return nil }, task.InOut(x)))
	require.NotZero(t, good.ID())
	require.NoError(t, first.Err())
	require.Zero(t, first.Of(rt.Go(nil)).ID())
	refused := first.Err()
	require.Error(t, refused)
	first.Of(rt.Go(func() error { return nil }, task.OnDevice("nothing")))
	first.Of(rt.Go(func() error { x[0]++; return nil }, task.InOut(x)))
	loops := first.OfAll(task.Taskloop(rt, 0, 4, func(*task.Scope, int, int) error { return nil }, task.Tasks(2)))
	require.Len(t, loops, 2)
	require.Same(t, refused, first.Err())
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 2, x[0]) // the submissions behind the refused ones ran
}

func TestFirstError_ManyGoroutines(t *testing.T) {
	var first task.FirstError
	var all sync.WaitGroup
	given := make([]error, 8)
	for i := range given {
		given[i] = fmt.Errorf("submission %d", i)
		all.Go(func() {
			first.Of(task.Task{}, nil)
			first.Of(task.Task{}, given[i])
			first.OfAll(nil, given[i])
		})
	}
	all.Wait()
	require.Contains(t, given, first.Err())
}

func ExampleFirstError() {
	rt := exampleRuntime()
	defer rt.Close()
	var first task.FirstError
	x, sum := []int{1, 2, 3}, 0
	for i := range x {
		first.Of(rt.Go(func() error { x[i] *= 10; return nil }, task.InOut(x[i:i+1])))
	}
	first.Of(rt.Go(func() error { sum = x[0] + x[1] + x[2]; return nil }, task.In(x), task.Out(task.One(&sum))))
	fmt.Println(errors.Join(first.Err(), rt.Wait(context.Background())), sum)
	// Output: <nil> 60
}
