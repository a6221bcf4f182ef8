package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// A variable of a loop may stand in the text of a place that it does not move: the element goes into
// no variable outside of the loop then.
func TestShapeNests_VariablesWithoutInfluence(t *testing.T) {
	l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(a, b)\nfunc K(n, m int, a, b []int) {\n"+
		"//omp:teams distribute parallel for\nfor i := m - 1; i >= 0; i-- {\n"+
		"for j := 2; j < m; j++ {\na[4*i+0*j] = 1 + 3*b[4*i+0*j]\n}\n"+
		"for k := 2; k < 3; k += 3 {\nb[2*i+k] += k\n}\n}\n}", codegen.LowerOptions{})
	require.NoError(t, err)
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	a, b := make([]int, 40), make([]int, 40)
	require.NoError(t, runDevice(program, []any{0, 9, a, b}, simt.Config{Teams: 2, Threads: 3}))
	for i := range 9 {
		require.Equal(t, 2, b[2*i+2])
	}
}
