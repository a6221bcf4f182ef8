package codegen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// TestCertainRaces_AreErrors: what is sure to race under a prescriptive directive was only warned of: issue 16 item 1. What may be right stays
// a warning, and what is right is let through.
func TestCertainRaces_AreErrors(t *testing.T) {
	const refused, warned, right = "error", "warning", ""
	const loop = "//omp:teams distribute parallel for\nfor i := 1; i < n; i++ "
	for _, c := range []struct{ name, body, want string }{
		{"scalar by pointer", loop + "{ *s += x[i] }", refused},
		{"scalar", "t := 0\n" + loop + "{ t += x[i] }\nx[0] = t", refused},
		{"element before", loop + "{ x[i] = x[i-1] + 1 }", refused},
		{"element behind", loop + "{ x[i] = x[i+1] + 1 }", refused},
		{"one element", loop + "{ x[0] = 7 }", refused},
		{"rows of a collapsed nest", "//omp:teams distribute parallel for collapse(2)\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ { x[i] += y[i*n+j] }\n}", refused},
		{"simd", "//omp:simd\nfor i := 1; i < n; i++ { x[i] = x[i-1] + 1 }", refused},
		{"distribute", "//omp:teams\n{\n//omp:distribute\nfor i := 1; i < n; i++ { x[i] = x[i-1] + 1 }\n}", refused},
		{"for in parallel", "//omp:teams distribute\nfor k := 0; k < 1; k++ {\nt := 0\n//omp:parallel\n{\n//omp:for\nfor i := 1; i < n; i++ { t += x[i] }\n}\n*s = t\n}", refused},
		{"fields", loop + "{ p[i].a = p[i-1].a }", refused},
		{"far apart, few iterations", "//omp:teams distribute parallel for\nfor i := 0; i < 4; i++ { x[i] = x[i+4] }", right},
		{"far apart, enough iterations", "//omp:teams distribute parallel for\nfor i := 0; i < 9; i++ { x[i] = x[i+4] }", refused},
		{"far apart, any number", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ { x[i] = x[i+4] }", warned},
		{"condition", loop + "{ if y[i] > 3 { *s = 1 } }", warned},
		{"early out", loop + "{\nif y[i] > 3 { continue }\n*s = 1\n}", warned},
		{"one thread", "//omp:parallel for num_threads(1)\nfor i := 1; i < n; i++ { x[i] = x[i-1] + 1 }", warned},
		{"one team", "//omp:teams num_teams(1)\n{\n//omp:distribute\nfor i := 1; i < n; i++ { x[i] = x[i-1] + 1 }\n}", warned},
		{"first iteration", loop + "{ if i == 1 { *s = x[i] } }", right},
		{"one iteration", "//omp:teams distribute parallel for\nfor i := 0; i < 1; i++ { *s = x[i] }", right},
		{"other fields", loop + "{ p[i].a = p[i-1].b }", right},
		{"array of one element", loop + "{ p[0].c[i&3] = i }", warned},
		{"even and odd", "//omp:teams distribute parallel for\nfor i := 1; i < n; i += 2 { x[i] = x[i-1] + x[i+1] }", right},
		{"safelen", "//omp:simd safelen(4)\nfor i := 4; i < n; i++ { x[i] = x[i-4] + 1 }", right},
		{"atomic", loop + "{\n//omp:atomic\n*s += x[i]\n}", right},
		{"reduction", "//omp:teams distribute parallel for reduction(+: *s)\nfor i := 0; i < n; i++ { *s += x[i] }", right},
		{"private", "t := 0\n//omp:teams distribute parallel for private(t)\nfor i := 0; i < n; i++ {\nt = x[i]\ny[i] = t\n}", right},
		{"lastprivate", "t := 0\n//omp:teams distribute parallel for lastprivate(t)\nfor i := 0; i < n; i++ { t = x[i] }\n*s = t", right},
		{"of the thread", "//omp:teams distribute\nfor k := 0; k < n; k++ {\n//omp:parallel\n{\nt := 0\n//omp:for\nfor i := 1; i < n; i++ { t += x[i] }\ny[k*n+t] = t\n}\n}", right},
		{"of the thread by a clause", "t := 0\n//omp:teams num_teams(1)\n{\n//omp:parallel firstprivate(t)\n{\n//omp:for\nfor i := 1; i < n; i++ { t += x[i] }\n}\n}", right},
		{"of the team by a clause", "t := 0\n//omp:teams reduction(+: t)\n{\n//omp:distribute\nfor i := 1; i < n; i++ { t += x[i] }\n}\n*s = t", right},
		{"of the thread by a reduction", "t := 0\n//omp:parallel reduction(+: t)\n{\n//omp:for\nfor i := 1; i < n; i++ { t += x[i] }\n}\n*s = t", right},
		{"of the iteration", loop + "{\nt := x[i]\nt++\ny[i] = t\n}", right},
		{"descriptive", "//omp:loop\nfor i := 1; i < n; i++ { x[i] = x[i-1] + 1 }", right},
		{"halves", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ { x[i/2] += y[i] }", refused},
		{"halves of a local", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nh := i >> 1\nx[h] += y[i]\n}", refused},
		{"halves from one on", loop + "{ x[i/2] += y[i] }", warned},
		{"halves of rows", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ { x[i/2*n+j] += y[i] }\n}", warned},
		{"mask", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ { x[i&7] += y[i] }", warned},
		{"mask of few", "//omp:teams distribute parallel for\nfor i := 0; i < 8; i++ { x[i&7] += y[i] }", right},
		{"mask of too many", "//omp:teams distribute parallel for\nfor i := 0; i < 9; i++ { x[i&7] += y[i] }", refused},
		{"remainder of a parameter", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ { x[i%n] += y[i] }", right},
		{"reversed bits", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ { x[i^1] += y[i] }", right},
		{"quotient and rest", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ { x[i/4*4+(3-i%4)] += y[i] }", right},
		{"halves by atomics", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\n//omp:atomic\nx[i/2] += y[i]\n}", right},
		{"halves in every other", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nif i%2 == 0 {\nx[i/2] += y[i]\n}\n}", right},
		{"halves in every other, by continue", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nif i%2 == 1 {\ncontinue\n}\nx[i/2] += y[i]\n}", right},
		{"halves by steps of two", "//omp:teams distribute parallel for\nfor i := 0; i < n; i += 2 { x[i/2] += y[i] }", right},
		{"halves under a condition", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nif y[i] > 3 {\nx[i/2] += y[i]\n}\n}", warned},
		{"tiles", "//omp:teams distribute\nfor k := 0; k < n; k++ {\nlo, hi := k*16, min(k*16+16, n)\n//omp:parallel for\nfor i := lo; i < hi; i++ { x[i] = y[i] }\n}", right},
		{"tiles by another name", "//omp:teams distribute parallel for\nfor k := 0; k < n; k++ {\nlo := k * 16\nhi := lo + 16\nfor i := lo; i < hi; i++ { x[i] = y[i] }\nfor i := hi - 1; i >= lo; i-- { x[i] = y[i] }\n}", right},
		{"rows in memory", "//omp:teams distribute parallel for\nfor k := 0; k < n; k++ {\nlo, hi := y[k], y[k+1]\nfor i := lo; i < hi; i++ { x[i] = 1 }\n}", warned},
		{"same columns", "//omp:teams distribute parallel for\nfor k := 0; k < n; k++ {\nhi := n + 3\nfor i := 0; i < hi; i++ { x[i] = 1 }\n}", refused},
		{"a triangle", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nfor j := 0; j < i; j++ { x[j] = 1 }\n}", warned},
	} {
		text := "package k\n\ntype pair struct {\n\ta, b int\n\tc    [4]int\n}\n\n//omp:target device(acc, smp)\n//omp:task inout(x, y, p, *s)\nfunc K(n int, x, y []int, p []pair, s *int) {\n" + c.body + "\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		if c.want == refused {
			require.Error(t, err, c.name)
			require.Regexp(t, `every iteration over|the iterations over . depend on one another|iterations over . write the same`, err.Error(), c.name)
			continue
		}
		require.NoError(t, err, c.name)
		if c.want == right {
			require.NotRegexp(t, `every iteration over|depend on one another|write the same`, warnings(p), c.name)
		}
		if strings.HasPrefix(c.name, "halves") && c.want == warned {
			require.Contains(t, warnings(p), "write the same", c.name)
		}
	}
}

// TestAccumulation_IsToldItsClause: private was named first for a sum, which it is always wrong for.
func TestAccumulation_IsToldItsClause(t *testing.T) {
	for update, clause := range map[string]string{
		"*s += x[i]":         "write reduction(+: *s) on the loop",
		"*s -= x[i]":         "write reduction(+: *s) on the loop",
		"t += x[i]":          "write reduction(+: t) on the loop",
		"y[0] = y[0] * x[i]": "write reduction(*: y[0]) on the loop",
		"t = max(t, x[i])":   "write reduction(max: t) on the loop",
		"t = x[i]":           "write private, lastprivate or reduction",
		"*s = x[i] - *s":     "write private, lastprivate or reduction",
	} {
		_, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n//omp:target\n//omp:task in(x) inout(y, *s)\nfunc K(n int, x, y []int, s *int) {\nt := 0\n//omp:teams distribute parallel for\nfor i := 1; i < n; i++ { " + update + " }\ny[1] = t\n}\n"})
		require.ErrorContains(t, err, clause, update)
	}
}
