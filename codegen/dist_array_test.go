package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// distKernel is a kernel with a distribute loop over i below n, with a clause and a body.
func distKernel(clause, body string) string {
	return "package k\n\n//omp:target device(acc, smp)\n//omp:task inout(x, y)\nfunc K(n, m int, x, y []int) {\n//omp:teams distribute " + clause +
		"\nfor i := 0; i < n; i++ {\n" + body + "\n}\n}\n\nfunc at(i, j int) int { return i*4 + j }\n"
}

// TestDistArrays_TouchesOfOtherPartsAreErrors: of a touch of another iteration's part nothing was said where the part that is touched depends
// on the number of iterations, and what a condition or a step keeps inside was refused (issue 16, item 8).
func TestDistArrays_TouchesOfOtherPartsAreErrors(t *testing.T) {
	const right = ""
	for _, c := range []struct{ name, clause, body, want string }{
		{"own", "dist_private([4]x)", "for j := 0; j < 4; j++ { x[i*4+j] = j }", right},
		{"one too many", "dist_private([4]x)", "for j := 0; j <= 4; j++ { x[i*4+j] = j }",
			"dist_private of x: iteration i = 0 touches x[4] (j = 4) by x[i * 4 + j], and owns x[0:4]"},
		{"element before", "dist_firstprivate([4]x)", "if i > 0 { y[i] = x[i*4-1] }",
			"dist_firstprivate of x: iteration i touches x[i * 4 - 1], and owns x[i*4 : (i+1)*4]"},
		{"element behind", "dist_firstlastprivate([4]x)", "if i < n-1 { x[(i+1)*4] = 3 }",
			"dist_firstlastprivate of x: iteration i touches x[(i + 1) * 4], and owns x[i*4 : (i+1)*4]"},
		{"stride", "dist_lastprivate([8]x)", "x[i] = i", "dist_lastprivate of x: iteration i = 1 touches x[1] by x[i], and owns x[8:16]"},
		{"larger stride", "dist_lastprivate([4]x)", "x[i*5] = i", right + "iteration i = 4 touches x[20] by x[i * 5], and owns x[16:20]"},
		{"one element for all", "dist_firstlastprivate([4]x)", "x[0] += y[i]", "iteration i = 1 touches x[0], and owns x[4:8]"},
		{"through a helper", "dist_private([4]x)", "x[at(i, 4)] = 1", "iteration i = 0 touches x[4] by"},
		{"parallel inside", "dist_private([4]x)", "//omp:parallel for\nfor j := 0; j < 5; j++ { x[i*4+j] = j }", "iteration i = 0 touches x[4] (j = 4)"},
		{"backwards", "dist_private([4]x)", "for j := 3; j >= -1; j-- { x[i*4+j] = j }", "iteration i = 0 touches x[-1] (j = -1) by x[i * 4 + j], and owns x[0:4]"},
		{"variable chunk", "dist_private([m]x)", "for j := 0; j <= m; j++ { x[i*m+j] = j }", "iteration i touches x[i * m + j], and owns x[i*m : (i+1)*m]"},
		{"variable chunk before", "dist_private([m]x)", "x[i*m-1] = 0", "iteration i touches x[i * m - 1], and owns x[i*m : (i+1)*m]"},
		{"variable chunk, own", "dist_private([m]x)", "for j := 0; j < m; j++ { x[i*m+j] = j }", right},
		{"triangle", "dist_private([4]x)", "for j := 0; j < 4; j++ {\nfor k := 0; k <= j+1; k++ { x[i*4+k] = j }\n}", "iteration i = 0 touches x[4] (j = 3, k = 4)"},
		{"triangle, own", "dist_private([4]x)", "for j := 0; j < 4; j++ {\nfor k := 0; k <= j; k++ { x[i*4+k] = j }\n}", right},
		{"kept inside by a condition", "dist_private([4]x)", "for j := 0; j < 6; j++ { if j < 4 { x[i*4+j] = j } }", right},
		{"kept inside by a jump", "dist_private([4]x)", "for j := 0; j < 6; j++ {\nif j > 3 { break }\nx[i*4+j] = j\n}", right},
		{"stepped over", "dist_private([5]x)", "for j := 0; j < 6; j += 4 { x[i*5+j] = j }", right},
		{"first iteration alone", "dist_private([4]x)", "if i == 0 { x[0] = 1 }", right},
		{"any number", "dist_private([4]x)", "for j := 0; j < m; j++ { x[i*4+j] = j }", right},
		{"data", "dist_private([4]x)", "x[i*4+y[i]] = 1", right},
		{"length", "dist_private([4]x)", "y[i] = len(x)", right},
		{"no iterations", "dist_private([4]x)", "for j := 9; j < 6; j++ { x[i*4+j] = j }", right},
		{"its slice", "", "", "iteration i = 0 touches z[4] (j = 4) by z[i * 4 + j], and owns z[0:4]"},
		{"few iterations", "", "", right},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := distKernel(c.clause, c.body)
			switch c.name {
			case "its slice":
				text = "package k\n\n//omp:target device(acc, smp)\n//omp:task inout(x)\nfunc K(n, m int, x []int) {\nz := x[m:]\n//omp:teams distribute dist_private([4]z)\nfor i := 0; i < n; i++ {\nfor j := 0; j < 5; j++ { z[i*4+j] = j }\n}\n}\n"
			case "few iterations":
				text = "package k\n\n//omp:target device(acc, smp)\n//omp:task inout(x)\nfunc K(n, m int, x []int) {\n//omp:teams distribute dist_private([4]x)\nfor i := 0; i < 4; i++ {\nx[i*5] = 1\n}\n}\n"
			}
			_, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
			if c.want == right {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "; ")
		})
	}
}
