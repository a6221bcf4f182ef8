package cuda_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
)

// TestContract_NVRTCFusesWhatTheIRSays counts instructions in PTX: what the IR fuses stays one operation, and NVRTC fuses nothing else.
func TestContract_NVRTCFusesWhatTheIRSays(t *testing.T) {
	fused, sum := regexp.MustCompile(`\bfma\.rn\.f(32|64)`), regexp.MustCompile(`\b(add|sub)(\.rn)?\.f(32|64)`)
	var sources []nvrtcSource
	kinds := map[string][2]bool{ // fused, and sums left; in FuseBits x + x for 2*x
		"FuseMatMul": {true, false}, "FuseMatMulInPlace": {true, false}, "FusePolynomial": {true, false}, "FuseTeam": {true, false}, "FuseStencil": {true, true},
		"FuseBits": {true, true}, "FuseNothing": {false, true}, "FuseAtomic": {false, true}, "Unfused": {false, true}}
	text := kernelFiles(t, []string{"../fuse_kernels_test.go"})
	text = append(text, codegen.File{Name: "unfused.go", Text: `package codegen_test

//omp:target device(acc)
//omp:task in(x, y) inout(out)
func Unfused(out, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range out {
		out[i] += x[i]*y[i] - y[i]*2
	}
}
`})
	pkg, err := codegen.Load(text...)
	require.NoError(t, err)
	for name := range kinds {
		k, err := pkg.Kernel(name)
		require.NoError(t, err)
		low, err := codegen.Lower(k, codegen.LowerOptions{Target: "cuda"})
		require.NoError(t, err)
		src, err := cuda.Print(low.Program, cuda.Options{})
		require.NoError(t, err)
		require.Contains(t, src.Options, "--fmad=false")
		sources = append(sources, source(name, src))
	}
	answer := ask(t, map[string]any{"archs": []string{"sm_90"}, "sources": sources, "ptx": true})
	require.Len(t, answer.Results, len(kinds))
	for _, r := range answer.Results {
		require.True(t, r.OK, r.Log)
		require.Equal(t, kinds[r.Name], [2]bool{fused.MatchString(r.PTX), sum.MatchString(r.PTX)}, "%s\n%s", r.Name, r.PTX)
	}
}
