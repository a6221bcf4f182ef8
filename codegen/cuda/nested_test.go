package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
)

// NVRTC takes the programs that count the lengths of nested loops, and the forms for other numbers of
// lanes, with and without checks.
func TestNVRTCTakesOtherLanes(t *testing.T) {
	p, err := codegen.Load(kernelFiles(t, []string{"../nested_kernels_test.go"})...)
	require.NoError(t, err)
	var sources []nvrtcSource
	for i, name := range []string{"NestedSpMV", "NestedBFS"} {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		if free := codegen.NewContract(k).Unchecked(k); free != nil && i%2 == 0 {
			k = free
		}
		count, err := codegen.CountLengths(k, codegen.LowerOptions{})
		require.NoError(t, err)
		list := []*ir.Program{count}
		forms, err := codegen.NestedWidths(k, nil, codegen.LowerOptions{})
		require.NoError(t, err)
		for _, form := range forms {
			list = append(list, form.Program)
		}
		for _, program := range list {
			src, err := cuda.Print(program, cuda.Options{Index32: true, Lines: true})
			require.NoError(t, err)
			sources = append(sources, source(name, src))
		}
	}
	require.Greater(t, len(sources), 7)
	for _, r := range compile(t, []string{"sm_90"}, sources).Results {
		require.True(t, r.OK, r.Log)
	}
}
