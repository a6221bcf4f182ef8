package codegen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// Lanes share an iteration where its inner loop reads neighbours and may be added up in any order.
func TestLanes(t *testing.T) {
	for _, c := range []struct {
		name, directive, outer, inner string
		lanes                         bool
	}{
		{"rows of a sparse matrix", "//omp:simd reduction(+: s)", "", "for k := start[r]; k < start[r+1]; k++ { s += v[k] * x[col[k]] }", true},
		{"rows of a matrix", "//omp:simd reduction(+: s)", "", "for k := 0; k < n; k++ { s += v[r*n+k] * x[k] }", true},
		{"minimum of a row", "//omp:simd reduction(min: s)", "", "for k := 0; k < n; k++ { s = min(s, v[r*n+k]) }", true},
		{"no reduction said", "", "", "for k := start[r]; k < start[r+1]; k++ { s += v[k] * x[col[k]] }", false},
		{"columns", "//omp:simd reduction(+: s)", "", "for k := 0; k < n; k++ { s += v[k*n+r] }", false},
		{"few", "//omp:simd reduction(+: s)", "", "for k := 0; k < 8; k++ { s += v[r*8+k] }", false},
		{"stores in front", "//omp:simd reduction(+: s)", "y[r] = 0", "for k := 0; k < n; k++ { s += v[r*n+k] }", false},
		{"iteration left early", "//omp:simd reduction(+: s)", "if y[r] < 0 { continue }", "for k := 0; k < n; k++ { s += v[r*n+k] }", false},
		{"stores inside", "//omp:simd reduction(+: s)", "", "for k := 0; k < n; k++ { s += v[r*n+k]; v[r*n+k] = 0 }", false},
		{"places of the row that it reads once", "//omp:simd reduction(+: s)", "", "for k := 0; k < n; k++ { s += v[r*n+k] * (x[r] - x[r+1]) * (x[r+2] - x[r+3]) }", true},
		{"tiles are better", "//omp:simd reduction(+: s)", "", "for k := 0; k < n; k++ { s += x[k] * y[r] }", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, `//omp:target device(acc)
//omp:task inout(y, v) in(x, start, col)
func K(start, col []int32, v, x, y []float64, n int) {
	//omp:teams distribute parallel for
	for r := range y {
		`+c.outer+`
		s := 0.0
		`+c.directive+`
		`+c.inner+`
		y[r] = s
	}
}`, codegen.LowerOptions{})
			require.NoError(t, err)
			require.Equal(t, c.lanes, strings.Contains(l.Explain(), "lanes of a warp share each iteration"), "%s\n%s", l.Explain(), l.Program)
			if c.lanes {
				require.Contains(t, l.Program.String(), "shuffleXor")
			}
		})
	}
}

// A loop that only reads has no branch at its checks, where its indices do not hang on what it computes.
func TestLoadsWithoutBranches(t *testing.T) {
	for _, c := range []struct {
		name, inner string
		trusted     bool
	}{
		{"gather", "for k := start[r]; k < start[r+1]; k++ { s += x[col[k]] }", true},
		{"under a condition", "for k := start[r]; k < start[r+1]; k++ { if col[k] >= 0 { s += x[col[k]] } }", true},
		{"chain", "at := r; for k := 0; k < n; k++ { at = int(col[at]); s += x[at] }", false},
		{"stores", "for k := start[r]; k < start[r+1]; k++ { x[col[k]] = 0 }", false},
		{"evaluated at times", "for k := start[r]; k < start[r+1]; k++ { if k > 0 && x[col[k]] > 0 { s++ } }", false},
		{"division", "for k := start[r]; k < start[r+1]; k++ { s += float64(n / int(col[k])) }", false},
		{"left early", "for k := start[r]; k < start[r+1]; k++ { if col[k] < 0 { return } }", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := `//omp:target device(acc)
//omp:task inout(y, x) in(start, col)
func K(start, col []int32, x, y []float64, n int) {
	//omp:teams distribute parallel for
	for r := range y {
		s := 0.0
		` + c.inner + `
		y[r] = s
	}
}`
			if strings.Contains(c.inner, "return") {
				text = strings.Replace(text, "{ return }", "{ break }", 1)
			}
			l, err := lowerText(t, text, codegen.LowerOptions{})
			require.NoError(t, err)
			require.Equal(t, c.trusted, strings.Contains(l.Explain(), "loads without branches"), "%s\n%s", l.Explain(), l.Program)
			kept, err := lowerText(t, text, codegen.LowerOptions{KeepChecks: true})
			require.NoError(t, err)
			require.NotContains(t, kept.Explain(), "loads without branches")
		})
	}
}

