package opencl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/opencl"
)

// printed is the text of kernel K.
func printed(t *testing.T, text string, opt opencl.Options) string {
	t.Helper()
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + text})
	require.NoError(t, err)
	loop, err := pkg.Kernel("K")
	require.NoError(t, err)
	low, err := codegen.Lower(loop, codegen.LowerOptions{Target: "opencl", NoShuffles: true, TeamUnit: 32})
	require.NoError(t, err)
	src, err := opencl.Print(low.Program, opt)
	require.NoError(t, err)
	return src.Text
}

// A team has a thread and a league a team, so that a stride of their number needs no check.
func TestPrint_StridesOfThreadsAreNotChecked(t *testing.T) {
	text := printed(t, `import "github.com/gompss/gompss/codegen/kernel"

//omp:target device(acc)
//omp:task inout(x)
func K(x []int32) {
	//omp:teams
	//omp:parallel
	{
		stride := kernel.NumTeams() * kernel.NumThreads()
		for i := kernel.TeamNum()*kernel.NumThreads() + kernel.ThreadNum(); i < len(x); i += stride {
			x[i]++
		}
	}
}
`, opencl.Options{})
	require.NotContains(t, text, "fault")
}

// The bounds of two loops of a block have names of their own.
func TestPrint_BoundsOfLoopsOfABlock(t *testing.T) {
	text := printed(t, `//omp:target device(acc) check(none)
//omp:task in(x) inout(y)
func K(n int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := range y {
		s := float32(0)
		for j := 0; j < 3*n; j++ {
			s += x[i+j]
		}
		for j := 0; j < 2*n; j++ {
			s -= x[i+j]
		}
		y[i] = s
	}
}
`, opencl.Options{})
	require.Contains(t, text, "const long j_end = ")
	require.Contains(t, text, "const long j_end_2 = ")
}

// A slice takes the names of its length, its capacity and its offset with its own.
func TestPrint_NamesOfASliceHideNothing(t *testing.T) {
	text := printed(t, `//omp:target device(acc)
//omp:task inout(x)
func K(x_len, x_at int, x []float32) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] += float32(x_len + x_at)
	}
}
`, opencl.Options{})
	require.Contains(t, text, "kernel void K(long x_len, long x_at, global float *x_2, long x_2_at, long x_2_len")
}
