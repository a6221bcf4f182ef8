package task_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/task"
)

//go:embed contract_kernels_test.go
var contractSource string

func contractKernel(t testing.TB, fn any) *task.Kernel {
	k, err := task.NewKernel(fn, task.SourceFile{Name: "contract_kernels_test.go", Text: contractSource})
	require.NoError(t, err)
	return k
}

// TestAccessesAreProvedAtSubmission submits kernels whose affine accesses leave their slice or their declared region
// for these arguments: an error on every device, before anything is written. What the host cannot prove is let through.
func TestAccessesAreProvedAtSubmission(t *testing.T) {
	first, shifted, inferred, guarded := contractKernel(t, First), contractKernel(t, Shifted), contractKernel(t, Inferred), contractKernel(t, Guarded)
	search, tile, lower := contractKernel(t, Search), contractKernel(t, Tile), contractKernel(t, Lower)
	halo, gap, halves := contractKernel(t, Halo), contractKernel(t, Gap), contractKernel(t, Halves)
	for _, w := range halo.Warnings() {
		require.NotContains(t, w.Error(), "a[i - 1]", "nothing is to be said of a halo")
	}
	ints := func(n int) []int { return make([]int, n) }
	three := []int{1, 2, 3, 4}
	for _, c := range []struct {
		name string
		k    *task.Kernel
		args []any
		want string // "" where the launch is right
	}{
		{"region narrower than the loop", first, []any{ints(20)}, "task: kernel First (contract_kernels_test.go:9): contract_kernels_test.go:12:5: x[i] touches elements 0 to 19 (i = 19) of x, outside its region x[0:10]"},
		{"region as wide as the loop", first, []any{ints(10)}, ""},
		{"loop past the end", shifted, []any{10, ints(10), ints(10)}, "kernel Shifted (contract_kernels_test.go:20): contract_kernels_test.go:24:12: y[i + 1] touches elements 1 to 10 (i = 9) of y, which has length 10"},
		{"loop up to the end", shifted, []any{9, ints(10), ints(10)}, ""},
		{"no iteration", shifted, []any{0, ints(1), ints(0)}, ""},
		{"outside of loops", shifted, []any{0, ints(0), ints(0)}, "contract_kernels_test.go:21:4: x[0] touches element 0 of x, which has length 0"},
		{"inferred", inferred, []any{9, 2, ints(18)}, "x[i * step] touches elements 6 to 18 (i = 9) of x, which has length 18"},
		{"inferred, last step", inferred, []any{10, 2, ints(21)}, ""},
		{"below zero", inferred, []any{9, -1, ints(18)}, "x[i * step] touches elements -9 to -3 (i = 9) of x, which has length 18"},
		{"conditions", guarded, []any{2, 5, 30, ints(10), ints(4)}, ""},
		{"leaves early", search, []any{100, ints(1), three}, ""},
		{"a tile", tile, []any{8, 2, 4, 3, 0, ints(64)}, ""},
		{"a tile and a column", tile, []any{8, 2, 4, 3, 1, ints(64)}, "a[(r + i) * n + c + j] touches elements 20 to 39 (i = 2, j = 3) of a, outside its region a[r:r+b][c:c+b]"},
		{"a triangle", lower, []any{4, 6, ints(6)}, ""},
		{"a triangle too large", lower, []any{4, 5, ints(6)}, "x[i + j] touches element 5 (i = 3, j = 2) of x, outside its region x[0:m]"},
		{"a gap", gap, []any{10, 20, 1, ints(30), ints(30)}, "x[i * step] touches element 10 (i = 10) of x, outside its region x[0:a], x[b:len(x)]"},
		{"no gap", gap, []any{10, 10, 1, ints(30), ints(30)}, ""},
		{"regions that overlap", gap, []any{20, 10, 1, ints(30), ints(30)}, ""},
		{"a step over the gap", gap, []any{1, 20, 20, ints(30), ints(2)}, ""},
		{"a step into the gap", gap, []any{1, 20, 10, ints(30), ints(3)}, "x[i * step] touches element 10 (i = 1) of x, outside its region x[0:a], x[b:len(x)]"},
		{"two halves", halves, []any{4, 10, 5, 5, 0, ints(40)}, ""},
		{"one half", halves, []any{4, 10, 2, 5, 5, ints(40)}, ""},
		{"a column between", halves, []any{4, 10, 4, 5, 0, ints(40)}, "a[i * m + j] touches element 4 (i = 0, j = 4) of a, outside its region a[0:n][0:l], a[0:n][r:m]"},
		{"a halo", halo, []any{20, 5, 10, 0, ints(20), ints(20)}, ""},
		{"a halo at the end", halo, []any{20, 15, 20, 0, ints(20), ints(20)}, ""},
		{"a halo too far", halo, []any{20, 5, 10, 1, ints(20), ints(20)}, "a[i + 1] touches elements 6 to 11 (i = 10) of a, outside its region a[max(lo-1, 0):min(hi+1, n)]"},
	} {
		for _, on := range []string{"smp", "sim"} {
			t.Run(c.name+" on "+on, func(t *testing.T) {
				rt := open(t, task.Options{Devices: "smp:1,sim:1"})
				before := make([][]int, len(c.args))
				for i, a := range c.args {
					if s, ok := a.([]int); ok {
						before[i] = slices.Clone(s)
					}
				}
				_, err := c.k.With(task.OnDevice(on)).Submit(rt, c.args...)
				if c.want == "" {
					require.NoError(t, err)
					require.NoError(t, rt.Wait(context.Background()))
					return
				}
				require.ErrorContains(t, err, c.want)
				var bad *codegen.AccessError
				require.True(t, errors.As(err, &bad) && errors.Is(err, ir.ErrBounds))
				require.NoError(t, rt.Wait(context.Background()))
				for i, a := range c.args {
					if s, ok := a.([]int); ok {
						require.Equal(t, before[i], s)
					}
				}
				require.Zero(t, rt.Stats().Submitted)
			})
		}
	}
}

