package task_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
)

// beyond reslices a parameter.
func beyond() *task.Kernel {
	return task.MustKernel(task.KernelSpec{Name: "Beyond", Go: func(a *task.Args) {
		k, y := devices.ScalarArg[int](a, 0), devices.SliceArg[int32](a, 1)
		z := y[:k]
		for i := range z {
			z[i] += int32(i)
		}
	}, Files: []task.SourceFile{{Name: "beyond.go", Text: `package p

//omp:target device(acc, smp)
//omp:task inout(y)
func Beyond(k int, y []int32) {
	z := y[:k]
	//omp:teams distribute parallel for
	for i := range z {
		z[i] += int32(i)
	}
}
`}}})
}

// A kernel does not reach what lies behind a slice that it is given: the task is not ordered with
// those that use it, and a device need not have it.
func TestReslice_EndsWithTheArgument(t *testing.T) {
	onEach(t, func(t *testing.T, spec string) {
		rt, k := open(t, task.Options{Devices: spec}), beyond()
		x := make([]int32, 40)
		_, err := k.Submit(rt, 10, x[:20])
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.EqualValues(t, 9, x[9])
		_, err = k.Submit(rt, 20, x[:10])
		if err == nil {
			err = rt.Wait(context.Background())
		}
		require.Error(t, err)
		require.Zero(t, x[19])
	})
}
