package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// Rows that begin before the last one ended are run as they are written; what is out of range fails.
func TestRowsThatFall(t *testing.T) {
	program, err := simt.New(lowerKernel(t, loadCorpus(t), "EdgeLoop", codegen.LowerOptions{}).Program)
	require.NoError(t, err)
	x := []float64{1, 2, 3}
	for _, start := range [][]int32{{}, {0}, {0, 5}, {0, 0, 0}, {0, 5, 2, 2}, {3, 5, 5, 1}, {4, 2, 0}, {2, 2, 5, 5, 4}} {
		want, got := make([]float64, 5), make([]float64, 5)
		col, val := []int32{0, 1, 2, 1, 0}, []float64{1, 2, 3, -4, 5}
		EdgeLoop(start, col, val, x, want)
		require.NoError(t, runDevice(program, []any{start, col, val, x, got}, simt.Config{Teams: 2, Threads: 32, Races: true}))
		require.Equal(t, want, got, "%v", start)
	}
	err = runDevice(program, []any{[]int32{0, 6}, []int32{0}, []float64{1}, x, make([]float64, 9)}, simt.Config{})
	require.ErrorContains(t, err, "index 1")
}

// Lee, Min and Eigenmann, OpenMP to GPGPU, 2009, section 4.1.3: the two loops over a sparse matrix
// become one, with as many iterations as it has elements, so that no thread waits for another's
// long row.
func TestPaperCollapsedRows(t *testing.T) {
	p := loadCorpus(t)
	for _, kernel := range []string{"EdgeLoop", "EdgeSums"} {
		require.Contains(t, lowerKernel(t, p, kernel, codegen.LowerOptions{}).Explain(), "whose rows are found by bisection")
	}
	program, err := simt.New(lowerKernel(t, p, "EdgeLoop", codegen.LowerOptions{}).Program)
	require.NoError(t, err)
	const rows, edges = 64, 4096
	steps := func(start []int32) int64 {
		args := []any{start, make([]int32, edges), make([]float64, edges), []float64{1}, make([]float64, edges)}
		list := make([]simt.Arg, len(args))
		for i, a := range args {
			list[i] = deviceArg(i, a)
		}
		stats, err := program.Run(list, simt.Config{Teams: 2, Threads: 32})
		require.NoError(t, err)
		return stats.Instructions
	}
	even, one := make([]int32, rows+1), make([]int32, rows+1)
	for r := range rows {
		even[r+1], one[r+1] = int32((r+1)*edges/rows), edges
	}
	require.InEpsilon(t, steps(even), steps(one), 0.1, "one long row costs what many short ones do")
}
