package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// A triangle is shared out as the rectangle around it, each iteration once.
func TestTrianglesBecomeRectangles(t *testing.T) {
	for _, c := range []struct{ outer, inner, most string }{
		{"i := 0; i < n; i++", "j := 0; j < i; j++", "n - 1"},
		{"i := 0; i < n; i++", "j := i; j < n; j++", "n"},
		{"i := 0; i <= n; i++", "j := i + 1; j <= n; j += 2", "(n + 1) / 2"},
		{"i := n - 1; i > 0; i--", "j := i; j >= 0; j--", "n"},
		{"i := 0; i < n; i++", "j := i; j < min(i+4, n); j++", "min(4, n)"},
		{"i := 0; i < 5; i++", "j := i * n; j < 30; j++", "max(-4 * n + 30, 30)"},
	} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, n int) {\n"+
			"//omp:teams distribute parallel for collapse(2)\nfor "+c.outer+" {\nfor "+c.inner+" {\nx[i*100+j]++\n}\n}\n}", codegen.LowerOptions{})
		require.NoError(t, err)
		require.Contains(t, l.Explain(), "a rectangle with the loops around it: it has at most "+c.most+" iterations", c.inner)
	}
}

// What is neither affine nor rows has an error that says so, at the inner loop.
func TestCollapseOfOtherBoundsIsRefused(t *testing.T) {
	for _, c := range []struct{ clause, inner, want string }{
		{"", "j := 0; j < i*i; j++", "depend on i, a loop variable of the same nest, and are neither sums of its multiples nor the rows start[i]"},
		{"", "j := 0; j < x[i]; j++", "nor the rows start[i] to start[i+1]; collapse fewer loops"},
		{"", "j := x[i]; j < x[i+2]; j++", "nor the rows start[i]"},
		{"", "j := 0; j < n; j += i + 1", "the step of this loop depends on i"},
		{"", "j := i; j != n; j++", "nor the rows start[i]"},
		{" lastprivate(last)", "j := 0; j < i; j++", "which iteration is the last of all, for lastprivate, depends on them"},
	} {
		_, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, n int) {\n" +
			"var last int\n//omp:teams distribute parallel for collapse(2)" + c.clause + "\nfor i := 0; i < n; i++ {\nfor " + c.inner +
			" {\nlast = j\nx[i*100+j] = last\n}\n}\n_ = last\n}"})
		require.ErrorContains(t, err, c.want, c.inner)
		require.ErrorContains(t, err, "k.go:9:1", c.inner)
	}
}

// Rows that fall are run as they are written, those that rise as one loop.
func TestCollapsedRowsAreTested(t *testing.T) {
	l, err := lowerText(t, "//omp:target device(acc)\n//omp:task in(start) inout(x)\nfunc K(start, x []int) {\n"+
		"//omp:parallel for collapse(2)\nfor i := 0; i < len(start)-1; i++ {\nfor j := start[i]; j < start[i+1]; j++ {\nx[j] += i\n}\n}\n}",
		codegen.LowerOptions{})
	require.NoError(t, err)
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	for _, start := range [][]int{{0, 2, 2, 7, 9}, {3, 5, 2, 2, 1}, {4}, {}} {
		x, want := make([]int, 10), make([]int, 10)
		for i := range max(len(start)-1, 0) {
			for j := start[i]; j < start[i+1]; j++ {
				want[j] += i
			}
		}
		require.NoError(t, runDevice(program, []any{start, x}, simt.Config{Teams: 3, Threads: 32, Races: true}), l.Program)
		require.Equal(t, want, x)
	}
}
