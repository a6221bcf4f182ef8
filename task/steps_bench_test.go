package task_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

const stepsText = `package task_test

//omp:target device(smp)
//omp:task inout(x, v)
func pullInSteps(steps int, x, v []float32) {
	for t := 0; t < steps; t++ {
		//omp:teams distribute parallel for
		for i := 0; i < len(x); i++ {
			f := float32(0)
			for j := 0; j < len(x); j++ {
				d := x[j] - x[i]
				f += d / (d*d + 1e-3)
			}
			v[i] += 1e-4 * f
		}
		//omp:teams distribute parallel for
		for i := 0; i < len(x); i++ {
			x[i] += v[i]
		}
	}
}
`

func pullInSteps(steps int, x, v []float32) {
	for t := 0; t < steps; t++ {
		for i := 0; i < len(x); i++ {
			f := float32(0)
			for j := 0; j < len(x); j++ {
				d := x[j] - x[i]
				f += d / (d*d + 1e-3)
			}
			v[i] += 1e-4 * f
		}
		for i := 0; i < len(x); i++ {
			x[i] += v[i]
		}
	}
}

// BenchmarkLoopsInSequentialCode is one kernel with parallel loops inside a sequential one, on one worker and on two, which share these loops:
// the time on one over that on two is what sharing gains.
func BenchmarkLoopsInSequentialCode(b *testing.B) {
	k, err := task.NewKernel(pullInSteps, task.SourceFile{Name: "steps.go", Text: stepsText})
	require.NoError(b, err)
	for _, spec := range []string{"smp:1", "smp:2"} {
		b.Run(spec, func(b *testing.B) {
			rt, err := task.New(task.Options{Devices: spec})
			require.NoError(b, err)
			defer func() { require.NoError(b, rt.Close()) }()
			if err := rt.Vectorised(k); err != nil {
				b.Skip(err)
			}
			x, v := make([]float32, 4096), make([]float32, 4096)
			for i := range x {
				x[i] = float32(i*7919%4096) / 4096
			}
			for b.Loop() {
				_, err := k.Submit(rt, 20, x, v)
				require.NoError(b, err)
				require.NoError(b, rt.Wait(context.Background()))
			}
		})
	}
}