// Threads take blocks of two loops where the loop inside reads what several rows, or columns, have in common.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name, directive, body, want string
	}{
		{"product", "", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+j] }; z[i*n+j] = s", "4 rows and 4 columns"},
		{"product with the transpose", "", "s := z[i*n+j]; for k := 0; k < n; k++ { s -= x[i*n+k] * y[j*n+k] }; z[i*n+j] = s", "4 rows and 4 columns"},
		{"rows share", "", "s := 0.0; for k := 0; k < n; k++ { s += y[k*n+j] }; z[i*n+j] = s", "8 rows and 1 columns"},
		{"columns share", "", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] }; z[i*n+j] = s", "1 rows and 4 columns"},
		{"many sums", "", "a, b, c := 0.0, 0.0, 0.0; for k := 0; k < n; k++ { a += x[i*n+k] * y[k*n+j]; b += x[i*n+k]; c += y[k*n+j] }; z[i*n+j] = a + b*c",
			"4 rows and 1 columns"},
		{"triangle", "", "s := 0.0; for k := 0; k < i; k++ { s += x[i*n+k] * y[k*n+j] }; z[i*n+j] = s", ""},
		{"nothing in common", "", "s := 0.0; for k := 0; k < n; k++ { s += x[(i*n+j)*n+k] }; z[i*n+j] = s", ""},
		{"condition", "", "s := 0.0; for k := 0; k < n; k++ { if k != i { s += x[i*n+k] * y[k*n+j] } }; z[i*n+j] = s", "4 rows and 4 columns"},
		{"stores inside", "", "for k := 0; k < n; k++ { z[i*n+j] += x[i*n+k] * y[k*n+j] }", "4 rows and 4 columns"},
		{"one to one", "schedule(onetoone)", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+j] }; z[i*n+j] = s", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, `//omp:target device(acc) check(none)
//omp:task inout(z) in(x, y)
func K(x, y, z []float64, n int) {
	//omp:teams distribute parallel for collapse(2) `+c.directive+`
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			`+c.body+`
		}
	}
}`, codegen.LowerOptions{})
			require.NoError(t, err)
			if c.want == "" {
				require.NotContains(t, l.Explain(), "in a thread at once")
				return
			}
			require.Contains(t, l.Explain(), c.want)
		})
	}
}

// Loads come in front of atomics that cannot touch what they read, in loops by which a thread takes its part by hand.
func TestLoadsAhead(t *testing.T) {
	for _, c := range []struct {
		name, loop string
		ahead      bool
	}{
		{"histogram", "for i := first; i < len(x); i += stride {\n//omp:atomic\npart[x[i]&255]++\n}", true},
		{"in memory of the same type", "for i := first; i < len(x); i += stride {\n//omp:atomic\nhist[x[i]&255]++\n}", false},
		{"no atomic", "for i := first; i < len(x); i += stride { hist[i] = x[i] }", false},
		{"unknown step", "for i := first; i < len(x); i += n {\n//omp:atomic\npart[x[i]&255]++\n}", false},
		{"under a condition", "for i := first; i < len(x); i += stride {\nif i > n {\n//omp:atomic\npart[x[i]&255]++\n}\n}", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := `import "github.com/gompss/gompss/codegen/kernel"
//omp:target device(acc)
//omp:task inout(hist) in(x)
func K(x, hist []int32, n int) {
	//omp:teams
	{
		var part [256]int32
		//omp:parallel
		{
			first := kernel.TeamNum()*kernel.NumThreads() + kernel.ThreadNum()
			stride := kernel.NumTeams() * kernel.NumThreads()
			` + c.loop + `
		}
	}
}`
			for _, decl := range []string{"var part [256]int32", "stride := kernel.NumTeams() * kernel.NumThreads()"} {
				if name := strings.Fields(strings.TrimPrefix(decl, "var "))[0]; !strings.Contains(c.loop, name) {
					text = strings.Replace(text, decl, "", 1)
				}
			}
			l, err := lowerText(t, text, codegen.LowerOptions{})
			require.NoError(t, err)
			require.Equal(t, c.ahead, strings.Contains(l.Explain(), "4 iterations load at once"), "%s\n%s", l.Explain(), l.Program)
			if c.ahead {
				require.NotContains(t, l.Program.String(), "?", "every index is proved")
			}
		})
	}
}
