package codegen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// TestOut_ReadsAreErrorsOnlyWhereTheyComeFirst: a read that stands before the write in the text was an error, also where an earlier iteration
// has written what it reads: issue 16 item 10.
func TestOut_ReadsAreErrorsOnlyWhereTheyComeFirst(t *testing.T) {
	const sure, maybe, silent = "reads", "may read", ""
	for _, c := range []struct{ name, body, want string }{
		{"triangular solve", "for i := 0; i < n; i++ {\ns := 0\nfor j := 0; j < i; j++ { s += y[j] }\ny[i] = b[i] - s\n}", silent},
		{"triangular solve of rows from the end", "for i := n - 1; i >= 0; i-- {\ns := 0\nfor j := i + 1; j < n; j++ { s += y[j] }\ny[i] = b[i] - s\n}", silent},
		{"solve in a helper", "for i := 0; i < n; i++ { y[i] = b[i] - upTo(y, i) }", silent},
		{"first iteration apart", "for i := 0; i < n; i++ {\nif i > 0 { b[i] += y[i-1] }\ny[i] = b[i]\n}", silent},
		{"first iteration goes on", "for i := 0; i < n; i++ {\nif i == 0 {\ny[0] = 1\ncontinue\n}\ny[i] = y[i-1]\n}", silent},
		{"second pass of a loop", "for t := 0; t < 2; t++ {\nif t == 1 {\nfor i := 0; i < n; i++ { b[i] = y[i] }\n}\nfor i := 0; i < n; i++ { y[i] = b[i] }\n}", silent},
		{"loop that runs zero times at first", "for t := 0; t < 3; t++ {\nfor i := 0; i < t*n; i++ { b[0] += y[i%n] }\nfor i := 0; i < n; i++ { y[i] = t }\n}", silent},
		{"second loop reads", "for i := 0; i < n; i++ { y[i] = i }\nfor i := 0; i < n; i++ { b[i] = y[i] }", silent},
		{"loop without iterations", "for i := 0; i < 0; i++ { b[0] += y[i] }\nfor i := 0; i < n; i++ { y[i] = i }", maybe},
		{"while", "k := 0\nfor k < n {\nif k > 3 { b[k] = y[k-1] }\ny[k] = k\nk += 1 + b[k]&1\n}", maybe},
		{"in front", "for i := 0; i < n; i++ { b[i] = y[i] }\nfor i := 0; i < n; i++ { y[i] = i }", sure},
		{"in front, sometimes", "for i := 0; i < n; i++ {\nif b[i] > 3 { b[i] = y[i] }\n}\nfor i := 0; i < n; i++ { y[i] = i }", maybe},
		{"the same element", "for i := 0; i < n; i++ { y[i] += b[i] }", sure},
		{"the element before", "for i := 1; i < n; i++ { y[i] = y[i-1] }", sure},
		{"all of it in each iteration", "for i := 0; i < n; i++ {\ns := 0\nfor j := 0; j < n; j++ { s += y[j] }\ny[i] = s\n}", sure},
		{"in a helper in front", "b[0] = upTo(y, n)\nfor i := 0; i < n; i++ { y[i] = i }", sure},
	} {
		text := "package k\n\n//omp:target device(acc, smp)\n//omp:task inout(b) out(y)\nfunc K(n int, b, y []int) {\n" + c.body + "\n}\n\n" +
			"func upTo(x []int, n int) int {\n\ts := 0\n\tfor j := 0; j < n; j++ {\n\t\ts += x[j]\n\t}\n\treturn s\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		switch c.want {
		case sure:
			require.ErrorContains(t, err, "the body reads", c.name)
			continue
		case maybe:
			require.NoError(t, err, c.name)
			require.Contains(t, warnings(p), "the body may read", c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.NotContains(t, warnings(p), "before it writes it", c.name)
	}
}

// warnings returns the text of all warnings of p.
func warnings(p *codegen.Package) string {
	text := ""
	for _, w := range p.Warnings() {
		text += w.Error() + "\n"
	}
	return text
}

// A warning named a variable that no one wrote, and called what min and max make of a loop variable data.
func TestHalo_IsNamedAsWritten(t *testing.T) {
	const data = "whose place depends on data"
	for read, depends := range map[string]bool{"a[clamp(i - 1, 0, n - 1)]": false, "a[max(i - 1, 0)]": false, "a[v[i]]": true} {
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\nfunc clamp(i, lo, hi int) int { return max(lo, min(i, hi)) }\n\n//omp:target device(acc, smp)\n//omp:task in(a[lo:hi], v) out(b[lo:hi])\n" +
			"func K(lo, hi, n int, v []int, a, b []float64) {\n//omp:teams distribute parallel for\nfor i := lo; i < hi; i++ {\nb[i] = " + read + "\n}\n}\n"})
		require.NoError(t, err)
		require.Contains(t, warnings(p), "reads "+read+", ")
		require.Equal(t, depends, strings.Contains(warnings(p), data), warnings(p))
	}
}
