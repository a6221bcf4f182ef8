//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda"
	"github.com/gompss/gompss/task"
)

const stepsSource = `package steps

//omp:target device(acc)
//omp:task inout(x, y)
func Steps(x, y []int64, n, m, bad int) {
	for t := 0; t < m; t++ {
		//omp:parallel for
		for i := 1; i < n-1; i++ {
			y[i] = x[i-1] + x[i+1]
		}
		if t == 3 {
			y[bad] = int64(t)
		}
		//omp:parallel for
		for i := 1; i < n-1; i++ {
			x[i] = y[i] & 0xffff
		}
	}
}
`

func steps(x, y []int64, n, m, bad int) {
	for t := range m {
		for i := 1; i < n-1; i++ {
			y[i] = x[i-1] + x[i+1]
		}
		if t == 3 {
			y[bad] = int64(t)
		}
		for i := 1; i < n-1; i++ {
			x[i] = y[i] & 0xffff
		}
	}
}

func stepsKernel() *task.Kernel {
	return task.MustKernel(task.KernelSpec{Name: "Steps", Files: []task.SourceFile{{Name: "steps.go", Text: stepsSource}},
		Go: func(a *task.Args) {
			n := func(i int) int { return devices.ScalarArg[int](a, i) }
			steps(devices.SliceArg[int64](a, 0), devices.SliceArg[int64](a, 1), n(2), n(3), n(4))
		}})
}

// TestTeamsMeet runs sequential loops around parallel ones on all teams, which wait for each other.
// A check that fails in one of them ends all.
func TestTeamsMeet(t *testing.T) {
	gpus(t)
	_, real, _ := cuda.Ground()
	for _, n := range []int{100, 20000} { // one team, and all
		if !real && n < 1000 {
			continue // threads of a team that wait for each other are beyond the fake
		}
		rt, err := task.New(task.Options{Devices: "cuda:1"})
		require.NoError(t, err)
		k := stepsKernel().With(task.OnDevice("cuda:0"))
		arrays := func() (x, y []int64) {
			x, y = make([]int64, n), make([]int64, n)
			for i := range x {
				x[i] = int64(i * i % 1000)
			}
			return x, y
		}
		x, y := arrays()
		wantX, wantY := arrays()
		_, err = k.Submit(rt, x, y, n, 9, 5)
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		steps(wantX, wantY, n, 9, 5)
		require.Equal(t, wantX, x)
		require.Equal(t, wantY, y)
		bad, err := k.Submit(rt, x, y, n, 9, n)
		require.NoError(t, err)
		require.Error(t, rt.Wait(context.Background()))
		require.ErrorContains(t, bad.Err(), "out of range")
		require.NoError(t, rt.Close())
	}
}
