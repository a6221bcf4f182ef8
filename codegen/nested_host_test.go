package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// More iterations with a long nested loop than there is room for contexts: the rest runs in place.
func TestNestedHost_ContextsWithoutRoom(t *testing.T) {
	l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, n int) {\n"+
		"//omp:teams distribute parallel for\nfor i := 0; i < len(x); i++ {\n"+
		"//omp:parallel for nested(host) if(n > 0)\nfor j := 0; j < n; j++ {\n//omp:atomic\nx[i] += j\n}\nx[i] *= 2\n}\n}", codegen.LowerOptions{})
	require.NoError(t, err)
	require.Contains(t, l.Explain(), "nested(host) says so")
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	x := make([]int, 70_000)
	require.NoError(t, runDevice(program, []any{x, 2}, simt.Config{Teams: 3, Threads: 4, Steps: 100_000_000}))
	for i := range x {
		require.Equal(t, 2, x[i], "x[%d]", i)
	}
}

// What cannot be deferred says why, and where.
func TestNestedHost_Refusals(t *testing.T) {
	_, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, n int) {\n"+
		"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nvar t [4]int\n"+
		"//omp:parallel for nested(host)\nfor j := 0; j < n; j++ {\n//omp:atomic\nx[i] += j\n}\nx[i] += t[1]\n}\n}", codegen.LowerOptions{})
	require.ErrorContains(t, err, "t, which is no scalar")
	require.ErrorContains(t, err, "nested(inline)")
}
