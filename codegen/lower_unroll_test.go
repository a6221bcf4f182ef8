package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
)

// How far an ordinary loop of a thread is unrolled follows from its length and from what an iteration costs.
func TestLoopsAreUnrolledByCost(t *testing.T) {
	for _, c := range []struct {
		name, loop string
		want       int
	}{
		{"short", "for k := 0; k < 3; k++ { s += x[i+k] }", 3},
		{"short, downwards", "for k := 9; k > 0; k -= 3 { s += x[i+k] }", 3},
		{"once", "for k := 0; k < 1; k++ { s += x[i+k] }", 0},
		{"short and dear", "for k := 0; k < 16; k++ { s += x[i+k] / float64(k+1) * x[i+k+1] / x[i+k+2] + x[i+k+3]*x[i+k+4]*x[i+k+5] }", 0},
		{"not known", "for k := 0; k < n; k++ { s += x[i+k] }", 4},
		{"known", "for k := 0; k < 64; k++ { s += x[i+k] }", 8},
		{"known, no multiple of 8", "for k := 0; k < 60; k++ { s += x[i+k] }", 4},
		{"many operations", "for k := 0; k < n; k++ { s = s*x[i+k] + math.Sqrt(s) + s*s*s*s*s*s + x[i+k]*s + s*s*x[i+k] - s*s + s*s*s - s*s }", 0},
		{"many registers", "for k := 0; k < n; k++ { s += x[i+k] + x[i+k+1] + x[i+k+2] + x[i+k+3] + x[i+k+4] + x[i+k+5] + x[i+k+6] }", 0},
		{"checks", "for k := 0; k < n; k++ { s += x[int(x[i+k])] }", 0},
		{"a loop inside", "for k := 0; k < n; k++ { for j := k; j < n; j++ { s += x[i+j] } }", 4},
		{"a break", "for k := 0; k < n; k++ { if x[i+k] < 0 { break }\ns += x[i+k] }", 0},
		{"a call", "for k := 0; k < n; k++ { s += f(x[i+k], n) + 1 }", 0},
		{"along an array", "var w [40]float64\nfor k := 0; k < 40; k++ { w[k] = x[i+k] }\nfor k := 1; k < 40; k++ { s = s*w[k-1] + w[39-k] }", 40},
		{"along one that something else indexes", "var w [40]float64\nfor k := 0; k < 40; k++ { w[k] = x[i+k] }\ns = w[n&7]", 8},
		{"along a long one", "var w [99]float64\nfor k := 0; k < 32; k++ { w[k] = x[i+k] }\ns = w[7]", 8},
		{"a condition", "for k := 0; k < n; k++ { if x[i+k] < 0 { continue }\ns += x[i+k] }", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, "import \"math\"\n\nvar _ = math.Pi\n\n//omp:target device(acc)\n//omp:task inout(y) in(x)\n"+
				"func K(x, y []float64, n int) {\n//omp:teams distribute parallel for\nfor i := range y {\ns := 0.0\n"+c.loop+"\ny[i] += s\n}\n}\n\n"+
				"func f(s float64, n int) float64 {\nfor s > 3 {\ns -= float64(n)\n}\nreturn s\n}", codegen.LowerOptions{})
			require.NoError(t, err)
			most := 0
			for _, g := range l.Program.Launches {
				ir.WalkStmts(g.Body, func(s ir.Stmt) bool {
					if f, ok := s.(*ir.For); ok && f.Unroll > 1 { // 1 says not to: that one runs to fail
						most = max(most, f.Unroll)
					}
					return true
				})
			}
			require.Equal(t, c.want, most, l.Program)
			if c.want > 0 {
				require.Regexp(t, "operations and |only constants index it", l.Explain())
			}
		})
	}
}
