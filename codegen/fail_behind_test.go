package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
)

// A loop of the second launch has no end where the first launch has failed before it wrote next[3].
const behindSource = `package k

//omp:target device(acc)
//omp:task in(idx) inout(next, out)
func Behind(idx, next, out []int32) {
	//omp:teams distribute parallel for
	for i := range out {
		next[i] = idx[idx[i]]
	}
	//omp:teams distribute parallel for
	for i := range out {
		for next[len(out)-1-i] != 0 {
			out[i]++
		}
	}
}

//omp:target device(acc)
//omp:task in(idx) inout(next, out)
func Counted(idx, next, out []int32) {
	//omp:teams distribute parallel for
	for i := range out {
		next[i] = idx[idx[i]]
	}
	//omp:teams distribute parallel for
	for i := range out {
		for k := range 8 {
			out[i] += next[len(out)-1-i] + int32(k)
		}
	}
}
`

// TestFailedCheck_EndsLaunchesBehindIt: a launch whose loops data decide does not run on data that a
// failed launch has left undefined.
func TestFailedCheck_EndsLaunchesBehindIt(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: behindSource})
	require.NoError(t, err)
	for _, kernel := range []string{"Behind", "Counted"} {
		l := lowerKernel(t, p, kernel, codegen.LowerOptions{Target: "cuda"})
		require.Greater(t, len(l.Program.Launches), 1)
		source, err := cuda.Print(l.Program, cuda.Options{Index32: true})
		require.NoError(t, err)
		require.True(t, source.Entries[0].Fault)
		if kernel == "Behind" {
			require.Contains(t, source.Text, "(fault->site != 0)")
		} else {
			require.NotContains(t, source.Text, "(fault->site != 0)", "loops of eight turns end")
		}
	}
	m, err := machine.Open("opencl:1(platform=pocl,cache=off)", machine.Options{})
	if err != nil {
		t.Skipf("no PoCL: %v", err)
	}
	defer func() { require.NoError(t, m.Close()) }()
	d := &corpusDevice{Accelerator: m.Accelerators()[0]}
	k := &devices.Kernel{Name: "Behind", Program: lowerKernel(t, p, "Behind", codegen.LowerOptions{Target: "opencl", NoShuffles: true}).Program}
	require.NoError(t, d.Prepare(k))
	next, out := []int32{1, 1, 1, 1, 1}, make([]int32, 5)
	require.NoError(t, d.run(k, []any{make([]int32, 5), next, out}))
	require.Equal(t, make([]int32, 5), next)
	next = []int32{1, 1, 1, 1, 1}
	require.ErrorContains(t, d.run(k, []any{[]int32{0, 0, 0, 5, 0}, next, out}), "out of range")
}

// TestReturn_BesideFailedChecks: threads that return do not leave one behind that has failed a
// check, at a barrier for ever.
func TestReturn_BesideFailedChecks(t *testing.T) {
	t.Parallel()
	d := openPoCL(t)
	k, err := d.portable(`package k

//omp:target device(acc)
//omp:task inout(x) in(by)
func Rounds(rounds int, x []int64, by []int32) {
	//omp:teams distribute
	for r := 0; r < len(x)/8; r++ {
		for k := 0; k < rounds; k++ {
			//omp:parallel for
			for c := 0; c < 8; c++ {
				x[r*8+c] += x[r*8+c] / int64(by[c])
			}
		}
	}
	if rounds > 2 {
		return
	}
	//omp:teams distribute parallel for
	for i := range x {
		x[i]++
	}
}
`, "Rounds", true)
	require.NoError(t, err)
	require.NotNil(t, k)
	for _, rounds := range []int{1, 3} {
		by := []int32{1, 2, 3, 4, 5, 6, 7, 8}
		x, want := make([]int64, 40), make([]int64, 40)
		for i := range x {
			x[i], want[i] = int64(i), int64(i)
			for range rounds {
				want[i] += want[i] / int64(by[i%8])
			}
			if rounds <= 2 {
				want[i]++
			}
		}
		require.NoError(t, d.run(k, []any{rounds, x, by}))
		require.Equal(t, want, x)
		by[3] = 0
		require.ErrorContains(t, d.run(k, []any{rounds, x, by}), "division by zero")
	}
}
