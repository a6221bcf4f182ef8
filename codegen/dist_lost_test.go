package codegen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Iterations that write copies of a part which nothing reads, or which the kernel reads behind the
// loop, lose what plain Go keeps: a warning names the clause that keeps it.
func TestDistArrays_ThatAreLost(t *testing.T) {
	const lost = "is written in a copy that is gone after the iteration"
	for _, c := range []struct{ clause, inside, behind, want string }{
		{"dist_private([4]y)", "y[i*4+j] = x[i] * j", "", "y[i * 4 + j] " + lost + "; y keeps its values, and plain Go writes y; write dist_lastprivate([4]y) to keep"},
		{"dist_firstprivate([4]y)", "y[i*4+j] = x[i] * j", "", "write dist_firstlastprivate([4]y) to keep"},
		{"dist_lastprivate([4]y)", "y[i*4+j] = x[i] * j", "", ""},
		{"dist_private([4]y)", "y[i*4+j] = x[i] * j\nx[i] += y[i*4]", "", ""},
		{"dist_private([4]y)", "x[i] = j", "", ""},
		{"dist_private([4]y)", "y[i*4+j] = j\nx[i] += y[i*4]", "x[0] = y[3]", "y is read here with the values from before the directive at k.go:6:1, and what iterations wrote is in a copy"},
		{"dist_private([4]y)", "y[i*4+j] = j\nx[i] += y[i*4]", "y[3] = x[0]", ""},
		{"dist_firstprivate([4]y)", "y[i*4+j]++\nx[i] += y[i*4]", "", ""},
	} {
		p, err := Load(File{Name: "k.go", Text: "package k\n\n//omp:target device(acc, smp)\n//omp:task inout(x, y)\nfunc K(n int, x, y []int) {\n//omp:teams distribute " + c.clause +
			"\nfor i := 0; i < n; i++ {\nfor j := 0; j < 4; j++ {\n" + c.inside + "\n}\n}\n" + c.behind + "\n}\n"})
		require.NoError(t, err)
		var said []string
		for _, w := range p.Warnings() {
			if strings.HasPrefix(w.What, "dist_") {
				said = append(said, w.What+": "+w.Why+"; "+w.Instead)
			}
		}
		if c.want == "" {
			require.Empty(t, said, c)
		} else {
			require.Contains(t, strings.Join(said, "\n"), c.want, c)
		}
	}
}
