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
