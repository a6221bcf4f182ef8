package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// TestNowait_ConflictsAreFound: threads leave a construct with nowait while others are in it. Issue 16, 2.
func TestNowait_ConflictsAreFound(t *testing.T) {
	const refused, warned, right = "error", "warning", ""
	const first = "//omp:for nowait\nfor i := 0; i < n; i++ { x[i] = y[i] }\n"
	for _, c := range []struct{ name, body, want string }{
		{"same numbers", first + "//omp:for\nfor i := 0; i < n; i++ { y[i] = x[i] }", right},
		{"same numbers, other start", "//omp:for nowait\nfor i := 1; i <= n; i++ { x[i] = 1 }\n//omp:for\nfor j := 0; j < n; j++ { y[j] = x[j+1] }", right},
		{"neighbour", first + "//omp:for\nfor i := 0; i < n; i++ { y[i] = x[i+1] }", refused},
		{"same number of fewer", first + "//omp:for\nfor j := 1; j < n; j++ { z[j] = x[j-1] }", warned},
		{"other start", first + "//omp:for\nfor i := 1; i < n; i++ { z[i] = x[i] }", refused},
		{"overwritten", first + "//omp:for\nfor i := 0; i < n; i++ { y[i+1] = 3 }", refused},
		{"with its barrier", "//omp:for\nfor i := 0; i < n; i++ { x[i] = y[i] }\n//omp:for\nfor i := 0; i < n; i++ { y[i] = x[i+1] }", right},
		{"barrier between", first + "kernel.Barrier()\n//omp:for\nfor i := 0; i < n; i++ { y[i] = x[i+1] }", right},
		{"barrier in a block", first + "{\nkernel.Barrier()\n}\n//omp:for\nfor i := 0; i < n; i++ { y[i] = x[i+1] }", right},
		{"barrier of a loop between", first + "//omp:for\nfor i := 0; i < n; i++ { z[i] = 2 }\n//omp:for\nfor i := 0; i < n; i++ { y[i] = x[i+1] }", right},
		{"no barrier between", first + "//omp:for nowait\nfor i := 0; i < n; i++ { z[i] = 2 }\n//omp:for\nfor i := 0; i < n; i++ { y[i] = x[i+1] }", refused},
		{"far", first + "//omp:for\nfor i := 0; i < n; i++ { y[i] = x[i+9] }", warned},
		{"far, few iterations", "//omp:for nowait\nfor i := 0; i < 8; i++ { x[i] = 1 }\n//omp:for\nfor i := 0; i < 8; i++ { y[i] = x[i+9] }", right},
		{"even and odd", "//omp:for nowait\nfor i := 0; i < n; i += 2 { x[i] = 1 }\n//omp:for\nfor i := 0; i < n; i += 2 { y[i] = x[i+1] }", right},
		{"other steps", "//omp:for nowait\nfor i := 0; i < n; i++ { x[i] = 1 }\n//omp:for\nfor i := 0; i < n; i++ { y[i] = x[2*i] }", warned},
		{"reversed", first + "//omp:for\nfor i := 0; i < n; i++ { y[i] = x[n-1-i] }", warned},
		{"gather", first + "//omp:for\nfor i := 0; i < n; i++ { z[i] = x[z[i]] }", warned},
		{"condition", first + "//omp:for\nfor i := 0; i < n; i++ { if z[i] > 0 { y[i] = x[i+1] } }", warned},
		{"dynamic", "//omp:for nowait schedule(dynamic)\nfor i := 0; i < n; i++ { x[i] = 1 }\n//omp:for schedule(dynamic)\nfor i := 0; i < n; i++ { y[i] = x[i] }", warned},
		{"chunks", "//omp:for nowait schedule(static, 2)\nfor i := 0; i < n; i++ { x[i] = 1 }\n//omp:for schedule(static, 2)\nfor i := 0; i < n; i++ { y[i] = x[i] }", right},
		{"other chunks", "//omp:for nowait schedule(static, 2)\nfor i := 0; i < n; i++ { x[i] = 1 }\n//omp:for schedule(static, 3)\nfor i := 0; i < n; i++ { y[i] = x[i] }", warned},
		{"fewer iterations", first + "//omp:for\nfor i := 0; i < n-1; i++ { y[i] = x[i] }", warned},
		{"rows", "//omp:for nowait\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ { x[i*n+j] = 1 }\n}\n//omp:for\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ { y[i*n+j] = x[i*n+j] }\n}", right},
		{"rows above", "//omp:for nowait\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ { x[i*n+j] = 1 }\n}\n//omp:for\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ { y[i*n+j] = x[(i+1)*n+j] }\n}", refused},
		{"collapsed", "//omp:for nowait collapse(2)\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ { x[i*n+j] = 1 }\n}\n//omp:for collapse(2)\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ { y[i*n+j] = x[i*n+j] }\n}", right},
		{"transposed", "//omp:for nowait\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ { x[i*n+j] = 1 }\n}\n//omp:for\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ { y[i*n+j] = x[j*n+i] }\n}", warned},
		{"one element", first + "//omp:for\nfor i := 0; i < n; i++ { z[i] = x[0] }", refused},
		{"all threads", first + "t := x[0]\nz[0] = t", refused},
		{"single", first + "//omp:single\n{ z[0] = x[0] }", warned},
		{"single with nowait", "//omp:single nowait\n{ x[0] = 5 }\n//omp:for\nfor i := 0; i < n; i++ { y[i] = x[0] }", refused},
		{"single with its barrier", "//omp:single\n{ x[0] = 5 }\n//omp:for\nfor i := 0; i < n; i++ { y[i] = x[0] }", right},
		{"next iteration", "for k := 0; k < n; k++ {\n//omp:for nowait\nfor i := 0; i < n; i++ { x[i] = y[i] }\nkernel.Barrier()\n//omp:for nowait\nfor i := 0; i < n; i++ { y[i] = x[i+1] }\n}", warned},
		{"next iteration, same numbers", "for k := 0; k < n; k++ {\n//omp:for nowait\nfor i := 0; i < n; i++ { x[i] = y[i] + k }\n//omp:for nowait\nfor i := 0; i < n; i++ { y[i] = x[i] }\n}", right},
		{"next iteration of itself", "for k := 0; k < n; k++ {\n//omp:for nowait\nfor i := 0; i < n; i++ { x[i+k] = 3 }\n}", warned},
		{"in a branch", "if n > 3 {\n" + first + "}\n//omp:for\nfor i := 0; i < n; i++ { y[i] = x[i+1] }", warned},
		{"before a branch", first + "if n > 3 {\n//omp:for\nfor i := 0; i < n; i++ { y[i] = x[i+1] }\n}", warned},
		{"atomic", "//omp:for nowait\nfor i := 0; i < n; i++ {\n//omp:atomic\nx[0]++\n}\n//omp:for\nfor i := 0; i < n; i++ {\n//omp:atomic\nx[0]++\n}", right},
		{"own", "var t int\n//omp:for nowait\nfor i := 0; i < n; i++ { t += y[i] }\nz[kernel.ThreadNum()] = t", right},
		{"reads", "//omp:for nowait\nfor i := 0; i < n; i++ { x[i] = y[i] }\n//omp:for\nfor i := 0; i < n; i++ { z[i] = y[i+1] }", right},
		{"fields", "//omp:for nowait\nfor i := 0; i < n; i++ { p[i].a = 1 }\n//omp:for\nfor i := 0; i < n; i++ { p[i].b = 3 }", right},
	} {
		text := "package k\n\nimport \"github.com/gompss/gompss/codegen/kernel\"\n\nvar _ = kernel.Barrier\n\ntype pair struct{ a, b int }\n\n//omp:target device(acc, smp)\n//omp:task inout(x, y, z, p)\nfunc K(n int, x, y, z []int, p []pair) {\n//omp:parallel\n{\n" +
			c.body + "\n}\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		if c.want == refused {
			require.Error(t, err, c.name)
			require.Regexp(t, `has nowait and .* need not be done yet`, err.Error(), c.name)
			continue
		}
		require.NoError(t, err, c.name)
		if c.want == right {
			require.NotRegexp(t, `has nowait`, warnings(p), c.name)
		} else {
			require.Regexp(t, `has nowait and .* need not be done yet`, warnings(p), c.name)
		}
	}
}
