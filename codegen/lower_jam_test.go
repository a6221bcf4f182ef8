package codegen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir/order"
)

// The threads of a loop that does little but load and store take several iterations at once, the more the smaller the
// elements are.
func TestWidth(t *testing.T) {
	for _, c := range []struct {
		name, directive, body string
		width                 int
	}{
		{"float64", "", "x[i] = y[i]", 2},
		{"float32", "", "f[i] += 2 * g[i]", 4},
		{"both", "", "x[i] = float64(f[i])", 2},
		{"mirror", "", "s := y[i]; x[n-1-i] = s * s", 2},
		{"stencil", "", "x[i] = y[i] + y[i+1]", 2},
		{"static", "schedule(static)", "x[i] = y[i]", 2},
		{"one to one", "schedule(onetoone)", "x[i] = y[i]", 0},
		{"cyclic", "schedule(cyclic)", "x[i] = y[i]", 0},
		{"counter", "schedule(counter)", "x[i] = y[i]", 0},
		{"sum", "reduction(+: total)", "total += x[i]", 4},
		{"sum of products", "reduction(+: total)", "total += float64(f[i] * g[i])", 8},
		{"sum and a store", "reduction(+: total)", "total += x[i]; y[i] = 0", 1},
		{"reduction under a condition", "reduction(max: total)", "if x[i] > total { total = x[i] }", 4},
		{"reduction and a store", "reduction(max: total)", "total = max(total, x[i]); y[i] = 0", 0},
		{"strided", "", "x[2*i] = y[i]", 0},
		{"rows", "", "x[i*n] = y[i]", 0},
		{"gather", "", "x[i] = y[int(f[i])]", 0},
		{"condition", "", "if y[i] > 0 { x[i] = y[i] }", 0},
		{"inner loop", "", "for j := 0; j < n; j++ { x[i] += y[i] }", 0},
		{"arithmetic", "", "x[i] = math.Sin(math.Exp(y[i])) + math.Cos(y[i]) * math.Log(y[i]) + math.Exp(math.Sqrt(y[i])) + math.Tan(y[i])", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, `import "math"
var _ = math.Pi
//omp:target device(acc) check(none)
//omp:task inout(x, y, f, g)
func K(x, y []float64, f, g []float32, n int) {
	total := 0.0
	//omp:teams distribute parallel for `+c.directive+`
	for i := 0; i < n; i++ {
		`+c.body+`
	}
	x[0] = total
}`, codegen.LowerOptions{})
			require.NoError(t, err)
			if strings.HasPrefix(c.name, "sum") { // the lanes of a warp share a block out
				require.Equal(t, c.width > 1, strings.Contains(l.Program.String(), fmt.Sprintf("base = base + %d", order.Lanes*c.width)), l.Program.String())
				require.Equal(t, c.width > 1, strings.Contains(l.Program.String(), "base"))
				c.width = 0
			}
			require.Equal(t, c.width, l.Program.Launches[0].Width, l.Program.String())
			resident := strings.HasPrefix(c.name, "reduction") || c.name == "counter" || c.name == "cyclic"
			require.Equal(t, resident, l.Program.Launches[0].Resident)
		})
	}
}

// In a space of two loops a thread takes an element of several rows, where the elements of a row are neighbours' from
// thread to thread.
func TestRowsAbreast(t *testing.T) {
	for _, c := range []struct {
		name, directive, body string
		abreast               bool
	}{
		{"stencil", "", "x[i*n+j] = y[(i+1)*n+j] + y[i*n+j+1]", true},
		{"copy", "", "x[i*n+j] = y[i*n+j]", true},
		{"product of vectors", "", "x[i*n+j] += y[i] * y[j]", true},
		{"transpose", "", "x[i*n+j] = y[j*n+i]", false},
		{"condition", "", "if i != j { x[i*n+j] = y[i*n+j] }", false},
		{"one to one", "schedule(onetoone)", "x[i*n+j] = y[i*n+j]", false},
		{"inner loop", "", "for k := 0; k < n; k++ { x[i*n+j] += y[k*n+j] }", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, `//omp:target device(acc) check(none)
//omp:task inout(x, y)
func K(x, y []float64, n int) {
	//omp:teams distribute parallel for collapse(2) `+c.directive+`
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			`+c.body+`
		}
	}
}`, codegen.LowerOptions{})
			require.NoError(t, err)
			require.Equal(t, c.abreast, strings.Contains(l.Explain(), "loop i -> 4 iterations of a thread at once"), l.Explain())
		})
	}
}