// TestSubmissionErrors_NameTheLineOfTheProgram submits one kernel twice with an error: each error
// names the line of its call.
func TestSubmissionErrors_NameTheLineOfTheProgram(t *testing.T) {
	first := contractKernel(t, First)
	rt := open(t, task.Options{Devices: "smp:1"})
	_, one := first.Submit(rt, make([]int, 20))
	_, _, line, _ := runtime.Caller(0)
	_, two := first.With(task.Label("second")).Submit(rt, make([]int, 20))
	require.ErrorContains(t, one, fmt.Sprintf("(submitted at contract_test.go:%d)", line-1))
	require.ErrorContains(t, two, fmt.Sprintf("(submitted at contract_test.go:%d)", line+1))
}

func TestNilPointers(t *testing.T) {
	pointed, optional := contractKernel(t, Pointed), contractKernel(t, Optional)
	rt := open(t, task.Options{Devices: "smp:1,sim:1"})
	for _, on := range []string{"smp", "sim"} {
		one, err := pointed.With(task.OnDevice(on)).Submit(rt, (*int)(nil))
		require.NoError(t, err)
		require.ErrorIs(t, one.Wait(context.Background()), task.ErrNil)
		require.ErrorIs(t, rt.Wait(context.Background()), task.ErrNil)
		x, n := []int{0}, 0
		_, err = optional.With(task.OnDevice(on)).Submit(rt, (*int)(nil), x)
		require.NoError(t, err)
		_, err = optional.With(task.OnDevice(on)).Submit(rt, &n, x)
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, 1, x[0])
		require.Equal(t, 3, n)
	}
}

// BenchmarkSubmitKernel submits a kernel whose accesses are proved at submission, and runs it.
func BenchmarkSubmitKernel(b *testing.B) {
	rt := open(b, task.Options{Devices: "smp:1"})
	k, a := contractKernel(b, Tile), make([]int, 64)
	require.NoError(b, task.Register(rt, a))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Submit(rt, 8, 2, 4, 1, 0, a); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, rt.Wait(context.Background()))
}

// TestFailedChecksAreAlike fails a check of what depends on data on every kind of device: the sentinel is the same, and
// the text names the line.
func TestFailedChecksAreAlike(t *testing.T) {
	gather, quotients := contractKernel(t, Gather), contractKernel(t, Quotients)
	for _, spec := range []string{"smp:1", "smp:2", "sim:1(exec=cpu)", "sim:1(exec=simt)"} {
		for _, vector := range []string{task.VectorAuto, task.VectorOff} {
			t.Run(spec+" "+vector, func(t *testing.T) {
				rt := open(t, task.Options{Devices: spec, Vector: vector})
				x, y, at := make([]int, 1000), make([]int, 5), make([]int, 1000)
				at[700] = 5
				_, err := gather.Submit(rt, x, y, at)
				require.NoError(t, err)
				err = rt.Wait(context.Background())
				require.ErrorIs(t, err, ir.ErrBounds)
				require.ErrorContains(t, err, "contract_kernels_test.go:123")
				_, err = quotients.Submit(rt, x[:5], y)
				require.NoError(t, err)
				err = rt.Wait(context.Background())
				require.ErrorIs(t, err, ir.ErrDivide)
				require.ErrorContains(t, err, "contract_kernels_test.go:139")
			})
		}
	}
}

// TestFailedChecks_StepThatNeverEnds: a parallel loop whose step is zero ran for ever as Go, and failed with other words on each device: issue 16
// item 24. It is refused at submission, and what makes no iteration is not.
func TestFailedChecks_StepThatNeverEnds(t *testing.T) {
	k, err := task.NewKernel(countingSteps, task.SourceFile{Name: "k.go", Text: `package k

//omp:target device(acc, smp)
//omp:task inout(x)
func countingSteps(n, s int, x []int64) {
	last := n - 1
	//omp:teams distribute parallel for
	for i := last; i >= 0; i -= s {
		x[i]++
	}
}
`})
	require.NoError(t, err)
	for _, spec := range []string{"smp:1", "sim:1(exec=cpu)", "sim:1(exec=simt)"} {
		rt, err := task.New(task.Options{Devices: spec})
		require.NoError(t, err)
		for _, s := range []int{0, -2} {
			_, err = k.Submit(rt, 3, s, make([]int64, 3))
			require.ErrorIs(t, err, task.ErrStep)
			require.ErrorContains(t, err, fmt.Sprintf("task: kernel countingSteps (k.go:5): k.go:8:2: the loop over i never ends: its step -s is %d", -s))
		}
		_, err = k.Submit(rt, 0, 0, make([]int64, 3))
		require.NoError(t, err)
		_, err = k.Submit(rt, 3, 2, make([]int64, 3))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.NoError(t, rt.Close())
	}
}

func countingSteps(n, s int, x []int64) {
	for i := n - 1; i >= 0; i -= s {
		x[i]++
	}
}
